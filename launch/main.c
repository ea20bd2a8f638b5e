// SPDX-License-Identifier: BSD-3-Clause
// mpiexec. Reads the command line into a plan, forks the root node and becomes the front.
// Nothing is started before the whole command line is known to be good.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pm.h"
#include "base/streams.h"
#include "alloc.h"
#include "begin.h"
#include "checkpoint.h"
#include "cpus.h"
#include "debug.h"
#include "front.h"
#include "node.h"
#include "options.h"
#include "restart.h"
#include "tree.h"

// True if the descriptor is what a rank's environment says it is: by now the number may be that of a file of the
// user's.
static bool is_of_job(const char *name, int fd)
{
    char path[32], target[64] = "";
    int type = 0;
    socklen_t len = sizeof type;
    if (fd <= 2) return false;
    if (strcmp(name, UNO_JOB_ENV) != 0)
        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "unisono-job") != NULL;
}

// What a surrounding job gave its ranks is not for ours; its descriptors would keep its segment alive.
static void forget_outer_job(void)
{
    static const char *const names[] = {UNO_JOB_ENV, UNO_PM_ENV};
    unsetenv(UNO_PARENT_ENV);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && is_of_job(names[i], atoi(value))) close(atoi(value));
        unsetenv(names[i]);
    }
}

static void describe_plan(const struct uno_plan *p, FILE *to, const char *prefix)
{
    for (int r = 0; r < p->nranks; r++) {
        const struct uno_app *a = &p->app[p->rank_app[r]];
        int host = p->rank_host[r];
        cpu_set_t set;
        bool bound = p->host[host].local && uno_cpus_bind(p, uno_plan_local(p, r), uno_plan_count(p, host), &set);
        char *where = bound ? uno_cpus_text(&set) : uno_xstrdup("not bound");
        fprintf(to, "%srank %d on %s, %s, in %s:", prefix, r, uno_plan_name(p, r), where, a->wdir ? a->wdir : p->cwd);
        for (int i = 0; i < a->argv.count; i++) fprintf(to, " %s", a->argv.item[i]);
        putc('\n', to);
        free(where);
    }
}

// One line for all that was said and has no meaning here.
static void tell_ignored(const struct uno_plan *p)
{
    if (p->ignored.count == 0 || p->quiet) return;
    fprintf(stderr, "mpiexec: warning: ignored, as it has no meaning here:");
    for (int i = 0; i < p->ignored.count; i++) fprintf(stderr, "%s %s", i ? "," : "", p->ignored.item[i]);
    fprintf(stderr, " (--set NAME=VALUE sets a parameter; unisono-info lists them)\n");
}

// `alone`: this host, whatever a resource manager has given.
static void plan_words(struct uno_plan *p, int argc, char **argv, bool alone)
{
    *p = (struct uno_plan){0};
    char *cwd = getcwd(NULL, 0);
    if (cwd == NULL) uno_usage("the working directory cannot be read: %s", strerror(errno));
    p->cwd = cwd;
    uno_options_read(p, argc, argv);
    if (p->restart) return;
    if (!alone) uno_alloc_take(p);
    uno_plan_place(p);
}

// What the front needs is made before anything is started.
static int run(struct uno_plan *p, struct uno_setting *s)
{
    int pair[2], size = 1 << 20, reader = p->stdin_rank;
    struct uno_front_ends ends = {.guest = -1, .setting = s};
    char *why = uno_outfiles_open(p, true, &ends.files);
    if (why) uno_usage("%s", why);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        uno_usage("cannot make a socket pair: %s", uno_reason(errno));
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    uno_front_prepare(&ends, &s->mask);
    s->pass_stdin = reader >= 0 && !isatty(0) && p->host[p->rank_host[reader]].local;
    pid_t node = fork();
    if (node < 0) uno_usage("cannot start a process: %s", uno_reason(errno));
    if (node == 0) {
        close(pair[0]);
        close(ends.epoll);
        close(ends.sigfd);
        _exit(uno_begin_node(p, pair[1], s));
    }
    close(pair[1]);
    signal(SIGPIPE, SIG_IGN);
    ends.link = pair[0];
    return uno_front_run(p, &ends, node, !s->pass_stdin);
}

// mpiexec --attend FD: started by a process that spawns and has no mpiexec, which FD leads to. Detaches itself from
// that process, keeps nothing else that it had open, and is silent unless something fails.
static int attend(struct uno_setting *s, int fd)
{
    static char *words[] = {(char *)(uintptr_t) "mpiexec", (char *)(uintptr_t) "-n", (char *)(uintptr_t) "1",
                            (char *)(uintptr_t) "itself", NULL};
    struct uno_front_ends ends = {.link = -1, .guest = fd, .setting = s};
    struct uno_plan p;
    pid_t pid = fork();
    if (pid != 0) return pid < 0;
    if (fd > 3) close_range(3, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0u, 0);
    uno_cloexec(fd, true);
    forget_outer_job();
    plan_words(&p, 4, words, true);
    uno_front_prepare(&ends, &s->mask);
    signal(SIGPIPE, SIG_IGN);
    return uno_front_run(&p, &ends, -1, false);
}

int main(int argc, char **argv)
{
    struct uno_plan plan;
    struct uno_setting s = {.argc = argc, .argv = argv};
    if (argc > 3 && strcmp(argv[1], UNO_HOLD_OPTION) == 0) return uno_debug_hold(argv + 2);
    int err = uno_streams_hold();
    if (err) uno_usage("cannot open what was closed of the standard streams: %s", uno_reason(err));
    getrlimit(RLIMIT_NOFILE, &s.files);
    if (argc == 2 && strcmp(argv[1], "--daemon") == 0) return uno_tree_daemon(&s.files);
    struct rlimit most = {s.files.rlim_max, s.files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
    if (argc == 3 && strcmp(argv[1], "--attend") == 0) return attend(&s, atoi(argv[2]));
    forget_outer_job();
    plan_words(&plan, argc, argv, false);
    if (plan.restart) return uno_restart_run(&plan, &s);
    uno_begin_check(&plan);
    uno_debug_check(&plan);
    tell_ignored(&plan);
    if (plan.dry_run) {
        describe_plan(&plan, stdout, "");
        return fflush(stdout) == 0 ? 0 : 1;
    }
    uno_checkpoint_check(&plan);
    if (plan.display_map) describe_plan(&plan, stderr, "mpiexec: ");
    return run(&plan, &s);
}
