// SPDX-License-Identifier: BSD-3-Clause
// The clock: its cost and tick, the offset between ranks' clocks, and the calibrated work loop used by overlap, noise
// and partitioned rows. Ranks on one host read the same monotonic clock, so their offset is 0 by definition; for others
// rank 0 pings each and keeps the smallest round trip: offset = remote - middle of the trip, with half the trip as its
// error bound.
#include "bench.h"

#include <string.h>

double bench_offset;
static double loops_per_second;

void bench_clock_measure(struct bench_clock *c)
{
    double first = bench_now(), last = first, tick = 1;
    long reads = 20000;
    for (long i = 0; i < reads; i++) {
        double t = bench_now();
        if (t > last && t - last < tick) tick = t - last;
        last = t;
    }
    c->cost = (last - first) / (double)reads;
    struct timespec res;
    clock_getres(CLOCK_MONOTONIC, &res);
    c->tick = (double)res.tv_sec + 1e-9 * (double)res.tv_nsec;
}

static double ping(MPI_Comm comm, int rank, double *offset)
{
    double best = 1e9;
    for (int i = 0; i < 100; i++) {
        double sent = bench_now(), there;
        MPI_Send(&sent, 1, MPI_DOUBLE, rank, 7, comm);
        MPI_Recv(&there, 1, MPI_DOUBLE, rank, 7, comm, MPI_STATUS_IGNORE);
        double trip = bench_now() - sent;
        if (trip >= best) continue;
        best = trip;
        *offset = there - (sent + trip / 2);
    }
    return best / 2;
}

static void pong(MPI_Comm comm)
{
    for (int i = 0; i < 100; i++) {
        double t;
        MPI_Recv(&t, 1, MPI_DOUBLE, 0, 7, comm, MPI_STATUS_IGNORE);
        t = bench_now();
        MPI_Send(&t, 1, MPI_DOUBLE, 0, 7, comm);
    }
}

// Measures every rank's offset (far ones only, if asked) into answer[0], with its error bound in answer[1].
static void measure(MPI_Comm comm, int remote_only, double answer[2])
{
    int rank, size, len;
    char mine[MPI_MAX_PROCESSOR_NAME] = "", root[MPI_MAX_PROCESSOR_NAME];
    answer[0] = answer[1] = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Get_processor_name(mine, &len);
    memcpy(root, mine, sizeof root);
    MPI_Bcast(root, sizeof root, MPI_CHAR, 0, comm);
    int far = !remote_only || strcmp(mine, root) != 0;
    for (int i = 1; i < size; i++) {
        int ask = far;
        if (rank == i) MPI_Send(&ask, 1, MPI_INT, 0, 6, comm);
        if (rank == 0) MPI_Recv(&ask, 1, MPI_INT, i, 6, comm, MPI_STATUS_IGNORE);
        if (!ask) continue;
        if (rank == 0) {
            answer[1] = ping(comm, i, &answer[0]);
            MPI_Send(answer, 2, MPI_DOUBLE, i, 8, comm);
        } else if (rank == i) {
            pong(comm);
            MPI_Recv(answer, 2, MPI_DOUBLE, 0, 8, comm, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) answer[0] = answer[1] = 0;
}

double bench_clock_sync(MPI_Comm comm, int remote_only)
{
    double answer[2];
    measure(comm, remote_only, answer);
    if (remote_only) bench_offset = answer[0];
    return answer[1];
}

double bench_clock_drift(MPI_Comm comm, int remote_only, double *bound)
{
    double answer[2], worst[2];
    measure(comm, remote_only, answer);
    answer[0] -= remote_only && answer[1] == 0 ? answer[0] : bench_offset;    // a near rank has no offset
    if (answer[0] < 0) answer[0] = -answer[0];
    MPI_Reduce(answer, worst, 2, MPI_DOUBLE, MPI_MAX, 0, comm);
    *bound = worst[1];
    return worst[0];
}

static volatile double sink;

static void work(long loops)
{
    double x = sink;
    for (long i = 0; i < loops; i++) {
        x = x * 0.999999 + 1e-3;
        __asm__ volatile("" : "+m"(x));    // opaque: a loop that the compiler sees through is no work
    }
    sink = x;
}

void bench_compute_calibrate(void)
{
    const long loops = 200000;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double start = bench_now();
        work(loops);
        double t = bench_now() - start;
        if (t < best) best = t;
    }
    loops_per_second = (double)loops / best;
}

void bench_compute(double seconds)
{
    if (loops_per_second == 0) bench_compute_calibrate();
    if (seconds > 0) work((long)(seconds * loops_per_second));
}
