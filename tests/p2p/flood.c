// SPDX-License-Identifier: BSD-3-Clause
// run: np=3 chan=shm,tcp
// run: np=3 chan=shm,tcp set=unexpected_max=65536
// A sender floods a receiver that waits for a third rank, with more small messages than its memory should hold: the
// memory of the receiver stays bounded, all messages arrive in order, and the memory goes back to the system.
#include "../check.h"

#include <stdbool.h>
#include <string.h>

#define MESSAGES 1000000
#define FIRST 200000     // of a first flood, after which the transport has what it allocates once and keeps
#define WINDOW 256       // sends under way
#define FRUITLESS 1.0    // s without a send that completes: the receiver takes no more (if not so, the test is weaker)
#define BOUND (48L << 10)    // KiB that a flood may cost the receiver: the largest limit, with what malloc adds
#define REST (8L << 10)      // KiB that may be left of it
#define LARGEST 512

// KiB that this process uses now (VmRSS), or used at most (VmHWM).
static long memory(const char *what)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0) kib = strtol(line + strlen(what) + 1, NULL, 10);
    fclose(f);
    CHECK(kib > 0);
    return kib;
}

// Message i: most are small.
static int bytes_of(int i)
{
    return i % 16 == 0 ? LARGEST : i % 3 == 0 ? 0 : 8 + i % 7;
}

static void fill(char *buf, int i)
{
    memset(buf, i % 251, (size_t)bytes_of(i));
}

static void tell_third(void)
{
    MPI_Send(NULL, 0, MPI_BYTE, 2, 1, MPI_COMM_WORLD);
}

// Whether the send completes soon.
static int completes(MPI_Request *r)
{
    int done = 0;
    MPI_Test(r, &done, MPI_STATUS_IGNORE);
    for (double start = MPI_Wtime(); !done && MPI_Wtime() - start < FRUITLESS;) MPI_Test(r, &done, MPI_STATUS_IGNORE);
    return done;
}

static void flood(int messages)
{
    static char buf[WINDOW][LARGEST];
    MPI_Request r[WINDOW];
    int told = 0;
    for (int k = 0; k < WINDOW; k++) r[k] = MPI_REQUEST_NULL;
    for (int i = 0; i < messages; i++) {
        int k = i % WINDOW;
        if (!told && !completes(&r[k]) && !told++) tell_third();
        MPI_Wait(&r[k], MPI_STATUS_IGNORE);
        fill(buf[k], i);
        MPI_Isend(buf[k], bytes_of(i), MPI_BYTE, 1, i % 5, MPI_COMM_WORLD, &r[k]);
    }
    if (!told) tell_third();
    MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE);
}

static void drain(int messages, MPI_Comm pair)
{
    char buf[LARGEST], want[LARGEST];
    bool measured = messages == MESSAGES;
    long before = memory("VmRSS");
    MPI_Barrier(pair);    // with the third rank, which comes when the sender is held or through
    for (int i = 0; i < messages; i++) {
        MPI_Status s;
        int n;
        MPI_Recv(buf, LARGEST, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, i % 5, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_BYTE, &n);
        fill(want, i);
        CHECK(n == bytes_of(i) && s.MPI_SOURCE == 0 && memcmp(buf, want, (size_t)n) == 0);
    }
#ifndef __SANITIZE_ADDRESS__    // keeps what was freed
    long most = memory("VmHWM") - before, rest = memory("VmRSS") - before;
    if (measured && (most > BOUND || rest > REST)) fprintf(stderr, "%ld KiB at most, %ld KiB at the end\n", most, rest);
    CHECK(!measured || most <= BOUND);
    CHECK(!measured || rest <= REST);
#else
    (void)before, (void)measured;
#endif
}

// Two ranks that send much to each other before they receive, on several communicators, as many programs do: what lies
// unreceived is within the limit, and nobody waits.
static void each_other(int other)
{
    enum { ROUNDS = 50, EACH = 100 };
    MPI_Comm comm[3];
    long sum = 0, got;
    for (int c = 0; c < 3; c++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[c]);
    for (int round = 0; round < ROUNDS && other >= 0; round++) {
        for (long i = 0; i < EACH; i++) MPI_Send(&i, 1, MPI_LONG, other, (int)i, comm[i % 3]);
        for (int i = 0; i < EACH; i++) {
            MPI_Message m;
            MPI_Status s;
            MPI_Mprobe(other, MPI_ANY_TAG, comm[i % 3], &m, &s);
            MPI_Mrecv(&got, 1, MPI_LONG, &m, &s);
            CHECK(got == s.MPI_TAG && got == i);
            sum += got;
        }
    }
    CHECK(other < 0 || sum == ROUNDS * (long)EACH * (EACH - 1) / 2);
    for (int c = 0; c < 3; c++) MPI_Comm_free(&comm[c]);
}

// The own rank is never held: it would wait for itself.
static void to_self(void)
{
    enum { MANY = 20000 };
    long i, got;
    for (i = 0; i < MANY; i++) MPI_Send(&i, 1, MPI_LONG, 0, 0, MPI_COMM_SELF);
    for (i = 0; i < MANY; i++) {
        MPI_Recv(&got, 1, MPI_LONG, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        CHECK(got == i);
    }
}

// Messages that nobody received when their communicator goes no longer count: else the sender would be held for ever.
static void forgotten(int rank)
{
    long x = 0;
    for (int round = 0; round < 200; round++) {
        MPI_Comm c;
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        for (int i = 0; i < 20 && rank == 0; i++) MPI_Send(&x, 1, MPI_LONG, 1, 0, c);
        MPI_Barrier(c);
        MPI_Comm_free(&c);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &pair);
    for (int turn = 0; turn < 2; turn++) {
        int messages = turn ? MESSAGES : FIRST;
        if (rank == 0) flood(messages);
        if (rank == 1) drain(messages, pair);
        if (rank == 2) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(pair);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    each_other(rank < 2 ? 1 - rank : -1);
    to_self();
    forgotten(rank);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}
