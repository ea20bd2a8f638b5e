// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// run: np=2 chan=shm,tcp set=shm_cma=0 set=check_types=1
// Cancelled sends: a message that was taken back is never seen, any other arrives, and the status says which. By size,
// mode and layout, to the other rank and to oneself.
#include "../check.h"

#include <stdbool.h>
#include <string.h>

enum { TAG = 7, TALK = 8, MOST = 1 << 20 };

static int rank, other;
static int out[MOST], in[MOST];
static MPI_Datatype layout;    // every second int

typedef int starter(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int was_cancelled(MPI_Request *r)
{
    MPI_Status s;
    int flag = -1;
    CHECK(MPI_Wait(r, &s) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&s, &flag) == MPI_SUCCESS && (flag == 0 || flag == 1));
    return flag;
}

static void tell(int what)
{
    CHECK(MPI_Send(&what, 1, MPI_INT, other, TALK, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static int hear(void)
{
    int what = -1;
    CHECK(MPI_Recv(&what, 1, MPI_INT, other, TALK, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return what;
}

// No receive is posted: the first message is taken back or arrives, and the second one arrives.
static void unmatched(starter *start, int count, MPI_Datatype type)
{
    if (rank == 0) {
        MPI_Request r;
        for (int i = 0; i < MOST; i++) out[i] = 1;
        CHECK(start(out, count, type, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
        int gone = was_cancelled(&r);
        CHECK(r == MPI_REQUEST_NULL);
        for (int i = 0; i < MOST; i++) out[i] = 2;    // the buffer is ours again
        tell(gone);
        CHECK(MPI_Send(out, count, type, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(hear() == 2);
    } else {
        int flag = -1;
        for (int i = 1 + hear(); i <= 2; i++) {
            memset(in, 0, sizeof in);
            CHECK(MPI_Recv(in, count, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(count == 0 || in[0] == i);
        }
        CHECK(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        tell(2);
    }
}

static void all_unmatched(void)
{
    static const int size[] = {0, 1, 100, 10000, MOST};
    for (int i = 0; i < 5; i++) unmatched(MPI_Issend, size[i], MPI_INT);
    unmatched(MPI_Isend, MOST, MPI_INT);    // smaller ones may have left at once
    unmatched(MPI_Irsend, MOST, MPI_INT);
    unmatched(MPI_Issend, 20, layout);
    unmatched(MPI_Isend, MOST / 2, layout);
}

// What was matched before comes through, whatever the answer: a probe has taken the message.
static void matched(void)
{
    for (int count = 10000; count <= MOST; count *= 10) {
        MPI_Request r;
        MPI_Message m;
        for (int i = 0; i < count; i++) out[i] = i;
        if (rank == 0) {
            CHECK(MPI_Isend(out, count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
            CHECK(hear() == 3);
            CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
            tell(4);
            CHECK(was_cancelled(&r) == 0);
        } else {
            CHECK(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            tell(3);
            CHECK(hear() == 4);
            memset(in, 0, sizeof in);
            CHECK(MPI_Mrecv(in, count, MPI_INT, &m, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(memcmp(in, out, (size_t)count * sizeof *in) == 0);
        }
    }
}

// The receive is posted at the same time: exactly one message comes, the cancelled or its successor.
static void raced(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        int count = 5000 + i * 37;
        bool sync = i % 3 == 0;
        MPI_Request r;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            out[0] = out[count - 1] = 2 * i;
            CHECK((sync ? MPI_Issend : MPI_Isend)(out, count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
            for (int flag, k = 0; k < i % 7; k++) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
            CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
            int gone = was_cancelled(&r);
            out[0] = out[count - 1] = 2 * i + 1;
            if (gone) CHECK(MPI_Send(out, count, MPI_INT, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
            tell(gone);
        } else {
            for (int flag, k = 0; k < i % 5; k++) MPI_Iprobe(0, TALK, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(MPI_Recv(in, MOST, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(in[0] == in[count - 1] && in[0] / 2 == i);
            CHECK(hear() == in[0] % 2);
        }
    }
}

// A persistent send is cancelled, started again and received; a request freed while it is cancelled goes by itself.
static void again(void)
{
    for (int count = 1; count <= MOST; count *= 1024) {
        MPI_Request r, one;
        MPI_Status s;
        int got = 0;
        if (rank == 0) {
            CHECK(MPI_Ssend_init(out, count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
            for (int i = 0; i < 3; i++) {
                CHECK(MPI_Start(&r) == MPI_SUCCESS);
                CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
                tell(was_cancelled(&r));
                CHECK(r != MPI_REQUEST_NULL);
            }
            CHECK(MPI_Start(&r) == MPI_SUCCESS);
            CHECK(was_cancelled(&r) == 0);
            CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
            CHECK(MPI_Issend(out, count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &one) == MPI_SUCCESS);
            CHECK(MPI_Cancel(&one) == MPI_SUCCESS && MPI_Request_free(&one) == MPI_SUCCESS);
            tell(6);
        } else {
            int due = 4;
            for (int i = 0; i < 3; i++) due -= hear();
            while (due-- > 0) {
                CHECK(MPI_Recv(in, MOST, MPI_INT, 0, TAG, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
                CHECK(MPI_Get_count(&s, MPI_INT, &got) == MPI_SUCCESS && got == count);
            }
            CHECK(hear() == 6);    // what was freed has no status: it has come by now, or does not
            CHECK(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &got, &s) == MPI_SUCCESS);
            if (got) CHECK(MPI_Recv(in, count, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
}

static void to_self(void)
{
    static const int size[] = {0, 1, MOST};
    for (int i = 0; i < 3; i++) {
        MPI_Request r;
        int flag = -1;
        CHECK(MPI_Issend(out, size[i], MPI_INT, rank, TAG, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        CHECK(MPI_Cancel(&r) == MPI_SUCCESS && was_cancelled(&r) == 1);
        CHECK(MPI_Iprobe(rank, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        CHECK(MPI_Isend(out, size[i], MPI_INT, 0, TAG, MPI_COMM_SELF, &r) == MPI_SUCCESS);
        CHECK(MPI_Recv(in, size[i], MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Cancel(&r) == MPI_SUCCESS && was_cancelled(&r) == 0);
    }
}

// The message comes before the other rank has made its communicator.
static void early(void)
{
    MPI_Comm comm;
    MPI_Request r;
    int flag = -1;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    if (rank == 0) {
        out[0] = out[MOST - 1] = 77;
        CHECK(MPI_Issend(out, MOST, MPI_INT, 1, TAG, comm, &r) == MPI_SUCCESS);
        CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
        tell(was_cancelled(&r));
    } else if (!hear()) {
        CHECK(MPI_Recv(in, MOST, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(in[0] == 77 && in[MOST - 1] == 77);
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &layout);
    MPI_Type_commit(&layout);
    all_unmatched();
    matched();
    raced(300);
    again();
    to_self();
    for (int i = 0; i < 20; i++) early();
    MPI_Type_free(&layout);
    MPI_Finalize();
    return 0;
}
