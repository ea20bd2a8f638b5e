// SPDX-License-Identifier: BSD-3-Clause
// The schedules of a communicator that rest between two calls (cache.h).
//
// Always holds: what a builder emits follows from the call, the form and what is settled about the communicator (its
// segment, its hosts), so a kept schedule matches those that other ranks build anew. The list is in order of last use.
#include "coll/cache.h"

#include "base/fail.h"
#include "base/param.h"
#include "coll/agree.h"
#include "coll/segment.h"

static struct uno_param keep_max =
    UNO_PARAM_INT("coll_cache", 8, 0, 1000, "schedules of finished collectives that a communicator keeps for reuse");
UNO_PARAM_DECLARE(keep_max);

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

static bool may_keep(const struct uno_call *c)
{
    bool plain = c->kind < UNO_GATHERV || c->kind == UNO_REDUCE_SCATTER_BLOCK || c->kind == UNO_SCAN ||
                 c->kind == UNO_EXSCAN;
    return plain && keep_max.num > 0 && !uno_agree_on() && is_predefined(c->stype) && is_predefined(c->rtype) &&
           (!c->op || c->op->predefined);
}

static bool same(const struct uno_call *a, const struct uno_call *b)
{
    return a->kind == b->kind && a->sbuf == b->sbuf && a->rbuf == b->rbuf && a->rcount == b->rcount &&
           a->rtype == b->rtype && a->scount == b->scount && a->stype == b->stype && a->root == b->root &&
           a->op == b->op;
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
        u->nidle--;
        u->reused++;
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
    s->settled = settled(u);
    s->keep = s->form != UNO_PERSISTENT && s->scratch_bytes <= KEPT_SCRATCH && may_keep(c);
    s->key = *c;
}

void uno_cache_give(struct uno_sched *s)
{
    struct uno_coll *u = s->comm->coll;
    if (!s->keep || s->error || !u) {
        uno_sched_free(s);
        return;
    }
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
