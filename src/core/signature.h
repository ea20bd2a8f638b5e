// SPDX-License-Identifier: BSD-3-Clause
// Type signatures: the sequence of basic types that a message holds, as a hash that is put together from those of its
// parts. For the checking mode of point-to-point (p2p/sign.h).
#pragma once
#include "core/type.h"

struct uno_signature {
    uint64_t hash, elements;
    uint32_t basic;    // enum uno_basic when all elements are of that one, else UNO_BASIC_NONE
    uint32_t any;      // MPI_PACKED: fits everything
};

// Of the first `elements` basic elements of `count` of t; fewer when there are not as many.
struct uno_signature uno_signature_of(const struct MPI_ABI_Datatype *t, MPI_Count count, uint64_t elements);

bool uno_signature_same(const struct uno_signature *a, const struct uno_signature *b);

// "32-bit int", "64-bit float", ..., "several types".
const char *uno_signature_text(const struct uno_signature *s);
