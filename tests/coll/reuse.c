// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp set=verbose=2 says="reuse: 13 collective schedules built, 114 used again"
// Schedules are built once for the same arguments: nonblocking ones that come again and again are served from those
// kept, persistent ones are built at initialisation; two at once with the same arguments need two. What comes out is
// right each time, with other data and after other calls in between.
#include <string.h>

#include "coll.h"

#define ROUNDS 50

// 4 built, 4 used again: types are compared, too, and those that the program made are not kept, for another one
// may get the same handle.
static void with_types(MPI_Comm comm, int me, int n)
{
    static char in[8 * 16], out[8 * 16];
    int counts[8], displs[8];
    MPI_Datatype types[8], pair;
    MPI_Request q;
    CHECK(MPI_Type_contiguous(2, MPI_INT, &pair) == MPI_SUCCESS && MPI_Type_commit(&pair) == MPI_SUCCESS);
    for (int k = 0; k < 8; k++) {
        MPI_Datatype type = k >= 6 ? pair : k % 2 ? MPI_SHORT : MPI_DOUBLE;
        for (int i = 0; i < (int)sizeof in; i++) in[i] = (char)(k + me);
        memset(out, -1, sizeof out);
        for (int r = 0; r < n; r++) {
            counts[r] = 1;
            displs[r] = 16 * r;
            types[r] = type;
        }
        CHECK(MPI_Ialltoallw(in, counts, displs, types, out, counts, displs, types, comm, &q) == MPI_SUCCESS);
        CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < 16; i++)
                CHECK(out[16 * r + i] == (i < (type == MPI_SHORT ? 2 : 8) ? (char)(k + r) : -1));
    }
    CHECK(MPI_Type_free(&pair) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static int in[8000], out[8000], other[8000];
    int me, n, word;
    MPI_Comm comm;
    MPI_Request q[2], p;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_set_name(comm, "reuse");
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int k = 0; k < ROUNDS; k++) {    // 2 built, 98 used again
        for (int i = 0; i < 8000; i++) in[i] = me + i * k;
        word = me == 0 ? k : -1;
        CHECK(MPI_Iallreduce(in, out, 8000, MPI_INT, MPI_SUM, comm, &q[0]) == MPI_SUCCESS);
        CHECK(MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &q[1]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(word == k);
        for (int i = 0; i < 8000; i++) CHECK(out[i] == n * (n - 1) / 2 + n * i * k);
    }
    for (int k = 0; k < 4; k++) {    // 2 built at first, 6 used again
        for (int i = 0; i < 2; i++)
            CHECK(MPI_Iallreduce(in, i ? other : out, 3, MPI_INT, MPI_MAX, comm, &q[i]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(out[2] == other[2] && out[2] == n - 1 + 2 * (ROUNDS - 1));
    }
    for (int k = 0; k < 2; k++) {    // two at once with the same arguments: 2 built, 2 used again
        for (int i = 0; i < 2; i++) CHECK(MPI_Ibarrier(comm, &q[i]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
    for (int k = 0; k < 6; k++) {    // 2 built, 4 used again: counts are compared by value
        int counts[8], displs[8];
        for (int r = 0; r < n; r++) {
            counts[r] = r + 1 + k % 2;
            displs[r] = 20 * r;
        }
        CHECK(MPI_Iallgatherv(in, counts[me], MPI_INT, out, counts, displs, MPI_INT, comm, &q[0]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&q[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int r = 0; r < n; r++) CHECK(out[displs[r]] == r);
        out[0] = out[20] = -1;
    }
    with_types(comm, me, n);
    CHECK(MPI_Allreduce_init(in, out, 8000, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &p) == MPI_SUCCESS);
    for (int k = 0; k < ROUNDS; k++) {
        in[7] = me * k;
        CHECK(MPI_Start(&p) == MPI_SUCCESS && MPI_Wait(&p, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(out[7] == n * (n - 1) / 2 * k);
    }
    CHECK(MPI_Request_free(&p) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
