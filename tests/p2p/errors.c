// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// Wrong arguments under MPI_ERRORS_RETURN: the standard's class, a message that names call, argument, value and what is
// allowed, and the program goes on.
#include "../check.h"

#include <string.h>

static int seen;

static void expect(int err, int class, const char *call, const char *word)
{
    int c = -1, n = 0;
    char text[MPI_MAX_ERROR_STRING];
    CHECK(MPI_Error_class(err, &c) == MPI_SUCCESS);
    CHECK(MPI_Error_string(err, text, &n) == MPI_SUCCESS);
    if (c != class || !strstr(text, call) || !strstr(text, word)) {
        fprintf(stderr, "wanted class %d, '%s', '%s'; got class %d: %s\n", class, call, word, c, text);
        CHECK(0);
    }
    seen++;
}

static void arguments(MPI_Comm w)
{
    int x = 1, flag;
    MPI_Request r;
    MPI_Status s;
    MPI_Message m = MPI_MESSAGE_NULL;
    expect(MPI_Send(&x, 1, MPI_INT, 5, 0, w), MPI_ERR_RANK, "MPI_Send", "5");
    expect(MPI_Send(&x, 1, MPI_INT, -9, 0, w), MPI_ERR_RANK, "MPI_Send", "-9");
    expect(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, w), MPI_ERR_RANK, "MPI_Send", "");
    expect(MPI_Send(&x, 1, MPI_INT, 0, -5, w), MPI_ERR_TAG, "MPI_Send", "-5");
    expect(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, w), MPI_ERR_TAG, "MPI_Send", "");
    expect(MPI_Send(&x, -1, MPI_INT, 0, 0, w), MPI_ERR_COUNT, "MPI_Send", "-1");
    expect(MPI_Send_c(&x, (MPI_Count)-1, MPI_INT, 0, 0, w), MPI_ERR_COUNT, "MPI_Send_c", "-1");
    expect(MPI_Send(NULL, 1, MPI_INT, 0, 0, w), MPI_ERR_BUFFER, "MPI_Send", "NULL");
    expect(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, w), MPI_ERR_TYPE, "MPI_Send", "");
    expect(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Send", "");
    expect(MPI_Send(&x, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 0, w), MPI_ERR_TYPE, "MPI_Send", "");
    expect(MPI_Isend(&x, 1, MPI_INT, 2, 0, w, &r), MPI_ERR_RANK, "MPI_Isend", "2");
    expect(MPI_Ssend(&x, 1, MPI_INT, 2, 0, w), MPI_ERR_RANK, "MPI_Ssend", "2");
    expect(MPI_Bsend(&x, 1, MPI_INT, 2, 0, w), MPI_ERR_RANK, "MPI_Bsend", "2");
    expect(MPI_Send_init(&x, -2, MPI_INT, 0, 0, w, &r), MPI_ERR_COUNT, "MPI_Send_init", "-2");
    expect(MPI_Recv(&x, 1, MPI_INT, 7, 0, w, &s), MPI_ERR_RANK, "MPI_Recv", "7");
    expect(MPI_Recv(&x, 1, MPI_INT, 0, -3, w, &s), MPI_ERR_TAG, "MPI_Recv", "-3");
    expect(MPI_Recv(NULL, 2, MPI_INT, 0, 0, w, &s), MPI_ERR_BUFFER, "MPI_Recv", "NULL");
    expect(MPI_Irecv(&x, 1, MPI_INT, 7, 0, w, &r), MPI_ERR_RANK, "MPI_Irecv", "7");
    expect(MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &x, 1, MPI_INT, 9, 0, w, &s), MPI_ERR_RANK, "MPI_Sendrecv", "9");
    expect(MPI_Probe(9, 0, w, &s), MPI_ERR_RANK, "MPI_Probe", "9");
    expect(MPI_Iprobe(0, -8, w, &flag, &s), MPI_ERR_TAG, "MPI_Iprobe", "-8");
    expect(MPI_Mrecv(&x, 1, MPI_INT, &m, &s), MPI_ERR_REQUEST, "MPI_Mrecv", "message");
}

// Objects in a wrong state: not committed, freed, complete, of another kind.
static void handles(MPI_Comm w, int rank)
{
    int x = 1, flag;
    MPI_Request r, rr[2];
    MPI_Status s;
    MPI_Comm freed, kept;
    MPI_Datatype t;
    MPI_Type_contiguous(2, MPI_INT, &t);
    expect(MPI_Send(&x, 1, t, 0, 0, w), MPI_ERR_TYPE, "MPI_Send", "commit");
    MPI_Type_free(&t);
    MPI_Comm_dup(w, &freed);
    kept = freed;
    MPI_Comm_free(&freed);
    expect(MPI_Send(&x, 1, MPI_INT, 0, 0, kept), MPI_ERR_COMM, "MPI_Send", "");
    MPI_Irecv(&x, 1, MPI_INT, rank, 3, w, &r);
    MPI_Request stale = r;
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    expect(MPI_Wait(&stale, &s), MPI_ERR_REQUEST, "MPI_Wait", "alive");
    expect(MPI_Test(&stale, &flag, &s), MPI_ERR_REQUEST, "MPI_Test", "alive");
    rr[0] = MPI_REQUEST_NULL, rr[1] = stale;
    expect(MPI_Waitall(2, rr, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitall", "alive");
    expect(MPI_Waitall(-1, rr, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "MPI_Waitall", "-1");
    r = MPI_REQUEST_NULL;
    expect(MPI_Request_free(&r), MPI_ERR_REQUEST, "MPI_Request_free", "NULL");
    expect(MPI_Start(&r), MPI_ERR_REQUEST, "MPI_Start", "NULL");
    expect(MPI_Cancel(&r), MPI_ERR_REQUEST, "MPI_Cancel", "NULL");
    MPI_Irecv(&x, 1, MPI_INT, rank, 3, w, &r);
    expect(MPI_Start(&r), MPI_ERR_REQUEST, "MPI_Start", "persistent");
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
}

int main(int argc, char **argv)
{
    int rank, y = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &rank);
    MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    arguments(w);
    handles(w, rank);
    int other = 1 - rank;    // all is well afterwards
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &y, 1, MPI_INT, other, 1, w, MPI_STATUS_IGNORE);
    CHECK(y == other && seen == 33);
    MPI_Finalize();
    return 0;
}
