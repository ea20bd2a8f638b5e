// run: np=2 chan=shm,tcp set=check_types=1
// SPDX-License-Identifier: BSD-3-Clause
// The checking mode: a receive whose types differ from those of its message is MPI_ERR_TYPE and says what came; equal
// signatures pass whatever they were built from, shorter messages and MPI_PACKED too. Every way to send, persistent and
// buffered ones too, intercommunicators, and layouts that write a byte twice.
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

// Persistent requests are compared at every start; the types may be freed meanwhile.
static void persistent(int way)
{
    int in[4] = {1, 2, 3, 4};
    float out[4];
    for (int wrong = 0; wrong < 2; wrong++) {
        MPI_Datatype t;
        MPI_Request r;
        MPI_Type_vector(2, 1, 2, wrong ? MPI_FLOAT : MPI_INT, &t);
        MPI_Type_commit(&t);
        if (rank == 1) MPI_Recv_init(out, 1, t, 0, 4, MPI_COMM_WORLD, &r);
        if (rank == 0 && way == 0) MPI_Send_init(in, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &r);
        if (rank == 0 && way == 1) MPI_Ssend_init(in, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &r);
        if (rank == 0 && way == 2) MPI_Bsend_init(in, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &r);
        MPI_Type_free(&t);
        for (int k = 0; k < 3; k++) {
            MPI_Start(&r);
            CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == (wrong && rank == 1 ? MPI_ERR_TYPE : MPI_SUCCESS));
        }
        MPI_Request_free(&r);
    }
}

// What arrives by one of the other calls, for a receive of two floats.
static void ways(void)
{
    static char space[4096];
    int in[2] = {1, 2};
    float out[2];
    void *detached;
    int size;
    MPI_Buffer_attach(space, sizeof space);
    for (int way = 0; way < 3; way++) {
        persistent(way);
        for (int wrong = 0; wrong < 2; wrong++) {
            MPI_Datatype sent = wrong ? MPI_INT : MPI_FLOAT;
            MPI_Request r;
            if (rank == 0 && way == 0) MPI_Bsend(in, 2, sent, 1, 5, MPI_COMM_WORLD);
            if (rank == 0 && way == 1) MPI_Ibsend(in, 2, sent, 1, 5, MPI_COMM_WORLD, &r);
            if (rank == 0 && way == 2) MPI_Ssend(in, 2, sent, 1, 5, MPI_COMM_WORLD);
            if (rank == 0 && way == 1) MPI_Wait(&r, MPI_STATUS_IGNORE);
            if (rank == 1)
                CHECK(MPI_Recv(out, 2, MPI_FLOAT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                      (wrong ? MPI_ERR_TYPE : MPI_SUCCESS));
        }
    }
    MPI_Buffer_detach(&detached, &size);
}

static void intercommunicator(void)
{
    MPI_Comm inter;
    int x = 1;
    double y;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 9, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 0, 0, inter);
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 0, 0, inter);
    if (rank == 1) CHECK(MPI_Recv(&x, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == 1) CHECK(MPI_Recv(&y, 1, MPI_FLOAT, 0, 0, inter, MPI_STATUS_IGNORE) == MPI_ERR_TYPE);
    MPI_Comm_free(&inter);
}

// A receive may not write a byte twice; a send may read it as often as it likes.
static void overlaps(void)
{
    int data[16] = {0}, len;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Datatype twice, close, apart;
    MPI_Request r;
    MPI_Type_indexed(3, (int[]){2, 3, 1}, (int[]){4, 0, 5}, MPI_INT, &twice);
    MPI_Type_create_resized(MPI_INT, 0, 2, &close);    // one is well, two overlap
    MPI_Type_vector(4, 1, 4, MPI_INT, &apart);
    MPI_Type_create_resized(apart, 0, 4, &apart);    // four of them lie between each other
    MPI_Type_commit(&twice);
    MPI_Type_commit(&close);
    MPI_Type_commit(&apart);
    int err = MPI_Recv(data, 1, twice, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(err == MPI_ERR_TYPE);
    MPI_Error_string(err, text, &len);
    CHECK(strstr(text, "writes the byte at 20 of the buffer more than once") != NULL);
    CHECK(MPI_Irecv(data, 2, close, 0, 0, MPI_COMM_SELF, &r) == MPI_ERR_TYPE);
    CHECK(MPI_Irecv(data, 1, close, 0, 0, MPI_COMM_SELF, &r) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_SELF) == MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(MPI_Irecv(data, 4, apart, 0, 0, MPI_COMM_SELF, &r) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 2, twice, 0, 0, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Type_free(&twice);
    MPI_Type_free(&close);
    MPI_Type_free(&apart);
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
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ways();
    intercommunicator();
    overlaps();
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
