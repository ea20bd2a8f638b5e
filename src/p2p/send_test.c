// SPDX-License-Identifier: BSD-3-Clause
// Unit test of where messages leave from (send.c, direct.c, buffered.c) inside a host: from the user's memory if they
// leave at once, as those do that would be copied otherwise, by stream where the memory is a copy whose lines the
// receiver may still have, else by direct copy.
#define _GNU_SOURCE
#include "p2p/test_ranks.h"

#include <sched.h>

#include "base/thresholds.h"
#include "chan/peer_memory.h"
#include "chan/self.h"
#include "chan/shm/ring.h"
#include "p2p/p2p.h"

#define LONG (256 << 10)

static char out[LONG], in[LONG];

// Sends LONG bytes from rank 0 to rank 1, and says how many of them went by stream.
static uint64_t streamed(enum uno_mode mode)
{
    struct uno_where w = {.comm = &uno_comm_world, .rank = 1 - me, .tag = 7};
    uint64_t before = uno_shm.sent[UNO_BY_STREAM].bytes;
    MPI_Request r;
    memset(out, 3 + (int)mode, sizeof out);
    if (me == 0) {
        CHECK(uno_isend(out, LONG, uno_type(MPI_BYTE), &w, mode, &r) == MPI_SUCCESS);
        CHECK(uno_wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        memset(in, 0, sizeof in);
        CHECK(uno_recv(in, LONG, uno_type(MPI_BYTE), &w, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    return uno_shm.sent[UNO_BY_STREAM].bytes - before;
}

static void stream_copies(void)
{
    uno_thresholds.paged = 0;
    uno_thresholds.streamed = UNO_THRESHOLD_NEVER;    // nothing else keeps a message from being copied directly
    uno_thresholds.grows = 1;
    CHECK(uno_thresholds_spread() > LONG);
    CHECK(streamed(UNO_COPIED) == (me == 0 ? LONG : 0));
    bool direct = uno_peer_memory_pid(1 - (int)uno_chan_self.local) != 0;    // told by now
    CHECK(streamed(UNO_STANDARD) == (me == 0 && !direct ? LONG : 0));
    uno_thresholds.grows = 0;    // here lines of the ring would stay in caches, too
    CHECK(streamed(UNO_COPIED) == (me == 0 && !direct ? LONG : 0));
}

static void exchange(int n, bool at_once)
{
    int other = 1 - me;
    uint64_t before = uno_shm.sent[UNO_BY_EAGER].bytes;
    memset(in, 'a' + me, sizeof in);
    memset(out, 'a' + other, sizeof out);
    int err = MPI_Sendrecv_replace(in, n, MPI_BYTE, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(err == MPI_SUCCESS);
    CHECK(memcmp(in, out, (size_t)n) == 0);
    CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - before == (at_once ? (uint64_t)n : 0));
}

// What MPI_Sendrecv_replace would have to copy goes at once, as long as the ring has room for it, and for another one
// where rings do not grow; what is longer there in a wide block.
static void exchange_in_place(void)
{
    bool is_wide = uno_chan_self.job->wide_bytes >= LONG;
    uno_thresholds.grows = 0;    // there is no link so far
    exchange(LONG / 2, true);
    for (int i = 0; i < 3; i++) exchange(LONG, is_wide);
    uno_thresholds.grows = 1;
    exchange(LONG, true);
}

// The attached buffer holds what has not left, and nothing else.
static void buffer_what_stays(void)
{
    enum { SHORT = 4096, ROOM = 4 * SHORT };
    static char attached[ROOM];
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Buffer_attach(attached, ROOM) == MPI_SUCCESS);
    memset(out, 'm', SHORT);
    if (me == 0) {
        CHECK(MPI_Bsend(out, SHORT, MPI_BYTE, 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        memset(out, 'x', SHORT);    // the message is no longer there
        CHECK(!memmem(attached, ROOM, "mmmmmmmm", 8));
        CHECK(MPI_Bsend(out, ROOM, MPI_BYTE, 1, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);    // which has no room for it
    } else {
        CHECK(MPI_Recv(in, SHORT, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(in, out, SHORT) == 0);
    }
}

// Where ranks share a core, messages of up to twice `eager` go at once, but no more than two of a window, and all of up
// to four times as much whose sender would have to wait.
static void few_at_once(void)
{
    enum { EAGER = 4096, N = 2 * EAGER, WINDOW = 4 };
    uno_thresholds.eager = uno_thresholds.eager_light = uno_thresholds.eager_turn = EAGER;    // there is no link so far
    uno_thresholds.alone = N;
    MPI_Request r[WINDOW];
    for (int round = 0; round < 2; round++) {
        uint64_t before = uno_shm.sent[UNO_BY_EAGER].bytes;
        for (int i = 0; i < WINDOW; i++) {
            int err = me == 0 ? MPI_Isend(out + i * N, N, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r[i])
                              : MPI_Irecv(in + i * N, N, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &r[i]);
            CHECK(err == MPI_SUCCESS);
        }
        CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - before == (me == 0 ? 2 * N : 0));
        CHECK(MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
    uint64_t before = uno_shm.sent[UNO_BY_EAGER].bytes;
    for (int i = 0; i < WINDOW; i++) {
        int err = me == 0 ? MPI_Send(out, 2 * N, MPI_BYTE, 1, 0, MPI_COMM_WORLD)
                          : MPI_Recv(in, 2 * N, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(err == MPI_SUCCESS);
    }
    CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - before == (me == 0 ? 2 * N * WINDOW : 0));
}

static void share_a_core(void)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    run_ranks(2, few_at_once);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

// Where each rank has a core, it is the fifth of a row that goes so, and no other once the rank has received.
static void rows_at_once(void)
{
    enum { EAGER = 4096, N = 4 * EAGER, BEFORE = 4, ROW = 7 };
    cpu_set_t cores;
    CHECK(sched_getaffinity(0, sizeof cores, &cores) == 0);
    uint64_t left = CPU_COUNT(&cores) == 1 ? ROW : ROW - BEFORE;
    uno_thresholds.eager = uno_thresholds.eager_turn = EAGER;    // there is no link so far
    uno_thresholds.eager_dear = EAGER;                           // copies never become dear
    uno_thresholds.eager_light = 0;
    uno_thresholds.alone = 2 * EAGER;
    for (int round = 0; round < 2; round++) {
        uint64_t before = uno_shm.sent[UNO_BY_EAGER].bytes;
        for (int i = 0; i < ROW; i++) {
            int err = me == 0 ? MPI_Send(out, N, MPI_BYTE, 1, 0, MPI_COMM_WORLD)
                              : MPI_Recv(in, N, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(err == MPI_SUCCESS);
        }
        CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - before == (me == 0 ? N * left : 0));
        int err = me == 1 ? MPI_Send(out, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD)
                          : MPI_Recv(in, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(err == MPI_SUCCESS);
    }
}

// Columns that share lines wait for their receiver, who agrees on the order, from 16 KiB on.
static void columns_in_order(void)
{
    enum { ROWS = 256, PITCH = 32 };
    static double matrix[ROWS * PITCH], got[ROWS * PITCH];
    MPI_Datatype column, next;
    CHECK(MPI_Type_vector(ROWS, 1, PITCH, MPI_DOUBLE, &column) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(column, 0, sizeof(double), &next) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&next) == MPI_SUCCESS);
    for (int i = 0; i < ROWS * PITCH; i++) matrix[i] = i;
    for (int n = 4; n <= 8; n += 4) {
        uint64_t whole = uno_shm.sent[UNO_BY_EAGER].bytes, asked = uno_shm.sent[UNO_BY_STREAM].bytes;
        uint64_t bytes = (uint64_t)n * ROWS * sizeof(double);
        if (me == 0) {
            CHECK(MPI_Send(matrix, n, next, 1, n, MPI_COMM_WORLD) == MPI_SUCCESS);
            CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - whole == (n == 4 ? bytes : 0));
            CHECK(uno_shm.sent[UNO_BY_STREAM].bytes - asked == (n == 4 ? 0 : bytes));
        } else {
            CHECK(MPI_Recv(got, n * ROWS, MPI_DOUBLE, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            for (int c = 0; c < n; c++)
                for (int r = 0; r < ROWS; r++) CHECK(got[c * ROWS + r] == matrix[r * PITCH + c]);
        }
    }
    CHECK(MPI_Type_free(&column) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&next) == MPI_SUCCESS);
}

// What is written to next leaves it at once, up to 128 KiB.
static void rewritten_at_once(void)
{
    struct uno_where w = {.comm = &uno_comm_world, .rank = 1 - me, .tag = 9};
    for (int n = UNO_TURN_BYTES; n <= LONG; n *= 2) {
        uint64_t before = uno_shm.sent[UNO_BY_EAGER].bytes;
        MPI_Request r;
        memset(out, 'o', sizeof out);
        if (me == 0) {
            CHECK(uno_isend_rewritten(out, n, uno_type(MPI_BYTE), &w, &r) == MPI_SUCCESS);
            CHECK((r == &uno_request_sent) == (n == UNO_TURN_BYTES));
            if (r != &uno_request_sent) CHECK(uno_wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            memset(out, 'x', sizeof out);
            CHECK(uno_shm.sent[UNO_BY_EAGER].bytes - before == (n == UNO_TURN_BYTES ? UNO_TURN_BYTES : 0));
        } else {
            memset(in, 0, sizeof in);
            CHECK(uno_recv(in, n, uno_type(MPI_BYTE), &w, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(memcmp(in, out, (size_t)n) == 0);
        }
    }
}

static int looked_away[2];

// Three messages lie in wide blocks, one in the ring, and no other until the receiver has taken the first.
static void fill_wide_blocks(void)
{
    enum { MOST = 4, SENT = 9 };
    struct uno_where w = {.comm = &uno_comm_world, .rank = 1 - me, .tag = 5};
    char byte = 0;
    uno_thresholds.grows = 0;
    if (uno_chan_self.job->wide_bytes < LONG) return;    // of a processor with a small cache
    if (me == 1) CHECK(read(looked_away[0], &byte, 1) == 1);
    for (int i = 0; i < SENT; i++) {
        memset(out, 'a' + i, LONG);
        if (me == 0) {
            // The first one's block would come back with an answer alone.
            for (int told = i == MOST ? 0 : 1; i >= MOST && told < 2; told++)
                CHECK(uno_recv(in, 1, uno_type(MPI_BYTE), &w, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(uno_send_at_once(out, LONG, uno_type(MPI_BYTE), &w) == MPI_SUCCESS);
            if (i + 1 != MOST) continue;
            CHECK(uno_send_at_once(out, LONG, uno_type(MPI_BYTE), &w) == UNO_FULL);
            CHECK(write(looked_away[1], &byte, 1) == 1);
        } else {
            CHECK(uno_recv(in, LONG, uno_type(MPI_BYTE), &w, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(memcmp(in, out, LONG) == 0);
            if (i <= SENT - MOST) CHECK(uno_send(in, 1, uno_type(MPI_BYTE), &w, UNO_STANDARD) == MPI_SUCCESS);
        }
    }
}

static void leave_from(void **state)
{
    (void)state;
    share_a_core();
    run_ranks(2, stream_copies);
    run_ranks(2, rows_at_once);
    run_ranks(2, exchange_in_place);
    run_ranks(2, rewritten_at_once);
    run_ranks(2, buffer_what_stays);
    run_ranks(2, columns_in_order);
    assert_int_equal(pipe(looked_away), 0);
    run_ranks(2, fill_wide_blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leave_from)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
