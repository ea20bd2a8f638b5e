// SPDX-License-Identifier: BSD-3-Clause
// Selection: which algorithm a builder takes for a collective, a number of ranks and a number of bytes. A table of
// rules decides, of which the last one that fits wins: the built-in table, then the file that the parameter coll_table
// names (written by unisono-tune), then the parameter coll_force. All ranks read the same values, so all decide alike.
#pragma once
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
    UNO_ALG_SLOTS,     // inside a host: through the segment's slots (small.c)
    UNO_ALG_COPIES,    // inside a host: straight between the ranks' buffers (large.h)
    UNO_ALG_END
};

// bytes: of the whole vector (bcast and reductions), else of one rank's block.
enum uno_alg uno_choose(enum uno_coll_kind kind, int size, size_t bytes);

// Inside a host: from how many bytes on blocking calls go by copies, SIZE_MAX when they never must.
size_t uno_choose_copies(enum uno_coll_kind kind, int size);

// Reads the parameters and the table file; at MPI_Init. 0, or MPI_ERR_ARG with the reason.
int uno_choose_open(void) UNO_MUST_USE;

// Words of the table: NULL when there is no such number.
const char *uno_coll_word(enum uno_coll_kind kind);
const char *uno_alg_word(enum uno_alg alg);
