// SPDX-License-Identifier: BSD-3-Clause
// Family p2p, windows and pairs: bandwidth one way and both ways (plain and persistent), several pairs at once, message
// rate, fan-in and fan-out, random pairs. Every window slot has its own buffer; its content is checked after each size.
#include "bench.h"

#include <string.h>

enum { TAG = 12, ACK = 13 };

static int window_setup(struct run *r)
{
    int both = strstr(r->k->name, "bi") != NULL;
    int pairs = r->size / 2;
    r->payload = (double)r->bytes * r->window * pairs * (both ? 2 : 1);
    r->msgs = (double)r->window * pairs * (both ? 2 : 1);
    return bench_buffers(r, (size_t)r->bytes * (size_t)r->window + 8, (size_t)r->bytes * (size_t)r->window + 8);
}

static void window_fill(struct run *r)
{
    bench_fill(r->sbuf, (size_t)r->bytes * (size_t)r->window, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, (size_t)r->bytes * (size_t)r->window);
}

static long window_check(struct run *r)
{
    int receives = r->rank >= r->size / 2 || strstr(r->k->name, "bi");
    return receives ? bench_check(r->rbuf, (size_t)r->bytes * (size_t)r->window, (unsigned long)r->peer + 1) : -1;
}

static void post(struct run *r, int send, MPI_Request *q)
{
    char *p = send ? r->sbuf : r->rbuf;
    for (int w = 0; w < r->window; w++, p += r->bytes) {
        if (send)
            MPI_Isend(p, r->count, r->type, r->peer, TAG, r->comm, &q[w]);
        else
            MPI_Irecv(p, r->count, r->type, r->peer, TAG, r->comm, &q[w]);
    }
}

// The end of a window: one byte back.
static void answer(struct run *r, int sender)
{
    char ack = 0;
    if (sender)
        MPI_Recv(&ack, 1, MPI_BYTE, r->peer, ACK, r->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(&ack, 1, MPI_BYTE, r->peer, ACK, r->comm);
}

static void bw(struct run *r, long n)
{
    int sender = r->rank < r->size / 2;
    for (long i = 0; i < n; i++) {
        post(r, sender, r->req);
        MPI_Waitall(r->window, r->req, MPI_STATUSES_IGNORE);
        answer(r, sender);
    }
}

static void bibw(struct run *r, long n)
{
    char in, out = 0;
    for (long i = 0; i < n; i++) {
        post(r, 0, r->req);
        post(r, 1, r->req + r->window);
        MPI_Waitall(2 * r->window, r->req, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(&out, 1, MPI_BYTE, r->peer, ACK, &in, 1, MPI_BYTE, r->peer, ACK, r->comm, MPI_STATUS_IGNORE);
    }
}

// Blocking sends and receives.
static void bw_send(struct run *r, long n)
{
    int sender = r->rank < r->size / 2;
    for (long i = 0; i < n; i++) {
        char *p = sender ? r->sbuf : r->rbuf;
        for (int w = 0; w < r->window; w++, p += r->bytes) {
            if (sender)
                MPI_Send(p, r->count, r->type, r->peer, TAG, r->comm);
            else
                MPI_Recv(p, r->count, r->type, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
        }
        answer(r, sender);
    }
}

static void make_persistent(struct run *r, int send, MPI_Request *q)
{
    char *p = send ? r->sbuf : r->rbuf;
    for (int w = 0; w < r->window; w++, p += r->bytes) {
        if (send)
            MPI_Send_init(p, r->count, r->type, r->peer, TAG, r->comm, &q[w]);
        else
            MPI_Recv_init(p, r->count, r->type, r->peer, TAG, r->comm, &q[w]);
    }
}

static int pwindow_setup(struct run *r)
{
    if (window_setup(r)) return -1;
    if (!strcmp(r->k->name, "pbibw")) {
        make_persistent(r, 0, r->req);
        make_persistent(r, 1, r->req + r->window);
    } else
        make_persistent(r, r->rank < r->size / 2, r->req);
    return 0;
}

static void pwindow_end(struct run *r)
{
    int n = !strcmp(r->k->name, "pbibw") ? 2 * r->window : r->window;
    for (int i = 0; i < n; i++) MPI_Request_free(&r->req[i]);
}

static void pbw(struct run *r, long n)
{
    char in, out = 0;
    int all = !strcmp(r->k->name, "pbibw") ? 2 * r->window : r->window;
    for (long i = 0; i < n; i++) {
        MPI_Startall(all, r->req);
        MPI_Waitall(all, r->req, MPI_STATUSES_IGNORE);
        if (all > r->window)
            MPI_Sendrecv(&out, 1, MPI_BYTE, r->peer, ACK, &in, 1, MPI_BYTE, r->peer, ACK, r->comm, MPI_STATUS_IGNORE);
        else
            answer(r, r->rank < r->size / 2);
    }
}

static int pairs_setup(struct run *r)
{
    return bench_buffers(r, (size_t)r->bytes + 8, (size_t)r->bytes + 8);
}

static void pairs_fill(struct run *r)
{
    bench_fill(r->sbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, (size_t)r->bytes);
}

static long pairs_check(struct run *r)
{
    return bench_check(r->rbuf, (size_t)r->bytes, (unsigned long)r->peer + 1);
}

static inline void bounce(struct run *r, long n, void (*receive)(struct run *r))
{
    int first = r->rank < r->size / 2;
    for (long i = 0; i < n; i++) {
        if (first) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
        receive(r);
        if (!first) MPI_Send(r->sbuf, r->count, r->type, r->peer, TAG, r->comm);
    }
}

static void wait_until_received(struct run *r)
{
    MPI_Recv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, MPI_STATUS_IGNORE);
}

static void mlat(struct run *r, long n)
{
    bounce(r, n, wait_until_received);
}

static void look_until_received(struct run *r)
{
    int come = 0;
    MPI_Request q;
    if (r->variant == 0) {
        MPI_Irecv(r->rbuf, r->count, r->type, r->peer, TAG, r->comm, &q);
        while (!come) MPI_Test(&q, &come, MPI_STATUS_IGNORE);
        return;
    }
    while (!come) MPI_Iprobe(r->peer, TAG, r->comm, &come, MPI_STATUS_IGNORE);
    wait_until_received(r);
}

static void mlat_test(struct run *r, long n)
{
    bounce(r, n, look_until_received);
}

// Many to one, or one to many: rank 0 is the one.
static int fan_setup(struct run *r)
{
    r->window = r->window / (r->size - 1) > 0 ? r->window / (r->size - 1) : 1;
    r->msgs = (double)r->window * (r->size - 1);
    r->payload = r->msgs * (double)r->bytes;
    return bench_buffers(r, (size_t)r->bytes * (size_t)r->msgs + 8, (size_t)r->bytes * (size_t)r->msgs + 8);
}

static void fan_fill(struct run *r)
{
    bench_fill(r->sbuf, (size_t)r->bytes * (size_t)r->window, 1);
    for (int p = 1; p < r->size && r->rank == 0; p++)
        bench_fill(r->sbuf + (size_t)r->bytes * (size_t)r->window * (size_t)(p - 1),
                   (size_t)r->bytes * (size_t)r->window, 1);
    memset(r->rbuf, 0, (size_t)r->bytes * (size_t)r->msgs);
}

static long fan_check(struct run *r)
{
    int in = !strcmp(r->k->name, "fan-in");
    size_t part = (size_t)r->bytes * (size_t)r->window;
    if (in == (r->rank != 0)) return -1;
    for (int p = 0; p < (in ? r->size - 1 : 1); p++) {
        long bad = bench_check(r->rbuf + part * (size_t)p, part, 1);
        if (bad >= 0) return bad;
    }
    return -1;
}

static void fan(struct run *r, long n)
{
    int in = !strcmp(r->k->name, "fan-in"), one = r->rank == 0, send = in != one;
    int all = one ? r->window * (r->size - 1) : r->window;
    double link = 0, least = 0, most = 0;    // seconds that a link's window took, as its far end saw it
    for (long i = 0; i < n; i++) {
        char *p = send ? r->sbuf : r->rbuf;
        double begun = one ? 0 : bench_now();
        for (int w = 0; w < all; w++, p += r->bytes) {
            int peer = one ? 1 + w / r->window : 0;
            if (send)
                MPI_Isend(p, r->count, r->type, peer, TAG, r->comm, &r->req[w]);
            else
                MPI_Irecv(p, r->count, r->type, peer, TAG, r->comm, &r->req[w]);
        }
        MPI_Waitall(all, r->req, MPI_STATUSES_IGNORE);
        least = most = 0;
        for (int peer = 1; peer < r->size && one; peer++) {
            MPI_Recv(&link, 1, MPI_DOUBLE, peer, ACK, r->comm, MPI_STATUS_IGNORE);
            if (peer == 1 || link < least) least = link;
            if (link > most) most = link;
        }
        if (!one) link = bench_now() - begun;
        if (!one) MPI_Send(&link, 1, MPI_DOUBLE, 0, ACK, r->comm);
    }
    r->extra[0] = least;
    r->extra[1] = most;
    r->extra[2] = least > 0 ? most / least : 0;
}

static int random_setup(struct run *r)
{
    static unsigned long state;
    state = r->o->seed;
    r->priv = &state;
    int pairs = r->size / 2;
    r->msgs = pairs;
    if (!strcmp(r->k->name, "rand-bi")) r->msgs = 2 * pairs;
    if (!strcmp(r->k->name, "rand-ring")) r->msgs = r->size;
    r->payload = r->msgs * (double)r->bytes;
    return pairs_setup(r);
}

enum { CROWD = 1024 };

// All ranks draw the same shuffled order from the same seed.
static void shuffle(struct run *r, int *order)
{
    int n = r->size < CROWD ? r->size : CROWD;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(bench_random(r->priv) % (unsigned long)(i + 1)), keep = order[i];
        order[i] = order[j];
        order[j] = keep;
    }
}

static int place(const int *order, int n, int rank)
{
    for (int i = 0; i < n; i++)
        if (order[i] == rank) return i;
    return -1;
}

static void rand_pairs(struct run *r, long n)
{
    int order[CROWD], both = !strcmp(r->k->name, "rand-bi"), size = r->size < CROWD ? r->size : CROWD;
    for (long i = 0; i < n; i++) {
        shuffle(r, order);
        int at = place(order, size, r->rank), first = at % 2 == 0, with = at < 0 ? size : at ^ 1;
        if (with >= size) continue;
        if (both)
            MPI_Sendrecv(r->sbuf, r->count, r->type, order[with], TAG, r->rbuf, r->count, r->type, order[with], TAG,
                         r->comm, MPI_STATUS_IGNORE);
        else if (first)
            MPI_Send(r->sbuf, r->count, r->type, order[with], TAG, r->comm);
        else
            MPI_Recv(r->rbuf, r->count, r->type, order[with], TAG, r->comm, MPI_STATUS_IGNORE);
    }
}

static void rand_ring(struct run *r, long n)
{
    int order[CROWD], size = r->size < CROWD ? r->size : CROWD;
    for (long i = 0; i < n; i++) {
        shuffle(r, order);
        int at = place(order, size, r->rank);
        if (at < 0) continue;
        MPI_Sendrecv(r->sbuf, r->count, r->type, order[(at + 1) % size], TAG, r->rbuf, r->count, r->type,
                     order[(at + size - 1) % size], TAG, r->comm, MPI_STATUS_IGNORE);
    }
}

static void random_fill(struct run *r)
{
    bench_fill(r->sbuf, (size_t)r->bytes, 5);
    bench_fill(r->rbuf, (size_t)r->bytes, 5);
    if (r->bytes && strcmp(r->k->name, "rand-uni") != 0)
        memset(r->rbuf, 0, (size_t)r->bytes);    // uni: half of them receive nothing
    if (r->size % 2 && strcmp(r->k->name, "rand-ring") != 0)
        bench_fill(r->rbuf, (size_t)r->bytes, 5);    // one is left alone
}

static long random_check(struct run *r)
{
    return bench_check(r->rbuf, (size_t)r->bytes, 5);
}

#define P2P .family = "p2p", .min_ranks = 2
#define WINDOWED .setup = window_setup, .fill = window_fill, .check = window_check
const struct kernel bench_multi_rows[] = {
    {.name = "bw",
     P2P,
     .max_ranks = 2,
     .what = "window of messages one way, then one byte back",
     .flags = ROOT,
     .op = bw,
     WINDOWED},
    {.name = "bibw", P2P, .max_ranks = 2, .what = "windows both ways at once", .op = bibw, WINDOWED},
    {.name = "pbw",
     P2P,
     .max_ranks = 2,
     .what = "bw with persistent requests",
     .flags = ROOT,
     .op = pbw,
     .setup = pwindow_setup,
     .fill = window_fill,
     .check = window_check,
     .teardown = pwindow_end},
    {.name = "pbibw",
     P2P,
     .max_ranks = 2,
     .what = "bibw with persistent requests",
     .op = pbw,
     .setup = pwindow_setup,
     .fill = window_fill,
     .check = window_check,
     .teardown = pwindow_end},
    {.name = "mlat",
     P2P,
     .what = "ping-pong of all pairs (r, r + n/2) at once, half the round trip",
     .flags = EVEN | HALF,
     .op = mlat,
     .setup = pairs_setup,
     .fill = pairs_fill,
     .check = pairs_check},
    {.name = "mlat-test",
     P2P,
     .what = "mlat received by looking again and again, half the round trip",
     .flags = EVEN | HALF,
     .variants = "test,iprobe",
     .op = mlat_test,
     .setup = pairs_setup,
     .fill = pairs_fill,
     .check = pairs_check},
    {.name = "mbw", P2P, .what = "bw of all pairs at once, sum; message rate", .flags = EVEN, .op = bw, WINDOWED},
    {.name = "mbw-send", P2P, .what = "mbw with blocking sends and receives", .flags = EVEN, .op = bw_send, WINDOWED},
    {.name = "mbibw", P2P, .what = "bibw of all pairs at once, sum", .flags = EVEN, .op = bibw, WINDOWED},
    {.name = "fan-in",
     P2P,
     .what = "windows from all others to rank 0",
     .extras = "link_least us,link_most us,link_spread x",
     .op = fan,
     .setup = fan_setup,
     .fill = fan_fill,
     .check = fan_check},
    {.name = "fan-out",
     P2P,
     .what = "windows from rank 0 to all others",
     .extras = "link_least us,link_most us,link_spread x",
     .op = fan,
     .setup = fan_setup,
     .fill = fan_fill,
     .check = fan_check},
    {.name = "rand-uni",
     P2P,
     .what = "random pairs, one way, drawn anew each time",
     .op = rand_pairs,
     .setup = random_setup,
     .fill = random_fill,
     .check = random_check},
    {.name = "rand-bi",
     P2P,
     .what = "random pairs, both ways, drawn anew each time",
     .op = rand_pairs,
     .setup = random_setup,
     .fill = random_fill,
     .check = random_check},
    {.name = "rand-ring",
     P2P,
     .what = "ring in a random order, drawn anew each time",
     .op = rand_ring,
     .setup = random_setup,
     .fill = random_fill,
     .check = random_check},
    {0},
};
