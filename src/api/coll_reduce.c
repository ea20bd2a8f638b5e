// SPDX-License-Identifier: BSD-3-Clause
// The entry points of the reductions: blocking, nonblocking and persistent, with int and (_c) MPI_Count.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include "api/coll_call.h"

static inline struct uno_call reduce_of(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                        MPI_Op op, int root, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_REDUCE,
                             .sbuf = sendbuf,
                             .rbuf = recvbuf,
                             .rcount = count,
                             .rtype = datatype,
                             .op = op,
                             .root = root,
                             .comm = comm};
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_run("MPI_Reduce", &c);
}

int MPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_run("MPI_Reduce_c", &c);
}

int MPI_Ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_start("MPI_Ireduce", &c, request);
}

int MPI_Ireduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_start("MPI_Ireduce_c", &c, request);
}

int MPI_Reduce_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_persist("MPI_Reduce_init", &c, info, request);
}

int MPI_Reduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                      MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_persist("MPI_Reduce_init_c", &c, info, request);
}

static inline struct uno_call allreduce_of(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                           MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_ALLREDUCE,
                             .sbuf = sendbuf,
                             .rbuf = recvbuf,
                             .rcount = count,
                             .rtype = datatype,
                             .op = op,
                             .comm = comm};
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Allreduce", &c);
}

int MPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Allreduce_c", &c);
}

int MPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iallreduce", &c, request);
}

int MPI_Iallreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iallreduce_c", &c, request);
}

int MPI_Allreduce_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Allreduce_init", &c, info, request);
}

int MPI_Allreduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Allreduce_init_c", &c, info, request);
}

static inline struct uno_call reduce_scatter_of(const void *sendbuf, void *recvbuf, struct uno_vector recvcounts,
                                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_REDUCE_SCATTER,
                             .sbuf = sendbuf,
                             .rbuf = recvbuf,
                             .rcounts = recvcounts,
                             .rtype = datatype,
                             .op = op,
                             .comm = comm};
}

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_ints(recvcounts), datatype, op, comm);
    return uno_call_run("MPI_Reduce_scatter", &c);
}

int MPI_Reduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_wide(recvcounts), datatype, op, comm);
    return uno_call_run("MPI_Reduce_scatter_c", &c);
}

int MPI_Ireduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_ints(recvcounts), datatype, op, comm);
    return uno_call_start("MPI_Ireduce_scatter", &c, request);
}

int MPI_Ireduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                          MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_wide(recvcounts), datatype, op, comm);
    return uno_call_start("MPI_Ireduce_scatter_c", &c, request);
}

int MPI_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_ints(recvcounts), datatype, op, comm);
    return uno_call_persist("MPI_Reduce_scatter_init", &c, info, request);
}

int MPI_Reduce_scatter_init_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, uno_wide(recvcounts), datatype, op, comm);
    return uno_call_persist("MPI_Reduce_scatter_init_c", &c, info, request);
}

static inline struct uno_call reduce_scatter_block_of(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_REDUCE_SCATTER_BLOCK,
                             .sbuf = sendbuf,
                             .rbuf = recvbuf,
                             .rcount = recvcount,
                             .rtype = datatype,
                             .op = op,
                             .comm = comm};
}

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_run("MPI_Reduce_scatter_block", &c);
}

int MPI_Reduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_run("MPI_Reduce_scatter_block_c", &c);
}

int MPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_start("MPI_Ireduce_scatter_block", &c, request);
}

int MPI_Ireduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_start("MPI_Ireduce_scatter_block_c", &c, request);
}

int MPI_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                  MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_persist("MPI_Reduce_scatter_block_init", &c, info, request);
}

int MPI_Reduce_scatter_block_init_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                    MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_persist("MPI_Reduce_scatter_block_init_c", &c, info, request);
}

static inline struct uno_call scan_of(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                      MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){
        .kind = UNO_SCAN, .sbuf = sendbuf, .rbuf = recvbuf, .rcount = count, .rtype = datatype, .op = op, .comm = comm};
}

int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Scan", &c);
}

int MPI_Scan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Scan_c", &c);
}

int MPI_Iscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
              MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iscan", &c, request);
}

int MPI_Iscan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iscan_c", &c, request);
}

int MPI_Scan_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Scan_init", &c, info, request);
}

int MPI_Scan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Scan_init_c", &c, info, request);
}

static inline struct uno_call exscan_of(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                        MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){.kind = UNO_EXSCAN,
                             .sbuf = sendbuf,
                             .rbuf = recvbuf,
                             .rcount = count,
                             .rtype = datatype,
                             .op = op,
                             .comm = comm};
}

int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Exscan", &c);
}

int MPI_Exscan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run("MPI_Exscan_c", &c);
}

int MPI_Iexscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iexscan", &c, request);
}

int MPI_Iexscan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start("MPI_Iexscan_c", &c, request);
}

int MPI_Exscan_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Info info, MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Exscan_init", &c, info, request);
}

int MPI_Exscan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist("MPI_Exscan_init_c", &c, info, request);
}
