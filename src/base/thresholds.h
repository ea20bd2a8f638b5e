// SPDX-License-Identifier: BSD-3-Clause
// Where one way of moving bytes gets cheaper than another, by what the paths cost (machine.h): one formula per
// threshold, in thresholds.c and explained in docs/design/machine.md. Set when the library opens, from the costs that
// the job segment holds, so alike on all ranks of a host; parameters of the same meaning win.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uno_costs;
struct uno_machine;

// Bytes of an errand that travel in its own lines, and most that it brings (rma/errand.c): limits of `left`, `brought`.
#define UNO_ERRAND_NEAR 32
#define UNO_ERRAND_MOST 8192

#define UNO_THRESHOLD_NEVER (UINT64_C(1) << 40)    // of `paged` (then: always) and `streamed`

// Bytes, where nothing else is said.
struct uno_thresholds {
    uint64_t ahead;            // 1: copies into shared lines ask for them ahead; 0: the C library's memcpy is as good
    uint64_t piece;            // the least, of a message in the ring; up to two, it is told once, when it is complete
    uint64_t long_piece;       // the most, of longer messages: these leave in quarters
    uint64_t turn_piece;       // as piece, in lines that both sides write in turns (chan/shm/turn.h)
    uint64_t grows;            // 1: rings that are used much grow until they leave the reader's caches
    uint64_t eager;            // through the ring up to here; above, by a copy across processes
    uint64_t eager_light;      // the same while stores into lines that a reader has cost no more than its loads
    uint64_t eager_turn;       // the same in lines that both sides write in turns
    uint64_t eager_dear;       // the same while copies across have become dear (chan/shm/dear.h)
    uint64_t alone;            // the receiver copies alone up to here; above, each side a half
    uint64_t alone_crowded;    // the same where ranks outnumber their processors
    uint64_t help;             // from here on a receiver wakes a sender that sleeps, to copy its half
    uint64_t late;             // %, of its share of the others' blocks, that a root with one to copy first takes; or 0
    uint64_t meanwhile;        // %, of a block that others copy across while a root copies its own past the caches
    uint64_t call_worth;       // what the fixed cost of a copy across processes would copy
    uint64_t paged;            // streamed through the ring up to here, where a copy across has small pages to look up
    uint64_t streamed;         // used since a buffer's last use, after which longer messages are streamed, too
    uint64_t cold;             // used since a buffer's last use, after which it is taken to lie in memory (huge.h)
    uint64_t slots;            // of a collective, through the segment up to here where each rank has a core
    uint64_t slots_lone;       // the same of two ranks, of whom one gives and the other takes
    uint64_t coll_direct;      // from here on nonblocking collectives copy straight between the ranks' buffers
    uint64_t left;             // puts and gets are left to a target that waits in MPI up to here (rma/errand.h)
    uint64_t brought;          // accumulates that are left to it bring their data up to here; above it copies them
    uint64_t rouse;            // accumulates from here on wake a target that sleeps
    uint64_t huge_after;       // bytes copied from or to 2 MiB, after which gathering them has paid
    uint64_t spin;             // us that a wait looks before it sleeps
    uint64_t gap;              // ns between two looks of a wait; 0: it looks all the time
    uint64_t cached;           // of all buffers of a collective where ranks outnumber processors; above, in windows
};

// The thresholds of this process: those of the processor's row in the table until uno_thresholds_set.
extern struct uno_thresholds uno_thresholds;

// What follows from the table or the file alone, whatever a job finds out about its kernel. Reductions choose their
// algorithms by it: they round alike in every job.
extern struct uno_thresholds uno_thresholds_told;

// Whether looking up small pages makes a copy across dearer than two copies at once, whatever its size.
static inline bool uno_thresholds_stream(const struct uno_thresholds *t)
{
    return t->paged >= t->cached;
}

// Messages go through the ring up to here. Where ranks share cores, lines are often the own core's, and whoever asks
// for a copy across waits for its turn (4 ranks on 2 cores, mlat 64 KiB: 6.3 to 4.9 us).
static inline uint64_t uno_thresholds_eager(const struct uno_thresholds *t, bool crowded)
{
    return crowded && t->eager_light > t->eager ? t->eager_light : t->eager;
}

// How far beyond that single messages go.
static inline uint64_t uno_thresholds_far(const struct uno_thresholds *t)
{
    return 2 * t->eager < t->alone ? 2 * t->eager : t->alone;
}

// The same for single messages, not for windows of them, which fill the ring and keep their sender waiting: where ranks
// share cores three times as much, up to half as much again as a receiver copies alone (Xeon 167, 4 ranks on 2 cores,
// 16 KiB, us: mlat 2.1 to 1.2, sendrecv 7.5 to 4.0, ibcast 7.4 to 3.3; Emerald Rapids, 17 and 24 KB: exchange 18.5 to
// 10.6 and 18.7 to 13.9, iscan 11.4 to 3.1 and 12.6 to 4.4, igather of 8 ranks 19 to 3.3 and 18 to 4.2; 32 KiB in a row
// igather 9.8 to 15, of 16 ranks ibcast 7.7 to 12.5, so not beyond).
static inline uint64_t uno_thresholds_eager_few(const struct uno_thresholds *t, bool crowded)
{
    uint64_t eager = uno_thresholds_eager(t, crowded), few = uno_thresholds_far(t) * 3 / 2;
    return crowded && few > eager ? few : eager;
}

// The same for a send that is waited for, of which there are no windows either: where ranks share cores its sender
// would wait for a turn of the receiver's. A little more (Xeon 167, 4 ranks on 2 cores, us: mlat 24 KiB 2.7
// to 1.9, 32 KiB 2.9 to 2.3, 64 KiB 3.6 to 3.7; sendrecv 24 KiB 8.9 to 7.0, 64 KiB 11.7 to 16.9; sweep3d 16 KiB 167 to
// 137, 32 KiB 391 to 262).
// The same in a row of such sends, wherever its ranks are: a receiver that copies across keeps the sender waiting, and
// has it wait in turn (Xeon 167, 2 ranks, rows of 16 and 64, us per message: 12 KiB 1.3 to 1.0, 1.6 to 0.9; 24 KiB 2.4
// to 1.8, 2.6 to 2.1; 64 KiB 3.2 to 4.3, 5.2 to 6.1, so not beyond).
static inline uint64_t uno_thresholds_eager_waited(const struct uno_thresholds *t, bool crowded, bool in_row)
{
    uint64_t eager = uno_thresholds_eager(t, crowded), far = uno_thresholds_far(t);
    return (crowded || in_row) && far > eager ? 2 * far : eager;
}

// Bytes of which a core's own caches hold no more than the half: lines that another core has read have left it before
// they are written again. 0: that gains nothing here.
size_t uno_thresholds_spread(void);

// What follows from the costs alone.
struct uno_thresholds uno_thresholds_of(const struct uno_costs *c);

// Sets uno_thresholds, and the parameters that the user did not set to what follows for them. Before the channels open.
// say: a machine file that was passed over is named.
void uno_thresholds_set(const struct uno_machine *m, bool say);

// For unisono-info: the thresholds by name, NULL from their number on. param: the parameter that wins over it, or NULL.
struct uno_threshold_info {
    const char *name, *unit, *meaning, *param;
    size_t at;    // in struct uno_thresholds
};
const struct uno_threshold_info *uno_threshold_info(size_t i);
uint64_t uno_threshold_at(const struct uno_thresholds *t, size_t i);
