// SPDX-License-Identifier: BSD-3-Clause
// Bytes between a buffer here and a layout in the memory of a part that can be reached (MAPPED, REACH).
#pragma once
#include "chan/chan.h"
#include "core/pack.h"
#include "rma/rma.h"

// A layout in the addresses of its own process, as runs (chan/chan.h), and how far a walk over it is.
struct uno_rma_layout {
    struct uno_run one;    // of a plain type
    const struct uno_run *run;
    struct uno_run *list;    // owned here, NULL: `one` does
    size_t runs, bytes;
    size_t at, done;    // the run that the walk is in, packed bytes behind it
};

// The layout of count elements of type at `base`. 0 or MPI_ERR_NO_MEM.
int uno_rma_lay_out(struct uno_rma_layout *l, char *base, MPI_Count count, struct MPI_ABI_Datatype *type);
void uno_rma_lay_down(struct uno_rma_layout *l);
void uno_rma_rewind(struct uno_rma_layout *l, size_t done);

// Where the walk over it is; the next stretch that lies in one run, at most n bytes, which moves the walk on.
char *uno_rma_next(const struct uno_rma_layout *l);
size_t uno_rma_stretch(struct uno_rma_layout *l, size_t n, char **at);

// Moves the next n packed bytes of the layout to `here` (get) or from it. MPI_ERR_RMA_RANGE when the memory is not
// there.
int uno_rma_move(const struct uno_rma_part *p, struct uno_rma_layout *l, void *here, size_t n, bool get);

// A side at the origin as a stream of bytes.
struct uno_rma_stream {
    char *plain;    // NULL: through the packer
    struct uno_packer packer;
};
void uno_rma_stream(struct uno_rma_stream *s, const struct uno_rma_side *side);
void uno_rma_read(struct uno_rma_stream *s, void *to, size_t n);
void uno_rma_write(struct uno_rma_stream *s, const void *from, size_t n);
