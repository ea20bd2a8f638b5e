// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter over several hosts (hier.h). With n ranks on H hosts, m bytes per rank, latency a inside a host
// and A between hosts, time per byte b and B:
//   a + (n / H) m b + A + n m B    blocks of a host in one message; packed aside where its ranks are not consecutive
#include "coll/hier_build.h"

void uno_hier_gather(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    struct uno_block own = uno_send_block(c, 0), here = {NULL, 0, NULL};
    struct uno_hier_room all = {NULL, 0, NULL};
    if (root) all = uno_hier_room_for(b, c->rbuf, c->rcount, c->rtype);
    if (root && c->sbuf == MPI_IN_PLACE && !b->h->blocks) own = uno_recv_block(c, b->me);
    if (b->leads) here = root ? uno_hier_room_of(b, &all, b->h->mine) : uno_hier_own_room(b, uno_block_bytes(own));
    if (b->s->error) return;
    uno_hier_inside_gather(b, own, here);
    uno_hier_between(b, c->root);
    int to = b->h->host[c->root];
    if (b->leads && !root) uno_send_to(b->s, to, here);
    if (!root) return;
    for (int i = 0; i < b->h->hosts; i++)
        if (i != to) uno_recv_from(b->s, i, uno_hier_room_of(b, &all, i));
    uno_hier_hand_out(b, &all, c->sbuf == MPI_IN_PLACE);
}

void uno_hier_scatter(struct uno_hier_build *b)
{
    const struct uno_call *c = b->c;
    bool root = b->me == c->root;
    struct uno_block own = uno_recv_block(c, 0), here = {NULL, 0, NULL};
    struct uno_hier_room all = {NULL, 0, NULL};
    if (root) all = uno_hier_room_for(b, (void *)(uintptr_t)c->sbuf, c->scount, c->stype);
    if (b->leads) here = root ? uno_hier_room_of(b, &all, b->h->mine) : uno_hier_own_room(b, uno_block_bytes(own));
    if (b->s->error) return;
    for (int i = 0; root && !b->h->blocks && i < b->whole.size; i++)
        uno_copy_block(b->s, uno_send_block(c, b->h->member[i]), uno_packed(all.at + i * all.count, (size_t)all.count));
    uno_hier_between(b, c->root);
    int from = b->h->host[c->root];
    if (b->leads && !root) uno_recv_from(b->s, from, here);
    for (int i = 0; root && i < b->h->hosts; i++)
        if (i != from) uno_send_to(b->s, i, uno_hier_room_of(b, &all, i));
    uno_hier_inside_scatter(b, here, own);
}
