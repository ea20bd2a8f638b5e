// SPDX-License-Identifier: BSD-3-Clause
// Windows of shared memory through which large vectors go in pieces from rank to rank, where ranks outnumber cores: a
// ring of them lies in the wide slots of a phase. A rank says which windows it has left ready for others, and which
// ones it has taken. For reductions (windows_reduce.c), what hands blocks round (windows_spread.c), alltoalls
// (windows_alltoall.c), and, wherever buffers have left the caches, gathers (windows_gather.c).
//
// Windows are counted within a call (i); with the call's phase before that number, stamps grow for ever.
#pragma once
#include "coll/segment.h"

enum uno_windows_line { UNO_WINDOWS_READY, UNO_WINDOWS_TAKEN };

struct uno_windows {
    struct uno_coll *u;
    bool past, folds;         // of what is copied: it leaves the caches; it is a reduction's
    uint64_t phase, depth;    // how many there are at a time
    size_t bytes, each;       // of a window; windows in a rank's wide slot
};

// Begins a phase. fills: this rank is the first one to write into some of the windows. past: what all ranks take does
// not fit a cache.
struct uno_windows uno_windows_begin(struct uno_coll *u, bool fills, bool past);

char *uno_windows_at(const struct uno_windows *w, uint64_t i);           // of all ranks' together
char *uno_windows_of(const struct uno_windows *w, int r, uint64_t i);    // of rank r's own
// To memory that is read soon or, by w->past, is not.
void uno_windows_take(const struct uno_windows *w, void *to, const char *from, size_t bytes);

// put: fills window i, which lies at `to`, for `reader` (-1: all others), plain or past the caches; get: takes one that
// `writer` filled. Which way is better depends on how far cores are from each other, which changes: both sides time
// what they copy, the reader says what it cost by way, and one window in some goes the other way. Who does not take a
// window but folds it encloses that by begin and end. (2 ranks, bcast of 1 MiB, plain and past: 46 and 68 us inside a
// chiplet, 149 and 53 between two.)
void uno_windows_put(const struct uno_windows *w, int reader, uint64_t i, char *to, const char *from, size_t bytes);
void uno_windows_get(const struct uno_windows *w, int writer, uint64_t i, char *to, const char *from, size_t bytes);
uint64_t uno_windows_read_begin(void);
void uno_windows_read_end(const struct uno_windows *w, int writer, uint64_t i, uint64_t began, size_t bytes);

// This rank has made windows up to i ready, or taken them; who waits for that must be rung. Says nothing in a broken
// communicator: it may not be the right data.
void uno_windows_tell(const struct uno_windows *w, enum uno_windows_line what, uint64_t i);
void uno_windows_await(const struct uno_windows *w, enum uno_windows_line what, int r, uint64_t i);
bool uno_windows_is_told(const struct uno_windows *w, enum uno_windows_line what, int r, uint64_t i);

// What a rank gives (at NULL: nothing, of a gather also where the root expects more than there is), or where it wants
// what it gets (at NULL: nowhere).
struct uno_windows_part {
    char *at;
    size_t bytes;
};

// Exchanges blocks with rank `other`, which does the same, in windows first, first + 1 ..., the same on both; bytes as
// both know them. Returns the number after the last one.
uint64_t uno_windows_swap(const struct uno_windows *w, int other, uint64_t first, struct uno_windows_part out,
                          struct uno_windows_part in);

// For that, within phase k, which has begun, and in which this rank has nothing else in its wide slot. Of what has left
// the caches.
struct uno_windows uno_windows_join(struct uno_coll *u, uint64_t k);

// ---- gather and gatherv: within a phase that they have begun ----

enum uno_windows_way { UNO_WINDOWS_NONE, UNO_WINDOWS_NEAR, UNO_WINDOWS_PAST };

// Of the next call, for its root; what goes in windows of a block, from the start (in_place: the root has no own one).
enum uno_windows_way uno_windows_gather_way(struct uno_coll *u);
size_t uno_windows_gather_share(const struct uno_coll *u, size_t bytes, bool in_place);
void uno_windows_hand_in(struct uno_coll *u, uint64_t k, int root, enum uno_windows_way way,
                         struct uno_windows_part own, size_t share);
void uno_windows_collect(struct uno_coll *u, uint64_t k, enum uno_windows_way way, const struct uno_windows_part *part);
