// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing files at the individual pointer. Entry points of the chapter on I/O.
#include "api/file.h"
#include "api/twice/twice.h"

int MPI_File_read(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, false, false, 0, buf, count, datatype},
                         status);
}

int MPI_File_read_all(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, false, true, 0, buf, count, datatype},
                         status);
}

int MPI_File_iread(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, false, false, 0, buf, count, datatype},
                          request);
}

int MPI_File_iread_all(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, false, true, 0, buf, count, datatype},
                          request);
}

int MPI_File_read_all_begin(MPI_File fh, void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_OWN, false, true, 0, buf, count, datatype});
}

int MPI_File_write(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, true, false, 0, buf, count, datatype},
                         status);
}

int MPI_File_write_all(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Status *status)
{
    return uno_file_move(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, true, true, 0, buf, count, datatype},
                         status);
}

int MPI_File_iwrite(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, true, false, 0, buf, count, datatype},
                          request);
}

int MPI_File_iwrite_all(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype, MPI_Request *request)
{
    return uno_file_start(&(struct uno_file_call){__func__, fh, UNO_FILE_OWN, true, true, 0, buf, count, datatype},
                          request);
}

int MPI_File_write_all_begin(MPI_File fh, const void *buf, uno_count count, MPI_Datatype datatype)
{
    return uno_file_split_begin(
        &(struct uno_file_call){__func__, fh, UNO_FILE_OWN, true, true, 0, buf, count, datatype});
}
