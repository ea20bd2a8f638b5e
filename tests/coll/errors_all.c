// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// The same mistakes made in every collective, blocking, nonblocking and persistent: the standard's class each time, and
// a message that begins with the call's name. One wrong argument at a time; every rank makes it; nothing is sent.
#include <string.h>

#include "coll.h"

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};

struct args {
    void *in, *out;
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
};

static int me, n, in[64], out[64], counts[8], displs[8];
static MPI_Datatype types[8];

#define EITHER(NAME, INAME, ...)                                                                                       \
    (mode == BLOCKING      ? MPI_##NAME(__VA_ARGS__)                                                                   \
     : mode == NONBLOCKING ? MPI_##INAME(__VA_ARGS__, &q)                                                              \
                           : MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &q))

static int call(enum kind kind, enum mode mode, struct args a)
{
    MPI_Request q;
    for (int i = 0; i < n; i++) counts[i] = a.count, displs[i] = 2 * i, types[i] = a.type;
    switch (kind) {
    case BARRIER: return EITHER(Barrier, Ibarrier, a.comm);
    case BCAST: return EITHER(Bcast, Ibcast, a.out, a.count, a.type, a.root, a.comm);
    case GATHER: return EITHER(Gather, Igather, a.in, a.count, a.type, a.out, a.count, a.type, a.root, a.comm);
    case GATHERV:
        return EITHER(Gatherv, Igatherv, a.in, a.count, a.type, a.out, counts, displs, a.type, a.root, a.comm);
    case SCATTER: return EITHER(Scatter, Iscatter, a.in, a.count, a.type, a.out, a.count, a.type, a.root, a.comm);
    case SCATTERV:
        return EITHER(Scatterv, Iscatterv, a.in, counts, displs, a.type, a.out, a.count, a.type, a.root, a.comm);
    case ALLGATHER: return EITHER(Allgather, Iallgather, a.in, a.count, a.type, a.out, a.count, a.type, a.comm);
    case ALLGATHERV:
        return EITHER(Allgatherv, Iallgatherv, a.in, a.count, a.type, a.out, counts, displs, a.type, a.comm);
    case ALLTOALL: return EITHER(Alltoall, Ialltoall, a.in, a.count, a.type, a.out, a.count, a.type, a.comm);
    case ALLTOALLV:
        return EITHER(Alltoallv, Ialltoallv, a.in, counts, displs, a.type, a.out, counts, displs, a.type, a.comm);
    case ALLTOALLW:
        return EITHER(Alltoallw, Ialltoallw, a.in, counts, displs, types, a.out, counts, displs, types, a.comm);
    case REDUCE: return EITHER(Reduce, Ireduce, a.in, a.out, a.count, a.type, a.op, a.root, a.comm);
    case ALLREDUCE: return EITHER(Allreduce, Iallreduce, a.in, a.out, a.count, a.type, a.op, a.comm);
    case REDUCE_SCATTER: return EITHER(Reduce_scatter, Ireduce_scatter, a.in, a.out, counts, a.type, a.op, a.comm);
    case REDUCE_SCATTER_BLOCK:
        return EITHER(Reduce_scatter_block, Ireduce_scatter_block, a.in, a.out, a.count, a.type, a.op, a.comm);
    case SCAN: return EITHER(Scan, Iscan, a.in, a.out, a.count, a.type, a.op, a.comm);
    default: return EITHER(Exscan, Iexscan, a.in, a.out, a.count, a.type, a.op, a.comm);
    }
}

static void wrong(int line, enum kind kind, int wanted, struct args a)
{
    for (enum mode mode = BLOCKING; mode < MODES; mode++) {
        char text[MPI_MAX_ERROR_STRING];
        int class = MPI_SUCCESS, len, err = call(kind, mode, a);
        if (err != MPI_SUCCESS) MPI_Error_class(err, &class);
        if (err != MPI_SUCCESS) MPI_Error_string(err, text, &len);
        if (class != wanted || !strstr(text, "MPI_")) {
            fprintf(stderr, "line %d: collective %d, mode %d: class %d, wanted %d\n", line, kind, mode, class, wanted);
            CHECK(0);
        }
    }
}

#define WRONG(kind, class, ...)                                                                                        \
    do {                                                                                                               \
        struct args a = good;                                                                                          \
        __VA_ARGS__;                                                                                                   \
        wrong(__LINE__, kind, class, a);                                                                               \
    } while (0)

static void every(enum kind kind, struct args good, MPI_Datatype loose, MPI_Datatype gone, MPI_Comm left)
{
    int rooted = kind == BCAST || kind == REDUCE || (kind >= GATHER && kind <= SCATTERV), reduces = kind >= REDUCE;
    WRONG(kind, MPI_ERR_COMM, a.comm = MPI_COMM_NULL);
    WRONG(kind, MPI_ERR_COMM, a.comm = left);
    if (kind == BARRIER) return;
    if (rooted) WRONG(kind, MPI_ERR_ROOT, a.root = n);
    if (rooted) WRONG(kind, MPI_ERR_ROOT, a.root = MPI_PROC_NULL);
    WRONG(kind, MPI_ERR_COUNT, a.count = -1);
    WRONG(kind, MPI_ERR_TYPE, a.type = MPI_DATATYPE_NULL);
    WRONG(kind, MPI_ERR_TYPE, a.type = loose);
    WRONG(kind, MPI_ERR_TYPE, a.type = gone);
    int receives = !rooted || kind == BCAST || kind == SCATTER || kind == SCATTERV || me == good.root;
    int sends = kind != BCAST && ((kind != SCATTER && kind != SCATTERV) || me == good.root);
    if (receives) WRONG(kind, MPI_ERR_BUFFER, a.out = NULL);
    if (sends) WRONG(kind, MPI_ERR_BUFFER, a.in = NULL);
    if (!reduces) return;
    MPI_Op old;
    WRONG(kind, MPI_ERR_OP, a.op = MPI_OP_NULL);
    WRONG(kind, MPI_ERR_OP, a.type = MPI_FLOAT, a.op = MPI_BXOR);
    WRONG(kind, MPI_ERR_OP, a.op = MPI_MAXLOC);
    CHECK(MPI_Op_create((MPI_User_function *)(void *)call, 1, &old) == MPI_SUCCESS);
    MPI_Op freed = old;
    MPI_Op_free(&old);
    WRONG(kind, MPI_ERR_OP, a.op = freed);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, left;
    MPI_Datatype loose, gone;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &loose);
    MPI_Type_contiguous(2, MPI_INT, &gone);
    MPI_Type_commit(&gone);
    MPI_Comm_dup(comm, &left);
    MPI_Datatype stale = gone;
    MPI_Comm stale_comm = left;
    MPI_Type_free(&gone);
    MPI_Comm_free(&left);
    struct args good = {in, out, 2, n - 1, MPI_INT, MPI_SUM, comm};
    for (enum kind kind = BARRIER; kind < KINDS; kind++) {
        every(kind, good, loose, stale, stale_comm);
        CHECK(call(kind, BLOCKING, good) == MPI_SUCCESS);
    }
    // Not a mistake: a rank that receives nothing has no buffer.
    for (int i = 0; i < n; i++) counts[i] = i == 0 ? 0 : 1;
    CHECK(MPI_Reduce_scatter(in, me == 0 ? NULL : out, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    MPI_Type_free(&loose);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
