// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Barrier: blocking, nonblocking and persistent. Checking and running are in coll_call.c.
#include "api/coll_call.h"

static inline struct uno_call barrier_of(MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_BARRIER, .comm = comm};
}

int MPI_Barrier(MPI_Comm comm)
{
    if (uno_is_alone(comm)) return MPI_SUCCESS;    // MPI_COMM_SELF: nobody to wait for
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
