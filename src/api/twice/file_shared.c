// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing files at the shared pointer. Entry points of the chapter on I/O.
#include "api/file.h"
#include "api/twice/twice.h"

int MPI_File_read_shared(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_SHARED, false, false, 0, buf, count, datatype},
                         status);
}

int MPI_File_iread_shared(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_SHARED, false, false, 0, buf, count, datatype},
                          request);
}

int MPI_File_read_ordered(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_ORDERED, false, true, 0, buf, count, datatype},
                         status);
}

int MPI_File_read_ordered_begin(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_ORDERED, false, true, 0, buf, count, datatype});
}

int MPI_File_write_shared(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_SHARED, true, false, 0, buf, count, datatype},
                         status);
}

int MPI_File_iwrite_shared(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_SHARED, true, false, 0, buf, count, datatype},
                          request);
}

int MPI_File_write_ordered(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_ORDERED, true, true, 0, buf, count, datatype},
                         status);
}

int MPI_File_write_ordered_begin(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_ORDERED, true, true, 0, buf, count, datatype});
}
