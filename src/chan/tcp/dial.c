// SPDX-License-Identifier: BSD-3-Clause
// Connections: dialling a peer, answering at the listener, the three steps of the handshake, and dialling again after a
// break. Called by poll (events, timers) and by the first send to a peer.
//
// Both sides may dial at once: the dial of the lower rank has the right of way, the other rank is told CROSSED and
// waits for it. Strangers are dropped: they may hold one of a few places for a short time, and the first is logged.
#include <arpa/inet.h>
#include <errno.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/event.h"
#include "base/fail.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define STEP_TIME (3000 * MS)        // for one handshake, connecting included
#define CROWDED_TIME (15000 * MS)    // the same where ranks wait for a core
#define FIRST_PAUSE (5 * MS)         // before the second dial; doubles
#define LAST_PAUSE (500 * MS)
#define STIR (400 * MS)             // no sleep is longer while a connection is sought: mpiexec would see a deadlock
#define LAST_TRIES 5                // while the channel closes
#define CROSSED_PAUSE (500 * MS)    // for the other side's dial to arrive
#define YIELD_PAUSE (50 * MS)       // the higher rank leaves the first dial after a break to the lower one
#define STRANGERS 64                // handshakes answered at once
#define BACKLOG 4096
#define ACCEPTS 32     // at once
#define REFUSALS 20    // of one frame that breaks the protocol, however often it is sent

static struct uno_param ports =
    UNO_PARAM_TEXT("tcp_port_range", "", "ports that the tcp channel listens on, FIRST-LAST; empty: any that is free");
UNO_PARAM_DECLARE(ports);

static _Atomic uint64_t breaks, restores;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_breaks", &breaks, "connections that broke before their peer had left"),
    UNO_PVAR_COUNTER("tcp_restores", &restores, "connections made again"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);
static struct uno_event broken = {
    .name = "link_broken", .help = "the connection to a rank broke; it is made again, or given up", .elements = "rank"};
UNO_EVENT_DECLARE(broken);
static struct uno_event restored = {
    .name = "link_restored", .help = "the connection to a rank is there again", .elements = "rank"};
UNO_EVENT_DECLARE(restored);

struct tcp_shake {
    struct tcp_sock sock;
    struct tcp_link *link;     // that we dial for; NULL: we answer
    struct tcp_shake *next;    // newest first
    bool connecting;
    enum tcp_step expected;
    uint64_t deadline;
    struct tcp_greeting in;
    size_t fill;
    bool auth;    // frames are to have MACs
    unsigned char mine[TCP_NONCE], other[TCP_NONCE];
    struct sockaddr_storage from;
};

static struct tcp_shake *shakes;
static uint32_t strangers;    // of them those that we answer
static bool stranger_told;

static void set_options(int fd)
{
    int on = 1;
    // Inside one host nothing is to be paced (bbr halves the bandwidth of the loopback); reno is always there.
    if (uno_chan_self.job->nhosts == 1) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    int ms = (int)(uno_tcp_patience.num * 1000 / 4), idle = 10, times = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

// Ends a handshake. The socket is closed unless it was passed on (fd -1).
static void drop(struct tcp_shake *s)
{
    struct tcp_shake **at = &shakes;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    if (s->link)
        s->link->dial = NULL;
    else
        strangers--;
    uno_tcp_state.shaking--;
    uno_tcp_state.restless = true;
    if (s->sock.fd >= 0) close(s->sock.fd);
    free(s);
}

static struct tcp_shake *begin_shake(int fd, struct tcp_link *l, const struct sockaddr *peer)
{
    struct tcp_shake *s = calloc(1, sizeof *s);
    if (!s || tcp_nonce(s->mine)) {
        free(s);
        close(fd);
        return NULL;
    }
    s->sock = (struct tcp_sock){TCP_SHAKING, fd};
    s->link = l;
    s->connecting = l != NULL;
    s->expected = l ? TCP_CHALLENGE : TCP_HELLO;
    s->auth = l && tcp_wants_auth(peer);
    s->deadline = uno_now_ns() + (uno_patience.crowded ? CROWDED_TIME : STEP_TIME);
    s->next = shakes;
    shakes = s;
    if (l)
        l->dial = s;
    else
        strangers++;
    uno_tcp_state.shaking++;
    uno_tcp_state.restless = true;
    tcp_watch(&s->sock, l ? EPOLLOUT : EPOLLIN, true);
    return s;
}

static void log_stranger(const struct tcp_shake *s, const char *why)
{
    if (stranger_told) return;
    stranger_told = true;
    char text[INET6_ADDRSTRLEN] = "?";
    const void *bytes = &((const struct sockaddr_in6 *)(const void *)&s->from)->sin6_addr;
    if (s->from.ss_family == AF_INET) bytes = &((const struct sockaddr_in *)(const void *)&s->from)->sin_addr;
    inet_ntop(s->from.ss_family, bytes, text, sizeof text);
    uno_log(0, "dropped a connection from %s: %s (further ones are not reported)", text, why);
}

static void give_up(struct tcp_link *l, const char *why)
{
    l->state = TCP_LOST;
    l->due = 0;
    uno_log(1, "gave up the connection to rank %d: %s", l->base.proc, why);
    if (uno_tcp_state.closing) return;
    tcp_direct_fail(l, MPI_ERR_OTHER);
    uno_link_lost(&l->base, why);
}

// No connection now: dial after a pause, unless it has lasted too long.
static void wait_and_dial(struct tcp_link *l, uint64_t pause, const char *why)
{
    uint64_t now = uno_now_ns();
    if (!l->since) l->since = now;
    l->state = TCP_WAITING;
    l->due = now + pause;
    uno_tcp_state.restless = true;
    if (now - l->since > (uint64_t)uno_tcp_patience.num * 1000 * MS) give_up(l, why);
}

static void dial_failed(struct tcp_link *l, const char *why)
{
    uint32_t doublings = l->tries < 10 ? l->tries : 10;
    uint64_t pause = FIRST_PAUSE << doublings;
    l->tries++;
    uno_log(3, "dialling rank %d failed: %s", l->base.proc, why);
    if (uno_tcp_state.closing && l->tries >= LAST_TRIES)
        l->state = TCP_GONE;
    else
        wait_and_dial(l, pause < LAST_PAUSE ? pause : LAST_PAUSE, why);
}

static socklen_t to_sockaddr(const struct tcp_card *card, uint32_t i, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (card->addr[i].family == 4) {
        struct sockaddr_in *a = (struct sockaddr_in *)(void *)out;
        a->sin_family = AF_INET;
        a->sin_port = card->port;
        memcpy(&a->sin_addr, card->addr[i].bytes, 4);
        return sizeof *a;
    }
    struct sockaddr_in6 *a = (struct sockaddr_in6 *)(void *)out;
    a->sin6_family = AF_INET6;
    a->sin6_port = card->port;
    memcpy(&a->sin6_addr, card->addr[i].bytes, 16);
    return sizeof *a;
}

void tcp_dial(struct tcp_link *l)
{
    struct tcp_card card;
    struct sockaddr_storage a;
    l->due = 0;
    if (!tcp_find_card(l->base.proc, &card)) {
        dial_failed(l, "it has not said yet how it is reached");
        tcp_arm_timer();
        return;
    }
    socklen_t len = to_sockaddr(&card, l->tries % card.count, &a);
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        dial_failed(l, errno == EMFILE ? "too many open files (ulimit -n)" : strerror(errno));
    } else {
        set_options(fd);
        l->state = TCP_DIALING;
        if (connect(fd, (struct sockaddr *)&a, len) != 0 && errno != EINPROGRESS) {
            int err = errno;
            close(fd);
            dial_failed(l, strerror(err));
        } else if (!begin_shake(fd, l, (struct sockaddr *)&a)) {
            dial_failed(l, "out of memory");
        }
    }
    tcp_arm_timer();
}

static bool say(struct tcp_shake *s, enum tcp_step step, int to, uint64_t received, bool crossed)
{
    struct tcp_greeting g = {.step = step, .received = received, .crossed = crossed, .auth = s->auth};
    memcpy(g.nonce, s->mine, TCP_NONCE);
    tcp_sign(&g, to, step == TCP_CHALLENGE ? NULL : s->other);
    return send(s->sock.fd, &g, sizeof g, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof g;
}

// It broke, and is there again.
static void link_restored(struct tcp_link *l)
{
    tcp_count_resent(l);
    l->given_seq = 0;
    l->again = false;
    uno_count_add(&restores, 1);
    uno_event_tell(&restored, (int64_t[]){l->base.proc});
}

// The handshake is over: its socket becomes the link's.
static void bring_up(struct tcp_link *l, struct tcp_shake *s)
{
    uint64_t received = s->in.received;
    bool dialled = s->link != NULL;
    l->peer_life = s->in.life;
    l->in_keys.on = l->out_keys.on = false;
    if (s->auth) tcp_agree_keys(l, dialled ? s->mine : s->other, dialled ? s->other : s->mine);
    l->sock.fd = s->sock.fd;
    s->sock.fd = -1;
    drop(s);
    l->state = TCP_UP;
    l->due = 0;
    l->tries = 0;
    l->fruitful = false;
    uno_tcp_state.up++;
    uno_tcp_state.hot = l;
    uno_tcp_state.last_use = uno_ticks();
    tcp_forget_input(l);
    tcp_watch(&l->sock, EPOLLIN, false);
    tcp_rewind(l, received);
    tcp_reseal(l);
    if (l->again) link_restored(l);
    uno_log(2, "connected with rank %d%s", l->base.proc, l->out_keys.on ? ", messages are authenticated" : "");
    tcp_flush(l);
    tcp_pump(l);
}

// A rank of the job says HELLO.
static const char *answer_hello(struct tcp_shake *s)
{
    int peer = uno_proc_find(s->in.job, s->in.from);
    struct tcp_link *l = tcp_link_of(peer);
    if (!l) return "out of memory";
    if (l->state == TCP_DIALING && tcp_goes_first(peer)) {
        say(s, TCP_WELCOME, peer, 0, true);
        drop(s);
        return NULL;
    }
    if (l->state >= TCP_GONE) return "its rank was given up";
    if (l->dial) drop(l->dial);
    if (l->state == TCP_UP) {    // it noticed the break, we did not; or its BYE lies unread
        tcp_receive(l);
        tcp_broken(l, ECONNRESET, "the other side connects again");
        tcp_take_down(l);
    }
    if (l->peer_life && l->peer_life != s->in.life) return "its rank has begun anew without a farewell";
    if (s->in.received > l->seq) return "it has received what was not sent";
    s->auth = s->in.auth || tcp_wants_auth((struct sockaddr *)&s->from);
    if (!say(s, TCP_WELCOME, peer, l->got_seq, false)) return "the connection broke";
    bring_up(l, s);
    return NULL;
}

// A whole message arrived from a process that dials us. NULL, or why it is dropped.
static const char *answer(struct tcp_shake *s)
{
    // A process of another job may dial before this one has heard of it: it will again.
    if (s->in.job != uno_chan_self.job->job_id && uno_chan_self.guests && uno_proc_find(s->in.job, s->in.from) < 0) {
        drop(s);
        return NULL;
    }
    const char *why = tcp_verify(&s->in, TCP_HELLO, s->mine);
    if (why) return why;
    memcpy(s->other, s->in.nonce, TCP_NONCE);
    return answer_hello(s);
}

// A whole message arrived from a process that we dialled.
static const char *go_on_shake(struct tcp_shake *s)
{
    struct tcp_link *l = s->link;
    const struct tcp_greeting *g = &s->in;
    const char *why = tcp_verify(g, s->expected, s->expected == TCP_CHALLENGE ? NULL : s->mine);
    if (why) return why;
    if (s->expected == TCP_CHALLENGE) {
        memcpy(s->other, g->nonce, TCP_NONCE);
        s->expected = TCP_WELCOME;
        return say(s, TCP_HELLO, l->base.proc, l->got_seq, false) ? NULL : "the connection broke";
    }
    if (uno_proc_find(g->job, g->from) != l->base.proc || memcmp(g->nonce, s->other, TCP_NONCE) != 0)
        return "another rank answered";
    if (!g->crossed && l->peer_life && l->peer_life != g->life) return "it has begun anew without a farewell";
    if (g->received > l->seq) return "it has received what was not sent";
    s->auth = g->auth;
    if (g->crossed) {
        drop(s);
        wait_and_dial(l, CROSSED_PAUSE, "both sides dialled, and the other's call did not arrive");
        return NULL;
    }
    bring_up(l, s);
    return NULL;
}

static const char *connected(struct tcp_shake *s)
{
    int err = 0;
    socklen_t len = sizeof err;
    if (getsockopt(s->sock.fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0) err = errno;
    if (err) return strerror(err);
    s->connecting = false;
    tcp_watch(&s->sock, EPOLLIN, false);
    return NULL;
}

static void fail(struct tcp_shake *s, const char *why, bool quiet)
{
    struct tcp_link *l = s->link;
    if (!l && !quiet) log_stranger(s, why);
    drop(s);
    if (l) dial_failed(l, why);
}

void tcp_shake_event(struct tcp_sock *sock)
{
    struct tcp_shake *s = (struct tcp_shake *)sock;
    const char *why = NULL;
    if (s->connecting) {
        why = connected(s);
    } else {
        ssize_t n = recv(sock->fd, (char *)&s->in + s->fill, sizeof s->in - s->fill, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            fail(s, "it broke off the greeting", s->fill == 0);
            return;
        }
        s->fill += (size_t)n;
        if (s->fill < sizeof s->in) return;
        s->fill = 0;
        why = s->link ? go_on_shake(s) : answer(s);
    }
    if (why) fail(s, why, false);
}

static void drop_oldest_stranger(void)
{
    struct tcp_shake *oldest = NULL;
    for (struct tcp_shake *s = shakes; s; s = s->next)
        if (!s->link) oldest = s;
    if (oldest) fail(oldest, "more greet than are expected", false);
}

void tcp_accept_all(void)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(uno_tcp_state.listener.fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == ECONNABORTED || errno == EINTR)) continue;
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) drop_oldest_stranger();
            return;
        }
        if (strangers >= STRANGERS) drop_oldest_stranger();
        struct tcp_shake *s = begin_shake(fd, NULL, NULL);
        if (!s) continue;
        s->from = from;
        if (!say(s, TCP_CHALLENGE, 0, 0, false)) drop(s);
    }
}

void tcp_forget_dial(struct tcp_link *l)
{
    drop(l->dial);
}

// The peer took its leave: what comes next between us, if anything, begins from nothing.
void tcp_begin_anew(struct tcp_link *l)
{
    if (l->direct && !uno_tcp_state.closing) tcp_direct_fail(l, MPI_ERR_OTHER);    // closing: p2p has forgotten them
    l->tail = l->sent = l->head = 0;
    l->seq = l->got_seq = l->given_seq = l->peer_life = 0;
    l->untold = 0;
    l->pieces = 0;
    l->tell = l->bye = false;
    l->state = uno_tcp_state.closing ? TCP_GONE : TCP_IDLE;
}

void tcp_lose(struct uno_link *link, int err)
{
    struct tcp_link *l = tcp_of(link);
    if (l->dial) drop(l->dial);
    if (l->sock.fd >= 0) {
        if (l->broken) uno_tcp_state.unwell--;
        l->broken = 0;
        uno_tcp_state.up--;
        tcp_rewind(l, 0);
        close(l->sock.fd);
        l->sock.fd = -1;
        tcp_forget_input(l);
    }
    l->state = TCP_LOST;
    l->due = 0;
    tcp_direct_fail(l, err);
}

void tcp_take_down(struct tcp_link *l)
{
    if (!l->broken) return;
    int err = l->broken;
    l->broken = 0;
    uno_tcp_state.unwell--;
    uno_tcp_state.up--;
    tcp_rewind(l, 0);
    close(l->sock.fd);
    l->sock.fd = -1;
    tcp_forget_input(l);
    if (l->bye) {
        tcp_begin_anew(l);
        return;
    }
    l->again = true;
    uno_count_add(&breaks, 1);
    uno_event_tell(&broken, (int64_t[]){l->base.proc});
    // A link that stays fruitless is given up in the end: somebody alters all that comes, or the peer itself is wrong.
    if (l->fruitful || err != EPROTO) l->since = 0;
    uno_log(err == EPROTO ? 0 : 1, "the connection to rank %d broke (%s%s), it is made again", l->base.proc,
            err == EPROTO ? "protocol violation: " : "", err == EPROTO ? l->broken_why : strerror(err));
    if (l->refusals >= REFUSALS) {
        give_up(l, l->broken_why);
        return;
    }
    wait_and_dial(l, tcp_goes_first(l->base.proc) ? 0 : YIELD_PAUSE, "it broke");
    tcp_arm_timer();
}

void tcp_run_timers(void)
{
    uint64_t now = uno_now_ns(), fired;
    ssize_t n = read(uno_tcp_state.timer, &fired, sizeof fired);
    (void)n;
    uno_tcp_state.timer_at = 0;
    uno_tcp_state.restless = true;
    for (struct tcp_shake *s = shakes, *next; s; s = next) {
        next = s->next;
        if (s->deadline <= now) fail(s, "it did not greet in time", false);
    }
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->state == TCP_WAITING && l->due && l->due <= now) tcp_dial(l);
}

static bool sought(void)
{
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->state == TCP_WAITING || l->state == TCP_DIALING) return true;
    return false;
}

void tcp_arm_timer(void)
{
    uint64_t at = 0;
    uno_tcp_state.restless = false;
    for (struct tcp_shake *s = shakes; s; s = s->next)
        if (!at || s->deadline < at) at = s->deadline;
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->state == TCP_WAITING && l->due && (!at || l->due < at)) at = l->due;
    if (at && sought() && at > uno_now_ns() + STIR) at = uno_now_ns() + STIR;
    if (at == uno_tcp_state.timer_at) return;
    uno_tcp_state.timer_at = at;
    struct itimerspec t = {.it_value = {(time_t)(at / 1000000000), (long)(at % 1000000000)}};
    timerfd_settime(uno_tcp_state.timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static int bind_range(int fd, struct sockaddr_storage *a, socklen_t len)
{
    unsigned first = 0, last = 0;
    char rest;
    bool good = sscanf(ports.text, "%u-%u%c", &first, &last, &rest) == 2 && first > 0 && first <= last && last <= 65535;
    if (*ports.text && !good)
        return uno_fail(MPI_ERR_ARG, "tcp_port_range is \"%s\", FIRST-LAST from 1 to 65535 is expected", ports.text);
    for (unsigned port = first; port <= last; port++) {
        ((struct sockaddr_in *)(void *)a)->sin_port = htons((uint16_t)port);    // sin6_port lies at the same place
        if (bind(fd, (struct sockaddr *)a, len) == 0) return MPI_SUCCESS;
        if (errno != EADDRINUSE) break;
    }
    return uno_fail_errno(MPI_ERR_OTHER, "bind a port for the tcp channel (tcp_port_range \"%s\")", ports.text);
}

int tcp_listen(void)
{
    struct tcp_card *card = &uno_tcp_state.card;
    struct sockaddr_storage a;
    stranger_told = false;
    int err = tcp_own_card(card);
    if (err) return err;
    card->port = 0;
    socklen_t len = to_sockaddr(card, 0, &a);
    if (card->count > 1) {    // several: listen on all
        memset(&((struct sockaddr_in *)(void *)&a)->sin_addr, 0, 4);
        for (uint32_t i = 0; i < card->count; i++)
            if (card->addr[i].family == 6) len = sizeof(struct sockaddr_in6);
        if (len == sizeof(struct sockaddr_in6)) a = (struct sockaddr_storage){.ss_family = AF_INET6};
    }
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), off = 0;
    if (fd < 0) return uno_fail_errno(MPI_ERR_OTHER, "open a socket for the tcp channel");
    set_options(fd);    // the connections it accepts inherit them
    if (a.ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    err = bind_range(fd, &a, len);
    len = sizeof a;
    if (!err && (listen(fd, BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&a, &len) != 0))
        err = uno_fail_errno(MPI_ERR_OTHER, "listen for the tcp channel");
    if (err) {
        close(fd);
        return err;
    }
    card->port = ((struct sockaddr_in *)(void *)&a)->sin_port;
    uno_tcp_state.listener = (struct tcp_sock){TCP_LISTENER, fd};
    tcp_watch(&uno_tcp_state.listener, EPOLLIN, true);
    return MPI_SUCCESS;
}

void tcp_unlisten(void)
{
    while (shakes) drop(shakes);
    if (uno_tcp_state.listener.fd >= 0) close(uno_tcp_state.listener.fd);
    uno_tcp_state.listener.fd = -1;
}
