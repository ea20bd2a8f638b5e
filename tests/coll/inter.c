// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4,5,8 chan=shm,tcp
// Collectives between the two groups of an intercommunicator: every one that is defined there, both groups as root,
// blocking, nonblocking and persistent, small and large.
#include "coll.h"

static int me, n, remote, low;    // rank, size of both groups, whether in the first group
static MPI_Comm comm;

// As value(), told apart by group.
static int mark(int group, int from, int to, int i)
{
    return group * 500000000 + value(from, to, i);
}

static int *ints(int count)
{
    int *p = malloc(sizeof(int) * (size_t)(count + 1));
    for (int i = 0; i <= count; i++) p[i] = -7;
    return p;
}

static void rooted(enum mode mode, int count, int group, int root)
{
    int here = low == group, at = !here ? root : me == root ? MPI_ROOT : MPI_PROC_NULL;
    int *one = ints(count), *many = ints(count * remote), *sum = ints(count);
    for (int i = 0; i < count; i++) one[i] = at == MPI_ROOT ? mark(group, root, 0, i) : -1;
    CALL(mode, 2, Bcast, Ibcast, one, count, MPI_INT, at, comm);
    for (int i = 0; i < count && !here; i++) CHECK(one[i] == mark(group, root, 0, i));
    for (int i = 0; i < count; i++) one[i] = mark(low, me, root, i);
    CALL(mode, 2, Gather, Igather, one, count, MPI_INT, many, count, MPI_INT, at, comm);
    for (int k = 0; k < remote && at == MPI_ROOT; k++)
        for (int i = 0; i < count; i++) CHECK(many[k * count + i] == mark(!group, k, root, i));
    for (int k = 0; k < remote; k++)
        for (int i = 0; i < count; i++) many[k * count + i] = mark(low, me, k, i);
    CALL(mode, 2, Scatter, Iscatter, many, count, MPI_INT, one, count, MPI_INT, at, comm);
    for (int i = 0; i < count && !here; i++) CHECK(one[i] == mark(group, root, me, i));
    for (int i = 0; i < count; i++) one[i] = me * 1000 + i;
    CALL(mode, 2, Reduce, Ireduce, one, sum, count, MPI_INT, MPI_SUM, at, comm);
    for (int i = 0; i < count && at == MPI_ROOT; i++) CHECK(sum[i] == remote * (remote - 1) / 2 * 1000 + remote * i);
    free(one);
    free(many);
    free(sum);
}

static void all(enum mode mode, int count)
{
    int *one = ints(count), *many = ints(count * remote), *to = ints(count * remote), *sum = ints(count);
    int *counts = malloc(sizeof(int) * (size_t)(n + remote)), *displs = malloc(sizeof(int) * (size_t)remote);
    CALL(mode, 2, Barrier, Ibarrier, comm);
    for (int i = 0; i < count; i++) one[i] = mark(low, me, 0, i);
    CALL(mode, 2, Allgather, Iallgather, one, count, MPI_INT, many, count, MPI_INT, comm);
    for (int k = 0; k < remote; k++)
        for (int i = 0; i < count; i++) CHECK(many[k * count + i] == mark(!low, k, 0, i));
    for (int k = 0; k < remote; k++) {
        counts[k] = count;
        displs[k] = (remote - 1 - k) * count;
        for (int i = 0; i < count; i++) to[displs[k] + i] = mark(low, me, k, i);
    }
    CALL(mode, 2, Alltoallv, Ialltoallv, to, counts, displs, MPI_INT, many, counts, displs, MPI_INT, comm);
    for (int k = 0; k < remote; k++)
        for (int i = 0; i < count; i++) CHECK(many[displs[k] + i] == mark(!low, k, me, i));
    for (int i = 0; i < count; i++) one[i] = me * 1000 + i;
    CALL(mode, 2, Allreduce, Iallreduce, one, sum, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++) CHECK(sum[i] == remote * (remote - 1) / 2 * 1000 + remote * i);
    // Both groups split the same vector of count * n * remote elements over their own ranks.
    int total = count * n * remote, mine = count * remote;
    int *vector = ints(total), *part = ints(mine);
    for (int i = 0; i < total; i++) vector[i] = me * 1000 + i;
    CALL(mode, 2, Reduce_scatter_block, Ireduce_scatter_block, vector, part, mine, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < mine; i++) CHECK(part[i] == remote * (remote - 1) / 2 * 1000 + remote * (me * mine + i));
    for (int k = 0; k < n; k++) counts[k] = mine;
    CALL(mode, 2, Reduce_scatter, Ireduce_scatter, vector, part, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < mine; i++) CHECK(part[i] == remote * (remote - 1) / 2 * 1000 + remote * (me * mine + i));
    free(vector);
    free(part);
    free(one);
    free(many);
    free(to);
    free(sum);
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    int world, size;
    MPI_Comm local;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    low = world < (size + 2) / 3;    // groups of different sizes
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, low, world, &local) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? (size + 2) / 3 : 0, 5, &comm) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Comm_remote_size(comm, &remote);
    static const int counts[] = {0, 1, 300, 20000};
    for (enum mode mode = 0; mode < MODES; mode++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            for (int group = 0; group < 2; group++) {
                int members = group == low ? n : remote;
                rooted(mode, counts[k], group, 0);
                rooted(mode, counts[k], group, members - 1);
            }
            all(mode, counts[k] > 300 ? 3000 : counts[k]);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Comm_free(&local);
    MPI_Finalize();
    return 0;
}
