// SPDX-License-Identifier: BSD-3-Clause
// The length of a message in a status as a count of a datatype, for the entry points here and in
// twice/status_elements.c. The status holds bytes. Always holds: a length that is no whole number of elements is
// MPI_UNDEFINED.
#include "api/type_args.h"

static int check_status(const MPI_Status *status, MPI_Datatype datatype, const void *count)
{
    int err = uno_check_any_type(datatype);
    if (!err && status == MPI_STATUS_IGNORE) err = uno_fail(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE");
    return err ? err : uno_check_pointer(count, "count");
}

int uno_tell_elements(const char *call, const MPI_Status *status, MPI_Datatype datatype, bool elements,
                      MPI_Count *count)
{
    uno_enter(call);
    int err = check_status(status, datatype, count);
    if (err) return uno_raise_self(call, err);
    const uno_datatype *t = uno_type(datatype);
    MPI_Count bytes = uno_status_bytes(status);
    if (elements)
        *count = uno_type_elements(t, bytes);
    else if (t->size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *count = bytes % t->size == 0 ? bytes / t->size : MPI_UNDEFINED;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return uno_tell_elements("MPI_Get_elements_x", status, datatype, true, count);
}

int uno_set_elements(const char *call, MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    uno_enter(call);
    int err = check_status(status, datatype, &count);
    if (!err) err = uno_check_count(count);
    MPI_Count bytes = err ? 0 : uno_type_bytes(uno_type(datatype), count);
    if (bytes == MPI_UNDEFINED)
        err = uno_fail(MPI_ERR_VALUE_TOO_LARGE, "the bytes of count %lld do not fit 63 bits", (long long)count);
    if (err) return uno_raise_self(call, err);
    uno_status_set_bytes(status, bytes);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return uno_set_elements("MPI_Status_set_elements_x", status, datatype, count);
}
