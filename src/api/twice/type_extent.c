// SPDX-License-Identifier: BSD-3-Clause
// Entry points that ask for the size and the extents of a datatype. A size that does not fit is MPI_UNDEFINED.
#include "api/twice/twice.h"
#include "api/type_args.h"

// MPI_Aint has 64 bits, as MPI_Count has: both forms hold the same values.
_Static_assert(sizeof(uno_aint) == sizeof(MPI_Count), "extents are handed out as they are");

int MPI_Type_size(MPI_Datatype datatype, uno_count *size)
{
    if (!size) return uno_refuse_null(MPI_COMM_SELF, __func__, "size");
    MPI_Count n = 0;
    int err = uno_tell_size(__func__, datatype, &n);
    if (!err) *size = uno_fit(n);
    return err;
}

int MPI_Type_get_extent(MPI_Datatype datatype, uno_aint *lb, uno_aint *extent)
{
    return uno_tell_extent(__func__, datatype, false, (MPI_Count *)lb, (MPI_Count *)extent);
}

int MPI_Type_get_true_extent(MPI_Datatype datatype, uno_aint *true_lb, uno_aint *true_extent)
{
    return uno_tell_extent(__func__, datatype, true, (MPI_Count *)true_lb, (MPI_Count *)true_extent);
}
