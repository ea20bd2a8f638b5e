// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Allgather(v): blocking, nonblocking and persistent, with int and (_c) MPI_Count.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

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

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Allgather", &c);
}

int MPI_Allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_run("MPI_Allgather_c", &c);
}

int MPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Iallgather", &c, request);
}

int MPI_Iallgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_start("MPI_Iallgather_c", &c, request);
}

int MPI_Allgather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Allgather_init", &c, info, request);
}

int MPI_Allgather_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return uno_call_persist("MPI_Allgather_init_c", &c, info, request);
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

int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                   const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, comm);
    return uno_call_run("MPI_Allgatherv", &c);
}

int MPI_Allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, comm);
    return uno_call_run("MPI_Allgatherv_c", &c);
}

int MPI_Iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                    const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, comm);
    return uno_call_start("MPI_Iallgatherv", &c, request);
}

int MPI_Iallgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Request *request)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, comm);
    return uno_call_start("MPI_Iallgatherv_c", &c, request);
}

int MPI_Allgatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request *request)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, comm);
    return uno_call_persist("MPI_Allgatherv_init", &c, info, request);
}

int MPI_Allgatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                          MPI_Info info, MPI_Request *request)
{
    struct uno_call c =
        allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, comm);
    return uno_call_persist("MPI_Allgatherv_init_c", &c, info, request);
}
