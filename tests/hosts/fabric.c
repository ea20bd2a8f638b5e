// SPDX-License-Identifier: BSD-3-Clause
// Large messages over a fabric, for suite 39-fabric: `fabric lanes` sends checked ones both ways; `fabric dies WHO HOW`
// lets rank 1 die while it takes (receiver) or sends (sender) them, and rank 0 goes on with rank 2; `fabric idle`
// counts the sleeps of a rank that waits; `fabric windows HOW` puts and gets large blocks, and tells whether memory was
// accessed (memory) or messages were sent (messages).
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <mpi_ext.h>

#include "../check.h"

#define BYTES (5 << 20)
#define MESSAGES 8    // under way at once
#define ROUNDS 6

static unsigned char *out[MESSAGES], *in[MESSAGES];

static unsigned char byte_of(int from, int round, int k, size_t i)
{
    return (unsigned char)((i * 2654435761U >> 9) + (size_t)(from * 31 + round * 7 + k));
}

static void fill(int me, int round)
{
    for (int k = 0; k < MESSAGES; k++)
        for (size_t i = 0; i < BYTES; i++) out[k][i] = byte_of(me, round, k, i);
}

static void lanes(int me, int other)
{
    MPI_Request r[2 * MESSAGES];
    for (int round = 0; round < ROUNDS; round++) {
        fill(me, round);
        for (int k = 0; k < MESSAGES; k++) {
            memset(in[k], 0, BYTES);
            MPI_Irecv(in[k], BYTES, MPI_BYTE, other, k, MPI_COMM_WORLD, &r[k]);
            MPI_Isend(out[k], BYTES - k, MPI_BYTE, other, k, MPI_COMM_WORLD, &r[MESSAGES + k]);
        }
        MPI_Waitall(2 * MESSAGES, r, MPI_STATUSES_IGNORE);
        for (int k = 0; k < MESSAGES; k++)
            for (size_t i = 0; i < BYTES - (size_t)k; i++) CHECK(in[k][i] == byte_of(other, round, k, i));
    }
    if (me == 0) printf("all arrived\n");
}

// The class of what ended one of these requests; all end.
static int end_of(MPI_Request *r)
{
    MPI_Status s[MESSAGES];
    int class = MPI_SUCCESS;
    if (MPI_Waitall(MESSAGES, r, s) == MPI_SUCCESS) return MPI_SUCCESS;
    for (int k = 0; k < MESSAGES; k++)
        if (s[k].MPI_ERROR != MPI_SUCCESS) MPI_Error_class(s[k].MPI_ERROR, &class);
    return class;
}

static void dies(int me, bool sends, bool frees)
{
    MPI_Request r[MESSAGES];
    int last = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (me == 2) MPI_Recv(&last, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int round = 0; me < 2; round++) {
        for (int k = 0; k < MESSAGES; k++)
            if (sends == (me == 1))
                MPI_Isend(out[k], BYTES, MPI_BYTE, 1 - me, k, MPI_COMM_WORLD, &r[k]);
            else
                MPI_Irecv(in[k], BYTES, MPI_BYTE, 1 - me, k, MPI_COMM_WORLD, &r[k]);
        if (me == 1 && round == 2) {
            MPI_Wait(&r[0], MPI_STATUS_IGNORE);    // the others are under way
            raise(SIGKILL);
        }
        double began = MPI_Wtime();
        last = end_of(r);
        if (last == MPI_SUCCESS) continue;
        // Until the channel's last word about what it had is past: ofi gives a provider a second.
        for (int found; MPI_Wtime() - began < 1.2;) MPI_Iprobe(2, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        CHECK(last == MPIX_ERR_PROC_FAILED && me == 0 && round >= 2);
        for (int k = 0; frees && k < MESSAGES; k++) free(out[k]), free(in[k]);    // nobody uses them any more
        MPI_Send(&last, 1, MPI_INT, 2, 99, MPI_COMM_WORLD);
        break;
    }
    if (me == 2) printf("went on after %s\n", last == MPIX_ERR_PROC_FAILED ? "the death" : "what?");
}

// A performance variable, counted from here on until `counted`, once in a run.
static MPI_T_pvar_session session;
static MPI_T_pvar_handle counter;

static void count(const char *name, int class)
{
    int index, provided, n;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &counter, &n) == MPI_SUCCESS);
    MPI_T_pvar_start(session, counter);
}

static unsigned long long counted(void)
{
    unsigned long long n;
    CHECK(MPI_T_pvar_read(session, counter, &n) == MPI_SUCCESS);
    MPI_T_finalize();
    return n;
}

// A sleeper that looks now and again wakes every 2 ms, which makes 500 sleeps per second; one that spins never sleeps.
static void idle(int me)
{
    struct timespec busy = {.tv_sec = 2};
    int x = 0;
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - me, 0, &x, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    count("wait_sleeps", MPI_T_PVAR_CLASS_COUNTER);
    double start = MPI_Wtime();
    if (me == 0) {
        nanosleep(&busy, NULL);    // what is waited for
        MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        unsigned long long n = counted();
        double most = 50 + 50 * (MPI_Wtime() - start);
        if (n < 1 || (double)n > most) fprintf(stderr, "%llu sleeps\n", n);
        CHECK(n >= 1 && (double)n <= most);
        printf("slept well\n");
    }
}

// ---- windows ----

#define BLOCK (3 << 19)
#define BLOCKS 4

// What rank `of` puts into the blocks of its neighbour in this round.
static void expect_blocks(const unsigned char *at, int of, int round)
{
    for (int k = 0; k < BLOCKS; k++)
        for (size_t i = 0; i < BLOCK; i++) CHECK(at[(size_t)k * BLOCK + i] == byte_of(of, round, k, i));
}

static void begin(MPI_Win w, int how, int other)
{
    MPI_Group all, one;
    if (how == 0) MPI_Win_fence(0, w);
    if (how == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, w);
    if (how == 2) MPI_Win_lock_all(0, w);
    if (how < 3) return;
    MPI_Win_get_group(w, &all);
    MPI_Group_incl(all, 1, &other, &one);
    MPI_Win_post(one, 0, w);
    MPI_Win_start(one, 0, w);
    MPI_Group_free(&all);
    MPI_Group_free(&one);
}

static void end(MPI_Win w, int how, int other)
{
    if (how == 0) MPI_Win_fence(0, w);
    if (how == 1) MPI_Win_unlock(other, w);
    if (how == 2) MPI_Win_unlock_all(w);
    if (how == 3) MPI_Win_complete(w), MPI_Win_wait(w);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Both put; then both see what came, and get what they put.
static void put_and_get(MPI_Win w, const unsigned char *mine, int how, int me, int other)
{
    MPI_Request r[BLOCKS];
    int round = how;
    fill(me, round);
    begin(w, how, other);
    for (int k = 0; k < BLOCKS; k++) {
        MPI_Aint at = (MPI_Aint)k * BLOCK;
        if (how == 2)
            MPI_Rput(out[k], BLOCK, MPI_BYTE, other, at, BLOCK, MPI_BYTE, w, &r[k]);
        else
            MPI_Put(out[k], BLOCK, MPI_BYTE, other, at, BLOCK, MPI_BYTE, w);
    }
    if (how == 2) MPI_Waitall(BLOCKS, r, MPI_STATUSES_IGNORE);
    end(w, how, other);
    expect_blocks(mine, other, round);
    for (int k = 0; k < BLOCKS; k++) memset(in[k], 0, BLOCK);
    begin(w, how, other);
    for (int k = 0; k < BLOCKS; k++) {
        MPI_Aint at = (MPI_Aint)k * BLOCK;
        if (how == 2)
            MPI_Rget(in[k], BLOCK, MPI_BYTE, other, at, BLOCK, MPI_BYTE, w, &r[k]);
        else
            MPI_Get(in[k], BLOCK, MPI_BYTE, other, at, BLOCK, MPI_BYTE, w);
    }
    if (how == 2) MPI_Waitall(BLOCKS, r, MPI_STATUSES_IGNORE);
    for (int k = 0; how == 2 && k < BLOCKS; k++) CHECK(in[k][BLOCK - 1] == byte_of(me, round, k, BLOCK - 1));
    end(w, how, other);
    for (int k = 0; k < BLOCKS; k++)
        for (size_t i = 0; i < BLOCK; i++) CHECK(in[k][i] == byte_of(me, round, k, i));
}

// Large and small operations of one origin on the same bytes happen in the order called.
static void in_order(MPI_Win w, int me, int other)
{
    enum { SMALL = 1000 };
    int one = 1, old;
    fill(me, 9);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, w);
    for (int round = 0; round < 10; round++) {
        MPI_Put(out[0], BLOCK, MPI_BYTE, other, 0, BLOCK, MPI_BYTE, w);
        MPI_Put(out[1], SMALL, MPI_BYTE, other, BLOCK / 2, SMALL, MPI_BYTE, w);
        MPI_Get(in[0], BLOCK, MPI_BYTE, other, 0, BLOCK, MPI_BYTE, w);
        MPI_Put(out[2], BLOCK, MPI_BYTE, other, BLOCK / 2, BLOCK, MPI_BYTE, w);
        MPI_Get(in[1], SMALL, MPI_BYTE, other, BLOCK / 2, SMALL, MPI_BYTE, w);
        MPI_Accumulate(&one, 1, MPI_INT, other, BLOCK, 1, MPI_INT, MPI_REPLACE, w);
        MPI_Fetch_and_op(NULL, &old, MPI_INT, other, BLOCK, MPI_NO_OP, w);
        MPI_Get(in[2], BLOCK, MPI_BYTE, other, BLOCK / 2, BLOCK, MPI_BYTE, w);
        MPI_Win_flush(other, w);
        CHECK(memcmp(in[0], out[0], BLOCK / 2) == 0 && memcmp(in[0] + BLOCK / 2, out[1], SMALL) == 0);
        CHECK(memcmp(in[0] + BLOCK / 2 + SMALL, out[0] + BLOCK / 2 + SMALL, BLOCK / 2 - SMALL) == 0);
        CHECK(memcmp(in[1], out[2], SMALL) == 0);
        CHECK(old == 1 && memcmp(in[2], out[2], BLOCK / 2) == 0);
        CHECK(memcmp(in[2] + BLOCK / 2, &one, sizeof one) == 0);
        CHECK(memcmp(in[2] + BLOCK / 2 + sizeof one, out[2] + BLOCK / 2 + sizeof one, BLOCK / 2 - sizeof one) == 0);
    }
    MPI_Win_unlock(other, w);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void windows(int me, int other, bool memory)
{
    static unsigned char own[BLOCKS * BLOCK];
    count("ofi_window_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    for (int made = 0; made < 2; made++) {
        MPI_Win w;
        unsigned char *mine = own;
        if (made)
            MPI_Win_allocate(sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
        else
            MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        for (int how = 0; how < 4; how++) put_and_get(w, mine, how, me, other);
        in_order(w, me, other);
        MPI_Win_free(&w);
    }
    CHECK((counted() > 0) == memory);
    if (me == 0) printf("all is where it belongs\n");
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    CHECK(argc > 1);
    for (int k = 0; k < MESSAGES; k++) {
        out[k] = malloc(BYTES);
        in[k] = malloc(BYTES);
        CHECK(out[k] && in[k]);
    }
    if (strcmp(argv[1], "lanes") == 0) lanes(me, 1 - me);
    if (strcmp(argv[1], "dies") == 0) dies(me, strcmp(argv[2], "sender") == 0, strcmp(argv[3], "freed") == 0);
    if (strcmp(argv[1], "idle") == 0) idle(me);
    if (strcmp(argv[1], "windows") == 0) windows(me, 1 - me, strcmp(argv[2], "memory") == 0);
    MPI_Finalize();
    return 0;
}
