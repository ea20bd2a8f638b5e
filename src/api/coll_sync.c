// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Barrier and MPI_Bcast: blocking, nonblocking and persistent, with int and (_c) MPI_Count.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

static inline struct uno_call barrier_of(MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_BARRIER, .comm = comm};
}

int MPI_Barrier(MPI_Comm comm)
{
    struct uno_call c = barrier_of(comm);
    return uno_call_run("MPI_Barrier", &c);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = barrier_of(comm);
    return uno_call_start("MPI_Ibarrier", &c, request);
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = barrier_of(comm);
    return uno_call_persist("MPI_Barrier_init", &c, info, request);
}

static inline struct uno_call bcast_of(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return (struct uno_call){
        .kind = UNO_BCAST, .rbuf = buffer, .rcount = count, .rtype = datatype, .root = root, .comm = comm};
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_run("MPI_Bcast", &c);
}

int MPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_run("MPI_Bcast_c", &c);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_start("MPI_Ibcast", &c, request);
}

int MPI_Ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_start("MPI_Ibcast_c", &c, request);
}

int MPI_Bcast_init(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_persist("MPI_Bcast_init", &c, info, request);
}

int MPI_Bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_persist("MPI_Bcast_init_c", &c, info, request);
}
