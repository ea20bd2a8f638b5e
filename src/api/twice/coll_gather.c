// SPDX-License-Identifier: BSD-3-Clause
// The entry points of MPI_Gather(v) and MPI_Scatter(v): blocking, nonblocking and persistent. Each fills a struct
// uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"
#include "api/twice/twice.h"

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

int MPI_Gather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Igather(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Gather_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Gatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = gatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                   recvtype, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Igatherv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request *request)
{
    struct uno_call c = gatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                   recvtype, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Gatherv_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     const uno_count recvcounts[], const uno_displ displs[], MPI_Datatype recvtype, int root,
                     MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = gatherv_of(sendbuf, sendcount, sendtype, recvbuf, UNO_VECTOR(recvcounts), UNO_VECTOR(displs),
                                   recvtype, root, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Scatter(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iscatter(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf, uno_count recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Scatter_init(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     uno_count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request *request)
{
    struct uno_call c = scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Scatterv(const void *sendbuf, const uno_count sendcounts[], const uno_displ displs[], MPI_Datatype sendtype,
                 void *recvbuf, uno_count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct uno_call c = scatterv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iscatterv(const void *sendbuf, const uno_count sendcounts[], const uno_displ displs[], MPI_Datatype sendtype,
                  void *recvbuf, uno_count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Scatterv_init(const void *sendbuf, const uno_count sendcounts[], const uno_displ displs[],
                      MPI_Datatype sendtype, void *recvbuf, uno_count recvcount, MPI_Datatype recvtype, int root,
                      MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scatterv_of(sendbuf, UNO_VECTOR(sendcounts), UNO_VECTOR(displs), sendtype, recvbuf, recvcount,
                                    recvtype, root, comm);
    return uno_call_persist(__func__, &c, info, request);
}
