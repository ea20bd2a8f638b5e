// SPDX-License-Identifier: BSD-3-Clause
// Packing: the program that a committed non-plain type is flattened to, and the packer that runs it. A packer may stop
// and resume at any byte, in order or after a seek. Plain types work too (one memcpy). Callers: the protocols in
// src/p2p, MPI_Pack.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/type.h"

// Another order of the packed stream, which both sides of a transfer agree on: the stream as rows of `row` bytes, of
// which `tile` bytes of each row come first, then the next ones. Columns of a matrix share lines; in this order each
// line is touched once.
struct uno_order {
    uint32_t row, tile;    // row 0: the order of the type map
};

struct uno_packer {
    char *buf;
    MPI_Count count;
    const struct MPI_ABI_Datatype *type;
    size_t total;    // packed bytes of the whole: count * size
    size_t pos;      // next packed byte, in the order of `order`
    struct uno_order order;
    size_t ordered;    // bytes in that order, whole rows; 0: all in the order of the type map
    bool columns;      // the order is that of our own columns
};

void uno_packer_init(struct uno_packer *p, const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type);
void uno_packer_seek(struct uno_packer *p, size_t pos);

// The order that suits the layout best. Takes an order over for a transfer of n bytes.
struct uno_order uno_packer_likes(const struct uno_packer *p);
void uno_packer_order(struct uno_packer *p, struct uno_order order, size_t n);

// Move up to n packed bytes at pos out of (in to) the user's buffer; returns how many, less than n only at the end.
size_t uno_pack(struct uno_packer *p, void *dst, size_t n);
size_t uno_unpack(struct uno_packer *p, const void *src, size_t n);

// The most runs that the layout can have, and the list of them (with room for as many); returns how many there are.
struct uno_run;
size_t uno_packer_runs(const struct uno_packer *p);
size_t uno_packer_list(const struct uno_packer *p, struct uno_run *list);

// The run that holds packed byte pos (< total): where that byte is, and in *len how many follow each other there. Runs
// that touch are not joined.
char *uno_packer_run(const struct uno_packer *p, size_t pos, size_t *len);

// Whether a byte of the buffer is in the layout twice, which a receive must not have; *at is where. Sorts all runs: for
// checking modes. False also when there is no memory to find out.
bool uno_packer_overlaps(const struct uno_packer *p, ptrdiff_t *at);

// Copies between two layouts in this process (self messages, collectives' local part). Returns the bytes moved.
size_t uno_pack_copy(struct uno_packer *to, struct uno_packer *from);

// Copies count elements of one layout, what lies between them left alone. The buffers are apart, or the same address.
void uno_pack_same(void *to, const void *from, MPI_Count count, struct MPI_ABI_Datatype *type);
