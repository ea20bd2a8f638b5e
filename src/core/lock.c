// SPDX-License-Identifier: BSD-3-Clause
// The lock of the library under MPI_THREAD_MULTIPLE: recursive, one atomic operation to take, a plain store to let go.
// Contenders spin shortly, then announce themselves with a membarrier and sleep, so that the holder needs no fence to
// see them.
#define _GNU_SOURCE
#include <string.h>

#include "base/invariant.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "core/world.h"

#define LOOKS 400         // a holder lets go soon, or has lost its core,
#define YIELD_EVERY 50    // perhaps to who looks
#define OFFER_YIELDS 64
#define WAKES 8
#define NAP_NS 1000000    // a contender looks again after this time, in case it has missed a wake

static struct {
    _Atomic uint32_t held;
    _Atomic uint32_t contenders;
    _Atomic(const char *) owner;    // address of a variable of the owner's thread
    int depth;
    uint32_t nwakes;    // of `wakes`
    _Atomic uint32_t *wakes[WAKES];
} lock __attribute__((aligned(64)));

static _Thread_local char self;
static _Atomic uint64_t waits, waited;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("lock_waits", &waits, "times a thread waited for another one in the library"),
    UNO_PVAR_TIME("lock_wait_time", &waited, "that threads waited so"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static bool try_take(void)
{
    uint32_t no = 0;
    // Acquire: pairs with the release in let_go.
    return atomic_load_explicit(&lock.held, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&lock.held, &no, 1, memory_order_acquire, memory_order_relaxed);
}

static void take_lock(void)
{
    if (try_take()) return;
    uint64_t since = uno_ticks();
    // Seq_cst: with the membarrier below, either we see the lock free or the holder sees us.
    atomic_fetch_add_explicit(&lock.contenders, 1, memory_order_seq_cst);
    for (;;) {
        struct uno_patience p = {0};
        while (p.looks < LOOKS && uno_patience_spin(&p)) {
            if (try_take()) goto taken;
            if (p.looks % YIELD_EVERY == 0) uno_give_core();
            uno_rest();
        }
        uno_membarrier_private();
        if (try_take()) goto taken;
        uno_futex_wait(&lock.held, 1, NAP_NS, false);
    }
taken:
    uno_count_add(&waits, 1);    // under the lock
    uno_count_add(&waited, uno_ticks() - since);
    atomic_fetch_sub_explicit(&lock.contenders, 1, memory_order_relaxed);
}

static void let_go(void)
{
    _Atomic uint32_t *wakes[WAKES];
    uint32_t n = lock.nwakes;
    if (__builtin_expect(n != 0, 0)) {
        memcpy(wakes, lock.wakes, n * sizeof *wakes);
        lock.nwakes = 0;
    }
    // Relaxed: only this thread compares it with itself.
    atomic_store_explicit(&lock.owner, NULL, memory_order_relaxed);
    // Release: pairs with the acquire in try_take.
    atomic_store_explicit(&lock.held, 0, memory_order_release);
    if (atomic_load_explicit(&lock.contenders, memory_order_relaxed)) uno_futex_wake(&lock.held, 1, false);
    for (uint32_t i = 0; i < n; i++) uno_futex_wake(wakes[i], 1, false);
}

void uno_lock_wakes(_Atomic uint32_t *word)
{
    if (lock.nwakes < WAKES)
        lock.wakes[lock.nwakes++] = word;
    else
        uno_futex_wake(word, 1, false);
}

void uno_lock_slow(void)
{
    if (atomic_load_explicit(&lock.owner, memory_order_relaxed) == &self) {
        lock.depth++;
        return;
    }
    take_lock();
    atomic_store_explicit(&lock.owner, &self, memory_order_relaxed);
    lock.depth = 1;
}

void uno_unlock_slow(void)
{
    uno_assert(lock.depth > 0 && uno_lock_is_mine());
    if (--lock.depth == 0) let_go();
}

bool uno_lock_is_mine(void)
{
    // Relaxed: only this thread writes its own mark. While the library opens and closes there is one thread.
    bool running = atomic_load_explicit(&uno_world.phase, memory_order_relaxed) == UNO_RUNNING;
    return !uno_world.threads || !running || atomic_load_explicit(&lock.owner, memory_order_relaxed) == &self;
}

int uno_lock_drop(void)
{
    if (!uno_world.threads) return 0;
    int depth = lock.depth;
    lock.depth = 0;
    let_go();
    return depth;
}

void uno_lock_retake(int depth)
{
    if (!uno_world.threads) return;
    take_lock();
    atomic_store_explicit(&lock.owner, &self, memory_order_relaxed);
    lock.depth = depth;
}

void uno_lock_give_core(void)
{
    int depth = uno_lock_drop();
    uno_give_core();
    uno_lock_retake(depth);
}

void uno_lock_offer(void)
{
    if (atomic_load_explicit(&lock.contenders, memory_order_relaxed) == 0 && lock.nwakes == 0) return;
    int depth = uno_lock_drop();
    for (int i = 0; i < OFFER_YIELDS && atomic_load_explicit(&lock.contenders, memory_order_relaxed); i++)
        uno_give_core();
    uno_lock_retake(depth);
}
