// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Alltoall(v, w): blocking, nonblocking and persistent, with int and (_c) MPI_Count.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

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

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Alltoall", &c);
}

int MPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Alltoall_c", &c);
}

int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ialltoall", &c, request);
}

int MPI_Ialltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Ialltoall_c", &c, request);
}

int MPI_Alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Alltoall_init", &c, info, request);
}

int MPI_Alltoall_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Alltoall_init_c", &c, info, request);
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

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                  void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_run("MPI_Alltoallv", &c);
}

int MPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                    void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_run("MPI_Alltoallv_c", &c);
}

int MPI_Ialltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                   void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_start("MPI_Ialltoallv", &c, request);
}

int MPI_Ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                     void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                     MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_start("MPI_Ialltoallv_c", &c, request);
}

int MPI_Alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                       void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                       MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtype, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtype, comm);
    return uno_call_persist("MPI_Alltoallv_init", &c, info, request);
}

int MPI_Alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoallv_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtype, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtype, comm);
    return uno_call_persist("MPI_Alltoallv_init_c", &c, info, request);
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

int MPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                  void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                  MPI_Comm comm)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtypes, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtypes, comm);
    return uno_call_run("MPI_Alltoallw", &c);
}

int MPI_Alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_run("MPI_Alltoallw_c", &c);
}

int MPI_Ialltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                   MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtypes, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtypes, comm);
    return uno_call_start("MPI_Ialltoallw", &c, request);
}

int MPI_Ialltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_start("MPI_Ialltoallw_c", &c, request);
}

int MPI_Alltoallw_init(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                       void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                       MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_ints(sendcounts), uno_ints(sdispls), sendtypes, recvbuf,
                                     uno_ints(recvcounts), uno_ints(rdispls), recvtypes, comm);
    return uno_call_persist("MPI_Alltoallw_init", &c, info, request);
}

int MPI_Alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                         MPI_Request *request)
{
    struct uno_call c = alltoallw_of(sendbuf, uno_wide(sendcounts), uno_wide(sdispls), sendtypes, recvbuf,
                                     uno_wide(recvcounts), uno_wide(rdispls), recvtypes, comm);
    return uno_call_persist("MPI_Alltoallw_init_c", &c, info, request);
}
