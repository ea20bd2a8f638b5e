// SPDX-License-Identifier: BSD-3-Clause
// Data representations of files, and what a datatype takes there. Entry points of the chapter on I/O.
#include <string.h>

#include "api/file.h"
#include "api/type_args.h"
#include "io/datarep.h"

int uno_file_type_extent(const char *call, MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
{
    MPI_Count bytes = 0;
    uno_enter(call);
    int err = uno_check_file(fh);
    if (!err) err = uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(extent, "extent");
    if (!err) err = uno_datarep_extent(uno_file(fh)->view->rep, uno_type(datatype), &bytes);
    if (!err) *extent = bytes;
    return uno_finish_file(fh, call, err);
}

static int register_rep(const char *call, const char *datarep, struct uno_datarep *rep)
{
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(datarep, "datarep");
    if (!err) err = rep->extent ? MPI_SUCCESS : uno_fail(MPI_ERR_ARG, "dtype_file_extent_fn is NULL");
    if (!err && strlen(datarep) >= sizeof rep->name)
        err = uno_fail(MPI_ERR_ARG, "datarep has %zu characters (%zu allowed)", strlen(datarep), sizeof rep->name - 1);
    if (!err) {
        strcpy(rep->name, datarep);
        err = uno_datarep_add(rep);
    }
    return uno_finish_file(MPI_FILE_NULL, call, err);
}

int MPI_Register_datarep(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
                         MPI_Datarep_conversion_function *write_conversion_fn,
                         MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    struct uno_datarep rep = {.kind = UNO_REP_USER,
                              .read = read_conversion_fn,
                              .write = write_conversion_fn,
                              .extent = dtype_file_extent_fn,
                              .extra = extra_state};
    return register_rep("MPI_Register_datarep", datarep, &rep);
}

int MPI_Register_datarep_c(const char *datarep, MPI_Datarep_conversion_function_c *read_conversion_fn,
                           MPI_Datarep_conversion_function_c *write_conversion_fn,
                           MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    struct uno_datarep rep = {.kind = UNO_REP_USER,
                              .read_c = read_conversion_fn,
                              .write_c = write_conversion_fn,
                              .extent = dtype_file_extent_fn,
                              .extra = extra_state};
    return register_rep("MPI_Register_datarep_c", datarep, &rep);
}
