// SPDX-License-Identifier: BSD-3-Clause
// Large messages straight from the sender's buffer into the receiver's: the sender offers, the receiver answers with a
// PULL that names a landing, the sender streams PIECEs out of the user's memory. The sender is done when the last piece
// is acknowledged, so that nothing needs to be copied for resending. Called by p2p (offer, accept, withdraw) and by
// send.c and receive.c.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "chan/tcp/tcp.h"

#define PIECE (1024 * 1024)    // bytes of a piece: its checksum is computed while the cache holds it
#define PIECES_AHEAD 1         // in the ring and not yet sent; more would delay other messages
#define FIRST_ROOM 16

struct tcp_offer {
    struct tcp_link *link;
    struct tcp_offer *next;    // in the link's streams
    uint32_t index, landing;
    const char *buf;
    size_t bytes, put, acked;    // bytes to send, in the ring so far, acknowledged
    uint64_t token;
    bool pulled;
};

struct tcp_landing {
    struct tcp_link *link;
    struct tcp_landing *next;    // in the link's pulls
    uint32_t index, offer;
    char *dst;
    size_t bytes, got;
    uint64_t token;
};

struct pull {
    uint32_t offer, landing;
    uint64_t bytes;
};

// Objects by number, as the peer names them.
struct table {
    void **at;
    uint32_t room, hint;
};

static struct table offers, landings;

static void *lookup(const struct table *t, uint64_t index)
{
    return index < t->room ? t->at[index] : NULL;
}

static void *enter(struct table *t, size_t bytes, uint32_t *index)
{
    uint32_t i = 0;
    while (i < t->room && t->at[(t->hint + i) % t->room]) i++;
    if (i == t->room) {
        uint32_t room = t->room ? 2 * t->room : FIRST_ROOM;
        void **at = realloc(t->at, room * sizeof *at);
        if (!at) return NULL;
        memset(at + t->room, 0, (room - t->room) * sizeof *at);
        t->hint = t->room;
        t->at = at;
        t->room = room;
        i = 0;
    }
    void *object = calloc(1, bytes);
    if (!object) return NULL;
    *index = (t->hint + i) % t->room;
    t->hint = *index + 1;
    t->at[*index] = object;
    return object;
}

static void leave(struct table *t, uint32_t index)
{
    uno_assert(lookup(t, index));
    free(t->at[index]);
    t->at[index] = NULL;
}

int tcp_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    if (mem->runs > 1) return UNO_DECLINED;
    struct tcp_link *l = tcp_of(link);
    uint32_t index;
    struct tcp_offer *o = enter(&offers, sizeof *o, &index);
    if (!o) return UNO_DECLINED;
    *o = (struct tcp_offer){.link = l, .index = index, .buf = mem->run->at, .bytes = rts->bytes, .token = rts->token};
    l->direct++;
    rts->desc = index;
    rts->direct = 1;
    return MPI_SUCCESS;
}

static void end_offer(struct tcp_offer *o, int err)
{
    uint64_t token = o->token;
    size_t bytes = o->acked;
    uno_assert(o->link->direct > 0 && lookup(&offers, o->index) == o);
    o->link->direct--;
    leave(&offers, o->index);
    uno_direct_done(token, bytes, err);
}

static void end_landing(struct tcp_landing *d, int err)
{
    uint64_t token = d->token;
    size_t got = d->got;
    uno_assert(d->link->direct > 0 && lookup(&landings, d->index) == d);
    d->link->direct--;
    leave(&landings, d->index);
    uno_direct_done(token, got, err);
}

bool tcp_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    struct tcp_offer *o = lookup(&offers, rts->desc);
    if (!o || o->link != tcp_of(link) || o->pulled) return false;
    o->link->direct--;
    leave(&offers, o->index);
    return true;
}

bool tcp_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    struct tcp_offer *o = lookup(&offers, rts->desc);
    if (!o || o->link != tcp_of(link)) return false;
    tcp_move_pieces(o->link, o, o->buf, copy);
    o->buf = copy;
    return true;
}

int tcp_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token)
{
    if (mem->runs > 1) return UNO_DECLINED;
    size_t room = mem->run->end;
    struct tcp_link *l = tcp_of(link);
    uint32_t index;
    struct tcp_landing *d = enter(&landings, sizeof *d, &index);
    if (!d) return uno_fail(MPI_ERR_NO_MEM, "no memory for a transfer from rank %d", link->proc);
    *d = (struct tcp_landing){.link = l, .index = index, .offer = rts->desc, .dst = mem->run->at, .token = token};
    d->bytes = rts->bytes < room ? rts->bytes : room;
    l->direct++;
    d->next = l->pulls;
    l->pulls = d;
    tcp_pump(l);
    return MPI_SUCCESS;
}

static void put_pulls(struct tcp_link *l)
{
    while (l->pulls) {
        struct tcp_landing *d = l->pulls;
        struct pull p = {d->offer, d->index, d->bytes};
        if (!tcp_put(l, TCP_PULL, &p, sizeof p)) return;
        l->pulls = d->next;
        if (d->bytes == 0) end_landing(d, 0);
    }
}

static void put_pieces(struct tcp_link *l)
{
    while (l->streams && l->pieces < PIECES_AHEAD && l->state == TCP_UP && !l->broken) {
        struct tcp_offer *o = l->streams;
        size_t n = o->bytes - o->put < PIECE ? o->bytes - o->put : PIECE;
        if (!tcp_put_piece(l, o, o->landing, o->buf + o->put, n)) return;
        o->put += n;
        if (o->put == o->bytes) l->streams = o->next;
    }
}

void tcp_pump(struct tcp_link *l)
{
    if (l->pulls) put_pulls(l);
    if (l->streams) put_pieces(l);
}

const char *tcp_pulled(struct tcp_link *l, const void *payload, size_t n)
{
    struct pull p;
    if (n != sizeof p) return "a pull of the wrong length arrived";
    memcpy(&p, payload, sizeof p);
    struct tcp_offer *o = lookup(&offers, p.offer);
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
    put_pieces(l);
    return NULL;
}

void tcp_piece_acked(struct tcp_offer *o, size_t n)
{
    o->acked += n;
    uno_assert(o->pulled && o->acked <= o->put && o->put <= o->bytes);
    if (o->acked == o->bytes) end_offer(o, 0);
}

struct tcp_landing *tcp_landing_of(struct tcp_link *l, const struct tcp_frame *f)
{
    struct tcp_landing *d = lookup(&landings, f->h.ctx);
    bool good = d && d->link == l && f->h.bytes > 0 && f->h.bytes <= d->bytes - d->got;
    return good ? d : NULL;
}

char *tcp_landing_at(const struct tcp_landing *d)
{
    return d->dst + d->got;
}

void tcp_landed(struct tcp_link *l, struct tcp_landing *d, size_t n)
{
    d->got += n;
    uno_assert(d->got <= d->bytes);
    if (d->got < d->bytes) return;
    l->tell = true;    // the sender waits for it
    end_landing(d, 0);
}

void tcp_direct_fail(struct tcp_link *l, int err)
{
    l->streams = NULL;
    l->pulls = NULL;
    if (l->early.dst) {
        l->early.dst = NULL;
        l->direct--;
        uno_direct_done(l->early.token, 0, err);
    }
    for (uint32_t i = 0; i < offers.room; i++) {
        struct tcp_offer *o = offers.at[i];
        if (o && o->link == l) end_offer(o, err);
    }
    for (uint32_t i = 0; i < landings.room; i++) {
        struct tcp_landing *d = landings.at[i];
        if (d && d->link == l) end_landing(d, err);
    }
}

static void empty(struct table *t)
{
    for (uint32_t i = 0; i < t->room; i++) free(t->at[i]);
    free(t->at);
    *t = (struct table){0};
}

void tcp_direct_close(void)
{
    empty(&offers);
    empty(&landings);
}
