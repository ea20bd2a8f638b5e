// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter, with and without counts, over several hosts (hier.h). With n ranks on H hosts, m bytes of all parts,
// latency a inside a host and A between hosts, time per byte b and B, the operation included:
//   a + m b + (H - 1) A + m B (H - 1) / H + a + m b / H    ranks of a host consecutive: leaders share out the sum
//   a + m b + ceil(log2 H) (A + m B) + a + m b / H         otherwise every leader gets all of it
#include <string.h>

#include "coll/hier_build.h"

static MPI_Count part_of(const struct uno_call *c, int rank)
{
    return c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, rank) : c->rcount;
}

// What the leaders know of the parts of a reduce_scatter, in elements.
struct parts {
    MPI_Count *host;     // [hosts] of all ranks of a host
    MPI_Count *count;    // [n] of each rank here
    MPI_Count *displ;    // [n] where it lies in what the leader has
    MPI_Count total;
};

static bool cut_parts(struct uno_hier_build *b, struct parts *p)
{
    const struct uno_hier *h = b->h;
    p->host = uno_scratch_bytes(b->s, (size_t)(h->hosts + 2 * b->n) * sizeof *p->host);
    if (!p->host) return false;
    p->count = p->host + h->hosts;
    p->displ = p->count + b->n;
    memset(p->host, 0, (size_t)h->hosts * sizeof *p->host);
    p->total = 0;
    MPI_Count here = 0;
    for (int r = 0; r < b->whole.size; r++) {
        MPI_Count part = part_of(b->c, r);
        if (h->host[r] == h->mine) {
            p->count[h->place[r]] = part;
            p->displ[h->place[r]] = h->blocks ? here : p->total;
            here += part;
        }
        p->host[h->host[r]] += part;
        p->total += part;
    }
    return true;
}

// Leaders share out the sum by hosts where each host's ranks, and so their parts, are consecutive; else all get all.
void uno_hier_reduce_scatter(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    struct parts p;
    if (!cut_parts(b, &p)) return;
    char *sum = b->leads ? uno_scratch_typed(b->s, p.total, c->rtype) : NULL;
    char *mine = b->leads && b->h->blocks ? uno_scratch_typed(b->s, p.host[b->h->mine], c->rtype) : sum;
    if (b->s->error) return;
    uno_hier_inside_reduce(b, c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf, sum, p.total);
    uno_hier_between(b, -1);
    struct uno_call over = {.kind = UNO_REDUCE_SCATTER, .sbuf = sum, .rbuf = mine, .rtype = c->rtype};
    over.rcounts = (struct uno_vector){p.host, true};
    if (b->leads && b->h->blocks)
        uno_build_reduce_scatter(b->s, &over);
    else if (b->leads)
        uno_build_allreduce(b->s, MPI_IN_PLACE, sum, p.total, c->rtype);
    uno_hier_inside(b, (struct uno_call){.kind = UNO_SCATTERV,
                                         .sbuf = mine,
                                         .scounts = {p.count, true},
                                         .sdispls = {p.displ, true},
                                         .stype = b->leads ? c->rtype : NULL,
                                         .rbuf = c->rbuf,
                                         .rcount = part_of(c, b->me),
                                         .rtype = c->rtype});
}
