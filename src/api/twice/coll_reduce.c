// SPDX-License-Identifier: BSD-3-Clause
// The entry points of the reductions: blocking, nonblocking and persistent.
// Each fills a struct uno_call; checking and running are in coll_call.c.
#include <string.h>

#include "api/coll_call.h"
#include "api/twice/twice.h"

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

int MPI_Reduce(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ireduce(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Reduce_init(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm);
    return uno_call_persist(__func__, &c, info, request);
}

// The allreduce of one rank whose data are plain, done: the shortest way, which programs that run as one process take.
static bool is_itself(const void *in, void *out, MPI_Count count, const struct MPI_ABI_Datatype *type,
                      const struct MPI_ABI_Op *op)
{
    if (!uno_is_plain_data(in, count, type) || !uno_is_plain_data(out, count, type)) return false;
    size_t bytes = (size_t)(count * type->size);
    bool apart = (const char *)in + bytes <= (char *)out || (char *)out + bytes <= (const char *)in;
    if (!apart || !op || !(type->flags & UNO_TYPE_PREDEFINED) || !uno_op_standard(op, type)) return false;
    memcpy(out, in, bytes);
    return true;
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

int MPI_Allreduce(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (uno_is_alone(comm) && is_itself(sendbuf, recvbuf, count, uno_type(datatype), uno_op(op))) return MPI_SUCCESS;
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iallreduce(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Allreduce_init(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = allreduce_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const uno_count recvcounts[], MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, UNO_VECTOR(recvcounts), datatype, op, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ireduce_scatter(const void *sendbuf, void *recvbuf, const uno_count recvcounts[], MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, UNO_VECTOR(recvcounts), datatype, op, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const uno_count recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_of(sendbuf, recvbuf, UNO_VECTOR(recvcounts), datatype, op, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, uno_count recvcount, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf, uno_count recvcount, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, uno_count recvcount, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return uno_call_persist(__func__, &c, info, request);
}

static inline struct uno_call scan_of(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                                      MPI_Op op, MPI_Comm comm)
{
    return (struct uno_call){
        .kind = UNO_SCAN, .sbuf = sendbuf, .rbuf = recvbuf, .rcount = count, .rtype = datatype, .op = op, .comm = comm};
}

int MPI_Scan(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iscan(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
              MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Scan_init(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Info info, MPI_Request *request)
{
    struct uno_call c = scan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist(__func__, &c, info, request);
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

int MPI_Exscan(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_run(__func__, &c);
}

int MPI_Iexscan(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_start(__func__, &c, request);
}

int MPI_Exscan_init(const void *sendbuf, void *recvbuf, uno_count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct uno_call c = exscan_of(sendbuf, recvbuf, count, datatype, op, comm);
    return uno_call_persist(__func__, &c, info, request);
}
