// SPDX-License-Identifier: BSD-3-Clause
// Connections: dialling a peer, answering at the listener, the three steps of the handshake, and dialling again after a
// break. Called by poll (events, timers) and by the first send to a peer.
//
// Both sides may dial at once: the dial of the lower rank has the right of way, the other rank is told CROSSED and
// waits for it. Strangers are dropped: they may hold one of a few places for a short time, and the first is logged.
#include <errno.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/machine.h"
#include "base/patience.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define STEP_TIME (3000 * MS)        // for one handshake, connecting included
#define SHORT_TIME (500 * MS)        // to connect, where there are other addresses; doubles
#define CROWDED_TIME (15000 * MS)    // the same where ranks wait for a core
#define STIR (400 * MS)              // no sleep is longer while a connection is sought: mpiexec would see a deadlock
#define HEAR_TIME (200 * MS)         // for the other side to hear our HELLO, where there are other ways
#define CROSSED_PAUSE (500 * MS)     // for the other side's dial to arrive
#define STRANGERS 64                 // handshakes answered at once
#define BACKLOG 4096
#define ACCEPTS 32    // at once

struct tcp_shake {
    struct tcp_sock sock;
    struct tcp_link *link;     // that we dial for; NULL: we answer
    struct tcp_shake *next;    // newest first
    bool connecting;
    enum tcp_step expected;
    uint64_t deadline;
    uint64_t said;    // when our HELLO left
    struct tcp_greeting in;
    size_t fill;
    uint16_t lane;
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
    if (uno_chan_self.job->nhosts == 1 && !uno_chan_self.far) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
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

static uint64_t step_time(void)
{
    return uno_patience.crowded ? CROWDED_TIME : STEP_TIME;
}

// How long a connection may take to come. The kernel of the other side answers, which is quick: where there are other
// addresses, they have their turn soon.
static uint64_t connect_time(const struct tcp_link *l)
{
    uint32_t rounds = l->main->peer.count > 1 ? l->tries / l->main->peer.count : 20;
    uint64_t time = rounds < 4 ? SHORT_TIME << rounds : STEP_TIME;
    return time < STEP_TIME ? time : STEP_TIME;
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
    s->lane = l ? (uint16_t)l->lane : 0;
    s->connecting = l != NULL;
    s->expected = l ? TCP_CHALLENGE : TCP_HELLO;
    s->auth = l && tcp_wants_auth(peer);
    s->deadline = uno_now_ns() + (l ? connect_time(l) : step_time());
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
    char text[UNO_NET_TEXT];
    uno_net_text((const struct sockaddr *)&s->from, text);
    uno_log(0, "dropped a connection from %s: %s (further ones are not reported)", text, why);
}

// By which addresses the next dial goes. False: there is no way now.
static bool choose_way(struct tcp_link *l, struct tcp_way *way)
{
    struct uno_net card;
    if (l->main != l) return tcp_free_way(l, l->tries, way);
    if (!tcp_find_card(l->base.proc, &card)) return false;
    l->peer = card;
    *way = l->move;
    if (l->moving && way->own < uno_tcp_state.card.count && way->theirs < card.count) return true;
    // The address that is known to be good has every second turn, the others take the rest.
    bool known = l->proven && l->address < card.count;
    uint32_t to = known && l->tries % 2 == 0 ? l->address : tcp_address_at(&card, known ? l->tries / 2 : l->tries);
    *way = (struct tcp_way){TCP_NOWHERE, (uint8_t)to};
    return true;
}

void tcp_dial(struct tcp_link *l)
{
    struct sockaddr_storage a;
    l->due = 0;
    l->dialled = 0;
    l->way = (struct tcp_way){TCP_NOWHERE, TCP_NOWHERE};
    if (!choose_way(l, &l->way)) {
        tcp_dial_failed(l, -1, "it has not said yet how it is reached");
        tcp_arm_timer();
        return;
    }
    l->dialled = l->way.theirs;
    socklen_t len = uno_net_sockaddr(&l->main->peer, l->dialled, &a);
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        tcp_dial_failed(l, -1, errno == EMFILE ? "too many open files (ulimit -n)" : strerror(errno));
    } else {
        set_options(fd);
        if (l->way.own != TCP_NOWHERE) uno_net_leave_by(fd, &uno_tcp_state.card, l->way.own);
        l->state = TCP_DIALING;
        if (connect(fd, (struct sockaddr *)&a, len) != 0 && errno != EINPROGRESS) {
            int err = errno;
            tcp_count_denial(l, l->dialled, err);
            tcp_dial_failed(l, fd, strerror(err));
            close(fd);
        } else if (!begin_shake(fd, l, (struct sockaddr *)&a)) {
            tcp_dial_failed(l, -1, "out of memory");
        }
    }
    tcp_arm_timer();
}

void tcp_await_call(struct tcp_link *l)
{
    l->due = uno_now_ns() + CROSSED_PAUSE;
    tcp_arm_timer();
}

static bool say(struct tcp_shake *s, enum tcp_step step, int to, uint64_t received, bool crossed)
{
    struct tcp_greeting g = {
        .step = (uint16_t)step, .lane = s->lane, .received = received, .crossed = crossed, .auth = s->auth};
    memcpy(g.nonce, s->mine, TCP_NONCE);
    tcp_sign(&g, to, step == TCP_CHALLENGE ? NULL : s->other);
    return send(s->sock.fd, &g, sizeof g, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof g;
}

// The frame after which the peer goes on; lanes begin from nothing.
static uint64_t received_by(const struct tcp_link *l)
{
    return l->main == l ? l->got_seq : 0;
}

// The handshake is over: its socket becomes the link's.
static void end_shake(struct tcp_link *l, struct tcp_shake *s)
{
    uint64_t received = s->in.received;
    bool dialled = s->link != NULL;
    int fd = s->sock.fd;
    l->peer_life = s->in.life;
    l->in_keys.on = l->out_keys.on = false;
    if (s->auth) tcp_agree_keys(l, dialled ? s->mine : s->other, dialled ? s->other : s->mine);
    s->sock.fd = -1;
    drop(s);
    tcp_bring_up(l, fd, dialled, received);
}

// The lane that a rank of the job asks for; NULL: there is none, or not now.
static struct tcp_link *find_lane(const struct tcp_greeting *g, struct tcp_link *m)
{
    if (g->lane >= m->ways || m->peer_life != g->life || m->leaving || m->bye || m->state >= TCP_GONE) return NULL;
    return tcp_lane_of(m, g->lane);
}

// Whether our own dial, which has the right of way, is to be waited for: the other side may have heard of it. Where
// there are other ways, only for a while: its way may be dead, and theirs is not.
static bool stands(const struct tcp_shake *s)
{
    if (s->expected == TCP_CHALLENGE) return false;
    return s->link->main->ways < 2 || uno_now_ns() - s->said < HEAR_TIME;
}

// A rank of the job says HELLO.
static const char *answer_hello(struct tcp_shake *s)
{
    int peer = uno_proc_find(s->in.job, s->in.from);
    struct tcp_link *l = tcp_link_of(peer);
    if (!l) return "out of memory";
    s->lane = s->in.lane;
    const char *unlike = uno_machine_meet(s->in.machine, s->in.alike);
    if (unlike) {    // it finds the same in our answer
        say(s, TCP_WELCOME, peer, 0, true);
        return unlike;
    }
    if (s->lane > 0 && !(l = find_lane(&s->in, l))) {
        drop(s);
        return NULL;
    }
    if (l->state == TCP_DIALING && tcp_goes_first(peer) && stands(l->dial)) {
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
    if (!say(s, TCP_WELCOME, peer, received_by(l), false)) return "the connection broke";
    end_shake(l, s);
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
        s->said = uno_now_ns();
        return say(s, TCP_HELLO, l->base.proc, received_by(l), false) ? NULL : "the connection broke";
    }
    if (uno_proc_find(g->job, g->from) != l->base.proc || memcmp(g->nonce, s->other, TCP_NONCE) != 0)
        return "another rank answered";
    l->unlike = uno_machine_meet(g->machine, g->alike);
    if (l->unlike) return l->unlike;
    if (!g->crossed && l->peer_life && l->peer_life != g->life) return "it has begun anew without a farewell";
    if (g->lane != l->lane) return "another lane answered";
    if (g->received > l->seq) return "it has received what was not sent";
    s->auth = g->auth;
    if (g->crossed && l->main != l) return "both sides dialled";
    if (g->crossed) {
        drop(s);
        tcp_wait_and_dial(l, CROSSED_PAUSE, "both sides dialled, and the other's call did not arrive");
        return NULL;
    }
    end_shake(l, s);
    return NULL;
}

static const char *connected(struct tcp_shake *s)
{
    int err = 0;
    socklen_t len = sizeof err;
    if (getsockopt(s->sock.fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0) err = errno;
    tcp_count_denial(s->link, s->link->dialled, err);
    if (err) return strerror(err);
    s->connecting = false;
    s->deadline = uno_now_ns() + step_time();
    tcp_watch(&s->sock, EPOLLIN, false);
    return NULL;
}

static void fail(struct tcp_shake *s, const char *why, bool quiet)
{
    struct tcp_link *l = s->link;
    int fd = s->sock.fd;
    if (!l && !quiet) log_stranger(s, why);
    s->sock.fd = -1;
    drop(s);
    if (l) tcp_dial_failed(l, fd, why);
    close(fd);
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

void tcp_accept_all(int listener)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
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

int tcp_dial_socket(const struct tcp_link *l)
{
    return l->dial && !l->dial->connecting ? l->dial->sock.fd : -1;
}

void tcp_give_up_dial(struct tcp_link *l, const char *why)
{
    fail(l->dial, why, true);
    tcp_arm_timer();
}

void tcp_call_off(struct tcp_link *l)
{
    if (l->state != TCP_DIALING || l->dial->expected != TCP_CHALLENGE) return;
    drop(l->dial);
    l->state = TCP_IDLE;
}

static bool is_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1;
}

void tcp_run_timers(void)
{
    uint64_t now = uno_now_ns(), fired;
    ssize_t n = read(uno_tcp_state.timer, &fired, sizeof fired);
    (void)n;
    uno_tcp_state.timer_at = 0;
    uno_tcp_state.restless = true;
    for (struct tcp_shake *s = shakes; s;) {
        bool late = s->deadline <= now;
        if (late && s->connecting && is_ready(s->sock.fd))
            tcp_shake_event(&s->sock);    // we are late, not the connection
        else if (late)
            fail(s, s->connecting ? "no answer" : "it did not greet in time", false);
        s = late ? shakes : s->next;    // further ones may have ended with it
    }
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->main == l && l->state <= TCP_WAITING && l->due && l->due <= now) tcp_dial(l);
}

static bool sought(void)
{
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->main == l && (l->state == TCP_WAITING || l->state == TCP_DIALING)) return true;
    return false;
}

void tcp_arm_timer(void)
{
    uint64_t at = 0;
    uno_tcp_state.restless = false;
    for (struct tcp_shake *s = shakes; s; s = s->next)
        if (!at || s->deadline < at) at = s->deadline;
    for (struct tcp_link *l = uno_tcp_state.first; l; l = l->next)
        if (l->main == l && l->state <= TCP_WAITING && l->due && (!at || l->due < at)) at = l->due;
    if (uno_tcp_state.stall_at && (!at || uno_tcp_state.stall_at < at)) at = uno_tcp_state.stall_at;
    if (at && sought() && at > uno_now_ns() + STIR) at = uno_now_ns() + STIR;
    if (at == uno_tcp_state.timer_at) return;
    uno_tcp_state.timer_at = at;
    struct itimerspec t = {.it_value = {(time_t)(at / 1000000000), (long)(at % 1000000000)}};
    timerfd_settime(uno_tcp_state.timer, TFD_TIMER_ABSTIME, &t, NULL);
}

// Whether two cards name the same addresses.
static bool is_as_reachable(const struct uno_net *a, const struct uno_net *b)
{
    return a->count == b->count && memcmp(a->addr, b->addr, sizeof a->addr) == 0;
}

int tcp_listen(void)
{
    struct uno_net card;
    bool further = uno_tcp_state.listener[0].fd >= 0;
    stranger_told = false;
    int err = uno_net_own(&card, uno_chan_self.job->nhosts > 1 || uno_chan_self.far);
    if (err) return err;
    if (further && (uno_tcp_state.listener[1].fd >= 0 || is_as_reachable(&card, &uno_tcp_state.card)))
        return MPI_SUCCESS;
    int fd = uno_net_listen(&card, BACKLOG);
    if (fd < 0) return MPI_ERR_OTHER;
    set_options(fd);    // the connections it accepts inherit them
    uno_tcp_state.card = card;
    uno_tcp_state.listener[further] = (struct tcp_sock){TCP_LISTENER, fd};
    tcp_watch(&uno_tcp_state.listener[further], EPOLLIN, true);
    return tcp_publish(&card);
}

void tcp_unlisten(void)
{
    while (shakes) drop(shakes);
    for (int i = 0; i < 2; i++) {
        if (uno_tcp_state.listener[i].fd >= 0) close(uno_tcp_state.listener[i].fd);
        uno_tcp_state.listener[i].fd = -1;
    }
}
