// SPDX-License-Identifier: BSD-3-Clause
// The external32 representation: big-endian, without gaps, in the sizes that the standard fixes. User:
// MPI_Pack_external.
#pragma once
#include "core/type.h"

// Bytes that one t takes in external32.
MPI_Count uno_external_size(const struct MPI_ABI_Datatype *t);

// Converts count elements between the user's buffer and `external`; returns the bytes of `external` used.
MPI_Count uno_external_pack(const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *t, void *external);
MPI_Count uno_external_unpack(const void *external, void *buf, MPI_Count count, const struct MPI_ABI_Datatype *t);

// One t of which only the first bytes are there: the numbers among them that are whole. Returns the bytes of `buf` that
// they take.
MPI_Count uno_external_unpack_part(const void *external, size_t bytes, void *buf, const struct MPI_ABI_Datatype *t);
