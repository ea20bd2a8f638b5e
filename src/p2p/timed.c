// SPDX-License-Identifier: BSD-3-Clause
// What costs too much to be counted always, counted where the parameter `stats` asks for it: the time that sending
// takes, and the library's own messages. A peer then sends by a copy of its channel's table whose `send` is the one
// here; all others have the channel's own, and pay nothing.
#include <mpi.h>

#include "base/stats.h"
#include "base/wait.h"
#include "chan/proc.h"
#include "chan/traffic.h"
#include "p2p/kind.h"
#include "p2p/peer.h"

static struct uno_chan_ops timed[UNO_CHANNELS];

static int send_timed(struct uno_link *link, const struct uno_msg *m)
{
    uint64_t from = uno_ticks();
    int err = link->ops->send(link, m);
    if ((err && err != UNO_LENT) || m->kind == UNO_DATA)
        return err;    // the time of a streamed message runs from its announcement
    struct uno_traffic *t = &link->chan->sent[m->kind == UNO_EAGER ? UNO_BY_EAGER : UNO_BY_OWN];
    if (m->kind != UNO_EAGER) UNO_TRAFFIC_COUNT(t, m->bytes);
    uno_count_add(&t->ticks, uno_ticks() - from);
    return err;
}

const struct uno_chan_ops *uno_peer_ops(const struct uno_link *link)
{
    if (!uno_stats_wanted()) return link->ops;
    struct uno_chan_ops *ops = &timed[link->chan->index];
    *ops = *link->ops;
    ops->send = send_timed;
    return ops;
}
