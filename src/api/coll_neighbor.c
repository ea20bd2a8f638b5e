// SPDX-License-Identifier: BSD-3-Clause
// The entry points of the neighbourhood collectives: blocking, nonblocking and persistent, with int and (_c) MPI_Count.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

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

int MPI_Neighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Neighbor_allgather", &c);
}

int MPI_Neighbor_allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Neighbor_allgather_c", &c);
}

int MPI_Ineighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ineighbor_allgather", &c, request);
}

int MPI_Ineighbor_allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ineighbor_allgather_c", &c, request);
}

int MPI_Neighbor_allgather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Neighbor_allgather_init", &c, info, request);
}

int MPI_Neighbor_allgather_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  MPI_Request *request)
{
    struct uno_call c = neighbor_allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Neighbor_allgather_init_c", &c, info, request);
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

int MPI_Neighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                            const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts),
                                               uno_ints(displs), recvtype, comm);
    return uno_call_run("MPI_Neighbor_allgatherv", &c);
}

int MPI_Neighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                              MPI_Comm comm)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts),
                                               uno_wide(displs), recvtype, comm);
    return uno_call_run("MPI_Neighbor_allgatherv_c", &c);
}

int MPI_Ineighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                             MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts),
                                               uno_ints(displs), recvtype, comm);
    return uno_call_start("MPI_Ineighbor_allgatherv", &c, request);
}

int MPI_Ineighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts),
                                               uno_wide(displs), recvtype, comm);
    return uno_call_start("MPI_Ineighbor_allgatherv_c", &c, request);
}

int MPI_Neighbor_allgatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts),
                                               uno_ints(displs), recvtype, comm);
    return uno_call_persist("MPI_Neighbor_allgatherv_init", &c, info, request);
}

int MPI_Neighbor_allgatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts),
                                               uno_wide(displs), recvtype, comm);
    return uno_call_persist("MPI_Neighbor_allgatherv_init_c", &c, info, request);
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

int MPI_Neighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Neighbor_alltoall", &c);
}

int MPI_Neighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Neighbor_alltoall_c", &c);
}

int MPI_Ineighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ineighbor_alltoall", &c, request);
}

int MPI_Ineighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ineighbor_alltoall_c", &c, request);
}

int MPI_Neighbor_alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Neighbor_alltoall_init", &c, info, request);
}

int MPI_Neighbor_alltoall_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                 MPI_Request *request)
{
    struct uno_call c = neighbor_alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Neighbor_alltoall_init_c", &c, info, request);
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

int MPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                           void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                           MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                              uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_run("MPI_Neighbor_alltoallv", &c);
}

int MPI_Neighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                             MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                             const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_run("MPI_Neighbor_alltoallv_c", &c);
}

int MPI_Ineighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                              uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_start("MPI_Ineighbor_alltoallv", &c, request);
}

int MPI_Ineighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_start("MPI_Ineighbor_alltoallv_c", &c, request);
}

int MPI_Neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                              uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_persist("MPI_Neighbor_alltoallv_init", &c, info, request);
}

int MPI_Neighbor_alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_persist("MPI_Neighbor_alltoallv_init_c", &c, info, request);
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

int MPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_ints(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_ints(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_run("MPI_Neighbor_alltoallw", &c);
}

int MPI_Neighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_run("MPI_Neighbor_alltoallw_c", &c);
}

int MPI_Ineighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                            MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_ints(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_ints(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_start("MPI_Ineighbor_alltoallw", &c, request);
}

int MPI_Ineighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                              MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_start("MPI_Ineighbor_alltoallw_c", &c, request);
}

int MPI_Neighbor_alltoallw_init(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_ints(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_ints(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_persist("MPI_Neighbor_alltoallw_init", &c, info, request);
}

int MPI_Neighbor_alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                  MPI_Info info, MPI_Request *request)
{
    struct uno_call c = neighbor_alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                              uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_persist("MPI_Neighbor_alltoallw_init_c", &c, info, request);
}
