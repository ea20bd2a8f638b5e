// SPDX-License-Identifier: BSD-3-Clause
// The policy of waits (patience.h) and its parameters. uno_world_open decides; everything that waits asks.
#define _GNU_SOURCE
#include "base/patience.h"

#include <sched.h>

#include "base/cosched.h"
#include "base/job.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/stats.h"
#include "base/wait.h"

static struct uno_param spin_us = UNO_PARAM_BY_MACHINE(
    "wait_spin_us", 50, 0, 1000000,
    "microseconds a wait looks again and again before it sleeps (0: it sleeps at once, without a yield "
    "either; ranks that outnumber their processors yield instead, see wait_yields)");
UNO_PARAM_DECLARE(spin_us);
static struct uno_param gap_ns = UNO_PARAM_BY_MACHINE(
    "wait_gap_ns", 16, 0, 10000,
    "nanoseconds between two looks for a message of up to two lines, half of those that collectives "
    "leave between looks for a block of few lines (0: none)");
UNO_PARAM_DECLARE(gap_ns);
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
// What ranks of the job used of it, from a turn to the next yield or sleep, was not lost to others. One that computes
// still has not told: all ranks of this processor are suspects, until each has waited since or sleeps, and what they
// then tell makes up for what was lost. If it does not, it was others.
#define LOST_US 1000
#define LOST_OFTEN 32
#define LOST_SHARE 8

// Ranks that outnumber their processors and were woken within KEEP_US had better gone on to yield: a sleep and a wake
// cost more than a hundred yields, and who sleeps comes late itself, so that one who sleeps makes all sleep. Later
// waits yield for longer than such a sleep took; one long sleep ends that. (16 ranks on two cores: a barrier takes 15
// us, or, once they slept, 1,400 us for up to a second.)
#define KEEP_US 5000

#define THERE_LOOKS 64

#define SUSPECTS 64      // more ranks than that on one processor are not looked into
#define LOOKED_AT 256    // ranks whose runs are added up

#define GUESTS 64    // whose doors are looked at; more than that want no processor of one's own

struct uno_patience_policy uno_patience = {.sharers = 1, .since = LOST_OFTEN};

static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("wait_looks", &uno_patience.spun, "times a wait looked again, counted in steps of 64"),
    UNO_PVAR_COUNTER("wait_yields", &uno_patience.yielded, "times a wait gave the core away"),
    UNO_PVAR_COUNTER("wait_sleeps", &uno_patience.slept, "times a wait slept"),
    UNO_PVAR_TIME("wait_sleep_time", &uno_patience.asleep, "that waits slept"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

void uno_patience_decide(uint32_t ranks, uint32_t processors)
{
    uno_patience.crowded = ranks > 1 && ranks > processors;
    uno_patience.sharers = uno_patience.crowded && processors ? (ranks + processors - 1) / processors : 1;
    uno_patience.spin = uno_patience.crowded ? 0 : (uint64_t)spin_us.num * uno_ticks_per_us();
    uno_patience.gap = uno_patience.crowded ? 0 : (uint64_t)gap_ns.num * uno_ticks_per_us() / 1000;
    uno_patience.yields = spin_us.num == 0 ? 0 : (uint32_t)yields.num;
}

void uno_patience_pass(uint64_t ticks)
{
    uint64_t from = uno_ticks();
    while (uno_ticks() - from < ticks) continue;
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

// This process has a processor again.
static void count_turn(void)
{
    if (!uno_patience.doors) return;
    struct uno_door *d = &uno_patience.doors[uno_patience.own];
    // Relaxed, all: hints.
    uint32_t turns = atomic_fetch_add_explicit(&d->turns, 1, memory_order_relaxed) + 1;
    uno_cosched_turn(turns);
    atomic_store_explicit(&d->ran, (uint32_t)sched_getcpu() + 1, memory_order_relaxed);
    atomic_store_explicit(&d->runs, 1, memory_order_relaxed);
}

// How long the other ranks have run on this processor, in ticks, since some time. Of very many ranks one of each `skip`
// stands for them, another one in each: all of them look at each other here, and 2,048 ranks on two cores spent a fifth
// of their time on it.
static uint64_t run_here(void)
{
    uint32_t here = (uint32_t)sched_getcpu() + 1, n = uno_patience.doors ? uno_patience.ndoors : 0;
    uint32_t skip = n / LOOKED_AT + 1;
    uint64_t run = 0;
    for (uint32_t k = 0; k * skip + k % skip < n; k++) {
        uint32_t i = k * skip + k % skip;
        const struct uno_door *d = &uno_patience.doors[i];
        // Relaxed, both: hints.
        if (i != uno_patience.own && atomic_load_explicit(&d->ran, memory_order_relaxed) == here)
            run += skip * atomic_load_explicit(&d->run, memory_order_relaxed);
    }
    return run;
}

static _Thread_local uint64_t back;    // when this thread last had a processor again, in ticks

// It gives its processor away.
static void count_run(uint64_t now)
{
    if (back == 0 || !uno_patience.doors) return;
    // Relaxed, both: hints.
    atomic_fetch_add_explicit(&uno_patience.doors[uno_patience.own].run, now - back, memory_order_relaxed);
    atomic_store_explicit(&uno_patience.doors[uno_patience.own].runs, 0, memory_order_relaxed);
}

// Ranks that were on this processor when a yield was lost, and their turns and runs then. Hints, all of them.
static struct {
    _Atomic uint32_t n, door[SUSPECTS], turns[SUSPECTS];
    _Atomic uint64_t run[SUSPECTS], lost;    // ticks
} suspects;

static void suspect(uint64_t lost)
{
    uint32_t here = (uint32_t)sched_getcpu() + 1, n = 0;
    for (uint32_t i = 0; n <= SUSPECTS && uno_patience.doors && i < uno_patience.ndoors; i++) {
        const struct uno_door *d = &uno_patience.doors[i];
        if (i == uno_patience.own || atomic_load_explicit(&d->ran, memory_order_relaxed) != here) continue;
        if (atomic_load_explicit(&d->mode, memory_order_relaxed) != UNO_DOOR_AWAKE) continue;
        if (n < SUSPECTS) {
            uint32_t turns = atomic_load_explicit(&d->turns, memory_order_relaxed);
            uint64_t run = atomic_load_explicit(&d->run, memory_order_relaxed);
            atomic_store_explicit(&suspects.door[n], i, memory_order_relaxed);
            atomic_store_explicit(&suspects.turns[n], turns, memory_order_relaxed);
            atomic_store_explicit(&suspects.run[n], run, memory_order_relaxed);
        }
        n++;
    }
    atomic_store_explicit(&suspects.lost, lost, memory_order_relaxed);
    atomic_store_explicit(&suspects.n, n <= SUSPECTS ? n : 0, memory_order_relaxed);
}

// Whether every suspect has waited since, or sleeps, and they have run for as long as was lost.
static bool all_cleared(void)
{
    uint32_t n = atomic_load_explicit(&suspects.n, memory_order_relaxed);
    uint64_t run = LOST_US * uno_ticks_per_us();
    for (uint32_t i = 0; i < n; i++) {
        const struct uno_door *d = &uno_patience.doors[atomic_load_explicit(&suspects.door[i], memory_order_relaxed)];
        uint32_t turns = atomic_load_explicit(&suspects.turns[i], memory_order_relaxed);
        if (atomic_load_explicit(&d->turns, memory_order_relaxed) == turns &&
            atomic_load_explicit(&d->mode, memory_order_relaxed) == UNO_DOOR_AWAKE)
            return false;
        uint64_t before = atomic_load_explicit(&suspects.run[i], memory_order_relaxed);
        run += atomic_load_explicit(&d->run, memory_order_relaxed) - before;
    }
    return n > 0 && run >= atomic_load_explicit(&suspects.lost, memory_order_relaxed);
}

// Relaxed, all: hints.
static void learn(uint64_t ticks)
{
    uint64_t keep = atomic_load_explicit(&uno_patience.keep, memory_order_relaxed);
    keep = ticks < KEEP_US * uno_ticks_per_us() ? keep / 2 + 2 * ticks : 0;
    atomic_store_explicit(&uno_patience.keep, keep, memory_order_relaxed);
}

uint64_t uno_patience_sleeps(void)
{
    uint64_t now = uno_ticks();
    count_run(now);
    return now;
}

void uno_patience_slept(uint64_t ticks)
{
    back = uno_ticks();
    count_turn();
    learn(ticks);
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

// Whether a thread of its owner was woken and waits for a processor, perhaps for this one.
static bool calls(const struct uno_door *d)
{
    // Relaxed: a hint.
    return atomic_load_explicit(&d->called, memory_order_relaxed) != 0;
}

bool uno_patience_meets(void)
{
    struct uno_door *doors = uno_patience.doors;
    // Relaxed: a hint, as all that follow.
    bool guests = atomic_load_explicit(&uno_patience.nguests, memory_order_relaxed) != 0;
    if (!doors) return false;
    if (calls(&doors[uno_patience.own])) return true;
    if (uno_patience.ndoors < 2 && !guests) return false;
    uint32_t here = (uint32_t)sched_getcpu() + 1, own = uno_patience.own;
    if (atomic_load_explicit(&doors[own].cpu, memory_order_relaxed) != here)
        atomic_store_explicit(&doors[own].cpu, here, memory_order_relaxed);
    for (uint32_t i = 0; i < uno_patience.ndoors; i++)
        if (i != own && (runs_at(&doors[i], here) || calls(&doors[i]))) return true;
    return guests && meets_guest(here);
}

bool uno_patience_beside(const struct uno_door *door)
{
    // Relaxed: a hint.
    return uno_patience.crowded &&
           atomic_load_explicit(&door->ran, memory_order_relaxed) == (uint32_t)sched_getcpu() + 1;
}

bool uno_patience_is_there(const struct uno_door *d, bool asleep)
{
    // Relaxed: hints, stored by uno_tell_wait() and uno_door_arm().
    for (int i = 0; i < THERE_LOOKS; i++) {
        bool awake = atomic_load_explicit(&d->mode, memory_order_relaxed) == UNO_DOOR_AWAKE;
        if (!awake && !asleep) return false;
        if (atomic_load_explicit(&d->waits, memory_order_relaxed) == UNO_DOOR_WAITS) return true;
        if (!awake) return false;
        uno_rest();
    }
    return false;
}

void uno_rest(void)
{
    uno_pause();
}

bool uno_patience_yield(struct uno_patience *p)
{
    if (uno_patience.yields == 0 || (!uno_patience.crowded && !p->met)) return false;
    uint64_t now = uno_ticks();
    if (p->start == 0) p->start = now;
    // Relaxed, both: hints.
    if (p->yields++ >= uno_patience.yields &&
        now - p->start >= atomic_load_explicit(&uno_patience.keep, memory_order_relaxed))
        return false;
    if (now >= atomic_load_explicit(&uno_patience.no_yield, memory_order_relaxed)) return true;
    if (!all_cleared()) return false;
    atomic_store_explicit(&uno_patience.no_yield, 0, memory_order_relaxed);
    return true;
}

void uno_patience_yielded(uint64_t now, uint64_t lost, uint64_t used)
{
    uint64_t most = LOST_US * uno_ticks_per_us();
    // Relaxed, all of them: hints.
    uint32_t since = atomic_fetch_add_explicit(&uno_patience.since, 1, memory_order_relaxed);
    if (lost < most) return;
    atomic_store_explicit(&uno_patience.since, 0, memory_order_relaxed);
    if (since >= LOST_OFTEN || used + most > lost) return;
    suspect(lost - used);
    atomic_store_explicit(&uno_patience.no_yield, now + LOST_SHARE * lost, memory_order_relaxed);
}

void uno_give_core(void)
{
    // Relaxed: a hint. Who ran is only of interest where the last yields were lost.
    bool watched = atomic_load_explicit(&uno_patience.since, memory_order_relaxed) < LOST_OFTEN;
    uint64_t used = watched ? run_here() : 0, start = uno_ticks();
    uno_count_add(&uno_patience.yielded, 1);
    count_run(start);
    sched_yield();
    back = uno_ticks();
    count_turn();
    uno_cosched_gave(back - start);
    uno_patience_yielded(back, back - start, watched ? run_here() - used : 0);
}
