// SPDX-License-Identifier: BSD-3-Clause
// The schedules of a communicator that rest between two calls (cache.h).
//
// Always holds: what a builder emits follows from the call, the form and what is settled about the communicator (its
// segment, its hosts), so a kept schedule matches those that other ranks build anew. The list is in order of last use.
#include "coll/cache.h"

#include "base/fail.h"
#include "base/invariant.h"
#include "base/param.h"
#include "base/pvar.h"
#include "coll/agree.h"
#include "coll/segment.h"

static struct uno_param keep_max =
    UNO_PARAM_INT("coll_cache", 8, 0, 1000, "schedules of finished collectives that a communicator keeps for reuse");
UNO_PARAM_DECLARE(keep_max);

static _Atomic uint64_t built, reused;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("coll_schedules_built", &built, "schedules of collectives built"),
    UNO_PVAR_COUNTER("coll_schedules_reused", &reused, "schedules of collectives used again"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

#define MOST_COUNTS 256                   // entries of an array of counts that are compared and kept
#define KEPT_SCRATCH ((size_t)4 << 20)    // bytes: what needs more is built again

// What is settled: a later call may be built otherwise.
static unsigned settled(const struct uno_coll *u)
{
    return (unsigned)u->settled | (unsigned)u->hier_known << 1;
}

static bool is_predefined(const struct MPI_ABI_Datatype *t)
{
    return !t || t->flags & UNO_TYPE_PREDEFINED;
}

// How many entries of the arrays of a call (counts, displacements, types) mean something on this rank.
struct lengths {
    int send, recv;
};

static struct lengths lengths_of(const struct uno_call *c)
{
    int n = c->comm->size, at_root = c->root == c->comm->rank || c->root == MPI_ROOT ? n : 0;
    switch (c->kind) {
    case UNO_GATHERV: return (struct lengths){0, at_root};
    case UNO_SCATTERV: return (struct lengths){at_root, 0};
    case UNO_ALLGATHERV:
    case UNO_REDUCE_SCATTER: return (struct lengths){0, n};
    case UNO_ALLTOALLV:
    case UNO_ALLTOALLW: return (struct lengths){c->sbuf == MPI_IN_PLACE ? 0 : n, n};
    case UNO_NEIGHBOR_ALLGATHERV: return (struct lengths){0, c->nin};
    case UNO_NEIGHBOR_ALLTOALLV:
    case UNO_NEIGHBOR_ALLTOALLW: return (struct lengths){c->nout, c->nin};
    default: return (struct lengths){0, 0};
    }
}

static bool all_predefined(const MPI_Datatype *types, int n)
{
    for (int i = 0; types && i < n; i++)
        if (!is_predefined(uno_type(types[i]))) return false;
    return true;
}

static bool may_keep(const struct uno_call *c)
{
    struct lengths l = lengths_of(c);
    if (((l.send || l.recv) && c->comm->inter) || l.send > MOST_COUNTS || l.recv > MOST_COUNTS) return false;
    return keep_max.num > 0 && !uno_agree_on() && is_predefined(c->stype) && is_predefined(c->rtype) &&
           (!c->op || c->op->predefined) && all_predefined(c->stypes, l.send) && all_predefined(c->rtypes, l.recv);
}

static bool same_vector(struct uno_vector a, struct uno_vector b, int n)
{
    for (int i = 0; i < n && a.at; i++)
        if (uno_at(a, i) != uno_at(b, i)) return false;
    return true;
}

static bool same_types(const MPI_Datatype *a, const MPI_Datatype *b, int n)
{
    for (int i = 0; i < n && a; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static bool same(const struct uno_call *a, const struct uno_call *b)
{
    if (a->kind != b->kind || a->sbuf != b->sbuf || a->rbuf != b->rbuf || a->rcount != b->rcount ||
        a->rtype != b->rtype || a->scount != b->scount || a->stype != b->stype || a->root != b->root || a->op != b->op)
        return false;
    struct lengths l = lengths_of(a);
    return same_vector(a->rcounts, b->rcounts, l.recv) && same_vector(a->rdispls, b->rdispls, l.recv) &&
           same_vector(a->scounts, b->scounts, l.send) && same_vector(a->sdispls, b->sdispls, l.send) &&
           same_types(a->stypes, b->stypes, l.send) && same_types(a->rtypes, b->rtypes, l.recv);
}

// The user's arrays may be gone by the next call: a copy that lives as long as the schedule.
static struct uno_vector copy_of(struct uno_sched *s, struct uno_vector v, int n)
{
    if (!v.at || n == 0) return (struct uno_vector){NULL, false};
    MPI_Count *copy = uno_scratch_bytes(s, (size_t)n * sizeof *copy);
    for (int i = 0; copy && i < n; i++) copy[i] = uno_at(v, i);
    if (!copy) s->keep = false;
    return (struct uno_vector){copy, true};
}

static const MPI_Datatype *copy_of_types(struct uno_sched *s, const MPI_Datatype *types, int n)
{
    if (!types || n == 0) return NULL;
    MPI_Datatype *copy = uno_scratch_bytes(s, (size_t)n * sizeof *copy);
    for (int i = 0; copy && i < n; i++) copy[i] = types[i];
    if (!copy) s->keep = false;
    return copy;
}

struct uno_sched *uno_cache_take(const struct uno_call *c, enum uno_form form, int tag)
{
    struct uno_coll *u = c->comm->coll;
    if (!u || !u->idle) return NULL;
    unsigned now = settled(u);
    for (struct uno_sched **at = &u->idle; *at; at = &(*at)->next) {
        struct uno_sched *s = *at;
        if (s->settled != now || s->form != form || !same(&s->key, c)) continue;
        *at = s->next;
        uno_assert(u->nidle > 0 && s->comm == c->comm);
        u->nidle--;
        u->reused++;
        uno_count_add(&reused, 1);
        s->tag = tag;
        s->at = s->first = s->npending = 0;
        s->error = MPI_SUCCESS;
        return s;
    }
    return NULL;
}

void uno_cache_label(struct uno_sched *s, const struct uno_call *c)
{
    struct uno_coll *u = c->comm->coll;
    if (!u || s->form == UNO_INSIDE) return;
    u->built++;
    uno_count_add(&built, 1);
    s->settled = settled(u);
    s->keep = s->form != UNO_PERSISTENT && s->scratch_bytes <= KEPT_SCRATCH && may_keep(c);
    if (!s->keep) return;
    struct lengths l = lengths_of(c);
    s->key = *c;
    s->key.rcounts = copy_of(s, c->rcounts, l.recv);
    s->key.rdispls = copy_of(s, c->rdispls, l.recv);
    s->key.scounts = copy_of(s, c->scounts, l.send);
    s->key.sdispls = copy_of(s, c->sdispls, l.send);
    s->key.stypes = copy_of_types(s, c->stypes, l.send);
    s->key.rtypes = copy_of_types(s, c->rtypes, l.recv);
    s->error = MPI_SUCCESS;    // no memory for the copies is no fault of the operation
}

void uno_cache_give(struct uno_sched *s)
{
    struct uno_coll *u = s->comm->coll;
    if (!s->keep || s->error || !u) {
        uno_sched_free(s);
        return;
    }
    uno_assert(!s->poller.queued && s->at == s->nsteps && s->first == s->npending);
    s->req = NULL;
    s->next = u->idle;
    u->idle = s;
    if (++u->nidle <= keep_max.num) return;
    struct uno_sched **last = &u->idle;
    while ((*last)->next) last = &(*last)->next;
    uno_sched_free(*last);
    *last = NULL;
    u->nidle--;
}

void uno_cache_drop(struct uno_coll *u)
{
    if (u->built) uno_log(2, "%s: %u collective schedules built, %u used again", u->comm->name, u->built, u->reused);
    for (struct uno_sched *s = u->idle, *next; s; s = next) {
        next = s->next;
        uno_sched_free(s);
    }
    u->idle = NULL;
}
