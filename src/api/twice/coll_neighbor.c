// SPDX-License-Identifier: BSD-3-Clause
// The entry points of the neighbourhood collectives: blocking, nonblocking and persistent.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"
#include "api/twice/twice.h"

static inline struct uno_call neighbor_allgather_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                    MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_NEIGHBOR_ALLGATHER,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Neighbor_allgather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ineighbor_allgather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                            uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Neighbor_allgather_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call neighbor_allgatherv_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void *recvbuf, struct uno_vector recvcounts,
                                                     struct uno_vector displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_NEIGHBOR_ALLGATHERV,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rdispls = displs,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Neighbor_allgatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                            const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype,
                            MPI_Comm comm)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts),
                                               UNO_VECTOR(displs), recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ineighbor_allgatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                             const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts),
                                               UNO_VECTOR(displs), recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Neighbor_allgatherv_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype,
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts),
                                               UNO_VECTOR(displs), recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call neighbor_alltoall_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                   void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                   MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_NEIGHBOR_ALLTOALL,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .comm = comm};
}

int MPI_Neighbor_alltoall(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                          uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ineighbor_alltoall(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Neighbor_alltoall_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                               uno_count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                               MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call neighbor_alltoallv_of(const void *sendbuf, struct uno_vector sendcounts,
                                                    struct uno_vector sdispls, MPI_Datatype sendtype, void *recvbuf,
                                                    struct uno_vector recvcounts, struct uno_vector rdispls,
                                                    MPI_Datatype recvtype, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_NEIGHBOR_ALLTOALLV,
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

int MPI_Neighbor_alltoallv(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                           MPI_Datatype sendtype, void *recvbuf, const uno_count recvcounts[],
                           const uno_displ rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ineighbor_alltoallv(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                            MPI_Datatype sendtype, void *recvbuf, const uno_count recvcounts[],
                            const uno_displ rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Neighbor_alltoallv_init(const void *sendbuf, const uno_count sendcounts[], const uno_displ sdispls[],
                                MPI_Datatype sendtype, void *recvbuf, const uno_count recvcounts[],
                                const uno_displ rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtype, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtype, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call neighbor_alltoallw_of(const void *sendbuf, struct uno_vector sendcounts,
                                                    struct uno_vector sdispls, const MPI_Datatype sendtypes[],
                                                    void *recvbuf, struct uno_vector recvcounts,
                                                    struct uno_vector rdispls, const MPI_Datatype recvtypes[],
                                                    MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_NEIGHBOR_ALLTOALLW,
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

int MPI_Neighbor_alltoallw(const void *sendbuf, const uno_count sendcounts[], const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ineighbor_alltoallw(const void *sendbuf, const uno_count sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                            MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Neighbor_alltoallw_init(const void *sendbuf, const uno_count sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void *recvbuf, const uno_count recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(sdispls), sendtypes, recvbuf,
                                              UNO_VECTOR(recvcounts), UNO_VECTOR(rdispls), recvtypes, comm);
    return uno_call_persist(__func__, &c, info, request);
}
