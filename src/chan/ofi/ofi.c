// SPDX-License-Identifier: BSD-3-Clause
// The libfabric channel as a component (ofi.h says which file does what): opening, polling, sleeping, closing. It is
// opened only where the parameter `chan` lists it, and costs nobody else anything.
#include "chan/ofi/ofi.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/component.h"
#include "base/fail.h"
#include "base/wait.h"
#include "chan/ofi/missing.h"
#include "chan/self.h"
#include "chan/traffic.h"

#define MS 1000000ULL
#define QUIET_US 200    // without traffic for so long, libfabric is looked at less often
#define QUIET_LOOK_US 2
#define TICK (2 * MS)          // between looks of a process that sleeps while something is under way
#define LOOKS 50               // after a ring, TICK apart, where no descriptor tells of anything
#define SETTLE (1000 * MS)     // for what the provider has of a link that is lost
#define LINGER (10000 * MS)    // for peers to acknowledge what was sent, when the channel closes

struct ofi_chan uno_ofi_state = {.epoll = -1, .timer = -1};

static void set_tick(bool on)
{
    struct itimerspec t = {.it_value.tv_nsec = on ? (long)TICK : 0};
    if (on || uno_ofi_state.ticking) timerfd_settime(uno_ofi_state.timer, 0, &t, NULL);
    uno_ofi_state.ticking = on;
}

void ofi_stir(void)
{
    if (uno_ofi_state.dozer && !uno_ofi_state.ticking) set_tick(true);
}

void ofi_try_again(void)
{
    uno_ofi_state.restless = true;
    ofi_stir();
}

// ---- open ----

// Whether the channels opened so far reach everybody: then this one stays shut.
static bool not_needed(void)
{
    if (uno_chan_self.nprocs == 1) return true;
    return (uint32_t)uno_chan_self.nprocs <= uno_chan_self.nlocal && uno_chan_self.shares;
}

static int open_descriptors(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    struct epoll_event e = {.events = EPOLLIN};
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    bool good = s->epoll >= 0 && s->timer >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->timer, &e) == 0;
    for (uint32_t i = 0; i < s->ports && good; i++)
        if (s->port[i].fd >= 0) good = epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->port[i].fd, &e) == 0;
    return good ? MPI_SUCCESS : uno_fail_errno(MPI_ERR_OTHER, "open epoll for the ofi channel");
}

static int open_all(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    int err = ofi_ports_open();
    if (err) return err;
    while (s->life == 0)
        if (getrandom(&s->life, sizeof s->life, 0) < 0) return uno_fail_errno(MPI_ERR_OTHER, "get random bytes");
    s->link = calloc((size_t)uno_chan_self.nprocs, sizeof(struct ofi_link *));
    if (!s->link) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d links", uno_chan_self.nprocs);
    err = open_descriptors();
    if (!err) err = ofi_post_all();
    if (!err) err = ofi_publish(s->life);
    if (!err) ofi_windows_ready();
    for (uint32_t i = 0; i < s->ports && !err; i++)
        uno_log(2, "channel ofi: provider %s, domain %s, fabric %s%s%s%s", s->card.provider,
                s->port[i].info->domain_attr->name, s->port[i].info->fabric_attr->name,
                s->windows  ? ", reads and writes memory"
                : s->remote ? ", writes into memory"
                            : "",
                s->checks ? ", checked" : "", s->mute ? ", which cannot wake a process that sleeps" : "");
    return err;
}

static void ofi_close(struct uno_chan *self);

// The channels that are listed behind it may do without it: its reason is said, and those that would talk to this rank
// by it are told.
static int ofi_open(struct uno_chan *self)
{
    if (uno_chan_self.guests || not_needed()) return UNO_DECLINED;
    ofi_prepare();
    const char *why = ofi_load();
    if (!why && open_all() == MPI_SUCCESS) return MPI_SUCCESS;
    if (uno_chan_self.local == 0) uno_log(0, "no channel ofi: %s", why ? why : uno_fail_text());
    ofi_close(self);
    int err = ofi_publish(0);
    return err ? err : UNO_DECLINED;
}

static int ofi_connect(struct uno_chan *self, int proc, struct uno_link **link)
{
    (void)self;
    if (proc == uno_chan_self.proc || proc >= uno_chan_self.nprocs) return UNO_DECLINED;
    struct ofi_link *l = ofi_link_of(proc);
    if (!l) return uno_fail(MPI_ERR_NO_MEM, "no memory for a connection to rank %d", proc);
    *link = &l->base;
    return MPI_SUCCESS;
}

// ---- poll ----

// A link that was lost: what the provider still had when that happened is over after a while.
static bool is_settling(struct ofi_link *l, uint64_t now)
{
    if (!l->settle || now < l->settle) return l->settle;
    l->settle = 0;
    ofi_end_offers(l, l->err, true);
    ofi_end_landings(l, l->err, true);
    return false;
}

// What this link has to try again; whether something is left of that.
static bool tend(struct ofi_link *l, uint64_t now)
{
    if (l->lost) return is_settling(l, now);
    if (l->due) {
        if (now < l->due) return true;
        ofi_give_up(l);
        uno_log(1, "gave up the connection to rank %d: %s", l->base.proc, l->why);
        if (!uno_ofi_state.closing) uno_link_lost(&l->base, l->why);
        return false;
    }
    ofi_flush(l);
    if (l->tell) ofi_put(l, OFI_ACK, NULL, 0);
    bool left = l->pulls && ofi_pull_all(l);
    if (l->streams) left |= ofi_stream(l);
    return left || l->unsent || l->tell || l->due;
}

static void tend_all(void)
{
    uint64_t now = uno_now_ns();
    bool left = false;
    uno_ofi_state.restless = false;
    if (uno_ofi_state.unposted) ofi_post_again();
    for (struct ofi_link *l = uno_ofi_state.first; l; l = l->next) left |= tend(l, now);
    if (left) ofi_try_again();
}

static int look(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    uint32_t flying = s->flying;
    int n = ofi_drain();
    if (s->restless) {
        tend_all();
        n += s->flying != flying;
    }
    return n;
}

static _Thread_local char mark;    // its address tells threads apart

static int ofi_poll(struct uno_chan *self, int budget)
{
    (void)self;
    (void)budget;
    struct ofi_chan *s = &uno_ofi_state;
    if (s->busy) return 0;
    if (s->dozer == &mark && !s->sleepy) s->dozer = NULL;
    uint64_t now = uno_ticks(), us = uno_ticks_per_us();
    if (!s->sleepy && now - s->last_use > QUIET_US * us && now - s->last_look < QUIET_LOOK_US * us) return 0;
    s->last_look = now;
    int n = look();
    // Only a completion queue that says so itself may be slept on.
    for (uint32_t i = 0; i < s->ports && !n && s->sleepy; i++) {
        struct fid *queue = &s->port[i].cq->fid;
        if (s->port[i].fd >= 0 && fi_trywait(s->port[i].fabric, &queue, 1) != FI_SUCCESS) n = 1;
    }
    s->sleepy = false;
    return n;
}

static int ofi_poll_link(struct uno_link *link)
{
    return ofi_poll(link->chan, 1);
}

// What a provider without a descriptor does in several steps needs the other side's, which may sleep.
static void wake_partners(void)
{
    for (const struct ofi_link *l = uno_ofi_state.first; l; l = l->next)
        if (!l->lost && (l->flying || l->writing)) ofi_wake(l);
}

// Whether a process without a descriptor looks again soon. The ring of a peer comes before what it tells of can be
// seen: libfabric's provider shm finds the first message of a peer only at the second look. So a process that was
// woken by anything but its own timer looks LOOKS times more before it sleeps for good.
static bool looks_again(struct ofi_chan *s)
{
    uint64_t expired;
    if (!s->mute) return false;
    if (read(s->timer, &expired, sizeof expired) != (ssize_t)sizeof expired)
        s->looks = LOOKS;
    else if (s->looks)
        s->looks--;
    return s->looks;
}

// Providers that make progress only when asked (most) have work to do as long as something is under way, also where
// their descriptor tells of nothing: a process that sleeps then looks now and again.
static int ofi_wait_fd(struct uno_chan *self)
{
    (void)self;
    struct ofi_chan *s = &uno_ofi_state;
    bool deaf = s->mute && uno_chan_self.job->nhosts > 1;
    set_tick(looks_again(s) || s->flying || s->restless || deaf);
    if (s->mute && s->flying) wake_partners();
    s->sleepy = true;
    s->dozer = &mark;
    return s->epoll;
}

// ---- the rest of the contract ----

static size_t ofi_look(struct uno_link *link, size_t n, const void **at)
{
    (void)link;
    *at = NULL;    // payloads are always delivered by address
    return n;
}

static void ofi_lose(struct uno_link *link, int err)
{
    struct ofi_link *l = ofi_of(link);
    ofi_give_up(l);
    l->err = err;
    ofi_end_offers(l, err, false);
    ofi_end_landings(l, err, false);
    if (!l->direct) return;
    l->settle = uno_now_ns() + SETTLE;
    ofi_try_again();
}

static void ofi_leave(struct uno_link *link)
{
    (void)link;    // processes of other jobs are not reached
}

// Whether nothing keeps this link from being closed; says END first.
static bool is_settled(struct ofi_link *l)
{
    if (l->lost || l->due || l->peer_life == 0) return true;
    if (l->streams) return false;
    if (l->bye) return !l->tell;
    if (!l->ended) l->ended = ofi_put(l, OFI_END, NULL, 0);
    return l->ended && l->acked == l->seq;
}

// Takes leave of all peers: what was sent arrives.
static void say_bye(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    uint64_t end = uno_now_ns() + LINGER;
    for (bool settled = false; !settled && uno_now_ns() < end;) {
        struct epoll_event e;
        look();
        settled = s->flying == 0;
        for (struct ofi_link *l = s->first; l; l = l->next) settled &= is_settled(l);
        if (!settled && !ofi_poll(&uno_ofi, 1)) epoll_wait(ofi_wait_fd(&uno_ofi), &e, 1, 1);
    }
}

static void ofi_close(struct uno_chan *self)
{
    struct ofi_chan *s = &uno_ofi_state;
    s->closing = true;
    (void)self;
    if (s->first) say_bye();
    ofi_unpublish();
    uno_access = NULL;
    ofi_offers_close();
    ofi_landings_close();
    ofi_ports_close();
    while (s->first) {
        struct ofi_link *l = s->first;
        s->first = l->next;
        free(l);
    }
    free(s->link);
    if (s->timer >= 0) close(s->timer);
    if (s->epoll >= 0) close(s->epoll);
    *s = (struct ofi_chan){.epoll = -1, .timer = -1};
}

static const struct uno_chan_ops ofi_ops = {
    .open = ofi_open,
    .connect = ofi_connect,
    .send = ofi_send,
    .poll = ofi_poll,
    .poll_link = ofi_poll_link,
    .look = ofi_look,
    .offer = ofi_offer,
    .accept = ofi_accept,
    .withdraw = ofi_withdraw,
    .replace = ofi_replace,
    .lose = ofi_lose,
    .wait_fd = ofi_wait_fd,
    .leave = ofi_leave,
    .close = ofi_close,
};

static const char *why_not(const struct uno_component_host *host)
{
    (void)host;
    return uno_ofi_missing(NULL);
}

static const struct uno_component ofi_component = {UNO_COMPONENT_IS_CHANNEL, .name = "ofi",
                                                   .version = UNO_VERSION,   .about = "between hosts, by libfabric",
                                                   .priority = 60,           .can = UNO_CAN_ON_REQUEST,
                                                   .open = why_not,          .table = &ofi_ops};
UNO_COMPONENT_DECLARE(ofi_component);

struct uno_chan uno_ofi = {.ops = &ofi_ops, .is = &ofi_component};

static const struct uno_pvar sent[] = UNO_TRAFFIC_PVARS("ofi", uno_ofi.sent);
UNO_PVARS_DECLARE(sent);
