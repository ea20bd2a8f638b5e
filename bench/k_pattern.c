// SPDX-License-Identifier: BSD-3-Clause
// Family pattern: halo exchange in 2, 3 or n dimensions and the wavefront sweep of a transport code. Variants move the
// same bytes: one thread (st), every thread its part of a face (mt), one partitioned request per face whose parts
// the threads make ready (part), persistent requests (pers), a neighbourhood collective (ncoll). Every step: all
// threads compute (--compute, --noise), then exchange.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 31, DIMS = 4, FACES = 2 * DIMS, MOST = 64, ST = 0, MT, PART, PERS, NCOLL };

struct pattern {
    struct run *r;
    struct team *team;
    MPI_Comm grid;
    int dims, threads, size[DIMS], at[DIMS];
    int to[FACES];    // neighbour behind face 2d (lower) and 2d + 1 (upper)
    long face, n;     // bytes of a face, a multiple of the threads
    MPI_Request req[2 * FACES];
    int made;
    unsigned long state;
    double delay[MOST];
};

static char *face_of(struct pattern *p, char *base, int f)
{
    return base + f * p->face;
}

// Dimensions from --dims or as even as can be. Sweeps are not periodic, halos are.
static int make_grid(struct run *r, struct pattern *p, int periodic)
{
    int wrap[DIMS], product = 1;
    const char *text = r->o->dims;
    memset(p->size, 0, sizeof p->size);
    for (int d = 0; text && d < p->dims; d++) {
        p->size[d] = atoi(text);
        product *= p->size[d];
        text = strchr(text, 'x');
        if (text) text++;
    }
    if (r->o->dims && product != r->size) {
        snprintf(r->skip, sizeof r->skip, "--dims %s is not a grid of %d ranks in %d dimensions", r->o->dims, r->size,
                 p->dims);
        return -1;
    }
    MPI_Dims_create(r->size, p->dims, p->size);
    for (int d = 0; d < p->dims; d++) wrap[d] = periodic;
    MPI_Cart_create(r->comm, p->dims, p->size, wrap, 0, &p->grid);
    bench_guard(p->grid);
    int rank;
    MPI_Comm_rank(p->grid, &rank);
    MPI_Cart_coords(p->grid, rank, p->dims, p->at);
    for (int d = 0; d < p->dims; d++) MPI_Cart_shift(p->grid, d, 1, &p->to[2 * d], &p->to[2 * d + 1]);
    return 0;
}

// Tag of a message that leaves through face f: distinct also where both neighbours are the same rank.
static int tag_of(int f)
{
    return TAG + f;
}

static int make_requests(struct run *r, struct pattern *p)
{
    for (int f = 0; f < 2 * p->dims; f++) {
        char *out = face_of(p, r->sbuf, f), *in = face_of(p, r->rbuf, f);
        int n = (int)p->face, code = MPI_SUCCESS;
        MPI_Request *q = &p->req[2 * f];
        p->made = 2 * f + 2;
        q[0] = q[1] = MPI_REQUEST_NULL;
        if (p->to[f] == MPI_PROC_NULL) continue;    // peers fail on partitioned requests to nobody
        if (r->variant == PERS) {
            MPI_Recv_init(in, n, MPI_BYTE, p->to[f], tag_of(f ^ 1), p->grid, q);
            MPI_Send_init(out, n, MPI_BYTE, p->to[f], tag_of(f), p->grid, q + 1);
        }
#if HAVE_MPI4
        if (r->variant == PART) {
            MPI_Count each = (MPI_Count)(n / p->threads);
            code = MPI_Precv_init(in, p->threads, each, MPI_BYTE, p->to[f], tag_of(f ^ 1), p->grid, MPI_INFO_NULL, q);
            if (code == MPI_SUCCESS)
                code =
                    MPI_Psend_init(out, p->threads, each, MPI_BYTE, p->to[f], tag_of(f), p->grid, MPI_INFO_NULL, q + 1);
        }
#else
        if (r->variant == PART) return snprintf(r->skip, sizeof r->skip, "needs the partitioned calls of MPI 4"), -1;
#endif
        if (!bench_ok(r, code, "partitioned init")) return -1;
    }
    return 0;
}

static void make_ready(struct pattern *p, int part, int face)
{
#if HAVE_MPI4
    if (p->to[face] != MPI_PROC_NULL) MPI_Pready(part, p->req[2 * face + 1]);
#else
    (void)p, (void)part, (void)face;
#endif
}

// All faces, each cut into `cuts` parts of which this call moves number `part`.
static void swap_faces(struct pattern *p, int part, int cuts)
{
    MPI_Request q[2 * FACES];
    int n = 0, bytes = (int)(p->face / cuts);
    long at = (long)part * bytes;
    for (int f = 0; f < 2 * p->dims; f++) {
        MPI_Irecv(face_of(p, p->r->rbuf, f) + at, bytes, MPI_BYTE, p->to[f], tag_of(f ^ 1) + FACES * part, p->grid,
                  &q[n++]);
        MPI_Isend(face_of(p, p->r->sbuf, f) + at, bytes, MPI_BYTE, p->to[f], tag_of(f) + FACES * part, p->grid,
                  &q[n++]);
    }
    MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
}

static void halo_step(struct pattern *p, int t)
{
    int variant = p->r->variant, faces = 2 * p->dims;
    if (variant == PART && t == 0) MPI_Startall(p->made, p->req);
    bench_team_meet(p->team);
    bench_compute(p->delay[t]);
    if (variant == MT) swap_faces(p, t, p->threads);
    if (variant == PART)
        for (int f = 0; f < faces; f++) make_ready(p, t, f);
    if (variant != PART) bench_team_meet(p->team);    // join
    if (t == 0 && variant == ST) swap_faces(p, 0, 1);
    if (t == 0 && variant == PERS) MPI_Startall(p->made, p->req);
    if (t == 0 && (variant == PERS || variant == PART)) MPI_Waitall(p->made, p->req, MPI_STATUSES_IGNORE);
    if (t == 0 && variant == NCOLL)
        MPI_Neighbor_alltoall(p->r->sbuf, (int)p->face, MPI_BYTE, p->r->rbuf, (int)p->face, MPI_BYTE, p->grid);
}

static void halo_turn(void *arg, int t)
{
    struct pattern *p = arg;
    for (long i = 0; i < p->n; i++) halo_step(p, t);
}

static struct pattern *prepare(struct run *r, int dims, int periodic)
{
    struct pattern *p = calloc(1, sizeof *p);
    p->r = r;
    p->dims = dims;
    p->grid = MPI_COMM_NULL;
    p->threads = bench_threads(r, 1, MOST);
    p->face = (r->bytes + p->threads - 1) / p->threads * p->threads;
    p->state = r->o->seed + (unsigned long)r->rank;
    r->priv = p;
    if (make_grid(r, p, periodic)) return NULL;
    size_t all = (size_t)p->face * FACES + 8;
    return bench_buffers(r, all, all) ? NULL : p;
}

static int halo_setup(struct run *r)
{
    int dims = !strcmp(r->k->name, "halo2d") ? 2 : !strcmp(r->k->name, "halo3d") ? 3 : r->o->depth ? r->o->depth : 4;
    struct pattern *p = prepare(r, dims > DIMS ? DIMS : dims, 1);
    if (!p || ((r->variant == PART || r->variant == PERS) && make_requests(r, p))) return -1;
    p->team = bench_team(p->threads, halo_turn, p);
    r->payload = 2.0 * p->dims * (double)p->face;
    return 0;
}

static void pattern_op(struct run *r, long n)
{
    struct pattern *p = r->priv;
    bench_delays(r, &p->state, p->delay, p->threads);
    p->n = n;
    bench_team_run(p->team, &r->in, &r->out);
}

static void pattern_end(struct run *r)
{
    struct pattern *p = r->priv;
    if (!p) return;
    bench_team_end(p->team);
    for (int i = 0; i < p->made; i++)
        if (p->req[i] != MPI_REQUEST_NULL) MPI_Request_free(&p->req[i]);
    if (p->grid != MPI_COMM_NULL) MPI_Comm_free(&p->grid);
    free(p);
    r->priv = NULL;
}

// In a dimension of one or two ranks both neighbours are the same rank, and libraries differ in which of its two blocks
// of a neighbourhood collective comes first; both faces then hold the same data.
static unsigned long seed(const struct pattern *p, int rank, int face)
{
    int same = p->r->variant == NCOLL && p->size[face / 2] <= 2;
    return (unsigned long)(rank * FACES + (same ? face & ~1 : face)) + 1;
}

static void faces_fill(struct run *r)
{
    struct pattern *p = r->priv;
    for (int f = 0; f < 2 * p->dims; f++) bench_fill(face_of(p, r->sbuf, f), (size_t)p->face, seed(p, r->rank, f));
    memset(r->rbuf, 0, (size_t)p->face * FACES);
}

static long faces_check(struct run *r)
{
    struct pattern *p = r->priv;
    for (int f = 0; f < 2 * p->dims; f++) {
        if (p->to[f] == MPI_PROC_NULL) continue;
        long bad = bench_check(face_of(p, r->rbuf, f), (size_t)p->face, seed(p, p->to[f], f ^ 1));
        if (bad >= 0) return f * p->face + bad;
    }
    return -1;
}

// One corner of a sweep: the wave enters from faces fx, fy and leaves by the opposite ones, in k blocks along the third
// axis.
static void receive_part(struct pattern *p, int face, int part, int cuts)
{
    int bytes = (int)(p->face / cuts);
    MPI_Recv(face_of(p, p->r->rbuf, face) + (long)part * bytes, bytes, MPI_BYTE, p->to[face],
             tag_of(face ^ 1) + FACES * part, p->grid, MPI_STATUS_IGNORE);
}

static void send_part(struct pattern *p, int face, int part, int cuts)
{
    int bytes = (int)(p->face / cuts);
    MPI_Send(face_of(p, p->r->sbuf, face) + (long)part * bytes, bytes, MPI_BYTE, p->to[face],
             tag_of(face) + FACES * part, p->grid);
}

static void start(MPI_Request *q)
{
    if (*q != MPI_REQUEST_NULL) MPI_Start(q);
}

static void sweep_block(struct pattern *p, int t, const int in[2], const int out[2])
{
    int variant = p->r->variant;
    if (variant == PART && t == 0)
        for (int i = 0; i < 2; i++) {
            start(&p->req[2 * in[i]]);
            start(&p->req[2 * out[i] + 1]);
            MPI_Wait(&p->req[2 * in[i]], MPI_STATUS_IGNORE);
        }
    for (int i = 0; i < 2; i++) {
        if (variant == ST && t == 0) receive_part(p, in[i], 0, 1);
        if (variant == MT) receive_part(p, in[i], t, p->threads);
    }
    if (variant != MT) bench_team_meet(p->team);
    bench_compute(p->delay[t]);
    for (int i = 0; i < 2; i++) {
        if (variant == MT) send_part(p, out[i], t, p->threads);
        if (variant == PART) make_ready(p, t, out[i]);
    }
    if (variant != MT) bench_team_meet(p->team);
    for (int i = 0; i < 2 && t == 0; i++) {
        if (variant == ST) send_part(p, out[i], 0, 1);
        if (variant == PART) MPI_Wait(&p->req[2 * out[i] + 1], MPI_STATUS_IGNORE);
    }
}

static void sweep_turn(void *arg, int t)
{
    struct pattern *p = arg;
    int blocks = p->r->o->depth ? p->r->o->depth : 4;
    for (long i = 0; i < p->n; i++)
        for (int corner = 0; corner < 8; corner++) {
            int x = corner & 1, y = (corner >> 1) & 1;
            const int in[2] = {x, 2 + y}, out[2] = {x ^ 1, 2 + (y ^ 1)};
            for (int k = 0; k < blocks; k++) sweep_block(p, t, in, out);
        }
}

static int sweep_setup(struct run *r)
{
    struct pattern *p = prepare(r, 2, 0);
    if (!p || (r->variant == PART && make_requests(r, p))) return -1;
    p->team = bench_team(p->threads, sweep_turn, p);
    int blocks = r->o->depth ? r->o->depth : 4, ways = 0;
    for (int f = 0; f < 4; f++) ways += p->to[f] != MPI_PROC_NULL;
    r->payload = 4.0 * blocks * ways * (double)p->face;    // each face is left through by half of the corners
    return 0;
}

#define PATTERN .family = "pattern", .op = pattern_op, .fill = faces_fill, .check = faces_check, .teardown = pattern_end
#define HALO .flags = THREADED, .variants = "st,mt,part,pers,ncoll", .setup = halo_setup
const struct kernel bench_pattern_rows[] = {
    {.name = "halo2d",
     PATTERN,
     .min_ranks = 4,
     .what = "a step of a 5-point halo exchange, periodic; size of a face",
     HALO},
    {.name = "halo3d",
     PATTERN,
     .min_ranks = 8,
     .what = "a step of a 7-point halo exchange, periodic; size of a face",
     HALO},
    {.name = "halo-nd", PATTERN, .min_ranks = 2, .what = "the same in --depth dimensions (default 4)", HALO},
    {.name = "sweep3d",
     PATTERN,
     .min_ranks = 4,
     .what = "8 corner sweeps over a 2-D grid in --depth blocks (default 4); size of a block's face",
     .flags = THREADED,
     .variants = "st,mt,part",
     .setup = sweep_setup},
    {0},
};
