// SPDX-License-Identifier: BSD-3-Clause
// Broadcast over several hosts (hier.h). With H hosts, m bytes, latency a inside a host and A between hosts, time per
// byte b and B:
//   ceil(log2 H) (A + m B) + a + m b    between the leaders by the algorithm that H and m choose, then inside
#include "coll/hier_build.h"

void uno_hier_bcast(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    uno_hier_between(b, c->root);
    if (b->leads) uno_build_bcast(b->s, c->rbuf, c->rcount, c->rtype, b->h->host[c->root]);
    uno_hier_inside_bcast(b, c->rbuf, c->rcount, c->rtype);
}
