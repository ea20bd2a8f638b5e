// SPDX-License-Identifier: BSD-3-Clause
// The builders over several hosts (hier_build.h): the choice, the leaders, and the parts inside and between hosts that
// all of them are made of. Called by coll.c.
#include "coll/hier_build.h"

#include "base/param.h"
#include "coll/hier.h"

static struct uno_param alltoall_max =
    UNO_PARAM_INT("coll_hier_alltoall", 1024, 0, 1 << 30,
                  "largest block of an alltoall over hosts that the leaders collect and exchange");
UNO_PARAM_DECLARE(alltoall_max);

static void set_leader(struct uno_hier_build *b, int root)
{
    b->lead = root >= 0 && b->h->host[root] == b->h->mine ? b->h->place[root] : 0;
    b->leads = b->h->place[b->me] == b->lead;
}

void uno_hier_between(struct uno_hier_build *b, int root)
{
    struct uno_hier *h = b->h;
    uno_emit_fence(b->s);
    if (!b->leads) return;
    int *map = uno_scratch_bytes(b->s, (size_t)h->hosts * sizeof *map);
    for (int i = 0; map && i < h->hosts; i++) map[i] = root >= 0 && h->host[root] == i ? root : h->member[h->first[i]];
    b->s->view = (struct uno_view){b->whole.comm, h->mine, h->hosts, map};
}

void uno_hier_inside(struct uno_hier_build *b, struct uno_call c)
{
    struct uno_hier *h = b->h;
    c.name = b->c->name;
    c.op = b->s->op;
    c.comm = h->node;
    uno_emit_fence(b->s);
    if (b->s->form == UNO_BLOCKING && b->n > 1) {
        uno_emit_call(b->s, &c);
        return;
    }
    b->s->view = (struct uno_view){b->whole.comm, h->place[b->me], b->n, h->member + b->at};
    uno_build(b->s, &c);
    uno_emit_fence(b->s);
}

void uno_hier_inside_bcast(struct uno_hier_build *b, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    uno_hier_inside(b,
                    (struct uno_call){.kind = UNO_BCAST, .root = b->lead, .rbuf = buf, .rcount = count, .rtype = type});
}

void uno_hier_inside_reduce(struct uno_hier_build *b, const void *own, void *out, MPI_Count count)
{
    const struct uno_call *c = b->c;
    const void *in = own ? own : b->leads ? MPI_IN_PLACE : c->rbuf;
    uno_hier_inside(b, (struct uno_call){.kind = UNO_REDUCE,
                                         .root = b->lead,
                                         .sbuf = in,
                                         .rbuf = b->leads ? out : NULL,
                                         .rcount = count,
                                         .rtype = c->rtype});
}

static bool may_build(const struct uno_call *c, const struct uno_hier *h, bool commutes)
{
    switch (c->kind) {
    case UNO_BARRIER:
    case UNO_BCAST:
    case UNO_GATHER:
    case UNO_SCATTER:
    case UNO_ALLGATHER: return true;
    case UNO_ALLTOALL: return c->rcount * c->rtype->size <= alltoall_max.num;
    case UNO_REDUCE:
    case UNO_ALLREDUCE:
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return commutes || h->blocks;
    default: return false;
    }
}

bool uno_build_hier(struct uno_sched *s, const struct uno_call *c, struct uno_hier *h)
{
    if (!h || !may_build(c, h, !s->op || s->op->commutative)) return false;
    struct uno_hier_build b = {.s = s, .c = c, .h = h, .me = s->view.rank, .whole = s->view};
    b.at = h->first[h->mine];
    b.n = uno_hier_size(h, h->mine);
    bool rooted = c->kind == UNO_BCAST || c->kind == UNO_REDUCE || c->kind == UNO_GATHER || c->kind == UNO_SCATTER;
    set_leader(&b, rooted ? c->root : -1);
    switch (c->kind) {
    case UNO_BARRIER: uno_hier_barrier(&b); break;
    case UNO_BCAST: uno_hier_bcast(&b); break;
    case UNO_REDUCE: uno_hier_reduce(&b); break;
    case UNO_ALLREDUCE: uno_hier_allreduce(&b); break;
    case UNO_GATHER: uno_hier_gather(&b); break;
    case UNO_SCATTER: uno_hier_scatter(&b); break;
    case UNO_ALLGATHER: uno_hier_allgather(&b); break;
    case UNO_ALLTOALL: uno_hier_alltoall(&b); break;
    default: uno_hier_reduce_scatter(&b); break;
    }
    s->view = b.whole;
    return true;
}
