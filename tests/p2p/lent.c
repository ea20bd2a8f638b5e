// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// run: np=3 chan=tcp set=tcp_buffer=262144
// run: np=2 chan=tcp set=check_types=1
// Windows of messages of 16 to 64, and of 512 KiB whose memory may stay in use until their requests are complete: from
// then on it is overwritten, and what arrives is what was sent. By the way in which they are waited for; persistent;
// cancelled.
#include "../check.h"

#include <string.h>

enum { WINDOW = 24, LESS = 16384, MOST = 131072, ROUNDS = 8, TAG = 7, ASK = 8 };
enum way { ALL, ONE_BY_ONE, LAST_FIRST, TESTED, SOME, PERSISTENT, CANCELLED, WAYS };

static int rank, size;
static int out[WINDOW][MOST], in[MOST];
static MPI_Request request[WINDOW];

static int ints_of(int k)
{
    return k % 8 == 7 ? MOST : k % 4 == 3 ? LESS : 4096 + 701 * k % (LESS - 4096);
}

static int value(int from, int round, int k, int i)
{
    return from * 1000003 + round * 10007 + k * 101 + i;
}

static void over(int k)
{
    memset(out[k], 0xee, sizeof out[k]);
}

static void wait_some(void)
{
    for (int left = WINDOW, n, at[WINDOW]; left > 0; left -= n) {
        CHECK(MPI_Waitsome(WINDOW, request, &n, at, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < n; i++) over(at[i]);
    }
}

// Waits in order k = first, first + step, ... or tests until it is complete.
static void wait_in_order(int first, int step, int tests)
{
    for (int i = 0, k = first; i < WINDOW; i++, k += step) {
        int done = !tests;
        if (!tests) CHECK(MPI_Wait(&request[k], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        while (!done) CHECK(MPI_Test(&request[k], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        over(k);
    }
}

static void wait_for(enum way way)
{
    if (way == SOME) {
        wait_some();
    } else if (way == ALL) {
        CHECK(MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int k = 0; k < WINDOW; k++) over(k);
    } else {
        wait_in_order(way == LAST_FIRST ? WINDOW - 1 : 0, way == LAST_FIRST ? -1 : 1, way == TESTED);
    }
}

// Sends a window to the next rank; went[k]: the message was not taken back.
static void send_window(enum way way, int round, int *went)
{
    int to = (rank + 1) % size;
    for (int k = 0; k < WINDOW; k++) {
        int n = ints_of(k);
        for (int i = 0; i < n; i++) out[k][i] = value(rank, round, k, i);
        went[k] = 1;
        if (way == PERSISTENT) {
            CHECK(MPI_Send_init(out[k], n, MPI_INT, to, TAG, MPI_COMM_WORLD, &request[k]) == MPI_SUCCESS);
            CHECK(MPI_Start(&request[k]) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Isend(out[k], n, MPI_INT, to, TAG, MPI_COMM_WORLD, &request[k]) == MPI_SUCCESS);
        }
    }
    for (int k = 1; way == CANCELLED && k < WINDOW; k += 3) {
        MPI_Status status;
        int taken_back;
        CHECK(MPI_Cancel(&request[k]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request[k], &status) == MPI_SUCCESS);
        CHECK(MPI_Test_cancelled(&status, &taken_back) == MPI_SUCCESS);
        went[k] = !taken_back;
        over(k);
    }
    if (way == CANCELLED) CHECK(MPI_Send(went, WINDOW, MPI_INT, to, ASK, MPI_COMM_WORLD) == MPI_SUCCESS);
    wait_for(way);
    for (int k = 0; way == PERSISTENT && k < WINDOW; k++) CHECK(MPI_Request_free(&request[k]) == MPI_SUCCESS);
}

static void receive_window(int round, const int *came)
{
    int from = (rank + size - 1) % size;
    for (int k = 0; k < WINDOW; k++) {
        MPI_Status status;
        int n;
        if (!came[k]) continue;
        CHECK(MPI_Recv(in, MOST, MPI_INT, from, TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == ints_of(k));
        for (int i = 0; i < n; i++) CHECK(in[i] == value(from, round, k, i));
    }
}

// One rank after the other: a window is more than a channel buffers, so the next rank must be receiving.
static void turn(enum way way, int round)
{
    int went[WINDOW], came[WINDOW], from = (rank + size - 1) % size;
    for (int k = 0; k < WINDOW; k++) came[k] = 1;
    for (int sender = 0; sender < size; sender++) {
        if (rank == sender) {
            send_window(way, round, went);
        } else if (from == sender) {
            if (way == CANCELLED)
                CHECK(MPI_Recv(came, WINDOW, MPI_INT, from, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            receive_window(round, came);
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS * WAYS; round++) turn((enum way)(round % WAYS), round);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
