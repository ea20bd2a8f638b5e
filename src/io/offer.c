// SPDX-License-Identifier: BSD-3-Clause
// Lists of pieces (offer.h). Called by collect.c, without the library's lock held or with it.
// Always holds: the bytes of a list follow each other in the access; a piece lies in the user's memory, or in `pack`.
#include "io/offer.h"

#include <stdlib.h>

#include "core/pack.h"

#define STRAIGHT 4096    // bytes of a run in memory from which on it is a piece although its run in the file is longer

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool lies_in_pack(const struct uno_offer *o, const struct uno_piece *p)
{
    uint64_t begin = (uint64_t)(uintptr_t)o->pack;
    return o->pack && p->mem >= begin && p->mem < begin + o->quota;
}

static int get_room(struct uno_offer *o)
{
    if (!o->piece) o->piece = malloc(UNO_OFFER_PIECES * sizeof *o->piece);
    if (!o->pack) o->pack = malloc(o->quota);
    return o->piece && o->pack ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a list of %zu bytes", o->quota);
}

static void add_piece(struct uno_offer *o, struct uno_piece p)
{
    struct uno_piece *last = o->n ? &o->piece[o->n - 1] : NULL;
    if (last && last->at + (int64_t)last->bytes == p.at && last->mem + last->bytes == p.mem &&
        lies_in_pack(o, last) == lies_in_pack(o, &p))
        last->bytes += p.bytes;
    else
        o->piece[o->n++] = p;
    o->pos += p.bytes;
    o->bytes += p.bytes;
}

int uno_offer_fill(struct uno_offer *o)
{
    const struct uno_access *a = o->a;
    struct uno_packer mem;
    o->n = o->bytes = o->in_pack = 0;
    o->from = o->pos;
    if (o->pos >= o->end) return MPI_SUCCESS;
    int err = get_room(o);
    if (err) return err;
    uno_packer_init(&mem, a->buf, a->count, a->type);
    while (o->pos < o->end && o->n < UNO_OFFER_PIECES && o->bytes < o->quota) {
        struct uno_piece p;
        size_t straight;
        size_t n = uno_view_run(a->view, a->pos + o->pos, least(o->end - o->pos, o->quota - o->bytes), &p.at);
        const char *at = uno_packer_run(&mem, o->pos, &straight);
        if (!o->packed && (straight >= n || straight >= STRAIGHT)) {
            n = least(n, straight);
        } else {
            at = o->pack + o->in_pack;
            uno_packer_seek(&mem, o->pos);
            if (a->write) uno_pack(&mem, o->pack + o->in_pack, n);
            o->in_pack += n;
        }
        p.mem = (uint64_t)(uintptr_t)at;
        p.bytes = n;
        add_piece(o, p);
    }
    return MPI_SUCCESS;
}

void uno_offer_take(struct uno_offer *o, int64_t eof)
{
    struct uno_packer mem;
    uint64_t pos = o->from;
    if (o->a->write || o->in_pack == 0) return;
    uno_packer_init(&mem, o->a->buf, o->a->count, o->a->type);
    for (size_t i = 0; i < o->n && o->piece[i].at < eof; pos += o->piece[i++].bytes) {
        const struct uno_piece *p = &o->piece[i];
        if (!lies_in_pack(o, p)) continue;
        uno_packer_seek(&mem, pos);
        uno_unpack(&mem, (const char *)(uintptr_t)p->mem, least(p->bytes, (uint64_t)(eof - p->at)));
    }
}

void uno_offer_free(struct uno_offer *o)
{
    free(o->piece);
    free(o->pack);
    o->piece = NULL;
    o->pack = NULL;
}
