// SPDX-License-Identifier: BSD-3-Clause
// Packing: the program that a committed non-plain type is flattened to, and the packer that runs it. A packer may stop
// and resume at any byte, in order or after a seek. Plain types work too (one memcpy). Callers: the protocols in
// src/p2p, MPI_Pack.
#pragma once
#include <stddef.h>

#include "core/type.h"

struct uno_packer {
    char *buf;
    MPI_Count count;
    const struct MPI_ABI_Datatype *type;
    size_t total;    // packed bytes of the whole: count * size
    size_t pos;      // next packed byte
};

void uno_packer_init(struct uno_packer *p, const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type);
void uno_packer_seek(struct uno_packer *p, size_t pos);

// Move up to n packed bytes at pos out of (in to) the user's buffer; returns how many, less than n only at the end.
size_t uno_pack(struct uno_packer *p, void *dst, size_t n);
size_t uno_unpack(struct uno_packer *p, const void *src, size_t n);

// Copies between two layouts in this process (self messages, collectives' local part). Returns the bytes moved.
size_t uno_pack_copy(struct uno_packer *to, struct uno_packer *from);
