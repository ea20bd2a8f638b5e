// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --checkpoint-to (checkpoint.h). A checkpoint goes through these states, and the job stands still in the first
// two: RESTING until its node has said so, DUMPING while criu writes it, SAVING until it is on the disk under its
// number.
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/start.h"
#include "criu.h"
#include "frontjob.h"
#include "image.h"
#include "input.h"
#include "openfiles.h"

#define LOG "dump.log"
#define BUSY_MS 100    // between two looks whether a checkpoint that is due can begin

enum state { IDLE, RESTING, DUMPING, SAVING };

struct uno_checkpoint {
    struct uno_front *front;
    const char *dir;
    int lock;    // on dir: no other job writes checkpoints there
    enum state state;
    int number;     // of the one that is being made, or was last
    int init;       // first process of the job's name space of processes; 0: ours
    int node;       // process id in it
    pid_t child;    // criu, or what stores
    bool asked, killed, told;
    int64_t next_at;              // 0: when asked only
    int64_t rest_at, still_ms;    // when the job was told to stand still; for how long it did
    struct uno_bytes past;        // frames that tell of ranks that have ended
};

// ---- before the job ----

static int lock_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    int err = errno;
    if (fd >= 0) close(fd);
    errno = err;
    return -1;
}

static void check_folder(const char *dir)
{
    struct stat st;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        uno_usage("--checkpoint-to %s: cannot make the folder: %s", dir, uno_reason(errno));
    if (stat(dir, &st) != 0) uno_usage("--checkpoint-to %s: %s", dir, uno_reason(errno));
    if (!S_ISDIR(st.st_mode)) uno_usage("--checkpoint-to %s: it is not a folder", dir);
    char *probe = uno_xformat("%s/.writable", dir);
    int fd = open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) uno_usage("--checkpoint-to %s: cannot write there: %s", dir, uno_reason(errno));
    close(fd);
    unlink(probe);
    free(probe);
}

void uno_checkpoint_guard(const char *option, const char *dir)
{
    struct stat st;
    if (stat(dir, &st) == 0 && st.st_mode & S_IWOTH)
        uno_usage(
            "%s %s: everybody may write there, also what --restart runs; take that right away (chmod o-w), or name "
            "another folder",
            option, dir);
    int fd = lock_folder(dir);
    if (fd < 0 && errno == EWOULDBLOCK)
        uno_usage("%s %s: another job runs that writes its checkpoints there; end it, or name another folder", option,
                  dir);
    if (fd >= 0) close(fd);
}

static const char *misfit(const struct uno_plan *p)
{
    if (p->gdb) return "--gdb: gdb holds the ranks";
    if (p->survive) return "--survive: what ranks agree on is kept outside of them";
    for (int r = 0; r < p->nranks; r++) {
        if (!p->host[p->rank_host[r]].local || p->rank_host[r] != p->rank_host[0])
            return "several hosts: a checkpoint holds the processes of one";
    }
    return NULL;
}

void uno_checkpoint_check(struct uno_plan *p)
{
    if (p->every_s > 0 && p->checkpoint_to == NULL) uno_usage("--every says how often; --checkpoint-to DIR is missing");
    if (p->checkpoint_to == NULL) return;
    const char *why = misfit(p);
    if (why) uno_usage("--checkpoint-to does not go with %s", why);
    char *text = uno_criu_check();
    if (text) uno_usage("--checkpoint-to: %s", text);
    check_folder(p->checkpoint_to);
    uno_checkpoint_guard("--checkpoint-to", p->checkpoint_to);
    char *whole = realpath(p->checkpoint_to, NULL);
    if (whole == NULL) uno_usage("--checkpoint-to %s: %s", p->checkpoint_to, uno_reason(errno));
    free(p->checkpoint_to);
    p->checkpoint_to = whole;
}

// ---- in the front ----

static void say(const struct uno_checkpoint *c, char *text)
{
    uno_sinks_say(c->front->sinks, text);
    free(text);
}

static void plan_next(struct uno_checkpoint *c)
{
    int every = c->front->first->plan->every_s;
    c->next_at = every > 0 ? uno_ms_now() + (int64_t)every * 1000 : 0;
}

struct uno_checkpoint *uno_checkpoint_open(struct uno_front *f, const struct uno_restart *r)
{
    const struct uno_plan *p = f->first->plan;
    if (p->checkpoint_to == NULL) return NULL;
    struct uno_checkpoint *c = uno_xalloc(sizeof *c);
    *c = (struct uno_checkpoint){.front = f, .dir = p->checkpoint_to, .init = r ? f->first->node : 0};
    c->lock = lock_folder(c->dir);
    if (c->lock < 0) {
        say(c, uno_xformat("mpiexec: no checkpoints: cannot lock %s: %s", c->dir, uno_reason(errno)));
        free(c);
        return NULL;
    }
    uno_image_sweep(c->dir);
    plan_next(c);
    return c;
}

bool uno_checkpoint_ask(struct uno_checkpoint *c)
{
    if (c != NULL) c->asked = true;
    return c != NULL;
}

int64_t uno_checkpoint_at(const struct uno_checkpoint *c)
{
    if (c == NULL || c->state != IDLE) return 0;
    int64_t now = uno_ms_now();
    bool due = c->asked || (c->next_at && c->next_at <= now);
    return due ? now + BUSY_MS : c->next_at;
}

static bool can_begin(struct uno_checkpoint *c)
{
    const struct uno_front *f = c->front;
    const struct uno_front_job *j = f->first;
    if (j->ending || j->done || j->running == 0) return false;
    if (f->jobs->next != NULL) {
        if (!c->told)
            say(c, uno_xstrdup("mpiexec: no checkpoint while jobs run that ranks have spawned: it would hold one job"));
        c->told = true;
        c->asked = false;
        plan_next(c);
        return false;
    }
    c->told = false;
    uno_sinks_flush(f->sinks);
    return j->up && j->down.out.len == 0 && uno_sinks_fd(f->sinks, 1) < 0 && uno_sinks_fd(f->sinks, 2) < 0;
}

static void go_on(struct uno_checkpoint *c)
{
    struct uno_front_job *j = c->front->first;
    c->still_ms = uno_ms_now() - c->rest_at;
    struct uno_bytes waiting = j->down.out;    // it comes after GO
    j->down.out = (struct uno_bytes){0};
    j->down.held = false;
    uno_front_job_order(j, UNO_GO, 0);
    if (waiting.len > 0) uno_bytes_add(&j->down.out, uno_bytes_first(&waiting), waiting.len);
    uno_bytes_free(&waiting);
    uno_relay_flush(&j->down);
}

// Nothing comes of this one; `why` is taken over.
static void give_up(struct uno_checkpoint *c, char *why)
{
    char *part = uno_image_path(c->dir, c->number, ".part"), *log = uno_xformat("%s/" LOG, part);
    char *kept = uno_xformat("%s/failed.log", c->dir);
    bool logged = rename(log, kept) == 0;
    uno_image_remove(part);
    if (logged)
        say(c, uno_xformat("mpiexec: no checkpoint: %s (%s)", why, kept));
    else
        say(c, uno_xformat("mpiexec: no checkpoint: %s", why));
    free(why);
    free(part);
    free(log);
    free(kept);
    c->state = IDLE;
    plan_next(c);
}

static void begin(struct uno_checkpoint *c)
{
    struct uno_front_job *j = c->front->first;
    c->number = uno_image_newest(c->dir, INT_MAX) + 1;
    c->asked = false;
    char *part = uno_image_path(c->dir, c->number, ".part");
    if (c->number == 0 || mkdir(part, 0700) != 0) {
        give_up(c, uno_xformat("cannot write to %s: %s", c->dir, uno_reason(errno)));
    } else {
        c->rest_at = uno_ms_now();
        c->state = RESTING;
        uno_front_job_order(j, UNO_REST, 0);
        j->down.held = true;
    }
    free(part);
}

void uno_checkpoint_tick(struct uno_checkpoint *c)
{
    if (c == NULL) return;
    bool due = c->asked || (c->next_at && c->next_at <= uno_ms_now());
    if (c->state == IDLE && due && can_begin(c)) begin(c);
    if (c->state != DUMPING || c->front->signals < 2 || c->killed) return;
    // Who asks twice for the end does not wait for criu; what it held cannot go on.
    c->killed = true;
    kill(-c->child, SIGKILL);
    kill(c->front->first->node, SIGKILL);
}

static void add_frame(struct uno_bytes *b, const struct uno_frame *fr, const void *data)
{
    uno_bytes_add(b, fr, sizeof *fr);
    if (fr->bytes > 0) uno_bytes_add(b, data, fr->bytes);
}

static char *store_front(struct uno_checkpoint *c, uint64_t link, const char *folder)
{
    const struct uno_front_job *j = c->front->first;
    struct uno_image m = {.job_id = j->plan->job_id, .link = link, .node = c->node, .made = time(NULL)};
    struct uno_frame quiet = {.type = UNO_QUIET, .rank = -1, .node = 0, .arg = 1};
    m.input = uno_input_forwards(j->input);
    uno_plan_pack(j->plan, &m.plan);
    uno_plan_pack_front(j->plan, &m.front);
    if (c->past.len > 0) uno_bytes_add(&m.frames, uno_bytes_first(&c->past), c->past.len);
    uno_output_parts(j->output, &m.frames);
    uno_input_parts(j->input, &m.frames);
    quiet.node = j->plan->rank_host[0];
    if (j->quiet[quiet.node]) add_frame(&m.frames, &quiet, NULL);
    uno_openfiles_list(c->init > 0 ? c->init : j->node, &m.written);
    char *why = uno_image_write(&m, folder);
    uno_image_free(&m);
    return why;
}

static void start_dump(struct uno_checkpoint *c, const struct uno_frame *fr, const char *data)
{
    char *part = uno_image_path(c->dir, c->number, ".part");
    struct uno_criu_dump d = {.folder = part, .log = LOG, .node = (int)fr->arg, .init = c->init};
    memcpy(&d.link, data, sizeof d.link);
    c->node = d.node;
    c->killed = false;
    char *why = store_front(c, d.link, part);
    if (why == NULL && (c->child = uno_criu_dump(&d, c->front->setting)) < 0)
        why = uno_xformat("cannot start a process: %s", uno_reason(errno));
    if (why == NULL) {
        c->state = DUMPING;
    } else {
        go_on(c);
        give_up(c, why);
    }
    free(part);
}

void uno_checkpoint_hear(struct uno_checkpoint *c, const struct uno_frame *fr, const char *data)
{
    if (c == NULL) return;
    if (fr->type == UNO_EXITED || fr->type == UNO_PROFILE || fr->type == UNO_STATS) add_frame(&c->past, fr, data);
    if (c->state == RESTING && fr->type == UNO_RESTED && fr->bytes == sizeof(uint64_t)) start_dump(c, fr, data);
    if (c->state == RESTING && fr->type == UNO_DONE) give_up(c, uno_xstrdup("the job has ended"));
}

static void dumped(struct uno_checkpoint *c, int status)
{
    go_on(c);
    if (status != 0) {
        char *log = uno_image_path(c->dir, c->number, ".part/" LOG), *why = uno_criu_reason(log);
        give_up(c, uno_xformat("criu says: %s", why ? why : "nothing; it ended without a reason"));
        free(why);
        free(log);
        return;
    }
    c->state = SAVING;
    c->child = fork();
    if (c->child == 0) _exit(uno_image_settle(c->dir, c->number, (int)uno_start_keep.num));
    if (c->child < 0) give_up(c, uno_xformat("cannot start a process: %s", uno_reason(errno)));
}

static void saved(struct uno_checkpoint *c, int status)
{
    const struct uno_front_job *j = c->front->first;
    if (status != 0) {
        const char *why = WIFEXITED(status) ? uno_reason(WEXITSTATUS(status)) : "the process that stores it was killed";
        give_up(c, uno_xformat("cannot store it in %s: %s", c->dir, why));
        return;
    }
    char *folder = uno_image_path(c->dir, c->number, "");
    if (!j->plan->quiet)
        say(c, uno_xformat("mpiexec: checkpoint %s: %d rank%s, %.1f MB; the job stood still for %.2f s", folder,
                           j->running, j->running == 1 ? "" : "s", (double)uno_image_bytes(folder) / 1e6,
                           (double)c->still_ms / 1e3));
    free(folder);
    c->state = IDLE;
    plan_next(c);
}

void uno_checkpoint_reap(struct uno_checkpoint *c)
{
    int status;
    if (c == NULL || (c->state != DUMPING && c->state != SAVING)) return;
    if (waitpid(c->child, &status, WNOHANG) != c->child) return;
    if (c->state == DUMPING)
        dumped(c, status);
    else
        saved(c, status);
}

void uno_checkpoint_close(struct uno_checkpoint *c)
{
    int status;
    if (c == NULL) return;
    while (c->state == DUMPING || c->state == SAVING) {
        pid_t got = waitpid(c->child, &status, 0);
        if (got < 0 && errno == EINTR) continue;
        if (c->state == DUMPING)
            give_up(c, uno_xstrdup("the job has ended"));
        else
            saved(c, got < 0 ? 1 << 8 : status);
    }
    close(c->lock);
    uno_bytes_free(&c->past);
    free(c);
}
