// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of the datatype chapter share: arrays of int, MPI_Aint or MPI_Count read alike, the check of a
// type that need not be committed, and the common end of every constructor.
#pragma once
#include "api/check.h"
#include "core/type_make.h"

// An argument array whose elements are int (width 4) or MPI_Aint, MPI_Count (width 8).
struct uno_numbers {
    const void *p;
    int width;
};

static inline MPI_Count uno_number(struct uno_numbers a, MPI_Count i)
{
    return a.width == 4 ? ((const int *)a.p)[i] : ((const MPI_Count *)a.p)[i];
}

#define UNO_NUMBERS(array) ((struct uno_numbers){(array), sizeof *(array)})

// MPI_SUCCESS, or MPI_ERR_TYPE when t is not a live datatype; it need not be committed.
int uno_check_any_type(MPI_Datatype t);

// MPI_ERR_ARG when the array is NULL although n > 0, or (negative not allowed) holds a negative number.
int uno_check_numbers(struct uno_numbers a, MPI_Count n, const char *name, bool negative);

// What a datatype's size and bounds are, and the count in a status: the calls whole, for all forms of their names.
int uno_tell_size(const char *call, MPI_Datatype datatype, MPI_Count *size);
int uno_tell_extent(const char *call, MPI_Datatype datatype, bool true_one, MPI_Count *lb, MPI_Count *extent);
int uno_tell_elements(const char *call, const MPI_Status *status, MPI_Datatype datatype, bool elements,
                      MPI_Count *count);
int uno_set_elements(const char *call, MPI_Status *status, MPI_Datatype datatype, MPI_Count count);

// The end of a constructor: records the contents and hands the type out, or drops it and raises. `err` is what happened
// so far, t is looked at when it is 0. Leaves the library.
int uno_type_deliver(const char *call, int err, uno_datatype *t, const struct uno_contents *c, MPI_Datatype *newtype);
