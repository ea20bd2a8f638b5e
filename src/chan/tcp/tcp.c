// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel as a component (tcp.h says which file does what): opening, polling, sleeping, closing. Polling reads
// the socket that spoke last, which costs one system call; all others are asked through epoll, less often while that
// one is busy and hardly at all while nothing happens on TCP, so that the shared-memory channel is not slowed down.
#include "chan/tcp/tcp.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/component.h"
#include "base/fail.h"
#include "base/patience.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/traffic.h"

#define EVENTS 32
#define OTHER_FILES 256    // that a program may have open besides its connections
#define WIDE_US 20         // between looks at all sockets while one connection is enough
#define QUIET_US 200       // without traffic for so long, TCP is looked at less often
#define QUIET_LOOK_US 2
#define STALL_US 5000    // between looks for connections that have fallen silent
// Between fruitless looks, when small, larger and large messages pass, and while the kernel takes no more of ours (then
// also between attempts to go on). bench: lat, bw over tcp.
#define SMALL_GAP_NS 600
#define LARGE_GAP_NS 1000
#define BULK_GAP_NS 1500
#define BLOCKED_GAP_NS 5000
#define BULK_PATIENCE 20            // spin times
#define LINGER_NS 10000000000ULL    // for peers to acknowledge what was sent, when the channel closes

struct uno_param uno_tcp_patience = UNO_PARAM_INT(
    "tcp_patience", 60, 1, 86400, "seconds that a broken connection is dialled again before the job fails");
UNO_PARAM_DECLARE(uno_tcp_patience);

struct tcp_chan uno_tcp_state = {.epoll = -1, .timer = -1, .listener = {{.fd = -1}, {.fd = -1}}};

void tcp_watch(struct tcp_sock *s, uint32_t events, bool fresh)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    epoll_ctl(uno_tcp_state.epoll, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, s->fd, &e);
}

void tcp_broken(struct tcp_link *l, int err, const char *why)
{
    if (l->broken) return;
    l->broken = err;
    l->broken_why = why;
    uno_tcp_state.unwell++;
}

// Whether the channels opened so far reach everybody: then this one stays shut.
static bool not_needed(void)
{
    if (uno_chan_self.far) return false;
    if (uno_chan_self.nprocs == 1) return !uno_chan_self.guests || uno_chan_self.shares;
    if ((uint32_t)uno_chan_self.nprocs > uno_chan_self.nlocal) return false;
    return uno_chan_self.shares;
}

// A connection to everybody may come to be: room for that, if the system lets us.
static void make_room_for_files(void)
{
    struct rlimit files;
    rlim_t need = (rlim_t)uno_chan_self.nprocs + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need) return;
    files.rlim_cur = need < files.rlim_max ? need : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static int tcp_open(struct uno_chan *self)
{
    if (self->usable) return tcp_listen();
    if (not_needed()) return UNO_DECLINED;
    make_room_for_files();
    int err = tcp_shake_open();
    if (err) return err;
    unsigned char nonce[TCP_NONCE];
    err = tcp_nonce(nonce);
    if (err) return err;
    memcpy(&uno_tcp_state.life, nonce, sizeof uno_tcp_state.life);
    tcp_settle_sizes();
    uno_tcp_state.link = calloc((size_t)uno_chan_self.nprocs, sizeof(struct uno_link *));
    if (!uno_tcp_state.link) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d links", uno_chan_self.nprocs);
    uno_tcp_state.epoll = epoll_create1(EPOLL_CLOEXEC);
    uno_tcp_state.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (uno_tcp_state.epoll < 0 || uno_tcp_state.timer < 0)
        return uno_fail_errno(MPI_ERR_OTHER, "open epoll for the tcp channel");
    uno_tcp_state.timer_sock = (struct tcp_sock){TCP_TIMER, uno_tcp_state.timer};
    tcp_watch(&uno_tcp_state.timer_sock, EPOLLIN, true);
    return tcp_listen();
}

// The death of a process of another job shows by a connection that breaks, though nothing is ever sent by it: one of
// the two sees to it that there is one.
static void watch_life(struct tcp_link *l)
{
    int proc = l->base.proc;
    if (!uno_proc_is_guest(proc) || l->state != TCP_IDLE || l->leaving) return;
    if (tcp_goes_first(proc))
        tcp_dial(l);
    else
        tcp_await_call(l);
}

static int tcp_connect(struct uno_chan *self, int proc, struct uno_link **link)
{
    (void)self;
    if (proc == uno_chan_self.proc) return UNO_DECLINED;
    if (uno_proc_is_guest(proc) && uno_proc_of(proc)->card.net_bytes != sizeof(struct uno_net)) return UNO_DECLINED;
    struct tcp_link *l = tcp_link_of(proc);
    if (!l) return uno_fail(MPI_ERR_NO_MEM, "no memory for a connection to rank %d", proc);
    *link = &l->base;
    watch_life(l);
    return MPI_SUCCESS;
}

// A send fails as soon as the peer has closed. What that had said before, its leave above all, is still to be read.
static void hear_the_rest(struct tcp_link *l)
{
    int err = l->broken;
    const char *why = l->broken_why;
    l->unheard = false;
    l->broken = 0;
    uno_tcp_state.unwell--;
    while (tcp_receive(l) > 0 && !l->broken) continue;
    if (l->sock.fd >= 0) tcp_broken(l, err, why);
}

static void take_down_broken(void)
{
    for (struct tcp_link *l = uno_tcp_state.first; l && uno_tcp_state.unwell; l = l->next) {
        if (!l->broken || l->parsing) continue;
        if (l->unheard) hear_the_rest(l);
        tcp_take_down(l);
    }
}

static int look_at(struct tcp_link *l)
{
    int n = tcp_receive(l);
    if (__builtin_expect(l->main->streams || l->main->pulls, 0)) tcp_pump(l->main);
    return n;
}

static int handle(const struct epoll_event *e)
{
    struct tcp_sock *s = e->data.ptr;
    if (s->what == TCP_LISTENER) {
        tcp_accept_all(s->fd);
    } else if (s->what == TCP_TIMER) {
        tcp_run_timers();
    } else if (s->what == TCP_SHAKING) {
        tcp_shake_event(s);
    } else {
        struct tcp_link *l = (struct tcp_link *)((char *)s - offsetof(struct tcp_link, sock));
        int n = 0;
        if (e->events & EPOLLOUT) tcp_flush(l);
        if (l->tell) tcp_tell(l);
        if (e->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) n = tcp_receive(l);
        tcp_pump(l->main);
        if (n) uno_tcp_state.hot = l;
        return n + ((e->events & EPOLLOUT) != 0);
    }
    return 1;
}

// As often as it makes sense while this process polls.
static void look_for_stalls(void)
{
    uint64_t now = uno_ticks();
    if (now - uno_tcp_state.last_stall < STALL_US * uno_ticks_per_us()) return;
    uno_tcp_state.last_stall = now;
    tcp_look_for_stalls();
}

// All sockets. A handshake may end inside, which frees its socket: those events are taken one by one.
static int look_wide(void)
{
    struct epoll_event events[EVENTS];
    int shaking = uno_tcp_state.shaking > 0;
    int n = epoll_wait(uno_tcp_state.epoll, events, shaking ? 1 : EVENTS, 0), moved = 0;
    for (int i = 0; i < n; i++) moved += handle(&events[i]);
    if (uno_tcp_state.several) look_for_stalls();
    if (uno_tcp_state.restless) tcp_arm_timer();
    return moved;
}

// Whether the kernel is to be left alone a little longer after a look that found nothing: each takes the lock of the
// socket, which the kernel needs to move on.
static bool too_soon(const struct tcp_link *l, uint64_t now)
{
    if (!uno_tcp_state.fruitless || !l) return false;
    uint64_t gap = SMALL_GAP_NS;
    if (l->large) gap = LARGE_GAP_NS;
    if (l->in.dst || l->pieces) gap = BULK_GAP_NS;
    if (l->blocked) gap = BLOCKED_GAP_NS;
    return (now - uno_tcp_state.last_look) * 1000 < gap * uno_ticks_per_us();
}

static int tcp_poll_link(struct uno_link *link)
{
    struct tcp_link *l = tcp_of(link);
    if (l->parsing) return 0;
    uint64_t now = uno_ticks();
    if (too_soon(l, now)) return 0;
    uno_tcp_state.last_look = now;
    int n = look_at(l);
    for (struct tcp_link *x = l->side; x; x = x->side) n += look_at(x);
    uno_tcp_state.fruitless = !n;
    if (n) uno_tcp_state.last_use = now;
    if (__builtin_expect(uno_tcp_state.unwell != 0, 0)) take_down_broken();
    return n;
}

// What poll says when it found nothing: 1 in the middle of a large message. Who fell asleep there would be woken for
// the next part, which costs as much as the part.
static int nothing(const struct tcp_link *hot, uint64_t now)
{
    bool bulk = hot && (hot->in.dst || hot->blocked);
    return bulk && now - uno_tcp_state.last_use < BULK_PATIENCE * uno_patience.spin;
}

// Tries to go on with the links whose kernel buffers were full. Returns how many could.
static int go_on_links(void)
{
    int n = 0;
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next) {
        if (!l->blocked || l->armed) continue;
        uint64_t sent = l->sent;
        size_t part = l->part;
        tcp_flush(l);
        if (l->tell) tcp_tell(l);    // what was waiting here has an older acknowledgement
        if (l->sent == sent && l->part == part) continue;
        tcp_pump(l->main);
        n++;
    }
    return n;
}

static void go_on_leaving(void);

static int tcp_poll(struct uno_chan *self, int budget)
{
    (void)self;
    (void)budget;
    uint64_t now = uno_ticks(), us = uno_ticks_per_us();
    struct tcp_link *hot = uno_tcp_state.hot;
    if (__builtin_expect(uno_tcp_state.settled, 0)) {
        uno_tcp_state.settled = false;
        return 1;
    }
    if (too_soon(hot, now)) return nothing(hot, now);
    if (now - uno_tcp_state.last_use > QUIET_US * us && now - uno_tcp_state.last_look < QUIET_LOOK_US * us)
        return nothing(hot, now);
    uno_tcp_state.last_look = now;
    int n = hot ? look_at(hot) : 0;
    if (__builtin_expect(uno_tcp_state.blocked != 0, 0)) n += go_on_links();
    if (!n && uno_tcp_state.loans) n = tcp_settle_idle(now);
    bool one = uno_tcp_state.up == 1 && !uno_tcp_state.shaking;
    if ((!n && !one) || now - uno_tcp_state.last_wide > WIDE_US * us) {
        uno_tcp_state.last_wide = now;
        n += look_wide();
    }
    uno_tcp_state.fruitless = !n;
    if (n) uno_tcp_state.last_use = now;
    if (__builtin_expect(uno_tcp_state.unwell != 0, 0)) take_down_broken();
    if (__builtin_expect(uno_tcp_state.leaving != 0, 0)) go_on_leaving();
    return n ? n : nothing(uno_tcp_state.hot, now);
}

static size_t tcp_look(struct uno_link *link, size_t n, const void **at)
{
    (void)link;
    *at = NULL;    // payloads are always delivered by address
    return n;
}

static int tcp_wait_fd(struct uno_chan *self)
{
    (void)self;
    for (struct tcp_link *l = uno_tcp_state.blocked ? uno_tcp_state.first : NULL; l; l = l->next)
        if (l->blocked) tcp_arm(l);
    tcp_settle_all();
    if (uno_tcp_state.several) tcp_look_for_stalls();
    if (uno_tcp_state.stall_at || uno_tcp_state.restless) tcp_arm_timer();
    return uno_tcp_state.epoll;
}

// Whether nothing keeps this link from being closed.
static bool is_settled(const struct tcp_link *l)
{
    return l->main != l || l->tail == l->head || l->bye || l->state == TCP_IDLE || l->state >= TCP_GONE;
}

// A frame that asks the peer to acknowledge what came before it, unless they have never spoken.
static void part_with(struct tcp_link *l, enum tcp_sort sort)
{
    if (l->main != l) return;
    if (!tcp_owes(l)) tcp_call_off(l);
    if (l->state != TCP_IDLE && l->state < TCP_GONE) tcp_put(l, sort, NULL, 0);
}

// Takes leave of all peers.
static void say_bye(void)
{
    uint64_t end = uno_now_ns() + LINGER_NS;
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next) part_with(l, TCP_END);
    for (;;) {
        look_wide();
        take_down_broken();
        bool settled = true;
        for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next) {
            tcp_acked(l, 0);    // takes the BYE itself off, once it is sent
            settled = settled && is_settled(l);
        }
        if (settled || uno_now_ns() > end) return;
        struct epoll_event e;
        epoll_wait(uno_tcp_state.epoll, &e, 1, 100);
    }
}

// A link of which nothing is left to be sent and acknowledged begins from nothing, or goes.
static void finish_leaving(struct tcp_link *l)
{
    int proc = l->base.proc;
    l->leaving = false;
    uno_tcp_state.leaving--;
    if (l->dial) tcp_forget_dial(l);
    if (l->sock.fd >= 0) {
        l->bye = true;
        tcp_broken(l, ECONNRESET, "both have left");
        tcp_take_down(l);
    } else {
        tcp_begin_anew(l);
    }
    if (!uno_proc_of(proc)->left) {
        watch_life(l);
        return;
    }
    tcp_free_lanes(l);
    tcp_free_link(l);
    uno_proc_settle(proc);
}

static void go_on_leaving(void)
{
    for (struct tcp_link *l = uno_tcp_state.first, *next; l && uno_tcp_state.leaving; l = next) {
        next = l->next;
        if (!l->leaving || l->parsing) continue;
        tcp_acked(l, 0);    // takes the BYE itself off, once it is sent
        if (!is_settled(l)) continue;
        finish_leaving(l);    // frees lanes, too, which may lie behind
        next = uno_tcp_state.first;
    }
}

static void tcp_leave(struct uno_link *link)
{
    struct tcp_link *l = tcp_of(link);
    if (l->leaving) return;
    l->leaving = true;
    uno_tcp_state.leaving++;
    part_with(l, TCP_BYE);
    go_on_leaving();
}

static void tcp_close(struct uno_chan *self)
{
    (void)self;
    uno_tcp_state.closing = true;
    // Relaxed: a rank that reads it late dials in vain, and again.
    if (uno_chan_self.board) atomic_store_explicit(&uno_chan_self.board->card_bytes, 0, memory_order_relaxed);
    if (uno_tcp_state.listener[0].fd >= 0) say_bye();
    tcp_unlisten();
    while (uno_tcp_state.first) tcp_free_link(uno_tcp_state.first);
    free(uno_tcp_state.link);
    tcp_direct_close();
    if (uno_tcp_state.timer >= 0) close(uno_tcp_state.timer);
    if (uno_tcp_state.epoll >= 0) close(uno_tcp_state.epoll);
    uno_tcp_state = (struct tcp_chan){.epoll = -1, .timer = -1, .listener = {{.fd = -1}, {.fd = -1}}};
}

static const struct uno_chan_ops tcp_ops = {
    .open = tcp_open,
    .connect = tcp_connect,
    .send = tcp_send,
    .poll = tcp_poll,
    .poll_link = tcp_poll_link,
    .look = tcp_look,
    .offer = tcp_offer,
    .accept = tcp_accept,
    .withdraw = tcp_withdraw,
    .replace = tcp_replace,
    .lose = tcp_lose,
    .wait_fd = tcp_wait_fd,
    .leave = tcp_leave,
    .close = tcp_close,
};

static const struct uno_component tcp_component = {UNO_COMPONENT_IS_CHANNEL, .name = "tcp",
                                                   .version = UNO_VERSION,   .about = "between hosts, by TCP",
                                                   .priority = 20,           .can = UNO_CAN_FAR | UNO_CAN_MEET,
                                                   .table = &tcp_ops};
UNO_COMPONENT_DECLARE(tcp_component);

struct uno_chan uno_tcp = {.ops = &tcp_ops, .is = &tcp_component};

static const struct uno_pvar sent[] = UNO_TRAFFIC_PVARS("tcp", uno_tcp.sent);
UNO_PVARS_DECLARE(sent);
