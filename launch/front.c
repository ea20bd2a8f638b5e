// SPDX-License-Identifier: BSD-3-Clause
// The front's loop, and what all jobs of one mpiexec share: signals, time, output, input (front.h). Called by main()
// once the root node of the first job is forked.
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

#include "checkpoint.h"
#include "debug.h"
#include "frontjob.h"
#include "guest.h"
#include "input.h"
#include "request.h"
#include "restart.h"

#define NODE_MS 10000     // a node whose link has ended leaves within this time, or is killed
#define ABANDON_MS 200    // after the ranks were killed for a signal: output that nobody reads is given up

enum { ON_DOWN = 1, ON_SIGNAL, ON_STDIN, ON_SINK, ON_GUEST };

static void order_all(struct uno_front *f, uint32_t type, int64_t arg)
{
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) uno_front_job_order(j, type, arg);
}

static int count_running(const struct uno_front *f)
{
    int n = 0;
    for (const struct uno_front_job *j = f->jobs; j != NULL; j = j->next) n += j->running;
    return n;
}

// All jobs fail for one reason, which the first tells; takes the text over.
static void fail_all(struct uno_front *f, int status, char *what)
{
    uno_front_job_fail(f->first, status, what);
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) uno_front_job_end(j, f->first->plan->grace_ms);
}

// Ranks under gdb are gdb's to stop.
static void stop_and_go(struct uno_front *f)
{
    if (!uno_debug_runs(f->debugger)) order_all(f, UNO_SIGNAL, SIGSTOP);
    uno_sinks_flush(f->sinks);
    raise(SIGSTOP);
    order_all(f, UNO_SIGNAL, SIGCONT);
}

// SIGINT and its like: the ranks get it too and have a while to end; a second one kills them.
static void end_by_signal(struct uno_front *f, int sig)
{
    int running = count_running(f), grace = f->first->plan->grace_ms;
    order_all(f, f->signals ? UNO_END : UNO_SIGNAL, f->signals ? 0 : sig);
    f->signals++;
    uno_debug_end(f->debugger);
    struct uno_verdict *v = &f->first->verdict;
    if (v->what == NULL) {
        v->status = 128 + sig;
        v->what = uno_xformat("got signal %d (%s); %d rank%s ended", sig, strsignal(sig), running,
                              running == 1 ? " was" : "s were");
    }
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) j->ending = true;
    f->kill_at = uno_ms_now() + grace;
    f->abandon_at = f->kill_at + ABANDON_MS;
}

// Without gdb its job ends: nobody is there to let held ranks go. If all that it had have ended, the others do so, too.
static void on_child(struct uno_front *f)
{
    uno_checkpoint_reap(f->checkpoint);
    char *how = uno_debug_reap(f->debugger);
    if (how == NULL) return;
    int running = uno_debug_leaves(f->debugger) ? f->first->running : 0;
    if (running > 0 && f->first->verdict.what == NULL)
        uno_front_job_fail(f->first, 1,
                           uno_xformat("%s; %d rank%s ended", how, running, running == 1 ? " was" : "s were"));
    else if (running > 0)
        uno_front_job_end(f->first, f->first->plan->grace_ms);
    free(how);
}

// The terminal's Ctrl-C and Ctrl-\ mean gdb while it is there.
static bool is_of_gdb(const struct uno_front *f, int sig)
{
    return (sig == SIGINT || sig == SIGQUIT) && uno_debug_runs(f->debugger);
}

static void on_signal(struct uno_front *f)
{
    struct signalfd_siginfo info;
    while (read(f->sigfd, &info, sizeof info) == sizeof info) {
        if (is_of_gdb(f, (int)info.ssi_signo)) continue;
        switch ((int)info.ssi_signo) {
        case SIGTSTP: stop_and_go(f); break;
        case SIGUSR2:
            if (uno_checkpoint_ask(f->checkpoint)) break;
            order_all(f, UNO_SIGNAL, SIGUSR2);
            break;
        case SIGUSR1: order_all(f, UNO_SIGNAL, SIGUSR1); break;
        case SIGCONT:
            if (!uno_debug_runs(f->debugger)) order_all(f, UNO_SIGNAL, SIGCONT);
            uno_input_resume(f->first->input);
            break;
        case SIGCHLD: on_child(f); break;
        default: end_by_signal(f, (int)info.ssi_signo);
        }
    }
}

// The front cannot go on: without their links the nodes end the ranks.
static void give_up(struct uno_front *f, int err)
{
    fail_all(f, 1, uno_xformat("cannot watch descriptors: %s; the job was ended", uno_reason(err)));
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) j->done = j->broken = true;
}

// A file cannot be watched: it is always ready.
static void listen_to(struct uno_front *f, int fd, uint32_t events, int what, int job)
{
    struct epoll_event e = {.events = events, .data.u64 = (uint64_t)job << 32 | (uint32_t)what};
    if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &e) == 0) return;
    if (errno == EEXIST && epoll_ctl(f->epoll, EPOLL_CTL_MOD, fd, &e) == 0) return;
    if (errno == EPERM && what == ON_STDIN)
        uno_input_at_once(f->first->input);
    else if (errno != EPERM || what != ON_SINK)
        give_up(f, errno);
}

// What is waited for depends on how much is queued: no more output is taken than can be written.
static void adjust_link(struct uno_front *f, struct uno_front_job *j)
{
    bool full = uno_sinks_full(f->sinks);
    uint32_t events = (full ? 0 : EPOLLIN) | (j->down.out.len && !j->down.held ? EPOLLOUT : 0);
    if (j->done || j->down.rd < 0) return;
    if (events != 0 || !j->paused) listen_to(f, j->down.rd, events, ON_DOWN, j->number);
    if (events == 0 && !j->paused) epoll_ctl(f->epoll, EPOLL_CTL_DEL, j->down.rd, NULL);
    j->paused = events == 0;
}

static void adjust(struct uno_front *f)
{
    for (int stream = 1; stream <= 2; stream++) {
        if (uno_sinks_closed(f->sinks, stream)) {
            order_all(f, UNO_CLOSE, stream);
            f->closed[stream - 1] = true;
        }
        int fd = uno_sinks_fd(f->sinks, stream);
        if (fd >= 0) listen_to(f, fd, EPOLLOUT | EPOLLONESHOT, ON_SINK, 0);
    }
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) adjust_link(f, j);
    int in = uno_input_fd(f->first->input);
    if (in >= 0) listen_to(f, in, EPOLLIN | EPOLLONESHOT, ON_STDIN, 0);
}

static int next_timeout(struct uno_front *f)
{
    int64_t at = uno_sinks_idle(f->sinks), now = uno_ms_now();
    int64_t input = uno_input_retry(f->first->input);
    if (f->timeout_at && (at == 0 || f->timeout_at < at)) at = f->timeout_at;
    if (f->kill_at && (at == 0 || f->kill_at < at)) at = f->kill_at;
    if (input && (at == 0 || input < at)) at = input;
    int64_t checkpoint = uno_checkpoint_at(f->checkpoint);
    if (checkpoint && (at == 0 || checkpoint < at)) at = checkpoint;
    if (f->abandon_at && (at == 0 || f->abandon_at < at)) at = f->abandon_at;
    uno_sinks_flush(f->sinks);
    return at == 0 ? -1 : at > now ? (int)(at - now) : 0;
}

static bool is_ending(const struct uno_front *f)
{
    bool all = true;
    for (const struct uno_front_job *j = f->jobs; j != NULL; j = j->next) all = all && j->ending;
    return all;
}

static void on_time(struct uno_front *f)
{
    int64_t now = uno_ms_now();
    if (f->kill_at && now >= f->kill_at) {
        f->kill_at = 0;
        order_all(f, UNO_END, 0);
    }
    if (f->abandon_at && now >= f->abandon_at) {
        f->abandon_at = 0;
        uno_sinks_abandon(f->sinks);
    }
    uno_input_tick(f->first->input, &f->first->down);
    uno_checkpoint_tick(f->checkpoint);
    if (f->timeout_at && now >= f->timeout_at) {
        int running = count_running(f);
        f->timeout_at = 0;
        if (is_ending(f)) return;
        order_all(f, UNO_WHERE, 0);
        uno_debug_end(f->debugger);
        fail_all(f, 124,
                 uno_xformat("the job did not end within %d s (--timeout); %d rank%s ended", f->first->plan->timeout_s,
                             running, running == 1 ? " was" : "s were"));
    }
}

static bool is_done(const struct uno_front *f)
{
    bool all = !uno_debug_runs(f->debugger);
    for (const struct uno_front_job *j = f->jobs; j != NULL; j = j->next) all = all && j->done;
    return all;
}

static void hear(struct uno_front *f, int number)
{
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) {
        if (j->number == number && !j->done) uno_front_job_hear(j);
    }
}

static void reap_any(void *unused)
{
    (void)unused;
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) continue;
}

void uno_front_prepare(struct uno_front_ends *e, sigset_t *mask)
{
    static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};
    sigset_t all, set;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, mask);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++) sigaddset(&set, sigs[i]);
    e->sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (e->sigfd >= 0) e->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (e->sigfd < 0 || e->epoll < 0) uno_usage("cannot wait for signals and output: %s", uno_reason(errno));
    int err = uno_guard_adopt();
    if (err) uno_usage("cannot guard what the ranks start: %s", uno_reason(err));
}

// The node has left, was killed, or is out of reach: nothing of the job stays. Says how the node ended, should nothing
// else be known.
static void end_node(struct uno_front *f, struct uno_front_job *j)
{
    int status = 0;
    uno_relay_close(&j->down);
    if (j->node < 0) return;
    if (!j->broken) {
        while (waitpid(j->node, &status, 0) < 0 && errno == EINTR) continue;
        return;
    }
    int64_t end = uno_ms_now() + NODE_MS;
    pid_t got = 0;
    while ((got = waitpid(j->node, &status, WNOHANG)) == 0 && uno_ms_now() < end) poll(NULL, 0, 10);
    uno_guard_sweep(f->sigfd, reap_any, NULL);
    bool memory = got == j->node && WIFEXITED(status);
    uno_front_job_fail(j, 1,
                       uno_xformat("the process that guards the ranks of this host %s; the job was ended",
                                   memory ? "ran out of memory" : "was killed"));
}

// A spawned job is over: its ends are told, and nothing of it stays.
static void retire_job(struct uno_front *f, struct uno_front_job *gone)
{
    struct uno_front_job **at = &f->jobs;
    while (*at != NULL && *at != gone) at = &(*at)->next;
    if (*at != NULL) *at = gone->next;
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) {
        if (j->parent == gone) j->parent = gone->parent;
    }
    end_node(f, gone);
    uno_child_ended(gone);
    if (f->status == 0) f->status = gone->verdict.status;
    uno_front_job_close(gone);
    free(gone);
}

// One whose guard is gone takes all with it: what it left cannot be told from what the others guard.
static void retire(struct uno_front *f)
{
    for (struct uno_front_job *j = f->jobs, *next; j != NULL; j = next) {
        next = j->next;
        if (j == f->first || !j->done) continue;
        if (j->broken)
            fail_all(f, 1, uno_xformat("a process that guards ranks of this host was killed; all were ended"));
        if (!j->broken) retire_job(f, j);
    }
}

static void loop(struct uno_front *f)
{
    while (!is_done(f)) {
        struct epoll_event e[8];
        adjust(f);
        int timeout = next_timeout(f);
        if (is_done(f)) return;
        int count = epoll_wait(f->epoll, e, 8, timeout);
        if (count < 0 && errno != EINTR) give_up(f, errno);
        for (int i = 0; i < count; i++) {
            int what = (int)(uint32_t)e[i].data.u64;
            if (what == ON_DOWN)
                hear(f, (int)(e[i].data.u64 >> 32));
            else if (what == ON_SIGNAL)
                on_signal(f);
            else if (what == ON_GUEST && f->guest >= 0)
                uno_guest_hear(f);
            else if (what == ON_STDIN)
                uno_input_read(f->first->input, &f->first->down);
        }
        retire(f);
        on_time(f);
    }
}

int uno_front_run(const struct uno_plan *p, const struct uno_front_ends *ends, int node, bool forward_stdin)
{
    struct uno_front f = {.setting = ends->setting, .sinks = uno_sinks_new(), .requests = uno_requests_new()};
    struct uno_front_job first = {.front = &f, .node = node, .asker.ticket = -1};
    f.debugger = uno_debug_new(p, ends->setting);
    f.first = f.jobs = &first;
    f.epoll = ends->epoll;
    f.sigfd = ends->sigfd;
    first.input = uno_input_new(p, forward_stdin);
    uno_front_job_begin(&first, p, ends->files);
    f.guest = ends->guest;
    if (f.guest >= 0)
        first.down = (struct uno_relay){.rd = -1, .wr = -1, .ended = true};
    else
        uno_relay_open(&first.down, ends->link, ends->link);
    if (p->timeout_s) f.timeout_at = uno_ms_now() + (int64_t)p->timeout_s * 1000;
    listen_to(&f, f.guest >= 0 ? f.guest : ends->link, EPOLLIN, f.guest >= 0 ? ON_GUEST : ON_DOWN, 0);
    listen_to(&f, f.sigfd, EPOLLIN, ON_SIGNAL, 0);
    f.checkpoint = uno_checkpoint_open(&f, ends->restart);
    if (ends->restart) uno_restart_replay(&f, ends->restart);
    loop(&f);
    uno_checkpoint_close(f.checkpoint);
    for (struct uno_front_job *j = first.next, *next; j != NULL; j = next) {
        next = j->next;
        retire_job(&f, j);
    }
    end_node(&f, &first);
    uno_requests_close(f.requests);
    int given_up = uno_sinks_drain(f.sinks, f.sigfd, f.abandon_at), status = first.verdict.status;
    if (status == 0) status = f.status;
    uno_front_job_close(&first);
    if (given_up == 0) given_up = uno_sinks_drain(f.sinks, f.sigfd, f.abandon_at);
    if (given_up) return 128 + given_up;
    return status == 0 && uno_sinks_failed(f.sinks) ? 1 : status;
}
