// SPDX-License-Identifier: BSD-3-Clause
// Allgather over several hosts (hier.h). With n ranks on H hosts, m bytes per rank, latency a inside a host and A
// between hosts, time per byte b and B:
//   a + (n / H) m b + (H - 1) (A + (n / H) m B) + a + n m b    gather, a ring of the leaders, broadcast
#include "coll/hier_build.h"

void uno_hier_allgather(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    struct uno_hier *h = b->h;
    struct uno_hier_room all = uno_hier_room_for(b, c->rbuf, c->rcount, c->rtype);
    MPI_Count *count = uno_scratch_bytes(b->s, 2 * (size_t)h->hosts * sizeof *count);
    if (b->s->error) return;
    struct uno_block own = uno_send_block(c, 0);
    bool there = b->leads && h->blocks;
    if (c->sbuf == MPI_IN_PLACE && !there) own = uno_recv_block(c, b->me);
    uno_hier_inside_gather(b, own, uno_hier_room_of(b, &all, h->mine));
    uno_hier_between(b, -1);
    for (int i = 0; i < h->hosts; i++) {
        count[i] = uno_hier_size(h, i) * all.count;
        count[h->hosts + i] = h->first[i] * all.count;
    }
    struct uno_call over = {.kind = UNO_ALLGATHERV, .sbuf = MPI_IN_PLACE, .rbuf = all.at, .rtype = all.type};
    over.rcounts = (struct uno_vector){count, true};
    over.rdispls = (struct uno_vector){count + h->hosts, true};
    if (b->leads) uno_build_allgather(b->s, &over);
    uno_hier_inside_bcast(b, all.at, all.count * b->whole.size, all.type);
    uno_hier_hand_out(b, &all, c->sbuf == MPI_IN_PLACE);
}
