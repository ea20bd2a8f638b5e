// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing files at explicit offsets. Entry points of the chapter on I/O.
#include "api/file.h"
#include "api/twice/twice.h"

int MPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, uno_count count, MPI_Datatype datatype,
                     MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, false, false, offset, buf, count, datatype},
                         status);
}

int MPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, uno_count count, MPI_Datatype datatype,
                         MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, false, true, offset, buf, count, datatype},
                         status);
}

int MPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, uno_count count, MPI_Datatype datatype,
                      MPI_Request *request)
{
    return uno_file_start(
        &(struct uno_file_call){__func__, fh, UNO_FILE_AT, false, false, offset, buf, count, datatype}, request);
}

int MPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, uno_count count, MPI_Datatype datatype,
                          MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, false, true, offset, buf, count, datatype},
                          request);
}

int MPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_AT, false, true, offset, buf, count, datatype});
}

int MPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, uno_count count, MPI_Datatype datatype,
                      MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, true, false, offset, buf, count, datatype},
                         status);
}

int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, uno_count count, MPI_Datatype datatype,
                          MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, true, true, offset, buf, count, datatype},
                         status);
}

int MPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, uno_count count, MPI_Datatype datatype,
                       MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, true, false, offset, buf, count, datatype},
                          request);
}

int MPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, uno_count count, MPI_Datatype datatype,
                           MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_AT, true, true, offset, buf, count, datatype},
                          request);
}

int MPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_AT, true, true, offset, buf, count, datatype});
}
