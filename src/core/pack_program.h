// SPDX-License-Identifier: BSD-3-Clause
// The program of a type that is not plain: a small tree of nested loops over contiguous runs, in the order of the type
// map. pack_compile.c builds it (runs merged, loops collapsed), pack.c walks it. Nodes are immutable: types share those
// of the types that they are made of, and each type frees the ones it made.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum uno_pack_kind {
    UNO_PACK_RUN,       // `bytes` consecutive bytes
    UNO_PACK_LOOP,      // n times *kid, `stride` apart
    UNO_PACK_GATHER,    // n runs of `len` bytes at disp[]
    UNO_PACK_RUNS,      // n runs at disp[], the i-th has offset[i+1] - offset[i] bytes
    UNO_PACK_SEQ,       // n nodes kids[] at disp[], packed at offset[]
};

struct uno_pack {
    enum uno_pack_kind kind;
    size_t bytes;    // packed bytes of the whole
    ptrdiff_t at;    // where it starts, relative to the element's address; applies to every kind
    size_t n;
    size_t runs;    // in the whole, if no two touch
    size_t len;
    ptrdiff_t stride;
    const struct uno_pack *kid;    // LOOP
    const struct uno_pack *const *kids;
    const ptrdiff_t *disp;    // [n]
    const size_t *offset;     // [n + 1]
    struct uno_pack
        *next;    // list of the nodes that a type owns; the arrays lie behind the node, or in its type's layout
};

struct MPI_ABI_Datatype;

// The program of t, made when first asked for and kept with t (plain types get one too, as parts of others). NULL: no
// memory.
const struct uno_pack *uno_pack_program(struct MPI_ABI_Datatype *t);
