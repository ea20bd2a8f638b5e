// SPDX-License-Identifier: BSD-3-Clause
// The sockets of sock.h: one epoll set with a timer in it, and a poller that looks at it now and then while something
// is watched. Called by port.c and meeting.c.
// Always holds: nothing of this exists until a process opens a port or connects.
#include "dpm/sock.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/wait.h"
#include "core/progress.h"

#define MAGIC 0x756e6f31u        // "uno1": the version of what follows, too
#define FRAME_MAX (64u << 20)    // bytes of a body
#define BUSY_US 2000             // after something came, the set is looked at more often
#define BUSY_GAP_US 1            // between looks then
#define IDLE_GAP_US 50           // else: a sleeper is woken by the descriptor

struct head {
    uint32_t magic, kind;
    uint64_t bytes;
};

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
    struct epoll_event e = {.events = EPOLLIN | (s->writing ? EPOLLOUT : 0), .data.ptr = s};
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

// ---- frames ----

static void wire_ready(struct dpm_sock *s);

struct dpm_wire *dpm_wire_new(int fd)
{
    struct dpm_wire *w = calloc(1, sizeof *w);
    const size_t room = sizeof(struct head);
    char *in = malloc(room);
    if (!w || !in) {
        free(w);
        free(in);
        close(fd);
        return NULL;
    }
    w->sock = (struct dpm_sock){.fd = fd, .ready = wire_ready};
    w->in = in;
    w->room = sizeof(struct head);
    dpm_sock_watch(&w->sock, true);
    return w;
}

void dpm_wire_free(struct dpm_wire *w)
{
    if (!w) return;
    dpm_sock_watch(&w->sock, false);
    close(w->sock.fd);
    free(w->in);
    free(w->out);
    free(w);
}

static void broke(struct dpm_wire *w, const char *why)
{
    dpm_sock_watch(&w->sock, false);
    w->left = w->sent = 0;    // will not leave any more
    w->frame(w, 0, why, strlen(why));
}

// false: it broke.
static bool push_out(struct dpm_wire *w)
{
    while (w->sent < w->left) {
        ssize_t n = send(w->sock.fd, w->out + w->sent, w->left - w->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) break;
        if (n < 0) return false;
        w->sent += (size_t)n;
    }
    bool more = w->sent < w->left;
    if (!more) w->sent = w->left = 0;
    if (more != w->sock.writing) {
        w->sock.writing = more;
        if (w->sock.watched) dpm_sock_watch(&w->sock, true);
    }
    return true;
}

int dpm_wire_send(struct dpm_wire *w, enum dpm_frame kind, const void *body, size_t bytes)
{
    struct head h = {MAGIC, kind, bytes};
    char *out = realloc(w->out, w->left + sizeof h + bytes);
    if (!out) return uno_fail(MPI_ERR_NO_MEM, "no memory for what another job is told");
    w->out = out;
    memcpy(out + w->left, &h, sizeof h);
    if (bytes) memcpy(out + w->left + sizeof h, body, bytes);
    w->left += sizeof h + bytes;
    push_out(w);    // a break is seen by the next look
    return MPI_SUCCESS;
}

bool dpm_wire_flushed(const struct dpm_wire *w)
{
    return w->left == 0;
}

// Reads up to `room`. 1: all is there, 0: not yet, -1: it broke.
static int fill(struct dpm_wire *w)
{
    while (w->got < w->room) {
        ssize_t n = recv(w->sock.fd, w->in + w->got, w->room - w->got, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return 0;
        if (n <= 0) return -1;
        w->got += (size_t)n;
    }
    return 1;
}

static void wire_ready(struct dpm_sock *s)
{
    struct dpm_wire *w = (struct dpm_wire *)(void *)s;
    struct head h;
    int there = push_out(w) ? fill(w) : -1;
    if (there == 0) return;
    if (there < 0) {
        broke(w, "it broke the connection");
        return;
    }
    memcpy(&h, w->in, sizeof h);
    if (h.magic != MAGIC || h.bytes > FRAME_MAX) {
        broke(w, h.magic == MAGIC ? "it sends too much" : "it runs another version, or is no process of an MPI job");
        return;
    }
    if (w->room < sizeof h + h.bytes) {    // the body follows
        char *in = realloc(w->in, sizeof h + h.bytes);
        if (in) w->in = in, w->room = sizeof h + h.bytes;
        there = in ? fill(w) : -1;
        if (there < 0) broke(w, in ? "it broke the connection" : "no memory for what it sends");
        if (there <= 0) return;
    }
    w->got = 0;
    w->room = sizeof h;
    w->frame(w, h.kind, w->in + sizeof h, (size_t)h.bytes);
}
