// SPDX-License-Identifier: BSD-3-Clause
// Entry points that read and write the length of a message in a status as a count of a datatype. A count that does not
// fit is MPI_UNDEFINED.
#include "api/twice/twice.h"
#include "api/type_args.h"

static int tell(const char *call, const MPI_Status *status, MPI_Datatype datatype, bool elements, uno_count *count)
{
    if (!count) return uno_refuse_null(MPI_COMM_SELF, call, "count");
    MPI_Count n = 0;
    int err = uno_tell_elements(call, status, datatype, elements, &n);
    if (!err) *count = uno_fit(n);
    return err;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, uno_count *count)
{
    return tell(__func__, status, datatype, false, count);
}

int MPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, uno_count *count)
{
    return tell(__func__, status, datatype, true, count);
}

int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, uno_count count)
{
    return uno_set_elements(__func__, status, datatype, count);
}
