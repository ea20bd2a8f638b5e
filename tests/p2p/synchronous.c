// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// run: np=2 chan=shm set=unexpected_max=65536
// run: np=2 chan=tcp set=unexpected_max=65536 set=check_types=1
// A synchronous send ends when its receive has begun and not before, on both sides of the sizes up to which its token
// lies in front of its data (1 KiB) and its data come with the announcement (64 KiB by tcp); cut short, with layouts on
// either side, probed for, and many at once, also to the process itself.
#include "../check.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 70000, TAG = 3, TALK = 4, MANY = 200 };
static const int sizes[] = {0, 1, 4, 8, 9, 254, 255, 256, 257, 2000, 5000, 16384, 16385, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int rank, other;
static int out[MANY][MOST], in[2 * MOST];
static MPI_Datatype apart;    // every second int, two of them

static void fill(int *at, int n)
{
    for (int i = 0; i < n; i++) at[i] = n * 1000 + i;
}

static void verify(int n, int step, const MPI_Status *s)
{
    int got = -1;
    CHECK(MPI_Get_count(s, MPI_INT, &got) == MPI_SUCCESS && got == n);
    for (int i = 0; i < n; i++) CHECK(in[step * i] == n * 1000 + i);
}

static void word_to(int to)
{
    CHECK(MPI_Send(NULL, 0, MPI_INT, to, TALK, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void word_from(int from)
{
    CHECK(MPI_Recv(NULL, 0, MPI_INT, from, TALK, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

// The receiver has seen the message, by a probe, before the sender looks; then it receives it.
static void waits(int n)
{
    MPI_Request r;
    MPI_Status s;
    int flag = -1;
    if (rank == 0) {
        fill(out[0], n);
        CHECK(MPI_Issend(out[0], n, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        word_from(1);
        CHECK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        word_to(1);
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        memset(in, -1, sizeof in);
        CHECK(MPI_Probe(0, TAG, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&s, MPI_INT, &flag) == MPI_SUCCESS && flag == n);
        word_to(0);
        word_from(0);
        CHECK(MPI_Recv(in, MOST, MPI_INT, 0, TAG, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
        verify(n, 1, &s);
        CHECK(in[n] == -1);
    }
}

// Posted before the message comes: one as long, one with a layout, one too short.
static void posted(int n)
{
    MPI_Request r;
    MPI_Status s;
    if (rank == 0) {
        fill(out[0], n);
        for (int i = 0; i < 3; i++) {
            word_from(1);
            CHECK(MPI_Ssend(out[0], n, MPI_INT, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        memset(in, -1, sizeof in);
        CHECK(MPI_Irecv(in, i ? (n + 1) / 2 : n, i ? apart : MPI_INT, 0, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        word_to(0);
        CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS);
        verify(n, 1 + i, &s);
    }
    memset(in, -1, sizeof in);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Irecv(in, n / 2, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    word_to(0);
    int err = MPI_Wait(&r, MPI_STATUS_IGNORE), class = -1;
    CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == (n / 2 < n ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    CHECK(in[n / 2] == -1 && (n < 2 || in[n / 2 - 1] == n * 1000 + n / 2 - 1));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// A layout on the sender's side, too.
static void laid_out(int n)
{
    MPI_Status s;
    if (rank == 0) {
        for (int i = 0; i < n; i++) in[2 * i] = n * 1000 + i, in[2 * i + 1] = -7;
        CHECK(MPI_Ssend(in, n / 2, apart, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(in, n, MPI_INT, 0, TAG, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
        int got = -1;
        CHECK(MPI_Get_count(&s, MPI_INT, &got) == MPI_SUCCESS && got == n / 2 * 2);
        for (int i = 0; i < got; i++) CHECK(in[i] == n * 1000 + i);
    }
}

// More than may lie at the receiver, in order.
static void many(int to, int from)
{
    MPI_Request r[MANY];
    if (to >= 0) {
        for (int i = 0; i < MANY; i++) {
            fill(out[i], sizes[i % SIZES]);
            CHECK(MPI_Issend(out[i], sizes[i % SIZES], MPI_INT, to, TAG, MPI_COMM_WORLD, &r[i]) == MPI_SUCCESS);
        }
        word_to(to);
    }
    if (from >= 0) {
        word_from(from);
        for (int i = 0; i < MANY; i++) {
            MPI_Status s;
            CHECK(MPI_Recv(in, MOST, MPI_INT, from, TAG, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
            verify(sizes[i % SIZES], 1, &s);
        }
    }
    if (to >= 0) CHECK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

// The message may come before its communicator is there.
static void early(int n)
{
    MPI_Comm comm;
    MPI_Status s;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    if (rank == 0) {
        fill(out[0], n);
        CHECK(MPI_Ssend(out[0], n, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(in, n, MPI_INT, 0, TAG, comm, &s) == MPI_SUCCESS);
        verify(n, 1, &s);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &apart);
    MPI_Datatype one = apart;
    MPI_Type_contiguous(2, one, &apart);
    MPI_Type_commit(&apart);
    for (int i = 0; i < SIZES; i++) {
        waits(sizes[i]);
        posted(sizes[i]);
        laid_out(sizes[i]);
        early(sizes[i]);
    }
    many(rank == 0 ? 1 : -1, rank == 1 ? 0 : -1);
    many(other, other);
    many(rank, rank);
    MPI_Type_free(&apart);
    MPI_Type_free(&one);
    MPI_Finalize();
    return 0;
}
