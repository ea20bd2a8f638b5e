// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Gather(v) and MPI_Scatter(v): blocking, nonblocking and persistent, with int and (_c)
// MPI_Count. Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

static inline struct uno_call gather_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                        MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_GATHER,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .root = root,
                             .comm = comm};
}

int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run("MPI_Gather", &c);
}

int MPI_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run("MPI_Gather_c", &c);
}

int MPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start("MPI_Igather", &c, request);
}

int MPI_Igather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start("MPI_Igather_c", &c, request);
}

int MPI_Gather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist("MPI_Gather_init", &c, info, request);
}

int MPI_Gather_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist("MPI_Gather_init_c", &c, info, request);
}

static inline struct uno_call gatherv_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                         struct uno_vector recvcounts, struct uno_vector displs, MPI_Datatype recvtype,
                                         int root, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_GATHERV,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rdispls = displs,
                             .rtype = recvtype,
                             .root = root,
                             .comm = comm};
}

int MPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, root, comm);
    return uno_call_run("MPI_Gatherv", &c);
}

int MPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, root, comm);
    return uno_call_run("MPI_Gatherv_c", &c);
}

int MPI_Igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, root, comm);
    return uno_call_start("MPI_Igatherv", &c, request);
}

int MPI_Igatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                   MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, root, comm);
    return uno_call_start("MPI_Igatherv_c", &c, request);
}

int MPI_Gatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                     const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request *request)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_ints(recvcounts), uno_ints(displs), recvtype, root, comm);
    return uno_call_persist("MPI_Gatherv_init", &c, info, request);
}

int MPI_Gatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                       MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c =
        gatherv_of(sendbuf, sendcount, sendtype, recvbuf, uno_wide(recvcounts), uno_wide(displs), recvtype, root, comm);
    return uno_call_persist("MPI_Gatherv_init_c", &c, info, request);
}

static inline struct uno_call scatter_of(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                                         MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_SCATTER,
                             .sbuf = sendbuf,
                             .scount = sendcount,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .root = root,
                             .comm = comm};
}

int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run("MPI_Scatter", &c);
}

int MPI_Scatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run("MPI_Scatter_c", &c);
}

int MPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start("MPI_Iscatter", &c, request);
}

int MPI_Iscatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start("MPI_Iscatter_c", &c, request);
}

int MPI_Scatter_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist("MPI_Scatter_init", &c, info, request);
}

int MPI_Scatter_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist("MPI_Scatter_init_c", &c, info, request);
}

static inline struct uno_call scatterv_of(const void *sendbuf, struct uno_vector sendcounts, struct uno_vector displs,
                                          MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                          MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_SCATTERV,
                             .sbuf = sendbuf,
                             .scounts = sendcounts,
                             .sdispls = displs,
                             .stype = sendtype,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = recvtype,
                             .root = root,
                             .comm = comm};
}

int MPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatterv_of(sendbuf, uno_ints(sendcounts), uno_ints(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_run("MPI_Scatterv", &c);
}

int MPI_Scatterv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                   void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatterv_of(sendbuf, uno_wide(sendcounts), uno_wide(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_run("MPI_Scatterv_c", &c);
}

int MPI_Iscatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, uno_ints(sendcounts), uno_ints(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_start("MPI_Iscatterv", &c, request);
}

int MPI_Iscatterv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, uno_wide(sendcounts), uno_wide(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_start("MPI_Iscatterv_c", &c, request);
}

int MPI_Scatterv_init(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                      void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, uno_ints(sendcounts), uno_ints(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_persist("MPI_Scatterv_init", &c, info, request);
}

int MPI_Scatterv_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                        MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                        MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, uno_wide(sendcounts), uno_wide(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_persist("MPI_Scatterv_init_c", &c, info, request);
}
