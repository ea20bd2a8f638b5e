// SPDX-License-Identifier: BSD-3-Clause
// How a derived datatype was made: the envelope and contents that the user asks for, and the layout in one normal form
// that the compiler of pack programs, external32, element counts and signatures all walk. Made by type_make.c. Always
// holds: a type holds a reference on every type it is made of.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct uno_pack;

enum uno_shape {
    UNO_SHAPE_SAME,      // *kid as it is: dup, resized
    UNO_SHAPE_VECTOR,    // n blocks of blocklen *kid, `stride` bytes apart
    UNO_SHAPE_BLOCKS,    // n blocks of blocklens[] (all blocklen when NULL) *kid at disp[] bytes
    UNO_SHAPE_STRUCT,    // n blocks of blocklens[] kid[] at disp[]
};

struct uno_layout {
    enum uno_shape shape;
    MPI_Count n, blocklen, stride;
    const MPI_Count *blocklens, *disp;
    struct MPI_ABI_Datatype *const *kid;    // [n] for STRUCT, else [1]
    bool kept;                              // blocklens and disp lie in the contents' values, which are kept
};

struct uno_type_made {
    struct uno_layout layout;
    void *store;    // the layout's arrays
    int combiner;
    bool large;    // made by a _c function with large counts in its contents
    MPI_Count nints, naddrs, ncounts, ntypes;
    MPI_Count *values;                  // integers, then addresses, then counts
    struct MPI_ABI_Datatype **types;    // as the user gave them; each is held
    struct uno_pack *nodes;             // the program's nodes that this type owns
    size_t used;                        // of `few`
    MPI_Count few[48];                  // where short arrays of the layout and the contents, and first nodes, are
};

static inline MPI_Count uno_layout_kids(const struct uno_layout *l)
{
    return l->shape == UNO_SHAPE_STRUCT ? l->n : 1;
}

static inline MPI_Count uno_layout_len(const struct uno_layout *l, MPI_Count i)
{
    return l->blocklens ? l->blocklens[i] : l->blocklen;
}

// Room for n words of what a type is made of. Most types have few, which lie with the rest. NULL: no memory.
void *uno_type_room(struct uno_type_made *m, size_t n);
void uno_type_give_room(const struct uno_type_made *m, void *p);

// Frees the nodes of a type's program (pack_compile.c).
void uno_pack_free(struct uno_type_made *m);
