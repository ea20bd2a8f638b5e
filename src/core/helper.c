// SPDX-License-Identifier: BSD-3-Clause
// The progress thread (helper.h): a thread that waits in MPI like one of the user's, as long as pollers are queued.
// Called by init.c and progress.c.
//
// Always holds: it is never the reason that a job counts as asleep (it waits for nothing of its own), and every wake
// comes with the lock held, so it misses none.
#define _GNU_SOURCE
#include "core/helper.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/cosched.h"
#include "base/fail.h"
#include "base/param.h"
#include "base/wait.h"
#include "chan/door.h"
#include "core/progress.h"
#include "core/world.h"

static struct uno_param wanted = UNO_PARAM_BOOL(
    "progress_thread", 0,
    "each rank has a thread that moves nonblocking collectives on while it computes (for machines with idle cores)");
UNO_PARAM_DECLARE(wanted);

bool uno_helper_on;
int uno_helper_users;

static struct {
    pthread_t thread;
    _Atomic uint32_t called;    // futex word: bumped by every call
    bool stop;
} helper;

static bool step_aside(void *arg)
{
    (void)arg;
    return helper.stop || (!uno_pollers_queued() && !uno_helper_users) || uno_others_wait(step_aside);
}

static void *work(void *arg)
{
    (void)arg;
    uno_lock();
    while (!helper.stop) {
        // Relaxed: bumped under the lock, which is held here.
        uint32_t seen = atomic_load_explicit(&helper.called, memory_order_relaxed);
        if (!step_aside(NULL)) {
            uno_wait_until(step_aside, NULL, &uno_waiting_helper);
            continue;
        }
        int depth = uno_lock_drop();
        uno_futex_wait(&helper.called, seen, 0, false);
        uno_lock_retake(depth);
    }
    uno_unlock();
    return NULL;
}

void uno_helper_call(void)
{
    // Relaxed: the lock orders it; the futex compares the value itself.
    atomic_fetch_add_explicit(&helper.called, 1, memory_order_relaxed);
    uno_futex_wake(&helper.called, 1, false);
}

static int start(void)
{
    sigset_t all, old;
    sigfillset(&all);
    helper.stop = false;
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
