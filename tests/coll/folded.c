// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 set=huge_after=1
// run: np=2 set=coll_force=reduce=copies+allreduce=copies set=huge_after=1
// run: np=2,3,4
//      suite 31-machine runs it with the costs of a machine that folds such vectors in windows
// Reduce and allreduce of vectors that have left the caches: each root, in place or not, sums and an operation that
// tells its operands apart; again and again, while their buffers may come to lie in huge pages. What ranks give stays
// as it was, and nothing is written behind a result.
#include <stdlib.h>

#include "../check.h"

enum { MOST = (9 << 18) + 3, CALLS = 6 };    // ints: 9 MiB
static int me, n;
static int *in, *out;
static MPI_Op first;

// Of two operands the one that comes before: of all, what rank 0 gives.
static void keep_first(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)right)[i] = ((int *)left)[i];
}

static int given(int rank, int turn, int i)
{
    return rank * 1000003 + turn * 17 + i * 3;
}

static int expected(MPI_Op op, int turn, int i)
{
    if (op == first) return given(0, turn, i);
    int sum = 0;
    for (int r = 0; r < n; r++) sum += given(r, turn, i);
    return sum;
}

static void fill(int *at, int turn, int count)
{
    for (int i = 0; i < count; i++) at[i] = given(me, turn, i);
}

static void look(MPI_Op op, int turn, int count)
{
    for (int i = 0; i < count; i++) CHECK(out[i] == expected(op, turn, i));
}

// root: -1 for an allreduce.
static void reduce(MPI_Op op, int turn, int root, int count, int in_place)
{
    int takes = root < 0 || me == root;
    const void *from = in_place && takes ? MPI_IN_PLACE : in;
    fill(in, turn, count);
    for (int i = 0; i <= count; i++) out[i] = -7;
    if (from == MPI_IN_PLACE) fill(out, turn, count);
    if (root < 0)
        CHECK(MPI_Allreduce(from, out, count, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    else
        CHECK(MPI_Reduce(from, out, count, MPI_INT, op, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (takes) look(op, turn, count);
    for (int i = 0; i < count; i++) CHECK(in[i] == given(me, turn, i) && (takes || out[i] == -7));
    CHECK(out[count] == -7);
}

int main(int argc, char **argv)
{
    static const int part[] = {1, 3, 9};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(MPI_Op_create(keep_first, 0, &first) == MPI_SUCCESS);
    in = malloc((MOST + 1) * sizeof *in);
    out = malloc((MOST + 1) * sizeof *out);
    CHECK(in && out);
    for (int turn = 0; turn < CALLS; turn++) {
        int count = MOST / part[turn % 3], in_place = turn / 3;
        for (int root = -1; root < n; root++) {
            reduce(MPI_SUM, turn, root, count, in_place);
            reduce(first, turn, root, count, in_place);
        }
    }
    free(in);
    free(out);
    CHECK(MPI_Op_free(&first) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
