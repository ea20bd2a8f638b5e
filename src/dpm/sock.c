// SPDX-License-Identifier: BSD-3-Clause
// The sockets of sock.h: one epoll set with a timer in it, and a poller that looks at it now and then while something
// is watched. Called by port.c, wire.c and meeting.c.
// Always holds: nothing of this exists until a process opens a port or connects.
#include "dpm/sock.h"

#include <errno.h>
#include <mpi.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/wait.h"
#include "core/progress.h"

#define BUSY_US 2000      // after something came, the set is looked at more often
#define BUSY_GAP_US 1     // between looks then
#define IDLE_GAP_US 50    // else: a sleeper is woken by the descriptor

static struct {
    int epoll;
    struct dpm_sock timer;
    uint64_t wake_at;
    uint64_t last_look, last_use;    // ticks
    int (*step)(void);
} set = {.epoll = -1, .timer.fd = -1};

static int look_at_set(struct uno_poller *self);
static struct uno_poller poller = {.fn = look_at_set};

static void timer_rang(struct dpm_sock *s)
{
    uint64_t times;
    ssize_t n = read(s->fd, &times, sizeof times);
    (void)n;
    set.wake_at = 0;
}

int dpm_sock_open(void)
{
    if (set.epoll >= 0) return MPI_SUCCESS;
    set.epoll = epoll_create1(EPOLL_CLOEXEC);
    set.timer =
        (struct dpm_sock){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), .ready = timer_rang};
    if (set.epoll < 0 || set.timer.fd < 0) {
        int err = uno_fail_errno(MPI_ERR_OTHER, "open epoll for connections with other jobs");
        dpm_sock_close();
        return err;
    }
    dpm_sock_watch(&set.timer, true);
    return MPI_SUCCESS;
}

void dpm_sock_close(void)
{
    uno_watch_fd(-1);
    uno_poller_remove(&poller);
    if (set.timer.fd >= 0) close(set.timer.fd);
    if (set.epoll >= 0) close(set.epoll);
    set.epoll = set.timer.fd = -1;
    set.wake_at = 0;
    set.step = NULL;
}

void dpm_sock_watch(struct dpm_sock *s, bool watch)
{
    if (!watch) {
        if (s->watched) epoll_ctl(set.epoll, EPOLL_CTL_DEL, s->fd, NULL);
        s->watched = false;
        return;
    }
    uint32_t wanted = s->ending ? EPOLLRDHUP : EPOLLIN;
    struct epoll_event e = {.events = wanted | (s->writing ? EPOLLOUT : 0), .data.ptr = s};
    epoll_ctl(set.epoll, s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e);
    s->watched = true;
}

void dpm_steps(int (*step)(void))
{
    set.step = step;
    set.last_use = uno_ticks();
    uno_watch_fd(step ? set.epoll : -1);
    if (step)
        uno_poller_add(&poller);
    else
        uno_poller_remove(&poller);
}

void dpm_wake_at(uint64_t ns)
{
    if (ns == set.wake_at) return;
    set.wake_at = ns;
    struct itimerspec t = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};
    timerfd_settime(set.timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

// One event at a time: what is done for it may free what a second one points to.
static int look_at_set(struct uno_poller *self)
{
    (void)self;
    uint64_t now = uno_ticks(), us = uno_ticks_per_us();
    uint64_t gap = now - set.last_use < BUSY_US * us ? BUSY_GAP_US : IDLE_GAP_US;
    int moved = 0;
    if (now - set.last_look >= gap * us) {
        set.last_look = now;
        struct epoll_event e;
        while (set.epoll >= 0 && epoll_wait(set.epoll, &e, 1, 0) == 1) {
            struct dpm_sock *s = e.data.ptr;
            s->ready(s);
            set.last_use = now;
            moved++;
        }
    }
    return set.step ? moved + set.step() : moved;
}
