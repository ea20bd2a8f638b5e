// SPDX-License-Identifier: BSD-3-Clause
// The extent of a datatype in a file. Entry point of the chapter on I/O.
#include "api/file.h"
#include "api/twice/twice.h"

int MPI_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, uno_aint *extent)
{
    return uno_file_type_extent(__func__, fh, datatype, (MPI_Count *)extent);
}
