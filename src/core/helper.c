// SPDX-License-Identifier: BSD-3-Clause
// The progress thread (helper.h): a thread that waits in MPI like one of the user's, as long as pollers are queued.
// Called by init.c and progress.c.
//
// Always holds: it is never the reason that a job counts as asleep (it waits for nothing of its own), and every wake
// comes with the lock held, so it misses none.
//
// A program whose waits follow each other moves everything on itself, and a helper that ran between two of them would
// take its core and the door each time. So for windows the helper is called at the end of a wait only if one of the
// last FEW began LATE_US after the one before it, and then gets the core until it sleeps at the door; otherwise it
// looks itself, seldom and without the lock, whether waits still follow each other.
#define _GNU_SOURCE
#include "core/helper.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/cosched.h"
#include "base/fail.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/door.h"
#include "core/progress.h"
#include "core/world.h"

static struct uno_param wanted = UNO_PARAM_BOOL(
    "progress_thread", 0,
    "each rank has a thread that moves nonblocking collectives on while it computes (for machines with idle cores)");
UNO_PARAM_DECLARE(wanted);

#define PAUSE_US 50
#define PAUSE_MOST_US 800    // a look costs the program about 10 us where it has one processor
#define FEW 4
#define LATE_US 150

bool uno_helper_on;
bool uno_helper_beside;
int uno_helper_users;

static struct {
    pthread_t thread;
    _Atomic uint32_t called;    // futex word: bumped by every call, and when a wait ends
    _Atomic bool now;           // called, and has not looked since
    int waiting;                // threads of the program
    uint64_t left;              // ticks, when the last wait ended
    int due;                    // waits until none of the last FEW began late
    bool asleep;                // until called: one long wait is under way, or there is nothing to do
    bool stop;
} helper;

static _Atomic uint64_t calls;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("helper_calls", &calls, "times that the progress thread was called to see what has come"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static bool step_aside(void *arg)
{
    (void)arg;
    return helper.stop || (!uno_pollers_queued() && !uno_helper_users) || helper.waiting > 0;
}

// Until it is called, or, unless for_good, until no wait has ended for a pause. Without the lock.
static void rest(uint32_t seen, bool for_good)
{
    for (uint64_t us = PAUSE_US;; us = us < PAUSE_MOST_US ? 2 * us : us) {
        uno_futex_wait(&helper.called, seen, for_good ? 0 : us * 1000, false);
        // Acquire: pairs with the release in tell(). Relaxed: comes with it.
        uint32_t is = atomic_load_explicit(&helper.called, memory_order_acquire);
        if (is == seen || atomic_load_explicit(&helper.now, memory_order_relaxed)) return;
        seen = is;
        for_good = false;
    }
}

static void late_since(uint64_t then)
{
    if (uno_ticks() - then > LATE_US * uno_ticks_per_us()) helper.due = FEW;
}

// Keeps the door until the program waits. What its next wait is for may be there then, so that it needs none.
static void keep_door(void)
{
    uint64_t since = uno_ticks();
    uno_wait_until(step_aside, NULL, &uno_waiting_helper);
    late_since(since > helper.left ? since : helper.left);
}

static void *work(void *arg)
{
    (void)arg;
    uno_lock();
    bool quiet = false;
    while (!helper.stop) {
        // Relaxed, both: written under the lock, which is held here.
        uint32_t seen = atomic_load_explicit(&helper.called, memory_order_relaxed);
        bool now = atomic_exchange_explicit(&helper.now, false, memory_order_relaxed), aside = step_aside(NULL);
        if (!aside && (now || quiet)) {
            keep_door();
            quiet = false;
            continue;
        }
        // Without windows every wait's end that it is wanted for calls it.
        bool for_good = helper.asleep = aside && (!uno_helper_users || (quiet && !now));
        int depth = uno_lock_drop();
        rest(seen, for_good);
        uno_lock_retake(depth);
        quiet = true;
    }
    uno_unlock();
    return NULL;
}

static void tell(bool call)
{
    // Relaxed: comes with the release, which pairs with the acquire in rest().
    if (call) atomic_store_explicit(&helper.now, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&helper.called, 1, memory_order_release);
    if (!call) return;
    helper.asleep = false;
    uno_count_add(&calls, 1);
    uno_futex_wake(&helper.called, 1, false);
}

void uno_helper_call(void)
{
    tell(true);
}

void uno_helper_waits(void)
{
    helper.waiting++;
    late_since(helper.left);
}

void uno_helper_spared(void)
{
    helper.left = uno_ticks();
}

void uno_helper_waited(void)
{
    helper.waiting--;
    helper.left = uno_ticks();
    bool late = helper.due > 0;
    helper.due -= late;
    if (uno_pollers_queued())
        tell(true);
    else if (uno_helper_users)
        tell(late || helper.asleep);
    if (!late || !uno_helper_beside || !uno_helper_users) return;
    // The kernel lets a program that computes go on for a slice, whoever is woken.
    uno_lock_give_core();
    helper.left = uno_ticks();
}

static int start(void)
{
    sigset_t all, old;
    sigfillset(&all);
    helper.stop = false;
    uno_helper_beside = uno_world.processors == 1;
    uno_cosched_settle();
    pthread_sigmask(SIG_SETMASK, &all, &old);    // signals are for the program's threads
    int e = pthread_create(&helper.thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e) return uno_fail(MPI_ERR_OTHER, "start the progress thread: %s", strerror(e));
    uno_helper_on = true;
    return MPI_SUCCESS;
}

int uno_helper_start(void)
{
    if (!wanted.num) return MPI_SUCCESS;
    uno_world.threads = true;
    return start();
}

int uno_helper_need(bool more)
{
    uno_helper_users += more ? 1 : -1;
    if (!more) return MPI_SUCCESS;
    if (!uno_world.threads) {    // the caller is inside a call: it holds the lock from now on
        uno_world.threads = true;
        uno_lock_slow();
    }
    int err = uno_helper_on ? MPI_SUCCESS : start();
    if (err) uno_helper_users--;
    if (!err) uno_helper_call();
    return err;
}

void uno_helper_stop(void)
{
    if (!uno_helper_on) return;
    uno_lock();
    helper.stop = true;
    uno_helper_on = false;
    uno_helper_call();
    uno_door_ring(uno_world.door);    // it may sleep there
    uno_unlock();
    pthread_join(helper.thread, NULL);
}
