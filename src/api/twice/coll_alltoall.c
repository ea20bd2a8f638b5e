// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Alltoall(v, w): blocking, nonblocking and persistent.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"
#include "api/twice/twice.h"

static inline struct uno_call alltoall_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLTOALL,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Alltoall(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ialltoall(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Alltoall_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call alltoallv_of(const void *sendbuf, struct uno_vector sendcounts, struct uno_vector sdispls,
                                           MPI_Datatype sendtype, void *recvbuf, struct uno_vector recvcounts,
                                           struct uno_vector rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLTOALLV,
                             .sbuf = sendbuf,
                             .scounts = sendcounts,
                             .sdispls = sdispls,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rdispls = rdispls,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Alltoallv(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[], MPI_Datatype sendtype,
                  void *recvbuf, const uno_count recvcounts[], const uno_displ rdispls[], MPI_Datatype recvtype,
                  MPI_Comm comm)
{
    struct uno_call c = alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ialltoallv(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[], MPI_Datatype sendtype,
                   void *recvbuf, const uno_count recvcounts[], const uno_displ rdispls[], MPI_Datatype recvtype,
                   MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Alltoallv_init(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                       MPI_Datatype sendtype, void *recvbuf, const uno_count recvcounts[], const uno_displ rdispls[],
                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call alltoallw_of(const void *sendbuf, struct uno_vector sendcounts, struct uno_vector sdispls,
                                           const MPI_Datatype sendtypes[], void *recvbuf, struct uno_vector recvcounts,
                                           struct uno_vector rdispls, const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLTOALLW,
                             .sbuf = sendbuf,
                             .scounts = sendcounts,
                             .sdispls = sdispls,
                             .stypes = sendtypes,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rdispls = rdispls,
                             .rtypes = recvtypes,
                             .comm = comm};
}

int MPI_Alltoallw(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                  const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                  const uno_displ rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct uno_call c = alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ialltoallw(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                   const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                   const uno_displ rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Alltoallw_init(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                       const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                       const uno_displ rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                       MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                     UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_persist(__func__, &c, info, request);
}
