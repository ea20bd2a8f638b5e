// SPDX-License-Identifier: BSD-3-Clause
// The aggregator of a collective access (collect.h): lists of pieces from several processes, merged in the order of
// the file and moved block by block.
#pragma once
#include <mpi.h>

#include "io/offer.h"

struct uno_block;
struct MPI_ABI_File;

struct uno_source {
    int rank, pid;      // pid 0: its pieces lie in this process
    bool stays;         // ... until all is over
    bool here, more;    // a list is here; another will follow
    const struct uno_piece *piece;
    size_t n, i;      // pieces; those before i are moved
    uint64_t skip;    // bytes of piece i that are
};

struct uno_merge {
    const struct MPI_ABI_File *file;
    bool write, sieve;
    struct uno_source *source;
    size_t sources;
    struct uno_block *block;
    int64_t eof;    // reading: bytes of the file from here on are not there
    int err;        // the first one, after which nothing is moved
    char why[MPI_MAX_ERROR_STRING];
};

int uno_merge_begin(struct uno_merge *m) UNO_MUST_USE;

// All sources that have not ended have a list: moves what all of them reach. Afterwards one list at least is moved
// whole, and its memory is not needed any more. Errors are kept in m.
void uno_merge_lists(struct uno_merge *m);

// All is in the file, or in the processes. The lock is held.
int uno_merge_end(struct uno_merge *m) UNO_MUST_USE;

static inline bool uno_source_is_moved(const struct uno_source *s)
{
    return s->here && s->i == s->n;
}
