// SPDX-License-Identifier: BSD-3-Clause
// How a wait passes its time: the one policy of everything in the library that waits (core/progress.c, core/lock.c,
// p2p, coll/segment.c, the channels). A wait looks once; it spins, which means that it looks again, while
// uno_patience_spin allows it; gives the core away while uno_patience_yield allows that; then it sleeps:
//
//   struct uno_patience p = {0};
//   while (!is_there()) {
//       if (uno_patience_spin(&p)) continue;
//       if (uno_patience_yield(&p)) uno_give_core();
//       else sleep, and begin anew with p = (struct uno_patience){0};
//   }
//
// What cannot sleep, because the other side is in the middle of a copy, gives the core away instead. Nothing else in
// the library yields or pauses (tools/check-layers.py holds that).
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define UNO_COPY_LOOKS 200     // at a copy of a few KiB
#define UNO_PAUSE_FROM 4096    // looks, after which the processor rests between two: the wait will be long

struct uno_door;

// Of one wait.
struct uno_patience {
    uint32_t looks;    // again and again, without giving the core away
    uint32_t yields;
    uint64_t start;                 // in ticks; 0: the clock was not looked at yet
    bool met;                       // another rank of the job wants this processor
    const struct uno_door *with;    // of the one rank that is waited for, which runs elsewhere (cosched.h)
    uint64_t until;                 // in ticks: to look for it; 0: not begun
};

// The same for all waits of this process. Set by uno_patience_decide, before threads wait; the counts are
// statistics (count.h).
struct uno_patience_policy {
    uint64_t spin;                   // ticks that a wait may spin; 0: never
    uint64_t gap;                    // ticks between two looks; 0: none
    const _Atomic uint32_t *ends;    // not 0 once that is there which is waited for (under the lock); or NULL
    uint32_t yields;                 // times that it then gives the core away before it sleeps, at least
    _Atomic uint64_t keep;           // ticks that a wait goes on with that: about as long as the last waits took
    uint32_t sharers;                // ranks per processor here, 1 at least
    bool crowded;                    // more ranks than processors here: a spinning rank keeps another off its core
    _Atomic uint64_t no_yield;       // in ticks: until then others are known to take the core for long
    _Atomic uint32_t since;          // yields since the last that took it for long
    _Atomic uint64_t spun, yielded, slept;    // since the start; spun in steps of 64
    _Atomic uint64_t asleep;                  // ticks
    struct uno_door *doors;                   // of the ranks that share processors with this one, itself among them
    uint32_t ndoors, own;
    _Atomic uint32_t nguests;    // processes of other jobs that may run on them, too
};
extern struct uno_patience_policy uno_patience;

// Decides from the parameters and from how many ranks share how many processors.
void uno_patience_decide(uint32_t ranks, uint32_t processors);

void uno_give_core(void);

// How much of the time that a yield took went to others than ranks of the job decides whether waits yield or sleep:
// a yield that ended at `now` took `lost` ticks, of which ranks of the job ran `used` here.
void uno_patience_yielded(uint64_t now, uint64_t lost, uint64_t used);

// A wait goes to sleep: returns the time, in ticks. It has slept so long: counted, and learnt from.
uint64_t uno_patience_sleeps(void);
void uno_patience_slept(uint64_t ticks);

void uno_rest(void);    // the processor, for a moment: for what another core is about to write

// Names the ranks that may come to run on this one's processor: those of `doors` ([n], this process's own among them).
void uno_patience_neighbours(struct uno_door *doors, uint32_t n, uint32_t own);

// A process of another job on this host, by its door, may come to run there too; or is not to be asked any more: when
// this returns, nobody looks at that door.
void uno_patience_guest(struct uno_door *door, bool there);

// Says in this process's door where it runs; true if another awake process was last seen there too, or if a thread that
// was woken, of this process or of one that may run here, has not run since.
bool uno_patience_meets(void);

// Whether ranks share processors and the owner of this door was last seen to run on this one: it does not run now.
bool uno_patience_beside(const struct uno_door *door);

// Whether the rank of a door waits in MPI, awake, or asleep, too: it will soon do its part of what is begun with it. It
// may just be leaving. Looks for about as long as a system call takes, since who has just sent something is about to
// wait.
bool uno_patience_is_there(const struct uno_door *door, bool asleep);

// Where ranks share processors (cosched.h): whether the rank that is waited for still seems to answer soon; and after a
// yield, whether to look for it again for a while.
bool uno_cosched_spin(struct uno_patience *p);
bool uno_cosched_again(struct uno_patience *p);

// Every 64 looks the clock is read. False: the time is over, or another rank wants this processor.
bool uno_patience_spin_slow(struct uno_patience *p);

// A line that is looked at all the time is taken from the core that is about to write it, as soon as that has it and
// before it has written all that comes first. So looks stand apart where that costs something (base/machine.h, gap).
void uno_patience_pass(uint64_t ticks);

static inline void uno_patience_apart(uint32_t gaps)
{
    if (uno_patience.gap) uno_patience_pass(gaps * uno_patience.gap);
}

// What a wait is for, NULL when it is over. Once that is there, a ring is not looked into any further: the line after
// it, which its sender may be about to write, would be taken from it for nothing (Xeon 167, both send at once, us: 256
// B 0.37 to 0.26, 4 KiB 1.03 to 0.67; exchange of 4 KiB 1.90 to 1.18).
static inline void uno_patience_for(const _Atomic uint32_t *ends)
{
    uno_patience.ends = ends;
}

static inline bool uno_patience_ends(void)
{
    // Relaxed: a hint, of what this thread has done itself.
    return uno_patience.ends && atomic_load_explicit(uno_patience.ends, memory_order_relaxed) != 0;
}

// Whether this wait may look again without giving the core away.
static inline bool uno_patience_spin(struct uno_patience *p)
{
    if (uno_patience.spin == 0) return p->with && uno_cosched_spin(p);
    if (__builtin_expect(p->looks > UNO_PAUSE_FROM, 0)) uno_rest();
    if (__builtin_expect(++p->looks % 64 != 0, 1)) return true;
    return uno_patience_spin_slow(p);
}

// For a wait that cannot sleep, because the other side is in the middle of a copy: it will be there soon, unless it
// lost its core, which this gives it back.
static inline void uno_patience_copy(struct uno_patience *p)
{
    if (p->looks > UNO_COPY_LOOKS || !uno_patience_spin(p)) uno_give_core();
}

// Whether this wait may give the core away instead of sleeping: only where a rank of the job may want it.
bool uno_patience_yield(struct uno_patience *p);
