// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce over several hosts (hier.h). With H hosts, m bytes, latency a inside a host and A between hosts,
// time per byte b and B, the operation included:
//   reduce       a + m b + ceil(log2 H) (A + m B)        inside, then between the leaders
//   allreduce    2 (a + m b) + ceil(log2 H) (A + m B)    and inside again
// The part between leaders takes the algorithm that H and m choose.
#include "coll/hier_build.h"

void uno_hier_reduce(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    void *sum = root ? c->rbuf : b->leads ? uno_scratch_typed(b->s, c->rcount, c->rtype) : NULL;
    uno_hier_inside_reduce(b, root && c->sbuf == MPI_IN_PLACE ? NULL : c->sbuf, sum, c->rcount);
    uno_hier_between(b, c->root);
    if (b->leads) uno_build_reduce(b->s, root ? MPI_IN_PLACE : sum, sum, c->rcount, c->rtype, b->h->host[c->root]);
}

void uno_hier_allreduce(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    uno_hier_inside_reduce(b, c->sbuf == MPI_IN_PLACE ? NULL : c->sbuf, c->rbuf, c->rcount);
    uno_hier_between(b, -1);
    if (b->leads) uno_build_allreduce(b->s, MPI_IN_PLACE, c->rbuf, c->rcount, c->rtype);
    uno_hier_inside_bcast(b, c->rbuf, c->rcount, c->rtype);
}
