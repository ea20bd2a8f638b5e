// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Allgather(v): blocking, nonblocking and persistent.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"
#include "api/twice/twice.h"

static inline struct uno_call allgather_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLGATHER,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Allgather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iallgather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Allgather_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call allgatherv_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void *recvbuf, struct uno_vector recvcounts, struct uno_vector displs,
                                            MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLGATHERV,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rdispls = displs,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Allgatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                      recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iallgatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request)
{
    struct uno_call c = allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                      recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Allgatherv_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, MPI_Comm comm,
                        MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                      recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}
