// SPDX-License-Identifier: BSD-3-Clause
// The schedules of all ranks of a collective, by the library's own builders (simulate.h). Nothing is sent and no buffer
// is looked at: builders emit steps for a rank of a communicator that is nothing but its rank and size.
#include <stdlib.h>
#include <string.h>

#include "coll/build.h"
#include "coll/hier.h"
#include "simulate.h"

#define IN ((char *)(1ULL << 40))    // buffers that are never touched
#define OUT ((char *)(2ULL << 40))

static int give_up(const char **why, const char *text)
{
    *why = text;
    return -1;
}

static bool add(struct sim_plan *p, size_t *n, uint32_t kind, uint32_t peer, double bytes)
{
    if (*n == p->room) {
        size_t room = p->room ? 2 * p->room : 1 << 16;
        struct sim_step *more = realloc(p->step, room * sizeof *more);
        if (!more) return false;
        p->step = more;
        p->room = room;
    }
    p->step[(*n)++] = (struct sim_step){kind << SIM_SHIFT | peer, bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX};
    return true;
}

// Bytes that a collective inside the host moves, as its size is counted everywhere.
static double bytes_inside(const struct uno_call *c)
{
    MPI_Count n = c->rtype ? c->rcount * c->rtype->size : c->scount * c->stype->size;
    if (c->kind == UNO_GATHER && c->stype && c->sbuf != MPI_IN_PLACE) n = c->scount * c->stype->size;
    return (double)n;
}

static bool take_step(struct sim_plan *p, size_t *n, const struct uno_step *s)
{
    double bytes = s->type ? (double)(s->count * s->type->size) : 0;
    uint32_t peer = (uint32_t)s->peer;
    switch (s->kind) {
    case UNO_STEP_SEND: return add(p, n, SIM_SEND, peer, bytes);
    case UNO_STEP_RECV: return add(p, n, SIM_RECV, peer, bytes);
    case UNO_STEP_COPY: return add(p, n, SIM_COPY, 0, bytes);
    case UNO_STEP_REDUCE: return add(p, n, SIM_REDUCE, 0, bytes);
    case UNO_STEP_CALL:
        bytes = s->call->kind == UNO_BARRIER ? 0 : bytes_inside(s->call);
        return add(p, n, SIM_INSIDE, (uint32_t)s->call->kind, bytes);
    default: return add(p, n, SIM_FENCE, 0, 0);
    }
}

// Ranks lie on hosts in blocks.
static struct uno_hier *lay_out(const struct sim_job *job, int n)
{
    int hosts = (int)job->m.hosts, per = (int)job->m.ranks;
    struct uno_hier *h = calloc(1, sizeof *h + (4 * (size_t)n + 2) * sizeof(int));
    if (!h) return NULL;
    h->host = (int *)(h + 1);
    h->place = h->host + n;
    h->member = h->place + n;
    h->first = h->member + n;
    h->hosts = hosts;
    h->blocks = true;
    for (int r = 0; r < n; r++) {
        h->host[r] = r / per;
        h->place[r] = r % per;
        h->member[r] = r;
    }
    for (int i = 0; i <= hosts; i++) h->first[i] = i * per;
    return h;
}

static struct uno_call call_of(const struct sim_job *job, struct MPI_ABI_Comm *comm)
{
    struct MPI_ABI_Datatype *type = uno_type(MPI_FLOAT);
    struct uno_call c = {.kind = job->kind, .name = "simulated", .comm = comm, .sbuf = IN, .rbuf = OUT};
    if (job->kind == UNO_BARRIER) return c;
    c.stype = c.rtype = type;
    c.scount = c.rcount = (MPI_Count)((job->bytes + 3) / 4);
    if (job->kind == UNO_REDUCE_SCATTER_BLOCK) c.rcount = (c.rcount + comm->size - 1) / comm->size;
    if (job->kind == UNO_REDUCE || job->kind == UNO_ALLREDUCE || job->kind >= UNO_REDUCE_SCATTER)
        c.op = uno_op(MPI_SUM);
    return c;
}

static int build_rank(const struct sim_job *job, struct uno_hier *h, int rank, struct sim_plan *p)
{
    struct MPI_ABI_Comm comm = {.rank = rank, .size = p->ranks, .npeers = p->ranks};
    struct uno_call c = call_of(job, &comm);
    struct uno_sched *s = uno_sched_new(&comm, c.op, 0);
    size_t n = p->first[rank];
    if (!s) return -1;
    s->form = UNO_BLOCKING;
    if (h) h->mine = h->host[rank];
    if (!h || !uno_build_hier(s, &c, h)) uno_build(s, &c);
    bool good = !s->error;
    for (int i = 0; i < s->nsteps && good; i++) good = take_step(p, &n, &s->step[i]);
    // What is still under way at the end is waited for there.
    if (good && s->nsteps && s->step[s->nsteps - 1].kind != UNO_STEP_FENCE) good = add(p, &n, SIM_FENCE, 0, 0);
    p->first[rank + 1] = n;
    double memory = (double)s->scratch_bytes + (double)s->nsteps * sizeof *s->step;
    if (memory > p->memory) p->memory = memory;
    uno_sched_free(s);
    return good ? 0 : -1;
}

// The rule for the leaders' part of an allgather is that of its v form, which is what they run.
static int force(const struct sim_job *job)
{
    if (job->alg == UNO_ALG_END) return 0;
    enum uno_coll_kind kind = job->kind == UNO_REDUCE_SCATTER_BLOCK ? UNO_REDUCE_SCATTER : job->kind;
    if (kind == UNO_ALLGATHER && job->m.hosts > 1 && job->m.ranks > 1 && !job->flat) kind = UNO_ALLGATHERV;
    return uno_choose_add(uno_coll_word(kind), uno_alg_word(job->alg), 0, 0);
}

int sim_build(const struct sim_job *job, struct sim_plan *plan, const char **why)
{
    double ranks = (double)job->m.hosts * (double)job->m.ranks;
    *plan = (struct sim_plan){.ranks = (int)ranks};
    if (force(job)) return give_up(why, "the collective has no such algorithm");
    bool over_hosts = job->m.hosts > 1 && job->m.ranks > 1 && !job->flat;
    struct uno_hier *h = over_hosts ? lay_out(job, plan->ranks) : NULL;
    plan->first = calloc((size_t)plan->ranks + 1, sizeof *plan->first);
    bool good = plan->first && (h || !over_hosts);
    for (int r = 0; r < plan->ranks && good; r++) good = build_rank(job, h, r, plan) == 0;
    free(h);
    if (good) return 0;
    sim_free(plan);
    return give_up(why, "no memory for the schedules");
}

void sim_free(struct sim_plan *plan)
{
    free(plan->first);
    free(plan->step);
    *plan = (struct sim_plan){0};
}
