// SPDX-License-Identifier: BSD-3-Clause
// Progress and waiting (progress.h). A waiting call polls for as long as the policy says (base/patience.h), then sleeps
// on the door of this rank. With threads one waiting thread at a time is the keeper of the door and polls for
// all; the others sleep on a word of their own and are woken when their condition holds, or to become the next keeper.
#define _GNU_SOURCE
#include "core/progress.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/door.h"
#include "chan/self.h"
#include "core/comm.h"
#include "core/helper.h"
#include "core/request.h"
#include "core/waiting.h"
#include "core/world.h"

#define BUDGET 256
#define MAX_FDS 8
#define GUESTS_US 100    // between two looks whether processes of other jobs live: one takes about 0.5 us
#define LOOKS 1000       // at a partitioned request, before the general wait takes over

enum { WAITS, SLEEPS, WOKEN };    // of a waiter that leaves the door to another thread

struct uno_waiter {
    bool (*ready)(void *arg);
    void *arg;
    _Atomic uint32_t woken;
    bool keeper;
    struct uno_waiter *next, *prev;
};

struct uno_waiter *uno_first_waiter;
static bool kept;              // a thread is the keeper
static bool kept_by_helper;    // the progress thread is
static int watched = -1;       // uno_watch_fd
static int bell_fd = -1;       // the epoll set that the user waits on
bool uno_doorbell_armed;       // the user waits on the doorbell's descriptor

const struct uno_waiting uno_waiting_helper = {.peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED};

static const _Atomic uint32_t no_news;
const _Atomic uint32_t *uno_news = &no_news;
uint32_t uno_news_seen;
void (*uno_news_taken)(void);

__attribute__((noinline, cold)) void uno_news_take(void)
{
    // Acquire: pairs with uno_bell_news; what was told is there. Before the look, which may be followed by more.
    uno_news_seen = atomic_load_explicit(uno_news, memory_order_acquire);
    uno_news_taken();
    uno_wake_waiters();
}

int uno_progress(void)
{
    uno_assert_locked();
    int n = uno_chan_poll_all(BUDGET);
    n += uno_pollers_run();
    if (n)
        uno_wake_waiters();
    else if (__builtin_expect(uno_news_waits(), 0))
        uno_news_take(), n = 1;
    return n;
}

static uint64_t looked;    // at the processes of other jobs, in ticks

__attribute__((noinline, cold)) bool uno_guests_due(void)
{
    return uno_ticks() - looked > GUESTS_US * uno_ticks_per_us();
}

void uno_guests_look(void)
{
    looked = uno_ticks();
    uno_chan_self.wary = uno_chan_self.guests;
    uno_progress();
    uno_chan_self.wary = false;
}

// Sleeps until rung: on the futex, or on descriptors when a channel has one or the user armed the doorbell.
static void sleep_at_door(uint32_t ticket, const struct pollfd *fds, int nfds)
{
    if (nfds == 0) {
        uno_door_sleep(ticket);
        return;
    }
    struct pollfd copy[MAX_FDS];
    memcpy(copy, fds, sizeof copy[0] * (size_t)nfds);
    poll(copy, (nfds_t)nfds, uno_door_limit());
}

static int channel_fds(struct pollfd *fds)
{
    int count, n = 0;
    struct uno_chan *const *chan = uno_chan_usable(&count);
    for (int i = 0; i < count && n < MAX_FDS - 2; i++) {
        int fd = chan[i]->ops->wait_fd(chan[i]);
        if (fd >= 0) fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    if (watched >= 0) fds[n++] = (struct pollfd){.fd = watched, .events = POLLIN};
    if (n > 0 || uno_doorbell_armed) {
        int fd = uno_door_fd();
        if (fd >= 0) fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return n;
}

// A thread that was woken and finds every processor taken by ranks that look for messages, its own among them, waits
// until one of them falls asleep, unless they give way (uno_patience_meets). The lock is held.
static void tell_called(uint32_t more)
{
    // Relaxed: a hint.
    uint32_t called = atomic_load_explicit(&uno_world.door->called, memory_order_relaxed);
    atomic_store_explicit(&uno_world.door->called, called + more, memory_order_relaxed);
}

static void wake(struct uno_waiter *w)
{
    if (w->keeper) {
        uno_door_ring(uno_world.door);
        return;
    }
    // Relaxed: the lock orders the condition. A thread that was woken before may still wait for a core.
    uint32_t was = atomic_exchange_explicit(&w->woken, WOKEN, memory_order_relaxed);
    if (was == WOKEN) return;
    tell_called(1);
    if (was == SLEEPS) uno_lock_wakes(&w->woken);
}

static void wake_all_ready(void)
{
    for (struct uno_waiter *w = uno_first_waiter; w; w = w->next)
        if (w->ready(w->arg)) wake(w);
}

void uno_wake_waiters_slow(void)
{
    wake_all_ready();
    if (uno_doorbell_armed) uno_door_ring(uno_world.door);
}

// What other threads wait for may come without any message (a line of a segment that a peer wrote): the keeper of the
// door looks for them before it sleeps and after it woke. Whether one was woken.
static bool wake_ready(void)
{
    bool woke = false;
    for (struct uno_waiter *w = uno_first_waiter; w; w = w->next) {
        if (w->keeper || !w->ready(w->arg)) continue;
        wake(w);
        woke = true;
    }
    return woke;
}

// One sleep, unless a last poll after the announcement finds something. The lock is held on entry and return.
static void nap(bool (*ready)(void *), void *arg, const struct uno_waiting *what)
{
    struct pollfd fds[MAX_FDS];
    int nfds = channel_fds(fds);
    uint32_t ticket = uno_door_arm(nfds ? UNO_DOOR_FD : UNO_DOOR_FUTEX);
    if (uno_progress() || ready(arg) || wake_ready()) {
        if (!uno_doorbell_armed) uno_door_disarm();
        return;
    }
    uno_tell_sleeper();
    if (what == &uno_waiting_helper)
        uno_tell_nap();
    else
        uno_tell_asleep(what);
    int depth = uno_lock_drop();
    uint64_t since = uno_patience_sleeps();
    sleep_at_door(ticket, fds, nfds);
    uno_patience_slept(uno_ticks() - since);
    uno_lock_retake(depth);
    if (what == &uno_waiting_helper)
        uno_tell_nap();
    else
        uno_tell_awake();
    if (uno_doorbell_armed) return;    // its rings are the user's to see
    if (nfds > 0) uno_door_drain();
    uno_door_disarm();
}

// Polls until ready or until the time for that is over. Returns whether ready.
static inline __attribute__((always_inline)) bool spin(bool (*ready)(void *), void *arg, struct uno_patience *p)
{
    for (;;) {
        int moved = uno_progress();
        if (ready(arg)) return true;
        if (moved)
            *p = (struct uno_patience){.with = p->with};
        else if (!uno_patience_spin(p))
            return false;
        if (uno_world.threads) uno_lock_offer();
    }
}

static bool yield_some(bool (*ready)(void *), void *arg, struct uno_patience *p)
{
    while (uno_patience_yield(p)) {
        uno_lock_give_core();
        // All that has come is taken before the core is given away again: one look takes some messages of each ring.
        while (uno_progress()) {
            *p = (struct uno_patience){.met = p->met, .with = p->with};
            if (ready(arg)) return true;
            if (uno_world.threads) uno_lock_offer();
        }
        if (ready(arg) || (uno_cosched_again(p) && spin(ready, arg, p))) return true;
    }
    return false;
}

static inline __attribute__((always_inline)) void wait_alone(bool (*ready)(void *), void *arg,
                                                             const struct uno_waiting *what, struct uno_patience *p)
{
    while (!spin(ready, arg, p) && !yield_some(ready, arg, p)) {
        nap(ready, arg, what);
        if (ready(arg)) return;
        *p = (struct uno_patience){.with = p->with};
    }
}

static void add_waiter(struct uno_waiter *w)
{
    w->prev = NULL;
    w->next = uno_first_waiter;
    if (w->next) w->next->prev = w;
    uno_first_waiter = w;
}

static void remove_waiter(struct uno_waiter *w)
{
    uno_assert_locked();
    // Relaxed: under the lock, as are all wakes.
    if (atomic_exchange_explicit(&w->woken, WAITS, memory_order_relaxed) == WOKEN) tell_called(UINT32_MAX);
    uno_assert((w->prev ? w->prev->next : uno_first_waiter) == w && (!w->next || w->next->prev == w));
    if (w->prev)
        w->prev->next = w->next;
    else
        uno_first_waiter = w->next;
    if (w->next) w->next->prev = w->prev;
}

// Another thread should keep the door now: the one that has waited longest (the list's last).
static void hand_over(void)
{
    struct uno_waiter *w = uno_first_waiter;
    while (w && w->next) w = w->next;
    if (w) wake(w);
}

// Until another thread, which keeps the door, says so; without the lock. As long as waits give their core away this one
// does, so that it costs no wake: threads that wait in turns are there when the core comes to them.
static void wait_for_keeper(_Atomic uint32_t *woken)
{
    struct uno_patience p = {.met = true};
    // Relaxed, all: the lock, which is taken then, orders the condition.
    while (atomic_load_explicit(woken, memory_order_relaxed) != WOKEN && uno_patience_yield(&p)) uno_give_core();
    uint32_t was = WAITS;
    if (atomic_compare_exchange_strong_explicit(woken, &was, SLEEPS, memory_order_relaxed, memory_order_relaxed))
        uno_futex_wait(woken, SLEEPS, 0, false);
}

// The progress thread keeps the door, and sleeps there at once, for windows, where looking would take the core from the
// program.
static bool helper_naps(void)
{
    return kept_by_helper && uno_helper_beside && !uno_pollers_queued();
}

static void wait_among_threads(bool (*ready)(void *), void *arg, const struct uno_waiting *what, struct uno_patience *p)
{
    struct uno_waiter me = {.ready = ready, .arg = arg};
    bool helped = uno_helper_on && what != &uno_waiting_helper;
    if (helped) uno_helper_waits();
    if (helped && helper_naps()) uno_door_ring(uno_world.door);
    while (!ready(arg)) {
        add_waiter(&me);
        if (!kept) {
            kept = me.keeper = true;
            kept_by_helper = what == &uno_waiting_helper;
            if (helper_naps() || (!spin(ready, arg, p) && !yield_some(ready, arg, p))) nap(ready, arg, what);
            *p = (struct uno_patience){0};
            kept = kept_by_helper = me.keeper = false;
            remove_waiter(&me);
            wake_ready();
            uno_lock_offer();    // to those just woken: a keeper that never sleeps would never let them in
            continue;
        }
        // What this thread itself moved since the keeper's last look (MPI_Pready) rings no bell of ours.
        uno_progress();
        if (ready(arg)) {
            remove_waiter(&me);
            break;
        }
        // The helper at the door tells nothing: it waits for nothing of its own.
        bool tells = kept_by_helper && what != &uno_waiting_helper;
        if (tells) uno_tell_asleep(what);
        int depth = uno_lock_drop();
        wait_for_keeper(&me.woken);
        uno_lock_retake(depth);
        if (tells) uno_tell_awake();
        remove_waiter(&me);
    }
    if (!kept) hand_over();
    if (helped) uno_helper_waited();
}

static inline __attribute__((always_inline)) void wait_for(bool (*ready)(void *), void *arg,
                                                           const struct uno_waiting *what, struct uno_patience *p)
{
    uno_tell_wait(UNO_DOOR_WAITS);
    if (uno_world.threads)
        wait_among_threads(ready, arg, what, p);
    else
        wait_alone(ready, arg, what, p);
    uno_tell_wait(0);
}

void uno_wait_on(bool (*ready)(void *arg), void *arg, const struct uno_waiting *what, struct uno_patience *p)
{
    if (ready(arg)) return;
    bool crowded = uno_patience.crowded && what != &uno_waiting_helper;
    if (crowded) uno_waiting(what, p);
    wait_for(ready, arg, what, p);
    if (crowded) uno_waited(p);
}

void uno_wait_until(bool (*ready)(void *arg), void *arg, const struct uno_waiting *what)
{
    uno_wait_on(ready, arg, what, &(struct uno_patience){0});
}

static bool request_ready(void *arg)
{
    return uno_request_is_done(arg);
}

// A partitioned request waits for lines that no channel brings: looks at them alone, most of the time.
static bool look_at_partitions(MPI_Request r, struct uno_patience *p)
{
    for (int i = 1; i <= LOOKS && uno_patience_spin(p); i++) {
        r->ops->poll(r);
        if (i % 32 == 0) uno_progress();
        if (uno_request_is_done(r)) return true;
    }
    return false;
}

// Ranks share processors. Every other request is waited for as anything else.
static void wait_crowded(MPI_Request r, const struct uno_waiting *what, struct uno_patience *p)
{
    if (!uno_waiting_message(r, what, p)) {
        uno_wait_on(request_ready, r, what, p);
        return;
    }
    wait_for(request_ready, r, what, p);
    uno_waited_message(r, p);
}

void uno_wait_request_on(MPI_Request r, struct uno_patience *p)
{
    if (uno_request_is_done(r)) return;
    if (r->kind == UNO_REQ_PARTITIONED && !uno_world.threads && look_at_partitions(r, p)) return;
    if (uno_request_is_own_work(r) && r->ops->poll(r) && uno_request_is_done(r)) return;
    struct uno_waiting what = {r->comm, r->rank, r->tag, true};
    uno_patience_for(&r->done);
    if (uno_patience.crowded)
        wait_crowded(r, &what, p);
    else
        wait_for(request_ready, r, &what, p);
    uno_patience_for(NULL);
}

void uno_wait_request(MPI_Request r)
{
    if (uno_request_is_done(r)) return;
    uno_wait_request_on(r, &(struct uno_patience){0});
}

// One descriptor over the door's and the channels': an epoll set, made once.
int uno_doorbell_fd(void)
{
    if (bell_fd >= 0) return bell_fd;
    int door = uno_door_fd();
    if (door < 0) return -1;
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) return uno_fail_errno(MPI_ERR_OTHER, "make the doorbell's descriptor"), -1;
    struct epoll_event e = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, door, &e);
    int count;
    struct uno_chan *const *chan = uno_chan_usable(&count);
    for (int i = 0; i < count; i++) {
        int fd = chan[i]->ops->wait_fd(chan[i]);
        if (fd >= 0) epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
    }
    return bell_fd = set;
}

// Descriptors that were not there when the set was made. Those that are closed leave it by themselves.
static void complete_bell(const struct pollfd *fds, int nfds)
{
    struct epoll_event e = {.events = EPOLLIN};
    for (int i = 0; i < nfds; i++) epoll_ctl(bell_fd, EPOLL_CTL_ADD, fds[i].fd, &e);    // EEXIST: it is in
}

void uno_watch_fd(int fd)
{
    struct epoll_event e = {.events = EPOLLIN};
    if (bell_fd >= 0 && watched >= 0) epoll_ctl(bell_fd, EPOLL_CTL_DEL, watched, &e);
    watched = fd;
    if (uno_doorbell_armed && watched >= 0) epoll_ctl(bell_fd, EPOLL_CTL_ADD, watched, &e);
}

void uno_progress_close(void)
{
    if (bell_fd >= 0) close(bell_fd);
    bell_fd = -1;
    uno_doorbell_armed = false;
}

// A thread that sleeps at the door looks at its futex or, while the doorbell is armed, at its descriptor: it is woken
// to go to sleep there.
static void move_keeper(void)
{
    if (kept) uno_door_ring(uno_world.door);
}

bool uno_doorbell_arm(bool (*ready)(void *arg), void *arg)
{
    struct pollfd fds[MAX_FDS];
    do {
        if (ready && spin(ready, arg, &(struct uno_patience){0})) return true;
        uno_door_drain();
        int nfds = channel_fds(fds);    // tells the channels that a sleep begins
        if (uno_chan_self.guests) complete_bell(fds, nfds);
        if (!uno_doorbell_armed) move_keeper();
        uno_doorbell_armed = true;
        uno_door_arm(UNO_DOOR_FD);
        wake_all_ready();            // the ring that was drained may have been for a thread asleep at the door
    } while (uno_progress() > 0);    // what moved may have used up the ring that a later look would need
    return ready && ready(arg);
}

void uno_doorbell_disarm(void)
{
    uno_doorbell_armed = false;
    if (kept)
        move_keeper();
    else
        uno_door_disarm();
}
