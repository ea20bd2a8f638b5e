// SPDX-License-Identifier: BSD-3-Clause
// The front's loop and policy (front.h). Called by main() once the root node is forked.
// A job always ends in the same way: tell the nodes to end the ranks, wait for DONE, write what is left, print the
// verdict as the last line.
#include "front.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "input.h"
#include "profile.h"
#include "sink.h"
#include "verdict.h"

#define NODE_MS 10000     // a node whose link has ended leaves within this time, or is killed
#define ABANDON_MS 200    // after the ranks were killed for a signal: output that nobody reads is given up

enum { ON_DOWN = 1, ON_SIGNAL, ON_STDIN, ON_SINK };

struct front {
    const struct uno_plan *plan;
    int *status;    // by rank, as waitpid() gives it; -1: not known
    struct uno_relay down;
    struct uno_sinks *sinks;
    struct uno_input *input;
    struct uno_verdict verdict;
    struct uno_profile *profile;
    int epoll, sigfd, running, signals;    // signals: how many asked for the end
    bool ending, done, paused, broken;     // broken: it cannot hear the node any more
    int64_t kill_at, timeout_at, abandon_at;
    struct uno_wait *wait;    // of the ranks that sleep, as far as nodes told
    size_t nwait;
    int quiet_nodes, nodes, round, confirmed;
    bool *quiet;    // by node
};

static void order(struct front *f, uint32_t type, int64_t arg)
{
    struct uno_frame fr = {.type = type, .rank = -1, .node = -1, .arg = arg};
    uno_relay_send(&f->down, &fr, NULL);
}

static void end_job(struct front *f, int64_t grace)
{
    if (!f->ending) f->verdict.others = f->running;
    f->ending = true;
    order(f, UNO_END, grace);
}

// The job fails for a reason that lies in no rank.
static void fail(struct front *f, int status, char *what)
{
    if (f->verdict.what != NULL) {
        free(what);
        return;
    }
    f->verdict.status = status;
    f->verdict.what = what;
    end_job(f, f->plan->grace_ms);
    f->verdict.others = 0;
}

static void take_exit(struct front *f, const struct uno_frame *fr, const char *data)
{
    struct uno_exit e;
    bool ends_job;
    if (fr->bytes != sizeof e || fr->rank < 0 || fr->rank >= f->plan->nranks) return;
    memcpy(&e, data, sizeof e);
    f->running--;
    f->status[fr->rank] = e.status;
    uno_sinks_end(f->sinks, fr->rank);
    uno_input_gone(f->input, fr->rank);
    if (f->plan->verbose) {
        char *text = uno_xformat("mpiexec: rank %d (pid %d) ended, %s %d", fr->rank, e.pid,
                                 WIFSIGNALED(e.status) ? "signal" : "status",
                                 WIFSIGNALED(e.status) ? WTERMSIG(e.status) : WEXITSTATUS(e.status));
        uno_sinks_say(f->sinks, text);
        free(text);
    }
    if (f->ending || !uno_verdict_rank(&f->verdict, f->plan, fr->rank, &e, &ends_job)) return;
    if (ends_job) end_job(f, f->plan->grace_ms);
}

static void report_deadlock(struct front *f)
{
    char *text = uno_verdict_deadlock(f->plan, f->wait, f->nwait);
    uno_sinks_say(f->sinks, text);
    free(text);
    f->verdict.status = 1;
    end_job(f, f->plan->grace_ms);
}

static void add_waits(struct front *f, const char *data, size_t bytes)
{
    size_t count = bytes / sizeof *f->wait;
    f->wait = uno_xrealloc(f->wait, (f->nwait + count + 1) * sizeof *f->wait);
    memcpy(f->wait + f->nwait, data, count * sizeof *f->wait);
    f->nwait += count;
}

// A node says by itself (arg 1) that all its ranks sleep, or (arg 0) no longer. Of one node that is enough. When all of
// several have said so, each is asked again (arg is the round, from 2 on): only then no message can have been between
// two of them.
static void take_quiet(struct front *f, const struct uno_frame *fr, const char *data)
{
    if (fr->node < 0 || fr->node >= f->plan->nhosts || f->ending || f->plan->keep_waiting) return;
    if (fr->arg <= 1) {
        f->quiet_nodes += (int)fr->arg - f->quiet[fr->node];
        f->quiet[fr->node] = fr->arg == 1;
        f->confirmed = 0;
        f->nwait = 0;
        if (f->quiet_nodes < f->nodes) return;
        if (f->nodes > 1) {
            f->round++;
            order(f, UNO_CONFIRM, f->round);
            return;
        }
    }
    if (fr->arg > 1 && fr->arg != f->round) return;
    add_waits(f, data, fr->bytes);
    if (++f->confirmed == f->nodes && f->nwait > 0) report_deadlock(f);
}

static void take_where(struct front *f, const struct uno_frame *fr, const char *data)
{
    size_t count = fr->bytes / sizeof *f->wait;
    struct uno_wait *list = uno_xalloc(count * sizeof *list);
    memcpy(list, data, count * sizeof *list);
    char *text = uno_verdict_where(f->plan, list, count);
    if (count > 0) uno_sinks_say(f->sinks, text);
    free(text);
    free(list);
}

static void take_frame(struct front *f, const struct uno_frame *fr, const char *data)
{
    int32_t pid;
    char *text;
    switch (fr->type) {
    case UNO_OUTPUT: uno_sinks_put(f->sinks, fr->rank, (int)fr->arg, data, fr->bytes); break;
    case UNO_EXITED: take_exit(f, fr, data); break;
    case UNO_CANNOT: fail(f, UNO_EXIT_USAGE, uno_xformat("%.*s", (int)fr->bytes, data)); break;
    case UNO_LOST: fail(f, 1, uno_xformat("%.*s; the job was ended", (int)fr->bytes, data)); break;
    case UNO_WHERE: take_where(f, fr, data); break;
    case UNO_QUIET: take_quiet(f, fr, data); break;
    case UNO_STDIN_ROOM: uno_input_room(f->input, fr->rank, fr->arg); break;
    case UNO_PROFILE: uno_profile_take(f->profile, data, fr->bytes); break;
    case UNO_DONE: f->done = true; break;
    case UNO_STARTED:
        memcpy(&pid, data, sizeof pid);
        uno_sinks_started(f->sinks, fr->rank, pid);
        if (!f->plan->verbose) break;
        text = uno_xformat("mpiexec: rank %d started on %s, pid %d", fr->rank, uno_plan_name(f->plan, fr->rank), pid);
        uno_sinks_say(f->sinks, text);
        free(text);
        break;
    case UNO_SAY:
        text = uno_xformat("%.*s", (int)fr->bytes, data);
        uno_sinks_say(f->sinks, text);
        free(text);
        break;
    default: break;
    }
}

static void on_down(struct front *f)
{
    struct uno_frame fr;
    const char *data;
    uno_relay_flush(&f->down);
    uno_relay_fill(&f->down);
    while (uno_relay_next(&f->down, &fr, &data)) take_frame(f, &fr, data);
    if (f->down.ended && !f->done) f->done = f->broken = true;
}

static void stop_and_go(struct front *f)
{
    order(f, UNO_SIGNAL, SIGSTOP);
    uno_sinks_flush(f->sinks);
    raise(SIGSTOP);
    order(f, UNO_SIGNAL, SIGCONT);
}

// SIGINT and its like: the ranks get it too and have a while to end; a second one kills them.
static void end_by_signal(struct front *f, int sig)
{
    order(f, f->signals ? UNO_END : UNO_SIGNAL, f->signals ? 0 : sig);
    f->signals++;
    if (f->verdict.what == NULL) {
        f->verdict.status = 128 + sig;
        f->verdict.what = uno_xformat("got signal %d (%s); %d rank%s ended", sig, strsignal(sig), f->running,
                                      f->running == 1 ? " was" : "s were");
    }
    f->ending = true;
    f->kill_at = uno_ms_now() + f->plan->grace_ms;
    f->abandon_at = f->kill_at + ABANDON_MS;
}

static void on_signal(struct front *f)
{
    struct signalfd_siginfo info;
    while (read(f->sigfd, &info, sizeof info) == sizeof info) {
        switch ((int)info.ssi_signo) {
        case SIGTSTP: stop_and_go(f); break;
        case SIGUSR1:
        case SIGUSR2: order(f, UNO_SIGNAL, (int)info.ssi_signo); break;
        case SIGCONT:
            order(f, UNO_SIGNAL, SIGCONT);
            uno_input_resume(f->input);
            break;
        case SIGCHLD: break;
        default: end_by_signal(f, (int)info.ssi_signo);
        }
    }
}

// The front cannot go on: without its link the node ends the ranks.
static void give_up(struct front *f, int err)
{
    fail(f, 1, uno_xformat("cannot watch descriptors: %s; the job was ended", uno_reason(err)));
    f->done = f->broken = true;
}

// A file cannot be watched: it is always ready.
static void listen_to(struct front *f, int fd, uint32_t events, int what)
{
    struct epoll_event e = {.events = events, .data.u32 = (uint32_t)what};
    if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &e) == 0) return;
    if (errno == EEXIST && epoll_ctl(f->epoll, EPOLL_CTL_MOD, fd, &e) == 0) return;
    if (errno == EPERM && what == ON_STDIN)
        uno_input_at_once(f->input);
    else if (errno != EPERM || what != ON_SINK)
        give_up(f, errno);
}

// What is waited for depends on how much is queued: no more output is taken than can be written.
static void adjust(struct front *f, bool *waits_for_sink)
{
    for (int stream = 1; stream <= 2; stream++) {
        if (uno_sinks_closed(f->sinks, stream)) order(f, UNO_CLOSE, stream);
        int fd = uno_sinks_fd(f->sinks, stream);
        if (fd >= 0) listen_to(f, fd, EPOLLOUT | EPOLLONESHOT, ON_SINK);
        waits_for_sink[stream - 1] = fd >= 0;
    }
    bool full = uno_sinks_full(f->sinks);
    uint32_t events = (full ? 0 : EPOLLIN) | (f->down.out.len ? EPOLLOUT : 0);
    if (events != 0 || !f->paused) listen_to(f, f->down.rd, events, ON_DOWN);
    if (events == 0 && !f->paused) epoll_ctl(f->epoll, EPOLL_CTL_DEL, f->down.rd, NULL);
    f->paused = events == 0;
    int in = uno_input_fd(f->input);
    if (in >= 0) listen_to(f, in, EPOLLIN | EPOLLONESHOT, ON_STDIN);
}

static int next_timeout(struct front *f)
{
    int64_t at = uno_sinks_idle(f->sinks), now = uno_ms_now();
    int64_t input = uno_input_retry(f->input);
    if (f->timeout_at && (at == 0 || f->timeout_at < at)) at = f->timeout_at;
    if (f->kill_at && (at == 0 || f->kill_at < at)) at = f->kill_at;
    if (input && (at == 0 || input < at)) at = input;
    if (f->abandon_at && (at == 0 || f->abandon_at < at)) at = f->abandon_at;
    uno_sinks_flush(f->sinks);
    return at == 0 ? -1 : at > now ? (int)(at - now) : 0;
}

static void on_time(struct front *f)
{
    int64_t now = uno_ms_now();
    if (f->kill_at && now >= f->kill_at) {
        f->kill_at = 0;
        order(f, UNO_END, 0);
    }
    if (f->abandon_at && now >= f->abandon_at) {
        f->abandon_at = 0;
        uno_sinks_abandon(f->sinks);
    }
    uno_input_tick(f->input, &f->down);
    if (f->timeout_at && now >= f->timeout_at) {
        f->timeout_at = 0;
        if (f->ending) return;
        order(f, UNO_WHERE, 0);
        fail(f, 124,
             uno_xformat("the job did not end within %d s (--timeout); %d rank%s ended", f->plan->timeout_s, f->running,
                         f->running == 1 ? " was" : "s were"));
    }
}

static void loop(struct front *f)
{
    bool waits_for_sink[2];
    while (!f->done) {
        struct epoll_event e[8];
        adjust(f, waits_for_sink);
        int timeout = next_timeout(f);
        if (f->done) return;
        int count = epoll_wait(f->epoll, e, 8, timeout);
        if (count < 0 && errno != EINTR) give_up(f, errno);
        for (int i = 0; i < count; i++) {
            if (e[i].data.u32 == ON_DOWN)
                on_down(f);
            else if (e[i].data.u32 == ON_SIGNAL)
                on_signal(f);
            else if (e[i].data.u32 == ON_STDIN)
                uno_input_read(f->input, &f->down);
        }
        on_time(f);
    }
}

static void reap_any(void *unused)
{
    (void)unused;
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) continue;
}

static void say(struct front *f, char *text)
{
    if (text != NULL) uno_sinks_say(f->sinks, text);
    free(text);
}

int uno_front_prepare(struct uno_front_ends *e)
{
    static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++) sigaddset(&set, sigs[i]);
    e->sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (e->sigfd < 0) return errno;
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    return e->epoll < 0 ? errno : 0;
}

// The node has left, was killed, or is out of reach: nothing of the job stays. Says how the node ended, should nothing
// else be known.
static void end_node(struct front *f, int node)
{
    int status = 0;
    uno_relay_close(&f->down);
    if (!f->broken) {
        while (waitpid(node, &status, 0) < 0 && errno == EINTR) continue;
        return;
    }
    int64_t end = uno_ms_now() + NODE_MS;
    pid_t got = 0;
    while ((got = waitpid(node, &status, WNOHANG)) == 0 && uno_ms_now() < end) poll(NULL, 0, 10);
    uno_guard_sweep(f->sigfd, reap_any, NULL);
    if (got == node && WIFEXITED(status))
        fail(f, 1, uno_xstrdup("the process that guards the ranks of this host ran out of memory; the job was ended"));
    else
        fail(f, 1, uno_xstrdup("the process that guards the ranks of this host was killed; the job was ended"));
}

int uno_front_run(const struct uno_plan *p, const struct uno_front_ends *ends, int node, bool forward_stdin)
{
    struct front f = {.plan = p, .running = p->nranks, .round = 1, .epoll = ends->epoll, .sigfd = ends->sigfd};
    f.sinks = uno_sinks_new(p, ends->files);
    f.profile = uno_profile_new(p);
    f.input = uno_input_new(p, forward_stdin);
    f.status = uno_xalloc((size_t)p->nranks * sizeof *f.status);
    for (int r = 0; r < p->nranks; r++) f.status[r] = -1;
    f.quiet = uno_xalloc((size_t)p->nhosts * sizeof *f.quiet);
    for (int h = 0; h < p->nhosts; h++) f.nodes += uno_plan_count(p, h) > 0;
    if (p->timeout_s) f.timeout_at = uno_ms_now() + (int64_t)p->timeout_s * 1000;
    uno_relay_open(&f.down, ends->link, ends->link);
    listen_to(&f, ends->link, EPOLLIN, ON_DOWN);
    listen_to(&f, f.sigfd, EPOLLIN, ON_SIGNAL);
    loop(&f);
    end_node(&f, node);
    int given_up = uno_sinks_drain(f.sinks, f.sigfd);
    say(&f, uno_profile_end(f.profile));
    if (p->exit_codes) say(&f, uno_verdict_codes(p, f.status));
    if (!p->quiet) say(&f, uno_verdict_warning(&f.verdict));
    say(&f, uno_verdict_text(&f.verdict));
    if (given_up == 0) given_up = uno_sinks_drain(f.sinks, f.sigfd);
    if (given_up) return 128 + given_up;
    if (f.verdict.status == 0 && uno_sinks_failed(f.sinks)) return 1;
    return f.verdict.status;
}
