// SPDX-License-Identifier: BSD-3-Clause
// Construction of datatypes in one form for all entry points: counts are MPI_Count, displacements and strides are
// bytes. Results are 0 or MPI_ERR_VALUE_TOO_LARGE (a size or bound does not fit 63 bits), MPI_ERR_NO_MEM, or what the
// constructor's own check says. *out is a new type, not committed, without contents; its maker calls uno_type_record.
#pragma once
#include "base/fail.h"
#include "core/type.h"
#include "core/type_made.h"

typedef struct MPI_ABI_Datatype uno_datatype;

int uno_type_vector(MPI_Count n, MPI_Count blocklen, MPI_Count stride, uno_datatype *old,
                    uno_datatype **out) UNO_MUST_USE;
// blocklens may be NULL: all blocks have blocklen.
int uno_type_blocks(const struct uno_layout *blocks, uno_datatype *old, uno_datatype **out) UNO_MUST_USE;
// kid[] holds n types.
int uno_type_struct(const struct uno_layout *blocks, uno_datatype **out) UNO_MUST_USE;
int uno_type_resized(uno_datatype *old, MPI_Count lb, MPI_Count extent, uno_datatype **out) UNO_MUST_USE;
int uno_type_copy(uno_datatype *old,
                  uno_datatype **out) UNO_MUST_USE;    // dup, without attributes; committed if old is

// One process's part of an array, ndims dimensions; order is MPI_ORDER_C or MPI_ORDER_FORTRAN. Arguments were checked.
struct uno_subarray {
    int ndims, order;
    const MPI_Count *sizes, *subsizes, *starts;
};
struct uno_darray {
    int size, rank, ndims, order;
    const MPI_Count *gsizes;
    const int *distribs, *dargs, *psizes;
};
int uno_type_subarray(const struct uno_subarray *a, uno_datatype *old, uno_datatype **out) UNO_MUST_USE;
int uno_type_darray(const struct uno_darray *a, uno_datatype *old, uno_datatype **out) UNO_MUST_USE;

// What the user gave, for envelope and contents. The values of a large type come in the same order and are all counts,
// but for the integers that `nints` keeps.
struct uno_contents {
    int combiner;
    bool large;
    MPI_Count nints, naddrs, ncounts, ntypes;
    const MPI_Count *values;    // [nints + naddrs + ncounts]
    uno_datatype *const *types;
    bool kept;    // values are malloc's, and the type's from its success on; else they are copied
};
int uno_type_record(uno_datatype *t, const struct uno_contents *c) UNO_MUST_USE;

// Makes t ready for communication: its program is compiled, and it becomes plain if it is.
int uno_type_commit(uno_datatype *t) UNO_MUST_USE;

// Basic elements in the first `bytes` packed bytes of consecutive elements of t; MPI_UNDEFINED when that ends inside
// one.
MPI_Count uno_type_elements(const uno_datatype *t, MPI_Count bytes);
// Bytes that hold `elements` basic elements; MPI_UNDEFINED when they do not fit 63 bits.
MPI_Count uno_type_bytes(const uno_datatype *t, MPI_Count elements);

// Kinds of processors keep long double in different formats, so its types are not committed before somebody asks: then
// they are, or, where processes of another kind take part, refused (base/machine.h).
void uno_types_open(void);

// For a type that is about to be committed: whether it can be. 0, or MPI_ERR_TYPE with the reason.
int uno_type_settle(const struct MPI_ABI_Datatype *t, const char *what) UNO_MUST_USE;

// For a type that is not committed and is to be used: 0 if it is by now, or MPI_ERR_TYPE with the reason.
int uno_type_ask(const struct MPI_ABI_Datatype *t, const char *what) UNO_MUST_USE;
