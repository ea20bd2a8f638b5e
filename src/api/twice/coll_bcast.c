// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Bcast: blocking, nonblocking and persistent.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"
#include "api/twice/twice.h"

static inline struct uno_call bcast_of(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return (struct uno_call){
        .kind = UNO_BCAST, .rbuf = buffer, .rcount = count, .rtype = datatype, .root = root, .comm = comm};
}

int MPI_Bcast(void *buffer, uno_count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    if (uno_is_alone(comm) && root == 0 && uno_is_plain_data(buffer, count, uno_type(datatype))) return MPI_SUCCESS;
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ibcast(void *buffer, uno_count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Bcast_init(void *buffer, uno_count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request *request)
{
    struct uno_call c = bcast_of(buffer, count, datatype, root, comm);
    return uno_call_persist(__func__, &c, info, request);
}
