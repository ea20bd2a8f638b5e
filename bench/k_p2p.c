// SPDX-License-Identifier: BSD-3-Clause
// Family p2p, two ranks or a ring: latency in all its forms, windows of messages, matching and unexpected messages,
// overlap. Payload is filled by the sender with the seed of its rank and checked byte by byte by the receiver.
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAG = 11, STD = 0, SYNC, READY, BUFFERED, ISEND };

static void fill_own(struct run *r)
{
    bench_fill(r->sbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, (size_t)r->bytes);
}

static long check_peer(struct run *r)
{
    return bench_check(r->rbuf, (size_t)r->bytes, (unsigned long)r->peer + 1);
}

static void send_by_mode(struct run *r)
{
    MPI_Request q;
    switch (r->variant) {
    case STD: MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm); break;
    case SYNC: MPI_Ssend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm); break;
    case BUFFERED: MPI_Bsend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm); break;
    default: MPI_Isend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
}

// Ready sends need the receive posted first: each side posts its receive before it sends what lets the other one send.
static void ready_pingpong(struct run *r, long n)
{
    MPI_Request q;
    MPI_Irecv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
    MPI_Barrier(r->comm);
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) MPI_Rsend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        if (i + 1 < n) MPI_Irecv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
        if (r->rank == 1) MPI_Rsend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
    }
}

static void lat(struct run *r, long n)
{
    if (r->variant == READY) {
        ready_pingpong(r, n);
        return;
    }
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) send_by_mode(r);
        MPI_Recv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
        if (r->rank == 1) send_by_mode(r);
    }
}

static int pair_setup(struct run *r)
{
    return bench_buffers(r, (size_t)r->bytes + 8, (size_t)r->bytes + 8);
}

static void *attached;

static int lat_setup(struct run *r)
{
    if (pair_setup(r)) return -1;
    if (r->variant != BUFFERED) return 0;
    int size = (int)(4 * r->bytes + 4 * MPI_BSEND_OVERHEAD + 4096);
    attached = malloc((size_t)size);
    return MPI_Buffer_attach(attached, size) == MPI_SUCCESS ? 0 : -1;
}

static void lat_teardown(struct run *r)
{
    if (r->variant != BUFFERED) return;
    void *p;
    int size;
    MPI_Buffer_detach(&p, &size);
    free(attached);
}

static void plat(struct run *r, long n)
{
    MPI_Request q[2];
    MPI_Send_init(r->sbuf, r->count, r->type, r->peer, TAG, r->comm, &q[0]);
    MPI_Recv_init(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, &q[1]);
    for (long i = 0; i < n; i++)
        for (int step = 0; step < 2; step++) {
            int mine = r->rank == step ? 0 : 1;
            MPI_Start(&q[mine]);
            MPI_Wait(&q[mine], MPI_STATUS_IGNORE);
        }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void lat_any(struct run *r, long n)
{
    int source = r->variant == 1 ? r->peer : MPI_ANY_SOURCE, tag = r->variant == 0 ? TAG : MPI_ANY_TAG;
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
        MPI_Recv(r->rbuf, r->count, r->type, source, tag, r->comm, MPI_STATUS_IGNORE);
        if (r->rank == 1) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
    }
}

static void probe_then_receive(struct run *r)
{
    MPI_Status s;
    MPI_Message m;
    int count;
    if (r->variant == 0)
        MPI_Probe(r->peer, TAG, r->comm, &s);
    else
        MPI_Mprobe(r->peer, TAG, r->comm, &m, &s);
    MPI_Get_count(&s, r->type, &count);
    if (r->variant == 0)
        MPI_Recv(r->rbuf, count, r->type, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
    else
        MPI_Mrecv(r->rbuf, count, r->type, &m, MPI_STATUS_IGNORE);
}

static void lat_probe(struct run *r, long n)
{
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
        probe_then_receive(r);
        if (r->rank == 1) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
    }
}

static pid_t children[16];

static int fork_setup(struct run *r)
{
    if (pair_setup(r)) return -1;
    for (int i = 0; i < (r->o->depth ? r->o->depth : 2) && i < 16; i++) {
        fflush(NULL);
        children[i] = fork();
        if (children[i] == 0) {
            pause();
            _exit(0);
        }
    }
    return 0;
}

static void fork_teardown(struct run *r)
{
    (void)r;
    for (int i = 0; i < 16; i++) {
        if (children[i] <= 0) continue;
        kill(children[i], SIGTERM);
        waitpid(children[i], NULL, 0);
        children[i] = 0;
    }
}

static void lat_fork(struct run *r, long n)
{
    int variant = r->variant;
    r->variant = STD;
    lat(r, n);
    r->variant = variant;
}

static void pingping(struct run *r, long n)
{
    MPI_Request q;
    int source = r->variant == 1 ? MPI_ANY_SOURCE : r->peer;
    for (long i = 0; i < n; i++) {
        MPI_Isend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
        MPI_Recv(r->rbuf, r->count, r->type, source, TAG, r->comm, MPI_STATUS_IGNORE);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
}

static int pingping_setup(struct run *r)
{
    r->payload = (double)r->bytes;
    return pair_setup(r);
}

static int ring_setup(struct run *r)
{
    r->payload = 2 * (double)r->bytes;
    return pair_setup(r);
}

static void sendrecv(struct run *r, long n)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    for (long i = 0; i < n; i++)
        MPI_Sendrecv(r->sbuf, r->count, r->type, right, TAG, r->rbuf, r->count, r->type, left, TAG, r->comm,
                     MPI_STATUS_IGNORE);
}

static long check_left(struct run *r)
{
    return bench_check(r->rbuf, (size_t)r->bytes, (unsigned long)((r->rank + r->size - 1) % r->size) + 1);
}

static void sendrecv_replace(struct run *r, long n)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    for (long i = 0; i < n; i++)
        MPI_Sendrecv_replace(r->sbuf, r->count, r->type, right, TAG, left, TAG, r->comm, MPI_STATUS_IGNORE);
}

static long check_replaced(struct run *r)
{
    return bench_check(r->sbuf, (size_t)r->bytes, (unsigned long)((r->rank + r->size - 1) % r->size) + 1);
}

static int exchange_setup(struct run *r)
{
    r->payload = 4 * (double)r->bytes;
    return bench_buffers(r, (size_t)r->bytes + 8, 2 * (size_t)r->bytes + 8);
}

static void exchange(struct run *r, long n)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    MPI_Request q[4];
    for (long i = 0; i < n; i++) {
        MPI_Irecv(r->rbuf, r->count, r->type, left, TAG, r->comm, &q[0]);
        MPI_Irecv(r->rbuf + r->bytes, r->count, r->type, right, TAG + 1, r->comm, &q[1]);
        MPI_Isend(r->sbuf, r->count, r->type, right, TAG, r->comm, &q[2]);
        MPI_Isend(r->sbuf, r->count, r->type, left, TAG + 1, r->comm, &q[3]);
        MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    }
}

static long check_both(struct run *r)
{
    long bad = check_left(r);
    if (bad >= 0) return bad;
    bad = bench_check(r->rbuf + r->bytes, (size_t)r->bytes, (unsigned long)((r->rank + 1) % r->size) + 1);
    return bad < 0 ? bad : bad + r->bytes;
}

// `depth` receives that cannot match stand in the queue before the wanted one.
static double match_sample(struct run *r)
{
    int depth = (int)r->bytes;
    MPI_Request *q = malloc((size_t)(depth + 1) * sizeof *q);
    char junk, ping = 1;
    const int turns = 20;
    for (int i = 0; i < depth; i++) MPI_Irecv(&junk, 1, MPI_BYTE, r->peer, 1000 + i, r->comm, &q[i]);
    MPI_Barrier(r->comm);
    double start = bench_now();
    for (int i = 0; i < turns; i++) {
        if (r->rank == 0) MPI_Send(&ping, 1, MPI_BYTE, r->peer, TAG, r->comm);
        MPI_Recv(&ping, 1, MPI_BYTE, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
        if (r->rank == 1) MPI_Send(&ping, 1, MPI_BYTE, r->peer, TAG, r->comm);
    }
    double took = (bench_now() - start) / turns / 2;
    MPI_Barrier(r->comm);
    for (int i = 0; i < depth; i++) MPI_Send(&ping, 1, MPI_BYTE, r->peer, 1000 + i, r->comm);
    MPI_Waitall(depth, q, MPI_STATUSES_IGNORE);
    free(q);
    return took;
}

// The message is there before the receive: the barrier orders its arrival for eager ones, the drain is timed on rank 0.
static double unexp_sample(struct run *r)
{
    MPI_Request q = MPI_REQUEST_NULL;
    double took = 0;
    if (r->rank == 1) MPI_Isend(r->sbuf, r->count, r->type, 0, TAG, r->comm, &q);
    MPI_Barrier(r->comm);
    if (r->rank == 0) {
        double start = bench_now();
        MPI_Recv(r->rbuf, r->count, r->type, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        took = bench_now() - start;
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return took;
}

static int unexp_setup(struct run *r)
{
    r->payload = (double)r->bytes;
    return pair_setup(r);
}

static long check_root(struct run *r)
{
    return r->rank ? -1 : check_peer(r);
}

// Overlap of one message with work, seen from the sender or the receiver: rank 0 works, rank 1 answers in MPI at once.
static double timed_transfer(struct run *r, double work)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int sends = (r->variant == 0) == (r->rank == 0);
    MPI_Barrier(r->comm);
    double start = bench_now();
    if (sends)
        MPI_Isend(r->sbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
    else
        MPI_Irecv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
    if (r->rank == 0) bench_compute(work);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return bench_now() - start;
}

static double ovl_sample(struct run *r)
{
    double pure = timed_transfer(r, 0), work = r->o->compute > 0 ? r->o->compute : pure;
    double start = bench_now();
    bench_compute(work);
    double alone = bench_now() - start, total = timed_transfer(r, work);
    double least = pure < alone ? pure : alone;
    double raw = least > 0 ? 100 * (pure + alone - total) / least : 0;
    r->extra[0] = raw < 0 ? 0 : raw > 100 ? 100 : raw;
    r->extra[1] = raw;
    r->extra[2] = pure;
    r->extra[3] = alone;
    return total;
}

#define P2P .family = "p2p", .min_ranks = 2
const struct kernel bench_p2p_rows[] = {
    {.name = "lat",
     P2P,
     .max_ranks = 2,
     .what = "ping-pong, half the round trip",
     .flags = ROOT | HALF,
     .variants = "std,sync,ready,buffered,isend",
     .setup = lat_setup,
     .op = lat,
     .fill = fill_own,
     .check = check_peer,
     .teardown = lat_teardown},
    {.name = "plat",
     P2P,
     .max_ranks = 2,
     .what = "ping-pong with persistent requests, half the round trip",
     .flags = ROOT | HALF,
     .setup = pair_setup,
     .op = plat,
     .fill = fill_own,
     .check = check_peer},
    {.name = "lat-any",
     P2P,
     .max_ranks = 2,
     .what = "ping-pong received from a wildcard, half the round trip",
     .flags = ROOT | HALF,
     .variants = "source,tag,both",
     .setup = pair_setup,
     .op = lat_any,
     .fill = fill_own,
     .check = check_peer},
    {.name = "lat-probe",
     P2P,
     .max_ranks = 2,
     .what = "ping-pong, size found by a probe, half the round trip",
     .flags = ROOT | HALF,
     .variants = "probe,mprobe",
     .setup = pair_setup,
     .op = lat_probe,
     .fill = fill_own,
     .check = check_peer},
    {.name = "lat-fork",
     P2P,
     .max_ranks = 2,
     .what = "ping-pong with --depth live forked children on each side",
     .flags = ROOT | HALF,
     .setup = fork_setup,
     .op = lat_fork,
     .fill = fill_own,
     .check = check_peer,
     .teardown = fork_teardown},
    {.name = "pingping",
     P2P,
     .max_ranks = 2,
     .what = "both send at once: Isend, Recv, Wait",
     .variants = "source,any",
     .setup = pingping_setup,
     .op = pingping,
     .fill = fill_own,
     .check = check_peer},
    {.name = "sendrecv",
     P2P,
     .what = "periodic ring, to the right and from the left",
     .setup = ring_setup,
     .op = sendrecv,
     .fill = fill_own,
     .check = check_left},
    {.name = "sendrecv-rep",
     P2P,
     .what = "periodic ring in place",
     .setup = ring_setup,
     .op = sendrecv_replace,
     .fill = fill_own,
     .check = check_replaced},
    {.name = "exchange",
     P2P,
     .what = "ring with both neighbours, 2 Isend + 2 Irecv + Waitall",
     .setup = exchange_setup,
     .op = exchange,
     .fill = fill_own,
     .check = check_both},
    {.name = "match",
     P2P,
     .max_ranks = 2,
     .what = "1 B latency behind posted receives that cannot match",
     .flags = DEPTH,
     .sample = match_sample},
    {.name = "unexp",
     P2P,
     .max_ranks = 2,
     .what = "receive of a message that came before it",
     .setup = unexp_setup,
     .sample = unexp_sample,
     .fill = fill_own,
     .check = check_root},
    {.name = "ovl-p2p",
     P2P,
     .max_ranks = 2,
     .what = "start, compute, wait: total; overlap cut to 0..100, raw",
     .flags = ALLVARIANTS,
     .variants = "sender,receiver",
     .extras = "overlap %,raw %,pure us,compute us",
     .setup = pair_setup,
     .sample = ovl_sample},
    {0},
};
