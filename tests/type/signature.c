// run: np=2 chan=shm,tcp set=check_types=1
// SPDX-License-Identifier: BSD-3-Clause
// The checking mode: a receive whose types differ from those of its message is MPI_ERR_TYPE and says what came; equal
// signatures pass whatever they were built from, shorter messages and MPI_PACKED too.
#include "check.h"
#include <string.h>

static int rank;

// Rank 0 sends, rank 1 receives; `early`: the receive is there first. Returns the receive's error.
static int pass(int n, MPI_Datatype sent, int room, MPI_Datatype wanted, int early)
{
    static char in[1 << 20], out[1 << 20];
    int err = MPI_SUCCESS;
    MPI_Request r;
    if (rank == 1 && early) MPI_Irecv(out, room, wanted, 0, 3, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && early) MPI_Send(in, n, sent, 1, 3, MPI_COMM_WORLD);
    if (rank == 0 && !early) MPI_Isend(in, n, sent, 1, 3, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && early) err = MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (rank == 1 && !early) err = MPI_Recv(out, room, wanted, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && !early) MPI_Wait(&r, MPI_STATUS_IGNORE);
    return err;
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Datatype mixed, same, pairs, types[] = {MPI_INT, MPI_DOUBLE},
                                     parts[] = {MPI_INT, MPI_DOUBLE, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 16}, types, &mixed);
    MPI_Type_create_struct(4, (int[]){2, 1, 2, 1}, (MPI_Aint[]){0, 8, 24, 40}, parts, &same);
    MPI_Type_vector(3, 2, 5, MPI_INT, &pairs);
    MPI_Type_commit(&mixed);
    MPI_Type_commit(&same);
    MPI_Type_commit(&pairs);
    for (int early = 0; early < 2; early++) {
        for (int n = 2; n <= 20000; n *= 100) {
            int wrong = rank == 1 ? MPI_ERR_TYPE : MPI_SUCCESS;
            CHECK(pass(n, MPI_INT, n, MPI_INT, early) == MPI_SUCCESS);
            CHECK(pass(n, MPI_INT, n, MPI_FLOAT, early) == wrong);
            CHECK(pass(n, mixed, n / 2, same, early) == MPI_SUCCESS);
            CHECK(pass(n / 2, same, n, mixed, early) == MPI_SUCCESS);
            CHECK(pass(n, mixed, 4 * n, MPI_INT, early) == wrong);
            CHECK(pass(6 * (n / 2), MPI_INT, n / 2, pairs, early) == MPI_SUCCESS);
            CHECK(pass(n / 2, pairs, 6 * n, MPI_INT, early) == MPI_SUCCESS);
            CHECK(pass(n, MPI_INT, 4 * n, MPI_PACKED, early) == MPI_SUCCESS);
            CHECK(pass(n, MPI_FLOAT_INT, n, MPI_FLOAT_INT, early) == MPI_SUCCESS);
        }
    }
    char text[MPI_MAX_ERROR_STRING];
    int len, err = pass(7, MPI_INT, 7, MPI_FLOAT, 0);
    if (rank == 1) {
        MPI_Error_string(err, text, &len);
        CHECK(strstr(text, "holds 7 of 32-bit int, the receive is for 32-bit float") != NULL);
    }
    MPI_Type_free(&mixed);
    MPI_Type_free(&same);
    MPI_Type_free(&pairs);
    MPI_Finalize();
    return 0;
}
