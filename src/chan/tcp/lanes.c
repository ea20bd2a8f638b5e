// SPDX-License-Identifier: BSD-3-Clause
// Lanes: further connections to a peer, each by interfaces of its own on both sides. They carry pieces of large
// messages, all else goes by the main link, whose order they do not know. Opened when a large message is sent, or the
// main link has fallen silent; called by direct.c, stall.c and where connections come and go (dial.c, between.c).
//
// Invariant: a piece lies in the ring of one link alone. What a lane has not delivered when its connection breaks stays
// in its ring until another link takes it from there (tcp_take_back) or the lane is up again; its frames are numbered
// from 1 in each connection. So a piece may arrive twice, which the landing knows (direct.c).
#include <errno.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/tcp/tcp.h"

#define MS 1000000ULL
#define FIRST_PAUSE (20 * MS)    // before a lane is dialled again, if it is wanted; doubles
#define LAST_PAUSE (500 * MS)
#define RESETTLE (50 * MS)    // after which a lane that left its way for a better one is looked after again

static _Atomic uint64_t carried;
static const struct uno_pvar counts[] = {
    UNO_PVAR_SUM("tcp_lane_bytes", &carried, "bytes given to further connections to a peer, by other interfaces"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

void tcp_count_carried(size_t n)
{
    uno_count_add(&carried, n);
}

struct tcp_link *tcp_lane_of(struct tcp_link *m, uint32_t lane)
{
    struct tcp_link *last = m;
    for (; last->side; last = last->side)
        if (last->side->lane == lane) return last->side;
    struct tcp_link *l = tcp_make_link(m->base.proc);
    if (!l) return NULL;
    l->main = m;
    l->lane = lane;
    last->side = l;
    return l;
}

// Whether a lane would do better elsewhere: it shares an interface with another one, and there is a way that does not.
static bool is_misplaced(const struct tcp_link *l)
{
    struct tcp_way w;
    for (const struct tcp_link *x = l->main; x != l; x = x->side) {
        if (x->state != TCP_UP || l->way.own == TCP_NOWHERE || l->way.theirs == TCP_NOWHERE) continue;
        if (x->way.own == l->way.own || x->way.theirs == l->way.theirs) return tcp_free_way(l, 0, &w);
    }
    return false;
}

static void try_lane(struct tcp_link *l, uint64_t now)
{
    struct tcp_way w;
    if (l->state == TCP_UP && l->pieces == 0 && tcp_goes_first(l->base.proc) && l->due <= now && is_misplaced(l)) {
        tcp_broken(l, ECONNRESET, "another way is free");
        l->main->compare_at = now + RESETTLE;
        l->main->compared = 0;
    }
    if (l->state > TCP_IDLE && l->state != TCP_WAITING) return;
    if (l->due <= now && tcp_free_way(l, l->tries, &w)) tcp_dial(l);
}

void tcp_open_lanes(struct tcp_link *m)
{
    if (m->ways < 2 || m->leaving || m->bye || uno_tcp_state.closing || !m->peer_life) return;
    uint64_t now = uno_now_ns();
    for (uint32_t k = 1; k < m->ways; k++) {
        struct tcp_link *l = tcp_lane_of(m, k);
        if (l) try_lane(l, now);
    }
}

void tcp_lane_up(struct tcp_link *l)
{
    l->got_seq = 0;
    l->tries = 0;
    l->owed_since = 0;
    l->main->compare_at = 0;
    // Not at once to another way, should that be free: both sides move when a way is there again.
    l->due = uno_now_ns() + LAST_PAUSE;
    tcp_keep_pieces(l);
}

static void wait_before_dial(struct tcp_link *l)
{
    uint64_t pause = FIRST_PAUSE << (l->tries < 8 ? l->tries : 8);
    l->tries++;
    l->state = TCP_WAITING;
    l->due = uno_now_ns() + (pause < LAST_PAUSE ? pause : LAST_PAUSE);
}

void tcp_lane_failed(struct tcp_link *l)
{
    wait_before_dial(l);
}

void tcp_lane_down(struct tcp_link *l)
{
    tcp_hang_up(l);
    tcp_keep_pieces(l);
    wait_before_dial(l);
    if (!uno_tcp_state.closing) tcp_pump(l->main);
}

void tcp_end_lanes(struct tcp_link *m)
{
    for (struct tcp_link *l = m->side; l; l = l->side) {
        tcp_hang_up(l);
        tcp_empty_ring(l);
        l->tries = 0;
        l->due = 0;
        l->state = TCP_IDLE;
    }
}

void tcp_free_lanes(struct tcp_link *m)
{
    while (m->side) {
        struct tcp_link *l = m->side;
        m->side = l->side;
        tcp_hang_up(l);
        tcp_free_link(l);
    }
}
