// SPDX-License-Identifier: BSD-3-Clause
// Which of several ways to a peer is the quickest: the main link, which carries all but the pieces of large messages,
// moves there. What counts is the least time in which the other kernel has acknowledged, which a queue of large
// messages does not lengthen. Called by stall.c, now and then.
//
// A move of this kind interrupts nothing: the lower rank says MOVE and goes on; the other closes the connection when it
// reads that, and what came too late for it is sent once more by the new one.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "base/wait.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define COMPARE_EVERY (1000 * MS)
#define FRAMES_WORTH 256    // each way: for fewer no connections are made to compare with
#define MARGIN_US 30        // less is noise, whatever the ratio

// us; 0: not known.
static uint32_t least_round_trip(const struct tcp_link *l)
{
    struct tcp_info i = {0};
    socklen_t len = sizeof i;
    if (getsockopt(l->sock.fd, IPPROTO_TCP, TCP_INFO, &i, &len) != 0 || i.tcpi_min_rtt == UINT32_MAX) return 0;
    return i.tcpi_min_rtt;
}

// Of the lanes that are well, the one whose way is quickest; *us gets its round trip.
static struct tcp_link *find_quickest(struct tcp_link *m, uint32_t *us)
{
    struct tcp_link *best = NULL;
    for (struct tcp_link *l = m->side; l; l = l->side) {
        if (l->state != TCP_UP || l->broken || l->owed_since) continue;
        if (l->way.own == TCP_NOWHERE || l->way.theirs == TCP_NOWHERE) continue;
        uint32_t t = least_round_trip(l);
        if (t == 0 || (best && t >= *us)) continue;
        best = l;
        *us = t;
    }
    return best;
}

void tcp_prefer_quickest(struct tcp_link *m, uint64_t now)
{
    if (now < m->compare_at || !tcp_goes_first(m->base.proc)) return;
    if (m->state != TCP_UP || m->broken || m->moving || m->bye || m->leaving) return;
    m->compare_at = now + COMPARE_EVERY;
    bool worth = m->seq + m->got_seq > m->compared + FRAMES_WORTH;
    m->compared = m->seq + m->got_seq;
    if (worth) tcp_open_lanes(m);
    uint32_t us = 0, own = least_round_trip(m);
    struct tcp_link *to = find_quickest(m, &us);
    if (!to || own < us + MARGIN_US || own / 4 * 3 < us) return;
    if (!tcp_put(m, TCP_MOVE, NULL, 0)) return;
    uno_log(2, "messages to rank %d move to the way between %s: %d us there and back, %d between %s", m->base.proc,
            to->ends, (int)us, (int)own, m->ends);
    m->move = to->way;
    m->moving = m->planned = true;
}
