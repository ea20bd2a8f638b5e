// SPDX-License-Identifier: BSD-3-Clause
// Frames as they lie in a link's ring: for send.c, which puts them there and gives them to the kernel, and resend.c,
// which decides what a new connection gets once more.
#pragma once
#include "chan/tcp/tcp.h"

// Behind the header of a PIECE in the ring: its trailer, then where its payload lies (not sent).
struct tcp_note {
    struct tcp_check trailer;
    unsigned char key[TCP_KEY];    // of its payload, where frames have MACs
    const char *base;
    struct tcp_offer *offer;
};

static inline struct tcp_frame *tcp_frame_at(const struct tcp_link *l, uint64_t at)
{
    return (struct tcp_frame *)(void *)(l->ring + at % (uint64_t)uno_tcp_buffer.num);
}

static inline size_t tcp_ring_bytes(const struct tcp_frame *f)
{
    return sizeof *f + (f->h.chan == TCP_PIECE ? sizeof(struct tcp_note) : f->h.bytes + tcp_behind(f));
}

static inline struct tcp_note *tcp_note_of(struct tcp_frame *f)
{
    return (struct tcp_note *)(void *)(f + 1);
}

// Of a trailed MESSAGE.
static inline struct tcp_check *tcp_trailer_of(struct tcp_frame *f)
{
    return (struct tcp_check *)(void *)((char *)(f + 1) + tcp_padded(f->h.bytes));
}

// The kernel takes no more of it now, or takes some again.
void tcp_set_blocked(struct tcp_link *l, bool blocked);
