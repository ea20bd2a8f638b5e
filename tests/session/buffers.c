// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// Buffers of sessions: what communicators of a session send buffered goes through the session's buffer when they have
// none of their own, and detaching or flushing waits until it has left.
#include "../check.h"

#include <string.h>

enum { BYTES = 1000, MESSAGES = 8 };
static int rank, size;

static MPI_Comm world_of(MPI_Session s, const char *tag)
{
    MPI_Group g;
    MPI_Comm c;
    MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
    CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    MPI_Group_free(&g);
    return c;
}

static void send_all(MPI_Comm c)
{
    char message[BYTES];
    for (int i = 0; i < MESSAGES; i++) {
        memset(message, rank * MESSAGES + i, sizeof message);
        CHECK(MPI_Bsend(message, BYTES, MPI_CHAR, (rank + 1) % size, i, c) == MPI_SUCCESS);
    }
}

static void take_all(MPI_Comm c)
{
    int from = (rank + size - 1) % size;
    char message[BYTES];
    for (int i = MESSAGES - 1; i >= 0; i--) {
        MPI_Recv(message, BYTES, MPI_CHAR, from, i, c, MPI_STATUS_IGNORE);
        CHECK(message[0] == (char)(from * MESSAGES + i) && memcmp(message, message + 1, BYTES - 1) == 0);
    }
}

int main(void)
{
    static char room[MESSAGES * (BYTES + MPI_BSEND_OVERHEAD)];
    MPI_Session s;
    MPI_Request r;
    void *got = NULL;
    int bytes = -1;
    MPI_Count large = -1;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    MPI_Comm c = world_of(s, "buffers");
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    CHECK(MPI_Bsend(room, BYTES, MPI_CHAR, rank, 0, c) == MPI_ERR_BUFFER);    // nothing is attached yet
    CHECK(MPI_Session_attach_buffer(s, room, sizeof room) == MPI_SUCCESS);
    CHECK(MPI_Session_attach_buffer(s, room, sizeof room) != MPI_SUCCESS);    // one at a time
    send_all(c);
    take_all(c);
    CHECK(MPI_Session_flush_buffer(s) == MPI_SUCCESS);
    send_all(c);    // all the room is there again
    CHECK(MPI_Session_iflush_buffer(s, &r) == MPI_SUCCESS);
    take_all(c);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Session_detach_buffer(s, &got, &bytes) == MPI_SUCCESS);
    CHECK(got == room && bytes == (int)sizeof room);
    CHECK(MPI_Session_attach_buffer_c(s, room, sizeof room) == MPI_SUCCESS);
    send_all(c);
    take_all(c);
    CHECK(MPI_Session_detach_buffer_c(s, &got, &large) == MPI_SUCCESS);
    CHECK(got == room && large == (MPI_Count)sizeof room);
    MPI_Comm_free(&c);
    MPI_Session_finalize(&s);
    return 0;
}
