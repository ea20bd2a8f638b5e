// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Partitioned point-to-point communication": making the requests. The work is in p2p/partitioned.c.
#include "api/p2p.h"
#include "api/twice/twice.h"
#include "p2p/partitioned.h"

static int check_spec(const struct uno_args *a, int partitions, bool send)
{
    if (!uno_world.checks) return MPI_SUCCESS;
    if (partitions < 0) return uno_fail(MPI_ERR_ARG, "partitions %d is negative (0 or more allowed)", partitions);
    if (!send && (a->rank == MPI_ANY_SOURCE || a->tag == MPI_ANY_TAG))
        return uno_fail(a->tag == MPI_ANY_TAG ? MPI_ERR_TAG : MPI_ERR_RANK,
                        "wildcards are not allowed in partitioned communication");
    return send ? uno_check_send(*a) : uno_check_recv(*a);
}

static int init(struct uno_args a, int partitions, bool send, MPI_Info info, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    uno_enter(a.call);
    int err = check_spec(&a, partitions, send);
    if (!err) err = uno_check_info(info);    // no hints are known
    if (err) return uno_raise_comm(a.comm, a.call, err);
    struct uno_part_spec spec = {.buf = a.buf, .partitions = partitions, .count = a.count, .type = uno_type(a.type)};
    struct uno_where where = {.comm = uno_comm(a.comm), .rank = a.rank, .tag = a.tag};
    return uno_finish_comm(a.comm, a.call,
                           send ? uno_psend_init(&spec, &where, request) : uno_precv_init(&spec, &where, request));
}

int MPI_Psend_init(const void *buf, int partitions, uno_count count, MPI_Datatype type, int dest, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, partitions, true, info, request);
}

int MPI_Precv_init(void *buf, int partitions, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Info info, MPI_Request *request)
{
    return init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, partitions, false, info, request);
}
