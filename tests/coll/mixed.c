// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,5,9
// run: np=5 set=coll_crowded=0
// run: np=2,5,9,70 set=coll_flat=1
//      what fits a line over the tree that many ranks use
// Long random sequences of small collectives without anything between them, ranks arriving early or late, roots at
// random: each must find its own data whatever the others still do.
#include "coll.h"

static int me, n;
static unsigned long shared = 12345, own;

static int pick(unsigned long *state, int below)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((*state >> 33) % (unsigned long)below);
}

static void fill(int *v, int count, int turn, int rank)
{
    for (int i = 0; i < count; i++) v[i] = turn * 31 + rank * 7 + i;
}

static void check_sum(const int *v, int count, int turn)
{
    for (int i = 0; i < count; i++) CHECK(v[i] == n * (turn * 31 + i) + 7 * n * (n - 1) / 2);
}

int main(int argc, char **argv)
{
    int in[200], out[200];
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    own = (unsigned long)me + 1;
    for (int turn = 0; turn < (n > 16 ? 600 : 4000); turn++) {
        int kind = pick(&shared, 8), root = pick(&shared, n), count = pick(&shared, 8) ? 1 + pick(&shared, 14) : 200;
        if (pick(&own, 16) == 0)
            for (volatile int k = pick(&own, 20000); k > 0; k--) {
            }
        fill(in, count, turn, me);
        if (kind < 3) {
            if (me == root) fill(out, count, turn, n);
            MPI_Bcast(out, count, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < count; i++) CHECK(out[i] == turn * 31 + n * 7 + i);
        } else if (kind < 6) {
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
            if (me == root) check_sum(out, count, turn);
        } else if (kind == 6) {
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            check_sum(out, count, turn);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
