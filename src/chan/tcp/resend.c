// SPDX-License-Identifier: BSD-3-Clause
// What a break leaves of a link's ring: which frames a new connection gets once more, and which pieces of large
// messages go by another one. Called by between.c, up.c, lanes.c and direct.c.
#include <mpi.h>
#include <string.h>

#include "base/invariant.h"
#include "base/pvar.h"
#include "chan/tcp/ring.h"

static _Atomic uint64_t resent;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_resends", &resent, "frames sent once more after a connection broke"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

void tcp_move_pieces(struct tcp_link *l, const struct tcp_offer *o, const char *from, const char *to)
{
    for (uint64_t at = l->tail; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at))) {
        struct tcp_frame *f = tcp_frame_at(l, at);
        if (f->h.chan == TCP_PIECE && tcp_note_of(f)->offer == o)
            tcp_note_of(f)->base = to + (tcp_note_of(f)->base - from);
    }
}

void tcp_rewind(struct tcp_link *l, uint64_t ack)
{
    tcp_settle(l);
    for (uint64_t at = l->tail; at < l->sent; at += tcp_ring_bytes(tcp_frame_at(l, at)))
        if (tcp_frame_at(l, at)->seq > l->given_seq) l->given_seq = tcp_frame_at(l, at)->seq;
    tcp_set_blocked(l, false);
    l->sent = l->head;
    l->part = 0;
    l->pieces = 0;
    tcp_acked(l, ack);
    l->sent = l->tail;
    for (uint64_t at = l->sent; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at)))
        if (tcp_frame_at(l, at)->h.chan == TCP_PIECE) l->pieces++;
}

void tcp_count_resent(const struct tcp_link *l)
{
    for (uint64_t at = l->sent; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at))) {
        uint64_t seq = tcp_frame_at(l, at)->seq;
        if (seq > 0 && seq <= l->given_seq) uno_count_add(&resent, 1);
    }
}

bool tcp_take_back(struct tcp_link *l, struct tcp_link *from)
{
    struct tcp_frame *f = tcp_frame_at(from, from->tail);
    const struct tcp_note *note = tcp_note_of(f);
    uno_assert(from->state != TCP_UP && from->lane > 0);
    if (f->h.chan == TCP_PIECE && note->offer) {
        struct tcp_part_of p = {.offer = note->offer,
                                .landing = f->h.ctx,
                                .offset = tcp_offset_of(&f->h),
                                .base = note->base,
                                .n = f->h.bytes,
                                .turn = (uint8_t)(f->h.kind + 1)};
        if (!tcp_put_piece(l, &p)) return false;
        if (l->lane == 0) tcp_piece_moved(p.offer);
    }
    from->tail += tcp_ring_bytes(f);
    from->sent = from->tail;
    if (from->tail == from->head) tcp_empty_ring(from);
    return true;
}

void tcp_empty_ring(struct tcp_link *l)
{
    l->tail = l->sent = l->head = l->seq = 0;
    l->part = 0;
    l->pieces = 0;
}

void tcp_keep_pieces(struct tcp_link *l)
{
    uint64_t to = l->tail, end = l->head;
    l->seq = l->given_seq = 0;
    l->pieces = 0;
    l->part = 0;
    for (uint64_t at = l->tail; at < end;) {
        struct {
            struct tcp_frame f;
            struct tcp_note note;
        } kept;
        size_t n = tcp_ring_bytes(tcp_frame_at(l, at));
        memcpy(&kept, tcp_frame_at(l, at), n < sizeof kept ? n : sizeof kept);
        at += n;
        if (kept.f.h.chan != TCP_PIECE || !kept.note.offer) continue;
        kept.f.seq = ++l->seq;
        memcpy(tcp_frame_at(l, to), &kept, sizeof kept);
        to += sizeof kept;
        l->pieces++;
    }
    l->head = to;
    l->sent = l->tail;
    if (l->tail == l->head) tcp_empty_ring(l);
}

bool tcp_forget_offer(struct tcp_link *l, const struct tcp_offer *o)
{
    bool whole = true;
    for (uint64_t at = l->tail; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at))) {
        struct tcp_frame *f = tcp_frame_at(l, at);
        if (f->h.chan != TCP_PIECE || tcp_note_of(f)->offer != o) continue;
        tcp_note_of(f)->offer = NULL;
        whole = whole && at < l->sent;
    }
    return whole;
}

bool tcp_owes(const struct tcp_link *l)
{
    for (uint64_t at = l->tail; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at)))
        if (tcp_frame_at(l, at)->seq > 0) return true;
    return false;
}
