// SPDX-License-Identifier: BSD-3-Clause
// The policy of waits (patience.h) and its parameters. uno_world_open decides; everything that waits asks.
#define _GNU_SOURCE
#include "base/patience.h"

#include <sched.h>

#include "base/job.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/stats.h"
#include "base/wait.h"

static struct uno_param spin_us =
    UNO_PARAM_INT("wait_spin_us", 50, 0, 1000000,
                  "microseconds a wait looks again and again before it sleeps (0: it sleeps at once, without a yield "
                  "either; ranks that outnumber their processors yield instead, see wait_yields)");
UNO_PARAM_DECLARE(spin_us);
// A wake of another core costs about 30 us, a yield 0.7: `mpiexec -n 16 unisono-bench barrier` on two cores takes 70 us
// with 40 yields and 30 with 400, and mpi4py's tests at 3 ranks 54 s and 48 s.
static struct uno_param yields =
    UNO_PARAM_INT("wait_yields", 400, 0, 1000000,
                  "times a wait gives the core away before it sleeps, when ranks outnumber their processors");
UNO_PARAM_DECLARE(yields);

// A process that yields goes behind all others on the core, one that sleeps keeps its turn: beside other programs, or
// ranks that compute, a yield may cost as many slices as there are others. Where one yield in LOST_OFTEN did, waits
// sleep for LOST_SHARE times what was lost. (Rarer losses are ends of slices, which would have come anyway.) Two ranks
// on one core beside 10 busy programs of the same session: a round trip of 61 ms with yields, 0.1 without.
#define LOST_US 1000
#define LOST_OFTEN 32
#define LOST_SHARE 8

#define GUESTS 64    // whose doors are looked at; more than that want no processor of one's own

struct uno_patience_policy uno_patience = {.since = LOST_OFTEN};

static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("wait_looks", &uno_patience.spun, "times a wait looked again, counted in steps of 64"),
    UNO_PVAR_COUNTER("wait_yields", &uno_patience.yielded, "times a wait gave the core away"),
    UNO_PVAR_COUNTER("wait_sleeps", &uno_patience.slept, "times a wait slept"),
    UNO_PVAR_TIME("wait_sleep_time", &uno_patience.asleep, "that waits slept"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

void uno_patience_decide(uint32_t ranks, uint32_t processors)
{
    uno_patience.crowded = ranks > 1 && ranks > processors;
    uno_patience.spin = uno_patience.crowded ? 0 : (uint64_t)spin_us.num * uno_ticks_per_us();
    uno_patience.yields = spin_us.num == 0 ? 0 : (uint32_t)yields.num;
}

bool uno_patience_spin_slow(struct uno_patience *p)
{
    uint64_t now = uno_ticks();
    uno_count_add(&uno_patience.spun, 64);
    if (p->start == 0) p->start = now;
    if (now - p->start > uno_patience.spin) return false;
    // At 64, 128, 256, ... looks: the neighbours' lines are not taken from them all the time.
    if ((p->looks & (p->looks - 1)) == 0) p->met = uno_patience_meets();
    return !p->met;
}

void uno_patience_slept(uint64_t ticks)
{
    uno_count_add(&uno_patience.slept, 1);
    uno_count_add(&uno_patience.asleep, ticks);
    uno_stats_leave();
}

void uno_patience_neighbours(struct uno_door *doors, uint32_t n, uint32_t own)
{
    uno_patience.doors = doors;
    uno_patience.ndoors = n;
    uno_patience.own = own;
}

// Doors of other jobs may go at any time: who looks at them or changes the list holds `busy`.
static struct uno_door *guest[GUESTS];
static atomic_flag busy = ATOMIC_FLAG_INIT;

void uno_patience_guest(struct uno_door *door, bool there)
{
    // Acquire, release: pair with each other, here and in meets_guest.
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) uno_pause();
    // Relaxed, both: the flag orders the list.
    uint32_t n = atomic_load_explicit(&uno_patience.nguests, memory_order_relaxed);
    uint32_t at = 0;
    while (at < n && guest[at] != door) at++;
    if (there && at == n && n < GUESTS) guest[n++] = door;
    if (!there && at < n) guest[at] = guest[--n];
    atomic_store_explicit(&uno_patience.nguests, n, memory_order_relaxed);
    // Release: as above.
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

// Whether the owner of this door was last seen on a processor, and awake.
static bool runs_at(const struct uno_door *d, uint32_t processor)
{
    // Relaxed: hints.
    return atomic_load_explicit(&d->cpu, memory_order_relaxed) == processor &&
           atomic_load_explicit(&d->mode, memory_order_relaxed) == UNO_DOOR_AWAKE;
}

static bool meets_guest(uint32_t here)
{
    // Acquire, release: as in uno_patience_guest. Relaxed: the flag orders the list.
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) return false;
    bool met = false;
    uint32_t n = atomic_load_explicit(&uno_patience.nguests, memory_order_relaxed);
    for (uint32_t i = 0; i < n && !met; i++) met = runs_at(guest[i], here);
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return met;
}

bool uno_patience_meets(void)
{
    struct uno_door *doors = uno_patience.doors;
    // Relaxed: a hint, as all that follow.
    bool guests = atomic_load_explicit(&uno_patience.nguests, memory_order_relaxed) != 0;
    if (!doors || (uno_patience.ndoors < 2 && !guests)) return false;
    uint32_t here = (uint32_t)sched_getcpu() + 1, own = uno_patience.own;
    if (atomic_load_explicit(&doors[own].cpu, memory_order_relaxed) != here)
        atomic_store_explicit(&doors[own].cpu, here, memory_order_relaxed);
    for (uint32_t i = 0; i < uno_patience.ndoors; i++)
        if (i != own && runs_at(&doors[i], here)) return true;
    return guests && meets_guest(here);
}

void uno_rest(void)
{
    uno_pause();
}

bool uno_patience_yield(struct uno_patience *p)
{
    if (!uno_patience.crowded && !p->met) return false;
    if (p->yields++ >= uno_patience.yields) return false;
    // Relaxed: a hint.
    return uno_ticks() >= atomic_load_explicit(&uno_patience.no_yield, memory_order_relaxed);
}

void uno_give_core(void)
{
    uint64_t start = uno_ticks();
    uno_count_add(&uno_patience.yielded, 1);
    sched_yield();
    uint64_t now = uno_ticks(), lost = now - start;
    // Relaxed, all of them: hints.
    uint32_t since = atomic_fetch_add_explicit(&uno_patience.since, 1, memory_order_relaxed);
    if (lost < LOST_US * uno_ticks_per_us()) return;
    atomic_store_explicit(&uno_patience.since, 0, memory_order_relaxed);
    if (since >= LOST_OFTEN) return;
    atomic_store_explicit(&uno_patience.no_yield, now + LOST_SHARE * lost, memory_order_relaxed);
}
