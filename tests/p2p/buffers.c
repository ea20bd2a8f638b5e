// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// Buffered sends: from the process's, a communicator's and a session's buffer, automatic buffering, flush, room that
// runs out.
#include "../check.h"

#include <string.h>

enum { N = 1000 };
static int rank, other;

static void receive(MPI_Comm comm, int tag, int value)
{
    int in[N];
    CHECK(MPI_Recv(in, N, MPI_INT, other, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(in[i] == value + i);
}

static void send(MPI_Comm comm, int tag, int value)
{
    int out[N];
    for (int i = 0; i < N; i++) out[i] = value + i;
    CHECK(MPI_Bsend(out, N, MPI_INT, other, tag, comm) == MPI_SUCCESS);
    memset(out, 0, sizeof out);    // the message is its own by now
}

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int out[N] = {0}, need = 0, length = 0;
    CHECK(class_of(MPI_Bsend(out, N, MPI_INT, other, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    MPI_Pack_size(N, MPI_INT, MPI_COMM_WORLD, &need);
    need = 3 * (need + MPI_BSEND_OVERHEAD);
    char *buffer = malloc((size_t)need), *mine = malloc((size_t)need);
    CHECK(MPI_Buffer_attach(buffer, need) == MPI_SUCCESS);
    CHECK(class_of(MPI_Buffer_attach(buffer, need)) == MPI_ERR_BUFFER);
    for (int turn = 0; turn < 20; turn++) {    // three fit at a time, as the standard's sum says
        for (int k = 0; k < 3; k++) send(MPI_COMM_WORLD, k, turn * 100 + k);
        for (int k = 2; k >= 0; k--) receive(MPI_COMM_WORLD, k, turn * 100 + k);
        CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    }
    CHECK(class_of(MPI_Bsend(buffer, need, MPI_BYTE, other, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(MPI_Comm_attach_buffer(comm, mine, need) == MPI_SUCCESS);
    send(comm, 4, 7);
    MPI_Request r;
    CHECK(MPI_Comm_iflush_buffer(comm, &r) == MPI_SUCCESS);
    receive(comm, 4, 7);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Comm_flush_buffer(comm) == MPI_SUCCESS);
    void *back = NULL;
    CHECK(MPI_Comm_detach_buffer(comm, &back, &length) == MPI_SUCCESS && back == mine && length == need);
    back = NULL;
    send(MPI_COMM_WORLD, 5, 9);    // detach waits until it has left
    receive(MPI_COMM_WORLD, 5, 9);
    CHECK(MPI_Buffer_detach(&back, &length) == MPI_SUCCESS && back == buffer && length == need);
    CHECK(class_of(MPI_Buffer_detach(&back, &length)) == MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach_c(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    for (int k = 0; k < 50; k++) send(MPI_COMM_WORLD, 6, k);
    for (int k = 0; k < 50; k++) receive(MPI_COMM_WORLD, 6, k);
    MPI_Count size = -1;
    CHECK(MPI_Buffer_detach_c(&back, &size) == MPI_SUCCESS && back == MPI_BUFFER_AUTOMATIC);
    MPI_Comm_free(&comm);
    free(buffer), free(mine);
    MPI_Finalize();
    return 0;
}
