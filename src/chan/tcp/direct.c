// SPDX-License-Identifier: BSD-3-Clause
// Large messages straight from the sender's buffer into the receiver's, the sender's part (landing.c: the receiver's):
// it offers, the receiver answers with a PULL that names a landing, the sender streams PIECEs out of the user's memory.
// It is done when the last piece is acknowledged, so that nothing needs to be copied for resending. Called by p2p
// (offer, withdraw, replace) and by send.c and receive.c.
//
// Where a peer is reached in more ways than one, larger transfers are cut finer, and each lane (lanes.c) takes the next
// piece as soon as its kernel has room for it: so each carries what it can. One that a lane took part in ends by a
// LANDED.
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "chan/table.h"
#include "chan/tcp/tcp.h"

#define PIECES_AHEAD 1            // in the ring and not yet sent; more would delay other messages
#define STRIPE (4 * TCP_GRAIN)    // bytes of a piece where there are several ways
#define STRIPED_MIN STRIPE        // transfers from here on take more ways than the main link's

struct tcp_offer {
    struct tcp_link *link;
    struct tcp_offer *next;    // in the link's streams
    uint32_t index;
    uint32_t on_main;    // pieces in the main link's ring
    uint64_t landing;
    const char *buf;
    size_t bytes, put, acked;    // bytes to send, in rings so far, acknowledged
    uint64_t token;
    bool pulled;
    bool arrived;    // all of it, though not all is acknowledged
};

static struct uno_table offers;

int tcp_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    if (mem->runs > 1) return UNO_DECLINED;
    struct tcp_link *l = tcp_of(link);
    uint32_t index;
    struct tcp_offer *o = uno_table_enter(&offers, sizeof *o, &index);
    if (!o) return UNO_DECLINED;
    *o = (struct tcp_offer){.link = l, .index = index, .buf = mem->run->at, .bytes = rts->bytes, .token = rts->token};
    l->direct++;
    rts->desc = index;
    rts->direct = 1;
    return MPI_SUCCESS;
}

static void forget_offer(struct tcp_offer *o)
{
    uno_assert(o->link->direct > 0 && uno_table_find(&offers, o->index) == o);
    o->link->direct--;
    uno_table_leave(&offers, o->index);
    free(o);
}

static void end_offer(struct tcp_offer *o, int err)
{
    uint64_t token = o->token;
    size_t bytes = err ? o->acked : o->bytes;
    forget_offer(o);
    uno_direct_done(token, bytes, err);
}

bool tcp_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    struct tcp_offer *o = uno_table_find(&offers, rts->desc);
    if (!o || o->link != tcp_of(link) || o->pulled) return false;
    forget_offer(o);
    return true;
}

bool tcp_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    struct tcp_offer *o = uno_table_find(&offers, rts->desc);
    if (!o || o->link != tcp_of(link)) return false;
    for (struct tcp_link *l = o->link; l; l = l->side) tcp_move_pieces(l, o, o->buf, copy);
    o->buf = copy;
    return true;
}

// What a lane holds that is not up goes first. False: nothing can be put now.
static bool put_next(struct tcp_link *m, struct tcp_link *l)
{
    for (struct tcp_link *from = m->side; from; from = from->side)
        if (from->state != TCP_UP && from->tail < from->head) return tcp_take_back(l, from);
    struct tcp_offer *o = m->streams;
    if (!o || (l != m && o->bytes < STRIPED_MIN)) return false;
    size_t n = o->bytes - o->put, most = m->ways > 1 && o->bytes >= STRIPED_MIN ? STRIPE : TCP_PIECE_MAX;
    if (n > most) n = most;
    if (!tcp_put_piece(l, &(struct tcp_part_of){o, o->landing, o->put, o->buf + o->put, n, 0})) return false;
    o->on_main += l == m;
    o->put += n;
    if (o->put == o->bytes) m->streams = o->next;
    return true;
}

// One piece for each link that can take one, for as long as there is one.
void tcp_put_pieces(struct tcp_link *m)
{
    for (bool more = true; more;) {
        more = false;
        for (struct tcp_link *l = m; l; l = l->side) {
            if (l->state != TCP_UP || l->broken || l->pieces >= PIECES_AHEAD) continue;
            if (put_next(m, l)) more = true;
        }
    }
}

const char *tcp_pulled(struct tcp_link *l, const void *payload, size_t n)
{
    struct tcp_pull p;
    if (n != sizeof p) return "a pull of the wrong length arrived";
    memcpy(&p, payload, sizeof p);
    struct tcp_offer *o = uno_table_find(&offers, p.offer);
    if (!o || o->link != l || o->pulled || p.bytes > o->bytes) return "a pull of no offer arrived";
    o->pulled = true;
    o->landing = p.landing;
    o->bytes = p.bytes;
    if (o->bytes == 0) {
        end_offer(o, 0);
        return NULL;
    }
    o->next = NULL;
    if (l->streams)
        l->streams_end->next = o;
    else
        l->streams = o;
    l->streams_end = o;
    if (l->ways > 1 && o->bytes >= STRIPED_MIN) tcp_open_lanes(l);
    tcp_put_pieces(l);
    return NULL;
}

void tcp_piece_acked(struct tcp_offer *o, const struct tcp_link *by, size_t n)
{
    o->acked += n;
    if (by == o->link) o->on_main--;
    uno_assert(o->pulled && o->acked <= o->put && o->put <= o->bytes);
    if (o->acked == o->bytes || (o->arrived && o->on_main == 0)) end_offer(o, 0);
}

void tcp_piece_moved(struct tcp_offer *o)
{
    o->on_main++;
}

const char *tcp_ended(struct tcp_link *l, const void *payload, size_t n)
{
    struct tcp_pull p;
    if (n != sizeof p) return "an end of the wrong length arrived";
    memcpy(&p, payload, sizeof p);
    struct tcp_offer *o = uno_table_find(&offers, p.offer);
    if (!o || o->link != l || !o->pulled || o->landing != p.landing) return NULL;    // all was acknowledged before
    if (o->put < o->bytes || o->arrived) return "a transfer has arrived that was not sent";
    o->arrived = true;
    for (struct tcp_link *x = l->side; x; x = x->side) {
        if (tcp_forget_offer(x, o) || x->state != TCP_UP) continue;
        // It was given to this lane once more, and its memory is no longer ours to read.
        tcp_broken(x, ECONNRESET, "what it sends has arrived");
        tcp_take_down(x);
    }
    if (o->on_main == 0) end_offer(o, 0);
    return NULL;
}

void tcp_fail_offers(struct tcp_link *l, int err)
{
    l->streams = NULL;
    for (uint32_t i = 0; i < offers.room; i++) {
        struct tcp_offer *o = offers.at[i];
        if (o && o->link == l) end_offer(o, err);
    }
}

void tcp_direct_close(void)
{
    uno_table_empty(&offers);
    tcp_landings_close();
}
