// SPDX-License-Identifier: BSD-3-Clause
// Handles as integers and back, for languages without pointers. Entry points of the chapter on language bindings;
// allowed at any time, they check nothing: a number that was never given out becomes NULL, which every call refuses.
// Always holds: predefined handles keep the values of the ABI.
#include <mpi.h>

#include "core/number.h"

int MPI_Comm_toint(MPI_Comm comm)
{
    return uno_number_of(comm);
}

MPI_Comm MPI_Comm_fromint(int comm)
{
    return uno_number_find(comm);
}

int MPI_Errhandler_toint(MPI_Errhandler errhandler)
{
    return uno_number_of(errhandler);
}

MPI_Errhandler MPI_Errhandler_fromint(int errhandler)
{
    return uno_number_find(errhandler);
}

int MPI_File_toint(MPI_File file)
{
    return uno_number_of(file);
}

MPI_File MPI_File_fromint(int file)
{
    return uno_number_find(file);
}

int MPI_Group_toint(MPI_Group group)
{
    return uno_number_of(group);
}

MPI_Group MPI_Group_fromint(int group)
{
    return uno_number_find(group);
}

int MPI_Info_toint(MPI_Info info)
{
    return uno_number_of(info);
}

MPI_Info MPI_Info_fromint(int info)
{
    return uno_number_find(info);
}

int MPI_Message_toint(MPI_Message message)
{
    return uno_number_of(message);
}

MPI_Message MPI_Message_fromint(int message)
{
    return uno_number_find(message);
}

int MPI_Op_toint(MPI_Op op)
{
    return uno_number_of(op);
}

MPI_Op MPI_Op_fromint(int op)
{
    return uno_number_find(op);
}

int MPI_Request_toint(MPI_Request request)
{
    return uno_number_of(request);
}

MPI_Request MPI_Request_fromint(int request)
{
    return uno_number_find(request);
}

int MPI_Session_toint(MPI_Session session)
{
    return uno_number_of(session);
}

MPI_Session MPI_Session_fromint(int session)
{
    return uno_number_find(session);
}

int MPI_Type_toint(MPI_Datatype datatype)
{
    return uno_number_of(datatype);
}

MPI_Datatype MPI_Type_fromint(int datatype)
{
    return uno_number_find(datatype);
}

int MPI_Win_toint(MPI_Win win)
{
    return uno_number_of(win);
}

MPI_Win MPI_Win_fromint(int win)
{
    return uno_number_find(win);
}
