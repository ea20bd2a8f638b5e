// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4 chan=shm,tcp
// All ranks send to all, in all sizes and modes, and cancel at random while the others receive: what was not cancelled
// arrives, once and in order, and nothing else does.
#include "../check.h"

#include <stdbool.h>

enum { ROUNDS = 15, SENDS = 16, MOST = 60000, RANKS = 4 };

static int rank, size, in[MOST];
static int out[SENDS][MOST];
static unsigned state;

static int draw(int n)
{
    state = state * 1103515245u + 12345u;
    return (int)((state >> 16) % (unsigned)n);
}

struct sent {
    MPI_Request req;
    int to;
    bool asked;
};

// Messages received so far from each rank: their numbers, in order.
static int got[RANKS][SENDS], ngot[RANKS];

static void take(MPI_Status *s)
{
    int count = 0, src = s->MPI_SOURCE;
    CHECK(MPI_Get_count(s, MPI_INT, &count) == MPI_SUCCESS && count > 0);
    CHECK(in[0] == in[count - 1] && ngot[src] < SENDS);
    CHECK(ngot[src] == 0 || got[src][ngot[src] - 1] < in[0]);
    got[src][ngot[src]++] = in[0];
}

// Receives what has come, in one of the ways that match.
static void receive_some(MPI_Comm comm)
{
    int flag = 0;
    MPI_Status s;
    MPI_Message m;
    CHECK(MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &flag, &m, &s) == MPI_SUCCESS);
    if (!flag) return;
    CHECK(MPI_Mrecv(in, MOST, MPI_INT, &m, &s) == MPI_SUCCESS);
    take(&s);
}

static void send_all(MPI_Comm comm, struct sent *sent)
{
    static const int sizes[] = {1, 20, 3000, 20000, MOST};
    for (int i = 0; i < SENDS; i++) {
        int count = sizes[draw(5)];
        sent[i].to = draw(size);
        out[i][0] = out[i][count - 1] = i;
        CHECK((draw(2) ? MPI_Issend : MPI_Isend)(out[i], count, MPI_INT, sent[i].to, 1, comm, &sent[i].req) ==
              MPI_SUCCESS);
        if (draw(3) == 0) receive_some(comm);
        int victim = draw(i + 1);
        if (draw(2)) CHECK(MPI_Cancel(&sent[victim].req) == MPI_SUCCESS);
        sent[victim].asked = true;
    }
}

// Ends the sends, receiving meanwhile; the numbers that each rank is to get, as bits.
static void end_all(MPI_Comm comm, struct sent *sent, int *bits)
{
    for (int i = 0; i < SENDS; i++) {
        int flag = 0, cancelled = -1;
        MPI_Status s;
        while (!flag) {
            CHECK(MPI_Test(&sent[i].req, &flag, &s) == MPI_SUCCESS);
            if (!flag) receive_some(comm);
        }
        CHECK(MPI_Test_cancelled(&s, &cancelled) == MPI_SUCCESS);
        CHECK(!cancelled || sent[i].asked);
        if (!cancelled) bits[sent[i].to] |= 1 << i;
    }
}

static int count_of(int bits)
{
    return __builtin_popcount((unsigned)bits);
}

static void round_of(MPI_Comm comm)
{
    struct sent sent[SENDS] = {0};
    int bits[RANKS] = {0}, due[RANKS] = {0}, flag = 0;
    MPI_Request all;
    for (int r = 0; r < size; r++) ngot[r] = 0;
    send_all(comm, sent);
    end_all(comm, sent, bits);
    CHECK(MPI_Ialltoall(bits, 1, MPI_INT, due, 1, MPI_INT, comm, &all) == MPI_SUCCESS);
    while (!flag) {    // others may still need our receives
        CHECK(MPI_Test(&all, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        receive_some(comm);
    }
    for (int r = 0; r < size; r++) {
        while (ngot[r] < count_of(due[r])) receive_some(comm);
        for (int i = 0; i < ngot[r]; i++) due[r] &= ~(1 << got[r][i]);
        CHECK(due[r] == 0);
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = 3u + (unsigned)rank;
    for (int i = 0; i < ROUNDS; i++) round_of(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
