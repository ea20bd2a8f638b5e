// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4,5,6 chan=shm,tcp
// Communicators made, in every way, from one on which other operations are under way: each takes its own messages.
// A random mix, the same on all ranks, of nonblocking and blocking collectives, duplications and other constructions,
// on intracommunicators and intercommunicators; results are compared with what they must be.
#include "../check.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 24, WORDS = 3000, ROUNDS = 12, STEPS = 20 };

static int rank, size;
static unsigned state;

static int draw(int n)
{
    state = state * 1103515245u + 12345u;
    return (int)((state >> 16) % (unsigned)n);
}

// The parent, and which of its two groups this rank is in (always 0 on an intracommunicator).
struct parent {
    MPI_Comm comm;
    bool inter;
    int side, me, n, npeers;
};

// An operation under way and the values that must be there when it has ended.
struct op {
    MPI_Request req;
    MPI_Comm child;
    int *in, *out;
    int count, want;
};

static struct op ops[MOST];
static int nops;
static MPI_Comm made[MOST * ROUNDS];
static int nmade;

static struct parent describe(MPI_Comm comm, int side)
{
    struct parent p = {.comm = comm, .side = side};
    int inter;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &p.me);
    MPI_Comm_size(comm, &p.n);
    p.inter = inter;
    p.npeers = p.n;
    if (inter) MPI_Comm_remote_size(comm, &p.npeers);
    return p;
}

// The sum over the remote group (or over all) tells two groups and two constructions apart.
static void use(MPI_Comm comm, int side)
{
    struct parent p = describe(comm, side);
    int one = 1 + 100 * side, sum = -1;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == (p.inter ? p.npeers * (1 + 100 * (1 - side)) : p.n * one));
}

static void start_collective(const struct parent *p, int kind, int v)
{
    struct op *o = &ops[nops++];
    int blocks = p->npeers > p->n ? p->npeers : p->n;
    *o = (struct op){.child = MPI_COMM_NULL, .count = 1 + draw(WORDS)};
    o->in = malloc((size_t)o->count * (size_t)blocks * sizeof(int));
    o->out = malloc((size_t)o->count * (size_t)blocks * sizeof(int));
    for (int i = 0; i < o->count * blocks; i++) {
        o->in[i] = v + p->side;
        o->out[i] = -1;
    }
    o->want = v + (p->inter ? 1 - p->side : 0);
    if (kind == 0) {
        o->count = 0;
        CHECK(MPI_Ibarrier(p->comm, &o->req) == MPI_SUCCESS);
    } else if (kind == 1) {
        CHECK(MPI_Iallreduce(o->in, o->out, o->count, MPI_INT, MPI_MAX, p->comm, &o->req) == MPI_SUCCESS);
    } else if (kind == 2) {
        CHECK(MPI_Iallgather(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, p->comm, &o->req) == MPI_SUCCESS);
        o->count *= p->npeers;
    } else {
        CHECK(MPI_Ialltoall(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, p->comm, &o->req) == MPI_SUCCESS);
        o->count *= p->npeers;
    }
}

static void start_idup(const struct parent *p)
{
    struct op *o = &ops[nops++];
    *o = (struct op){0};
    CHECK(MPI_Comm_idup(p->comm, &o->child, &o->req) == MPI_SUCCESS);
}

static void construct(const struct parent *p, int kind, int v)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group g;
    if (kind == 0) {
        CHECK(MPI_Comm_dup(p->comm, &c) == MPI_SUCCESS);
    } else if (kind == 1) {
        CHECK(MPI_Comm_split(p->comm, 5, -p->me, &c) == MPI_SUCCESS);
    } else if (kind == 2) {
        CHECK(MPI_Comm_group(p->comm, &g) == MPI_SUCCESS);
        CHECK(MPI_Comm_create(p->comm, g, &c) == MPI_SUCCESS);
        CHECK(MPI_Group_free(&g) == MPI_SUCCESS);
    } else if (p->inter) {
        int both = 0, one = 1;
        CHECK(MPI_Intercomm_merge(p->comm, p->side, &c) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(&one, &both, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS && both == p->n + p->npeers);
        CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
        return;
    } else {
        CHECK(MPI_Comm_group(p->comm, &g) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(p->comm, g, v, &c) == MPI_SUCCESS);
        CHECK(MPI_Group_free(&g) == MPI_SUCCESS);
    }
    use(c, p->side);
    if (nmade < (int)(sizeof made / sizeof made[0]))
        made[nmade++] = c;
    else
        CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
}

// Ends all that is under way, in an order that differs by rank.
static void settle(const struct parent *p)
{
    MPI_Request all[MOST];
    for (int i = 0; i < nops; i++) all[i] = ops[i].req;
    if (rank % 2) {
        CHECK(MPI_Waitall(nops, all, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    } else {
        for (int i = nops - 1; i >= 0; i--) CHECK(MPI_Wait(&all[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    for (int i = 0; i < nops; i++) {
        struct op *o = &ops[i];
        for (int k = 0; k < o->count; k++) CHECK(o->out[k] == o->want);
        free(o->in);
        free(o->out);
        if (o->child == MPI_COMM_NULL || !o->child) continue;
        use(o->child, p->side);
        CHECK(MPI_Comm_free(&o->child) == MPI_SUCCESS);
    }
    nops = 0;
}

static void mix(const struct parent *p)
{
    for (int s = 0; s < STEPS; s++) {
        int what = draw(10);
        if (nops == MOST || what == 0)
            settle(p);
        else if (what < 5)
            start_collective(p, draw(4), 10 * s);
        else if (what < 7)
            start_idup(p);
        else if (what < 9)
            construct(p, draw(4), s);
        else
            use(p->comm, p->side);
    }
    settle(p);
    while (nmade) CHECK(MPI_Comm_free(&made[--nmade]) == MPI_SUCCESS);
}

// Intercommunicators of the two sides, cut anywhere.
static MPI_Comm cut(int at, int *side)
{
    MPI_Comm part, inter;
    *side = rank >= at;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, *side, rank, &part) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, *side ? 0 : at, 3, &inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
    return inter;
}

// Duplicates of duplicates, the deeper ones made while collectives on all upper ones are under way.
static void nested(MPI_Comm comm, int side, int depth)
{
    struct parent p = describe(comm, side);
    MPI_Request r[3];
    MPI_Comm one, two;
    CHECK(MPI_Ibarrier(comm, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(comm, &one, &r[1]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(comm, &two, &r[2]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r[1 + depth % 2], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (depth) nested(depth % 2 ? two : one, side, depth - 1);
    CHECK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    use(one, p.side);
    use(two, p.side);
    CHECK(MPI_Comm_free(&one) == MPI_SUCCESS && MPI_Comm_free(&two) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        int side = 0;
        state = 77u + (unsigned)round;
        bool inter = round % 3 != 2;
        MPI_Comm comm = inter ? cut(1 + draw(size - 1), &side) : MPI_COMM_WORLD;
        struct parent p = describe(comm, side);
        mix(&p);
        nested(comm, side, 4);
        if (inter) CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}
