// SPDX-License-Identifier: BSD-3-Clause
// Waiting, in one place: spin for a bounded time, then sleep on a futex. All threads that wait in a team sleep on
// the team's event word; a thread that changes something calls rt_wake(). A waiting thread is detached from the
// interpreter, so a collector that stops the world never waits for it. The main thread looks for signals every 50 ms
// and when a signal interrupts its sleep.
#include "rt.h"
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MISS 3        // what a wait that outlasts its spinning counts; one that does not takes back one
#define LIMIT 9       // when to look around
#define RESPITE 32    // misses that are nothing to worry about after a look that found nobody

static __thread int misses __attribute__((tls_model("initial-exec")));

int64_t rt_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int rt_futex_wait(_Atomic unsigned *word, unsigned seen, int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns ? &ts : NULL, NULL, 0) == 0) return 0;
    return errno;
}

void rt_futex_wake(_Atomic unsigned *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

// Threads that outnumber the processors must not spin: what they wait for cannot run meanwhile.
int64_t rt_spin_for(int n)
{
    if (rt_settings.adaptive && rt_crowded()) return 0;
    return rt_settings.spin_ns > 0 && n > rt_settings.procs ? 1000 : rt_settings.spin_ns;
}

// A wait outlasted its spinning. When that happens to more than a quarter of the waits, somebody may want the
// processors.
static void spun_in_vain(void)
{
    if (!rt_settings.adaptive || (misses += MISS) < LIMIT) return;
    enum rt_view view = rt_look_around(rt_me());
    misses = view == RT_QUIET ? -RESPITE * MISS : view == RT_UNKNOWN ? LIMIT - MISS : 0;
}

static int spin(struct rt_team *team, rt_cond cond, void *arg)
{
    for (int i = 0; i < 64; i++) {
        if (cond(arg)) {
            misses -= misses > 0;
            return 1;
        }
        rt_relax();
    }
    int64_t limit = rt_spin_for(team->n);
    if (limit <= 0) return 0;
    int64_t end = rt_now() + limit;
    do {
        for (int i = 0; i < 32; i++) {
            if (cond(arg)) {
                misses -= misses > 0;
                return 1;
            }
            rt_relax();
        }
        if (team->n > rt_settings.procs) sched_yield();
    } while (rt_now() < end);
    if (team->n <= rt_settings.procs) spun_in_vain();
    return 0;
}

static int sleep_once(struct rt_team *team, rt_cond cond, void *arg, int64_t ns)
{
    // Sequentially consistent, increment and fence: pair with the fence and load in rt_wake(). Either we see the change
    // or it sees us: the loads in cond() are mere acquires, and would overtake the increment where stores are not in
    // order.
    unsigned seen = atomic_load(&team->event);
    atomic_fetch_add(&team->sleepers, 1);
    atomic_thread_fence(memory_order_seq_cst);
    int ended = cond(arg);
    if (!ended) rt_futex_wait(&team->event, seen, ns);
    atomic_fetch_sub(&team->sleepers, 1);
    return ended;
}

void rt_wake(struct rt_team *team)
{
    // Sequentially consistent fence and load: pairs with the increment of sleepers and the fence in sleep_once().
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&team->sleepers) == 0) return;
    atomic_fetch_add(&team->event, 1);
    rt_futex_wake(&team->event, INT32_MAX);
}

int rt_wait(struct rt_team *team, rt_cond cond, void *arg)
{
    if (cond(arg)) return 0;
    int64_t start = rt_trace_start();
    PyThreadState *state = PyEval_SaveThread();
    int rc = 0, done = spin(team, cond, arg);
    bool is_main = !done && gettid() == getpid();
    while (!done && rc == 0) {
        done = sleep_once(team, cond, arg, is_main ? 50000000 : 0);
        if (done || !is_main) continue;
        PyEval_RestoreThread(state);
        rc = PyErr_CheckSignals();
        state = PyEval_SaveThread();
    }
    PyEval_RestoreThread(state);
    if (start) rt_trace("wait", start);
    return rc;
}
