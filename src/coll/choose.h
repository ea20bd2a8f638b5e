// SPDX-License-Identifier: BSD-3-Clause
// Selection: which algorithm a builder takes for a collective, a number of ranks and a number of bytes. A table of
// rules decides, of which the last one that fits wins: the built-in table, then those of components (outside.h), then
// the file that the parameter coll_table names (written by unisono-tune), then the parameter coll_force. All ranks read
// the same values, so all decide alike.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "coll/coll.h"

enum uno_alg {
    UNO_ALG_DISSEMINATION,
    UNO_ALG_LINEAR,
    UNO_ALG_BINOMIAL,
    UNO_ALG_CHAIN,
    UNO_ALG_SCATTER,
    UNO_ALG_DOUBLING,
    UNO_ALG_RING,
    UNO_ALG_BRUCK,
    UNO_ALG_PAIRWISE,
    UNO_ALG_DIRECT,
    UNO_ALG_REDUCE,
    UNO_ALG_SLOTS,       // inside a host: through the segment's slots (small.c)
    UNO_ALG_COPIES,      // inside a host: straight between the ranks' buffers (large.h)
    UNO_ALG_WINDOWS,     // inside a host: window by window from rank to rank (windows.h)
    UNO_ALG_MESSAGES,    // inside a host: as elsewhere, by whichever of the above is chosen for messages
    UNO_ALG_END
};

struct uno_algorithm;
struct uno_sched;

// Why an algorithm of a component cannot have that name, or be for that collective; NULL: it can.
const char *uno_choose_unfit(const char *coll, const char *alg);

// The algorithm of a component that the rules name, or NULL: one of the library's own.
const struct uno_algorithm *uno_choose_outside(enum uno_coll_kind kind, int size, size_t bytes);

// bytes: of the whole vector (bcast and reductions), else of one rank's block. sharing: all ranks are of one host and
// outnumber its cores.
enum uno_alg uno_choose(enum uno_coll_kind kind, int size, size_t bytes, bool sharing);

// The same for the ranks of a schedule (schedule.c).
enum uno_alg uno_choose_for(const struct uno_sched *s, enum uno_coll_kind kind, size_t bytes);

// Inside a host: from how many bytes on blocking calls go by copies or in windows, SIZE_MAX when they never must.
// crowded: ranks outnumber cores.
size_t uno_choose_from(enum uno_coll_kind kind, enum uno_alg alg, int size, bool crowded);

// From there on, the bytes from which another way begins; SIZE_MAX: none does.
size_t uno_choose_until(enum uno_coll_kind kind, enum uno_alg alg, int size, bool crowded);

// Whether a kind goes inside a host as it was chosen, wherever its buffers lie (gathered.h): the user has said so, or
// it is an allreduce of ranks that outnumber cores, where copies that leave the caches are dear (4 ranks, 4 MiB, Zen 3:
// 1.3 ms in windows, 2.0 by copies between huge pages).
bool uno_choose_is_fixed(enum uno_coll_kind kind, bool crowded);
bool uno_choose_is_said(enum uno_coll_kind kind);    // the user has said so

// Inside a host, thresholds of the machine (base/thresholds.h): bytes that one rank had better copy alone, that a call
// which copies across processes is worth, of all ranks' buffers that a cache holds, above which all is streamed, and
// above which, of what each rank reads once, too little is left in the shared cache for copies to gain.
size_t uno_choose_alone(void);
size_t uno_choose_call_worth(void);
size_t uno_choose_cached(void);
size_t uno_choose_cold(void);
size_t uno_choose_far(bool crowded);

// Bytes through which each of a communicator's ranks posts in turn, so that lines have left the others' own caches
// before they are written again; 0: where that gains nothing.
size_t uno_choose_spread(int size);

// Bytes of windows (windows.h) under way at a time: what the second-level caches of so many processors hold.
size_t uno_choose_under_way(size_t processors);

// How often the bytes that the rules look at lie in buffers of all ranks together.
size_t uno_choose_footprint(enum uno_coll_kind kind, int size);

// Bytes of the pieces in which a broadcast goes through slots, at least, and up to which it is told once.
size_t uno_choose_piece(int size);

// Whether ranks outnumber cores.
bool uno_choose_crowded(void);

// Whether small collectives of so many ranks of a host go through a tree.
bool uno_choose_tree(int size);

// Reads the parameters and the table file; at MPI_Init. 0, or MPI_ERR_ARG with the reason.
int uno_choose_open(void) UNO_MUST_USE;

// Adds a rule, which wins over all before it. 0, or MPI_ERR_ARG: there is no such collective, or it has no such
// algorithm.
int uno_choose_add(const char *coll, const char *alg, int ranks, size_t bytes) UNO_MUST_USE;

// Words of the table: NULL when there is no such number.
const char *uno_coll_word(enum uno_coll_kind kind);
const char *uno_alg_word(enum uno_alg alg);
