// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives, all five: every message at once. Called by coll.c. Cost: degree (a + m b).
//
// Block i of a Cartesian communicator's list pairs with i ^ 1 at the other end (what leaves downwards arrives from
// above). Receives are posted in that order, so that it also holds where both neighbours of a dimension are one rank.
#include "coll/build.h"

void uno_build_neighbor(struct uno_sched *s, const struct uno_call *c)
{
    for (int k = 0; k < c->nin; k++) {
        int i = c->cart ? k ^ 1 : k;
        if (c->in[i] >= 0) uno_recv_from(s, c->in[i], uno_recv_block(c, i));
    }
    for (int i = 0; i < c->nout; i++)
        if (c->out[i] >= 0) uno_send_to(s, c->out[i], uno_send_block(c, i));
}
