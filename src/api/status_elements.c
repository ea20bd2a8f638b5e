// SPDX-License-Identifier: BSD-3-Clause
// Entry points that read and write the length of a message in a status as a count of a datatype. The status holds
// bytes. Always holds: a length that is no whole number of elements, or does not fit, is MPI_UNDEFINED.
#include <limits.h>

#include "api/type_args.h"

static int check_status(const MPI_Status *status, MPI_Datatype datatype, const void *count)
{
    int err = uno_check_any_type(datatype);
    if (!err && status == MPI_STATUS_IGNORE) err = uno_fail(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE");
    return err ? err : uno_check_pointer(count, "count");
}

static int get(const char *call, const MPI_Status *status, MPI_Datatype datatype, bool elements, MPI_Count *count)
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

static int get_int(const char *call, const MPI_Status *status, MPI_Datatype datatype, bool elements, int *count)
{
    MPI_Count n;
    int err = get(call, status, datatype, elements, count ? &n : NULL);
    if (!err) *count = n <= INT_MAX ? (int)n : MPI_UNDEFINED;
    return err;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    return get_int("MPI_Get_count", status, datatype, false, count);
}

int MPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return get("MPI_Get_count_c", status, datatype, false, count);
}

int MPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    return get_int("MPI_Get_elements", status, datatype, true, count);
}

int MPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return get("MPI_Get_elements_c", status, datatype, true, count);
}

int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return get("MPI_Get_elements_x", status, datatype, true, count);
}

static int set(const char *call, MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    uno_enter(call);
    int err = check_status(status, datatype, &count);
    if (!err) err = uno_check_count(count);
    if (err) return uno_raise_self(call, err);
    uno_status_set_bytes(status, uno_type_bytes(uno_type(datatype), count));
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count)
{
    return set("MPI_Status_set_elements", status, datatype, count);
}

int MPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set("MPI_Status_set_elements_c", status, datatype, count);
}

int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set("MPI_Status_set_elements_x", status, datatype, count);
}
