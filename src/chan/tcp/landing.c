// SPDX-License-Identifier: BSD-3-Clause
// Large messages straight from the sender's buffer into the receiver's, the receiver's part (direct.c: the sender's). A
// landing is the memory of a receive; the PULL tells the sender its number. Called by p2p (accept) and by receive.c.
//
// By one connection pieces arrive in order. By several they do not, and after a lane broke a piece may come again by
// another one: each is written by one connection at a time, and counts once. A late one, also for a landing that
// is gone, is read and dropped. Of two connections that bring the same piece at a time the sender has given up the one
// with the lower turn: that one may end in the middle, and what it acknowledges is not heard.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "chan/table.h"
#include "chan/tcp/tcp.h"

struct tcp_landing {
    struct tcp_link *link;
    struct tcp_landing *next;    // in the link's pulls
    uint32_t index, offer;
    uint64_t name;    // index, and above it what tells it from others with the same
    char *dst;
    size_t bytes, got;
    unsigned char *map;    // a bit per grain that has come; NULL: all that has come lies at the beginning
    uint64_t token;
    bool by_lane;    // some of it has come by a lane
    bool arrived;    // the sender is to be told so
};

static struct uno_table landings;
static char *sink;    // [TCP_PIECE_MAX] where late pieces go

int tcp_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token)
{
    if (mem->runs > 1) return UNO_DECLINED;
    size_t room = mem->run->end;
    struct tcp_link *l = tcp_of(link);
    uint32_t index;
    struct tcp_landing *d = uno_table_enter(&landings, sizeof *d, &index);
    if (!d) return uno_fail(MPI_ERR_NO_MEM, "no memory for a transfer from rank %d", link->proc);
    *d = (struct tcp_landing){.link = l, .index = index, .offer = rts->desc, .dst = mem->run->at, .token = token};
    d->name = (uint64_t)landings.born << 32 | index;
    d->bytes = rts->bytes < room ? rts->bytes : room;
    l->direct++;
    d->next = l->pulls;
    l->pulls = d;
    tcp_pump(l);
    return MPI_SUCCESS;
}

static void free_landing(struct tcp_landing *d)
{
    uno_assert(d->link->direct > 0);
    d->link->direct--;
    free(d->map);
    free(d);
}

// What still comes for it from now on is dropped.
static void close_landing(struct tcp_landing *d)
{
    uno_table_leave(&landings, d->index);
    for (struct tcp_link *l = d->link; l; l = l->side) {
        if (!l->in.dst || l->in.landing != d) continue;
        l->in.landing = NULL;
        l->in.dst = sink;
    }
}

static void end_landing(struct tcp_landing *d, int err)
{
    uint64_t token = d->token;
    size_t got = d->got;
    close_landing(d);
    free_landing(d);
    uno_direct_done(token, got, err);
}

static void put_pulls(struct tcp_link *l)
{
    while (l->pulls) {
        struct tcp_landing *d = l->pulls;
        struct tcp_pull p = {.landing = d->name, .bytes = d->bytes, .offer = d->offer};
        if (!tcp_put(l, d->arrived ? TCP_LANDED : TCP_PULL, &p, sizeof p)) return;
        l->pulls = d->next;
        if (d->arrived)
            free_landing(d);
        else if (d->bytes == 0)
            end_landing(d, 0);
    }
}

void tcp_pump(struct tcp_link *l)
{
    if (l->pulls) put_pulls(l);
    tcp_put_pieces(l);
}

// The landing was there, and has all it wanted.
static bool was_there(uint64_t name)
{
    uint32_t age = landings.born - (uint32_t)(name >> 32);
    return (uint32_t)name < landings.room && age < UINT32_MAX / 2;
}

static bool has_come(const struct tcp_landing *d, uint64_t offset)
{
    if (!d->map) return offset < d->got;
    uint64_t k = offset / TCP_GRAIN;
    return d->map[k / 8] >> k % 8 & 1;
}

// From here on pieces come in any order. False: memory is out.
static bool begin_map(struct tcp_landing *d)
{
    if (d->map) return true;
    d->map = calloc(d->bytes / TCP_GRAIN / 8 + 1, 1);
    if (!d->map) return false;
    for (uint64_t k = 0; k * TCP_GRAIN < d->got; k++) d->map[k / 8] |= (unsigned char)(1 << k % 8);
    return true;
}

// Whether the piece that begins now is to be read to where it belongs: no connection reads it that the sender gave it
// to later. One that had it earlier leaves it to this one.
static bool takes_over(struct tcp_landing *d, const struct tcp_frame *f)
{
    for (struct tcp_link *x = d->link; x; x = x->side) {
        if (!x->in.dst || x->in.landing != d || x->in.offset != tcp_offset_of(&f->h)) continue;
        if ((int8_t)(f->h.kind - x->in.f.h.kind) < 0) return false;
        x->in.landing = NULL;
        x->in.dst = sink;
    }
    return true;
}

static bool is_well_cut(const struct tcp_landing *d, uint64_t offset, uint32_t n)
{
    if (offset > d->bytes || n > d->bytes - offset || offset % TCP_GRAIN != 0) return false;
    return n % TCP_GRAIN == 0 || offset + n == d->bytes;
}

const char *tcp_place_piece(struct tcp_link *l, const struct tcp_frame *f, struct tcp_straight *in)
{
    static const char senseless[] = "a piece of no transfer arrived";
    struct tcp_landing *d = uno_table_find(&landings, (uint32_t)f->h.ctx);
    uint64_t offset = tcp_offset_of(&f->h);
    if (f->h.bytes == 0 || f->h.bytes > TCP_PIECE_MAX) return senseless;
    if (!sink && l->main->ways > 1 && !(sink = malloc(TCP_PIECE_MAX))) return "memory is out";
    if (d && d->name != f->h.ctx) d = NULL;
    if (d && (d->link != l->main || !is_well_cut(d, offset, f->h.bytes))) return senseless;
    if (!d && (l->main->ways < 2 || !was_there(f->h.ctx))) return senseless;
    if (l->main->ways < 2 && offset != d->got) return senseless;
    bool late = !d || has_come(d, offset) || !takes_over(d, f);
    if (!late && offset != d->got && !begin_map(d)) return "memory is out";
    in->landing = late ? NULL : d;
    in->dst = late ? sink : d->dst + offset;
    in->offset = offset;
    return NULL;
}

static void count_piece(struct tcp_landing *d, uint64_t offset, size_t n)
{
    if (!d->map) {
        d->got += n;
        return;
    }
    for (uint64_t at = offset; at < offset + n; at += TCP_GRAIN) {
        uint64_t k = at / TCP_GRAIN, left = offset + n - at;
        if (has_come(d, at)) continue;
        d->map[k / 8] |= (unsigned char)(1 << k % 8);
        d->got += left < TCP_GRAIN ? left : TCP_GRAIN;
    }
}

void tcp_landed(struct tcp_link *l, struct tcp_landing *d, uint64_t offset, size_t n)
{
    count_piece(d, offset, n);
    uno_assert(d->got <= d->bytes);
    d->by_lane = d->by_lane || l != d->link;
    if (d->got < d->bytes) return;
    if (!d->by_lane) {
        l->tell = true;    // the sender waits for it
        end_landing(d, 0);
        return;
    }
    uint64_t token = d->token;
    size_t got = d->got;
    struct tcp_link *m = d->link;
    close_landing(d);
    d->arrived = true;
    d->next = m->pulls;
    m->pulls = d;
    put_pulls(m);
    uno_direct_done(token, got, 0);
}

void tcp_fail_landings(struct tcp_link *l, int err)
{
    for (struct tcp_landing *d = l->pulls, *next; d; d = next) {
        next = d->next;
        if (d->arrived) free_landing(d);
    }
    l->pulls = NULL;
    for (uint32_t i = 0; i < landings.room; i++) {
        struct tcp_landing *d = landings.at[i];
        if (d && d->link == l) end_landing(d, err);
    }
}

void tcp_landings_close(void)
{
    for (uint32_t i = 0; i < landings.room; i++)
        if (landings.at[i]) free(((struct tcp_landing *)landings.at[i])->map);
    uno_table_empty(&landings);
    free(sink);
    sink = NULL;
}
