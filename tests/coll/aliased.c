// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// What is sent and what is received must lie apart: an error of class MPI_ERR_BUFFER that names both, in every
// collective that has two buffers. Buffers that only interleave, and those of nothing, are right.
#include <string.h>

#include "coll.h"

static int me, n;
static int a[256];
static MPI_Comm comm, ring;
static MPI_Datatype column;    // every second int of four
static MPI_Datatype nothing;

static void wrong(int err, const char *call, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class, len;
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &len);
    if (class != MPI_ERR_BUFFER || !strstr(text, call) || !strstr(text, "sendbuf and recvbuf")) {
        fprintf(stderr, "line %d: %s: class %d, %s\n", line, call, class, text);
        CHECK(0);
    }
}

#define WRONG(NAME, ...) wrong(NAME(__VA_ARGS__), #NAME, __LINE__)
#define RIGHT(call) CHECK((call) == MPI_SUCCESS)

// Rooted ones, each rank alone: the others of a larger communicator would wait for the root.
static void rooted(void)
{
    MPI_Comm self = MPI_COMM_SELF;
    int two[] = {2}, at[] = {3}, far[] = {100};
    MPI_Request q;
    WRONG(MPI_Gather, a, 4, MPI_INT, a, 4, MPI_INT, 0, self);
    WRONG(MPI_Gather, a, 4, MPI_INT, a + 3, 4, MPI_INT, 0, self);
    WRONG(MPI_Gather, a + 1, 1, column, a + 1, 1, column, 0, self);
    WRONG(MPI_Igather, a, 4, MPI_INT, a, 4, MPI_INT, 0, self, &q);
    WRONG(MPI_Gather_init, a, 4, MPI_INT, a, 4, MPI_INT, 0, self, MPI_INFO_NULL, &q);
    WRONG(MPI_Scatter, a, 4, MPI_INT, a, 4, MPI_INT, 0, self);
    WRONG(MPI_Scatter_c, a + 2, 4, MPI_INT, a, 4, MPI_INT, 0, self);
    WRONG(MPI_Gatherv, a + 4, 2, MPI_INT, a, two, at, MPI_INT, 0, self);
    WRONG(MPI_Scatterv, a, two, at, MPI_INT, a + 4, 2, MPI_INT, 0, self);
    WRONG(MPI_Reduce, a, a, 4, MPI_INT, MPI_SUM, 0, self);
    WRONG(MPI_Reduce, a, a + 3, 4, MPI_INT, MPI_SUM, 0, self);
    RIGHT(MPI_Gather(a, 4, MPI_INT, a + 4, 4, MPI_INT, 0, self));
    RIGHT(MPI_Gather(a, 0, MPI_INT, a, 0, MPI_INT, 0, self));
    RIGHT(MPI_Gather(a, 5, nothing, a, 5, nothing, 0, self));
    RIGHT(MPI_Gather(a, 1, column, a + 1, 1, column, 0, self));
    RIGHT(MPI_Gather(MPI_IN_PLACE, 4, MPI_INT, a, 4, MPI_INT, 0, self));
    RIGHT(MPI_Scatter(a, 4, MPI_INT, MPI_IN_PLACE, 4, MPI_INT, 0, self));
    RIGHT(MPI_Gatherv(a + 3, 2, MPI_INT, a, two, far, MPI_INT, 0, self));
    RIGHT(MPI_Reduce(a, a + 4, 4, MPI_INT, MPI_SUM, 0, self));
}

static void everywhere(void)
{
    int counts[8], even[8], odd[8], bytes[8];
    MPI_Datatype types[8];
    for (int i = 0; i < 8; i++) {
        counts[i] = 2;
        even[i] = 4 * i;
        odd[i] = 4 * i + 2;
        bytes[i] = 16 * i + 4;
        types[i] = MPI_INT;
    }
    WRONG(MPI_Allgather, a, 2, MPI_INT, a + 1, 2, MPI_INT, comm);
    WRONG(MPI_Allgather, a + 2 * n - 1, 2, MPI_INT, a, 2, MPI_INT, comm);
    WRONG(MPI_Alltoall, a, 2, MPI_INT, a, 2, MPI_INT, comm);
    WRONG(MPI_Alltoall, a + 1, 2, MPI_INT, a, 2, MPI_INT, comm);
    WRONG(MPI_Allgatherv, a + 4 * n - 4, 2, MPI_INT, a, counts, even, MPI_INT, comm);
    WRONG(MPI_Alltoallv, a, counts, even, MPI_INT, a, counts, even, MPI_INT, comm);
    WRONG(MPI_Alltoallv, a, counts, even, MPI_INT, a + 1, counts, even, MPI_INT, comm);
    WRONG(MPI_Alltoallw, a, counts, bytes, types, a, counts, bytes, types, comm);
    WRONG(MPI_Allreduce, a, a + 1, 2, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_Scan, a, a + 1, 2, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_Exscan, a, a, 2, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_Reduce_scatter_block, a, a + n - 1, 1, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_Reduce_scatter, a, a + 2 * n - 1, counts, MPI_INT, MPI_SUM, comm);
    WRONG(MPI_Neighbor_allgather, a, 2, MPI_INT, a, 2, MPI_INT, ring);
    WRONG(MPI_Neighbor_alltoall, a + 3, 2, MPI_INT, a, 2, MPI_INT, ring);
    WRONG(MPI_Neighbor_alltoallv, a, counts, even, MPI_INT, a, counts, even, MPI_INT, ring);
    RIGHT(MPI_Alltoallv(a, counts, even, MPI_INT, a, counts, odd, MPI_INT, comm));
    RIGHT(MPI_Neighbor_alltoallv(a, counts, even, MPI_INT, a, counts, odd, MPI_INT, ring));
    RIGHT(MPI_Allgather(a, 2, MPI_INT, a + 2, 2, MPI_INT, comm));
    RIGHT(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, comm));
    RIGHT(MPI_Allreduce(a, a + 2, 2, MPI_INT, MPI_SUM, comm));
    RIGHT(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, comm));
    RIGHT(MPI_Reduce_scatter_block(a, a + n, 1, MPI_INT, MPI_SUM, comm));
}

int main(int argc, char **argv)
{
    int periodic = 1;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Cart_create(comm, 1, &n, &periodic, 0, &ring);
    MPI_Type_vector(2, 1, 2, MPI_INT, &column);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&column);
    MPI_Type_commit(&nothing);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rooted();
    everywhere();
    MPI_Type_free(&column);
    MPI_Type_free(&nothing);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
