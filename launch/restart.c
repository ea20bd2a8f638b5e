// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --restart (restart.h).
#include "restart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/streams.h"
#include "checkpoint.h"
#include "criu.h"
#include "frontjob.h"
#include "front.h"
#include "image.h"

#define LINK_BYTES (1 << 20)
#define TRIES 64           // files that are cut until criu is content
#define LOW_PIDS 1000      // criu's own processes have ids from here on, or, where those of the job are there,
#define HIGH_PIDS 20000    // from here on

struct uno_restart {
    struct uno_image image;
    struct uno_plan plan;
    char *folder;
    char *log;    // of criu
    pid_t init;
    int link;
};

// ---- the first process of the name space ----

static _Noreturn void fail_init(int report, const char *what)
{
    dprintf(report, "cannot %s: %s", what, uno_reason(errno));
    _exit(1);
}

// So that no process of criu's takes an id that is wanted.
static void move_pids(int node)
{
    FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "we");
    if (f == NULL) return;
    fprintf(f, "%d", node < HIGH_PIDS / 2 ? HIGH_PIDS : LOW_PIDS);
    fclose(f);
}

// Reaps all that end, until it is that one; its status as waitpid() gives it.
static int reap_until(pid_t which)
{
    int status;
    pid_t got;
    while ((got = waitpid(-1, &status, __WALL)) != which)
        if (got < 0 && errno != EINTR) return 1 << 8;
    return status;
}

// Has nothing open but the link, until criu has it, and `report`: what is written there says why there is no job.
// Everything in the name space ends with this process.
static _Noreturn void be_init(const struct uno_restart *r, int link, int report)
{
    sigset_t all;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "unisono-init");
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail_init(report, "keep mounts private");
    if (mount("proc", "/proc", "proc", 0, NULL) != 0) fail_init(report, "mount /proc for the job");
    move_pids(r->image.node);
    pid_t criu = fork();
    if (criu < 0) fail_init(report, "start a process");
    if (criu == 0) {
        sigemptyset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        uno_criu_restore(r->folder, r->log, r->image.link, link);
    }
    close(link);
    if (reap_until(criu) != 0) {
        dprintf(report, "criu");
        _exit(1);
    }
    int null = uno_streams_null();
    for (int fd = 0; fd <= 2; fd++) dup2(null, fd);
    close_range(3, ~0u, 0);
    int status = reap_until(r->image.node);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// ---- mpiexec ----

static char *read_report(int fd)
{
    char text[512];
    size_t len = 0;
    ssize_t n;
    while ((n = read(fd, text + len, sizeof text - 1 - len)) > 0 || (n < 0 && errno == EINTR))
        len += n > 0 ? (size_t)n : 0;
    text[len] = '\0';
    return len > 0 ? uno_xstrdup(text) : NULL;
}

// NULL, or "criu", or why not. On success the job stands there and waits for its link.
static char *try_once(struct uno_restart *r)
{
    int pair[2], report[2], size = LINK_BYTES, status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0 || pipe2(report, O_CLOEXEC) != 0)
        return uno_xformat("cannot make a socket pair: %s", uno_reason(errno));
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    r->init = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
    if (r->init == 0) {
        close(pair[0]);
        close(report[0]);
        be_init(r, pair[1], report[1]);
    }
    int err = errno;
    close(pair[1]);
    close(report[1]);
    char *why = r->init < 0 ? uno_xformat("cannot make a name space of processes: %s%s", uno_reason(err),
                                          err == EPERM ? " (root may)" : "")
                            : read_report(report[0]);
    close(report[0]);
    r->link = pair[0];
    if (why == NULL) return NULL;
    close(pair[0]);
    if (r->init > 0) waitpid(r->init, &status, 0);
    return why;
}

static bool is_written(const struct uno_restart *r, const char *path)
{
    const struct uno_bytes *b = &r->image.written;
    for (size_t at = 0; at < b->len; at += strlen(uno_bytes_first(b) + at) + 1)
        if (strcmp(uno_bytes_first(b) + at, path) == 0) return true;
    return false;
}

// "File out/log has bad size 30 (expect 20)": what the job wrote there after the checkpoint it will write again. True:
// it is cut, and criu may try again.
static bool cut_file(const struct uno_restart *r, const char *reason)
{
    unsigned long has, had;
    const char *at = strstr(reason, "File "), *end = at ? strstr(at, " has bad size ") : NULL;
    if (end == NULL || sscanf(end, " has bad size %lu (expect %lu)", &has, &had) != 2) return false;
    at += sizeof "File " - 1;
    char *path = uno_xformat("%s%.*s", *at == '/' ? "" : "/", (int)(end - at), at);
    bool good = has > had && is_written(r, path) && truncate(path, (off_t)had) == 0;
    if (good && !r->plan.quiet)
        fprintf(stderr, "mpiexec: %s is cut from %lu to %lu bytes, its size in the checkpoint\n", path, has, had);
    free(path);
    return good;
}

static char *make_anew(struct uno_restart *r)
{
    char log[] = "/tmp/unisono-restart-XXXXXX", *why = NULL;
    int fd = mkstemp(log);
    if (fd < 0) return uno_xformat("cannot make a file in /tmp: %s", uno_reason(errno));
    close(fd);
    r->log = log;
    for (int i = 0; i < TRIES; i++) {
        free(why);
        why = try_once(r);
        if (why == NULL || strcmp(why, "criu") != 0) break;
        free(why);
        why = uno_criu_reason(log);
        if (why == NULL) why = uno_xstrdup("nothing; it ended without a reason");
        char *reason = why;
        why = uno_xformat("criu says: %s (%s)", reason, log);
        bool again = cut_file(r, reason);
        free(reason);
        if (!again) return why;
    }
    unlink(log);
    return why;
}

static bool unpack(struct uno_restart *r)
{
    struct uno_plan *p = &r->plan;
    const struct uno_image *m = &r->image;
    bool good = m->plan.len > 0 && m->front.len > 0 && uno_plan_unpack(p, uno_bytes_first(&m->plan), m->plan.len) &&
                uno_plan_unpack_front(p, uno_bytes_first(&m->front), m->front.len);
    for (int h = 0; good && h < p->nhosts; h++) p->host[h].local = true;
    return good;
}

// NULL: r is the checkpoint of that folder.
static char *read_folder(struct uno_restart *r, const char *folder)
{
    char *why = uno_image_read(&r->image, folder);
    if (why == NULL) why = uno_image_check(folder);
    if (why == NULL && !unpack(r)) why = uno_xstrdup("its file `job` is damaged");
    if (why == NULL) {
        r->folder = uno_xstrdup(folder);
    } else {
        uno_image_free(&r->image);
        r->plan = (struct uno_plan){0};
    }
    return why;
}

// DIR is a folder of checkpoints, of which the newest that is whole is taken, or one of them.
static void find_image(struct uno_restart *r, const char *given)
{
    char *dir = realpath(given, NULL), *job = dir ? uno_xformat("%s/job", dir) : NULL, *why = NULL;
    if (dir == NULL) uno_usage("--restart %s: %s", given, uno_reason(errno));
    int n = access(job, F_OK) == 0 ? 0 : uno_image_newest(dir, INT_MAX);
    if (n < 0) uno_usage("--restart %s: %s", given, uno_reason(errno));
    if (n == 0 && access(job, F_OK) != 0)
        uno_usage("--restart %s: there is no checkpoint (mpiexec --checkpoint-to %s ... makes them)", given, given);
    if (n == 0 && (why = read_folder(r, dir)) != NULL) uno_usage("--restart %s: %s", given, why);
    while (n > 0 && r->folder == NULL) {
        char *folder = uno_image_path(dir, n, "");
        free(why);
        why = read_folder(r, folder);
        n = why ? uno_image_newest(dir, n) : 0;
        if (why && n <= 0) uno_usage("--restart %s: %s", folder, why);
        if (why) fprintf(stderr, "mpiexec: warning: %s: %s; taking %s/%d\n", folder, why, dir, n);
        free(folder);
    }
    free(why);
    free(job);
    free(dir);
}

// What may be said anew is; checkpoints go on where they went before.
static void apply_given(struct uno_restart *r, const struct uno_plan *given)
{
    struct uno_plan *p = &r->plan;
    char *parent = uno_xstrdup(r->folder);
    *strrchr(parent, '/') = '\0';
    uno_checkpoint_guard("--restart", parent);
    p->checkpoint_to = given->checkpoint_to ? given->checkpoint_to : parent;
    if (given->every_s > 0) p->every_s = given->every_s;
    if (given->timeout_s > 0) p->timeout_s = given->timeout_s;
    p->verbose |= given->verbose;
    p->quiet |= given->quiet;
}

void uno_restart_replay(struct uno_front *f, const struct uno_restart *r)
{
    f->first->up = true;
    uno_front_job_order(f->first, UNO_GO, 1);
    uno_front_job_replay(f->first, &r->image.frames);
}

static void tell(const struct uno_restart *r)
{
    char when[32] = "";
    time_t made = (time_t)r->image.made;
    struct tm tm;
    if (r->plan.quiet) return;
    if (localtime_r(&made, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    fprintf(stderr, "mpiexec: going on from %s of %s\n", r->folder, when);
}

int uno_restart_run(const struct uno_plan *given, struct uno_setting *s)
{
    struct uno_restart *r = uno_xalloc(sizeof *r);
    struct uno_front_ends ends = {.guest = -1, .setting = s, .restart = r};
    if (given->unfit) uno_usage("%s: with --restart the job is as it was; see mpiexec(1)", given->unfit);
    char *why = uno_criu_check();
    if (why) uno_usage("--restart: %s", why);
    find_image(r, given->restart);
    apply_given(r, given);
    uno_checkpoint_check(&r->plan);
    why = make_anew(r);
    if (why) uno_usage("--restart %s: %s", r->folder, why);
    tell(r);
    if (chdir(r->plan.cwd) != 0) uno_usage("--restart: cannot enter %s: %s", r->plan.cwd, uno_reason(errno));
    ends.link = r->link;
    why = uno_outfiles_open(&r->plan, false, &ends.files);
    if (why) uno_usage("%s", why);
    uno_front_prepare(&ends, &s->mask);
    signal(SIGPIPE, SIG_IGN);
    return uno_front_run(&r->plan, &ends, r->init, r->image.input);
}
