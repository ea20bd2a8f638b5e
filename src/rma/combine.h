// SPDX-License-Identifier: BSD-3-Clause
// Accumulates on memory that can be reached: atomic per element, whoever else accumulates there by whatever path.
#pragma once
#include "core/op.h"
#include "rma/copy.h"

struct uno_rma_combination {
    const struct MPI_ABI_Op *op;
    struct MPI_ABI_Datatype *element;
    struct uno_rma_stream *in;     // packed elements; NULL: MPI_NO_OP
    struct uno_rma_stream *out;    // gets the old values, NULL: nobody wants them
};

// Elements without gaps that lie together: n bytes of them at the part (MAPPED), what is combined with them, where the
// old values go.
struct uno_rma_flat {
    char *at;
    const char *in;    // NULL: MPI_NO_OP
    char *out;         // NULL: nobody wants them
    size_t n;
};
void uno_rma_combine_flat(const struct uno_rma_part *p, const struct uno_rma_combination *c,
                          const struct uno_rma_flat *f);

// The sum of one or two numbers of type t, under one lock: what counters of the user's are made of. False: it is not
// that, and nothing was done.
bool uno_rma_add_few(const struct uno_rma_part *p, const struct MPI_ABI_Datatype *t, const struct uno_rma_flat *f,
                     size_t count);

// All of the layout at part p.
int uno_rma_combine(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c);

// One element: *old gets the value before; it is replaced by `value` if it equals *compare.
int uno_rma_swap(struct uno_rma_part *p, struct uno_rma_layout *l, const void *compare, const void *value, void *old);
