// SPDX-License-Identifier: BSD-3-Clause
// How a derived datatype was made: the envelope and contents that the user asks for, and the layout in one normal form that the
// compiler of pack programs, external32, element counts and signatures all walk. Made by type_make.c.
// Always holds: a type holds a reference on every type it is made of.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct uno_pack;

enum uno_shape {
    UNO_SHAPE_SAME,                   // kid[0] as it is: dup, resized, and constructors that build on another type
    UNO_SHAPE_VECTOR,                 // n blocks of blocklen kids, `stride` bytes apart
    UNO_SHAPE_BLOCKS,                 // n blocks at disp[], blocklens[] (or all blocklen when NULL) of kid[0]
    UNO_SHAPE_STRUCT,                 // ... the i-th of kid[i]
};

struct uno_layout {
    enum uno_shape shape;
    MPI_Count n, blocklen, stride;
    const MPI_Count *blocklens, *disp;   // [n] disp in bytes
    struct MPI_ABI_Datatype *const *kid; // [1], or [n] for STRUCT
};

struct uno_type_made {
    struct uno_layout layout;
    int combiner;
    bool large;                       // made by a _c constructor: contents hold large counts
    MPI_Count nints, naddrs, ncounts, ntypes;
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    struct MPI_ABI_Datatype **types;  // as the user gave them; each is held
    struct uno_pack *nodes;           // the program's nodes that this type owns
};

// Gives back all that t was made of (contents, program, kids); t itself stays.
void uno_type_unmake(struct MPI_ABI_Datatype *t);
