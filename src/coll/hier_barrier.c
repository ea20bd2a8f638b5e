// SPDX-License-Identifier: BSD-3-Clause
// Barrier over several hosts (hier.h). With n ranks on H hosts, latency a inside a host and A between hosts:
//   2 a + ceil(log2 H) A    inside, between the leaders, inside
#include "coll/hier_build.h"

void uno_hier_barrier(struct uno_hier_build *b)
{
    uno_hier_inside(b, (struct uno_call){.kind = UNO_BARRIER});
    uno_hier_between(b, -1);
    if (b->leads) uno_build_barrier(b->s);
    uno_hier_inside(b, (struct uno_call){.kind = UNO_BARRIER});
}
