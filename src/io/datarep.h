// SPDX-License-Identifier: BSD-3-Clause
// Data representations: how values look in a file. "native" as in memory, "external32" and "internal" (the same) as
// the standard's table says, and those that the user registered.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "core/type.h"

enum uno_datarep_kind { UNO_REP_NATIVE, UNO_REP_EXTERNAL, UNO_REP_USER };

struct uno_datarep {
    enum uno_datarep_kind kind;
    char name[MPI_MAX_DATAREP_STRING];
    // The user's; one of each pair, or neither: values look as in memory.
    MPI_Datarep_conversion_function *read, *write;
    MPI_Datarep_conversion_function_c *read_c, *write_c;
    MPI_Datarep_extent_function *extent;
    void *extra;
    struct uno_datarep *next;
};

extern const struct uno_datarep uno_datarep_native;

const struct uno_datarep *uno_datarep_find(const char *name);    // NULL when there is none

// Takes a copy for as long as the process runs. MPI_ERR_DUP_DATAREP, MPI_ERR_NO_MEM.
int uno_datarep_add(const struct uno_datarep *rep) UNO_MUST_USE;

// Bytes that the data of a t takes in the file; bytes from one t to the next there.
int uno_datarep_size(const struct uno_datarep *rep, const struct MPI_ABI_Datatype *t, MPI_Count *bytes) UNO_MUST_USE;
int uno_datarep_extent(const struct uno_datarep *rep, const struct MPI_ABI_Datatype *t, MPI_Count *bytes) UNO_MUST_USE;

// A filetype as it lies in the file, held for the caller.
int uno_datarep_layout(const struct uno_datarep *rep, struct MPI_ABI_Datatype *t,
                       struct MPI_ABI_Datatype **layout) UNO_MUST_USE;

// Elements `first` .. first + n - 1 of the user's buffer from (in: to) their form in the file.
struct uno_conversion {
    const struct uno_datarep *rep;
    char *user, *file;
    struct MPI_ABI_Datatype *type;
    MPI_Count first, n;
    bool in;
};
int uno_datarep_convert(const struct uno_conversion *c) UNO_MUST_USE;

// Reading: of element `first` only so many bytes of its form in the file are there. Converts the basic elements among
// them that are whole; *moved: the bytes that they have in memory.
int uno_datarep_convert_part(const struct uno_conversion *c, MPI_Count bytes, MPI_Count *moved) UNO_MUST_USE;
