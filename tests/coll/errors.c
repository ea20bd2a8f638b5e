// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp
// Wrong arguments of collectives: the standard's error class and a message that names the call, the argument and what
// is allowed; nothing is sent, so the program goes on. Every rank makes the same mistake.
#include <string.h>

#include "coll.h"

static int me, n;
static MPI_Comm comm;

static void wrong(int err, int wanted, const char *call, const char *says, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, len;
    CHECK(err != MPI_SUCCESS);
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &len);
    if (class != wanted || !strstr(text, call) || !strstr(text, says)) {
        fprintf(stderr, "line %d: class %d, wanted %d, %s ... %s: %s\n", line, class, wanted, call, says, text);
        CHECK(0);
    }
}

#define WRONG(class, says, NAME, ...) wrong(NAME(__VA_ARGS__), class, #NAME, says, __LINE__)

static void common(void)
{
    int in[8] = {0}, out[64] = {0};
    MPI_Datatype loose;
    MPI_Request q;
    MPI_Type_contiguous(2, MPI_INT, &loose);
    WRONG(MPI_ERR_COMM, "MPI_COMM_NULL", MPI_Barrier, MPI_COMM_NULL);
    WRONG(MPI_ERR_COMM, "MPI_COMM_NULL", MPI_Ibcast, in, 1, MPI_INT, 0, MPI_COMM_NULL, &q);
    WRONG(MPI_ERR_ROOT, "root", MPI_Bcast, in, 1, MPI_INT, n, comm);
    WRONG(MPI_ERR_ROOT, "-1", MPI_Reduce, in, out, 1, MPI_INT, MPI_SUM, -1, comm);
    WRONG(MPI_ERR_ROOT, "root", MPI_Igather, in, 1, MPI_INT, out, 1, MPI_INT, n + 5, comm, &q);
    WRONG(MPI_ERR_COUNT, "count -1", MPI_Bcast, in, -1, MPI_INT, 0, comm);
    WRONG(MPI_ERR_COUNT, "count -3", MPI_Allreduce_c, in, out, -3, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_ERR_COUNT, "sendcount", MPI_Allgather, in, -1, MPI_INT, out, 1, MPI_INT, comm);
    WRONG(MPI_ERR_TYPE, "MPI_DATATYPE_NULL", MPI_Bcast, in, 1, MPI_DATATYPE_NULL, 0, comm);
    WRONG(MPI_ERR_TYPE, "commit", MPI_Bcast, in, 1, loose, 0, comm);
    WRONG(MPI_ERR_TYPE, "commit", MPI_Alltoall, in, 1, loose, out, 1, loose, comm);
    WRONG(MPI_ERR_BUFFER, "NULL", MPI_Bcast, NULL, 1, MPI_INT, 0, comm);
    WRONG(MPI_ERR_BUFFER, "NULL", MPI_Scan, NULL, out, 1, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_ERR_ARG, "request", MPI_Ibarrier, comm, NULL);
    WRONG(MPI_ERR_ARG, "request", MPI_Barrier_init, comm, MPI_INFO_NULL, NULL);
    MPI_Type_free(&loose);
}

static void operations(void)
{
    int in[8] = {0}, out[8] = {0};
    double d[2] = {0}, e[2];
    MPI_Op gone = MPI_OP_NULL;
    WRONG(MPI_ERR_OP, "MPI_OP_NULL", MPI_Allreduce, in, out, 1, MPI_INT, gone, comm);
    WRONG(MPI_ERR_OP, "MPI_BAND", MPI_Allreduce, d, e, 1, MPI_DOUBLE, MPI_BAND, comm);
    WRONG(MPI_ERR_OP, "MPI_MINLOC", MPI_Reduce, in, out, 1, MPI_INT, MPI_MINLOC, 0, comm);
    WRONG(MPI_ERR_OP, "MPI_SUM", MPI_Exscan, in, out, 1, MPI_C_BOOL, MPI_SUM, comm);
    WRONG(MPI_ERR_BUFFER, "IN_PLACE", MPI_Allreduce, in, in, 2, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_ERR_BUFFER, "IN_PLACE", MPI_Allreduce, in, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_ERR_BUFFER, "IN_PLACE", MPI_Bcast, MPI_IN_PLACE, 2, MPI_INT, 0, comm);
    if (n > 1) {
        int far = (me + 1) % n;    // every rank thinks another is the root
        WRONG(MPI_ERR_BUFFER, "only the root", MPI_Reduce, MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, far, comm);
        WRONG(MPI_ERR_BUFFER, "only the root", MPI_Gather, MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, far, comm);
        WRONG(MPI_ERR_BUFFER, "IN_PLACE", MPI_Scatter, in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, far, comm);
    }
}

static void arrays(void)
{
    int in[64] = {0}, out[64] = {0}, counts[8], displs[8], bad[8];
    MPI_Datatype types[8];
    for (int i = 0; i < 8; i++) {
        counts[i] = bad[i] = 2;
        displs[i] = 2 * i;
        types[i] = MPI_INT;
    }
    bad[n - 1] = -4;
    WRONG(MPI_ERR_COUNT, "recvcounts", MPI_Allgatherv, in, 2, MPI_INT, out, bad, displs, MPI_INT, comm);
    WRONG(MPI_ERR_COUNT, "sendcounts", MPI_Alltoallv, in, bad, displs, MPI_INT, out, counts, displs, MPI_INT, comm);
    WRONG(MPI_ERR_COUNT, "recvcounts", MPI_Reduce_scatter, in, out, bad, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_ERR_ARG, "recvcounts", MPI_Allgatherv, in, 2, MPI_INT, out, NULL, displs, MPI_INT, comm);
    WRONG(MPI_ERR_ARG, "rdispls", MPI_Alltoallv, in, counts, displs, MPI_INT, out, counts, NULL, MPI_INT, comm);
    types[n - 1] = MPI_DATATYPE_NULL;
    WRONG(MPI_ERR_TYPE, "MPI_DATATYPE_NULL", MPI_Alltoallw, in, counts, displs, types, out, counts, displs, types,
          comm);
    if (n > 1) {
        displs[1] = 1;
        WRONG(MPI_ERR_BUFFER, "overlap", MPI_Allgatherv, in, 2, MPI_INT, out, counts, displs, MPI_INT, comm);
        WRONG(MPI_ERR_BUFFER, "blocks 0 and 1", MPI_Alltoallv, in, counts, displs, MPI_INT, out, counts, displs,
              MPI_INT, comm);
    }
    WRONG(MPI_ERR_TRUNCATE, "bytes", MPI_Allgather, in, 3, MPI_INT, out, 2, MPI_INT, comm);
    displs[1] = 2;
    WRONG(MPI_ERR_TRUNCATE, "recvcounts", MPI_Allgatherv, in, 3, MPI_INT, out, counts, displs, MPI_INT, comm);
    WRONG(MPI_ERR_TOPOLOGY, "topology", MPI_Neighbor_allgather, in, 1, MPI_INT, out, 1, MPI_INT, comm);
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        common();
        operations();
        arrays();
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == n);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
