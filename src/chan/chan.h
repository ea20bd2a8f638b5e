// SPDX-License-Identifier: BSD-3-Clause
// The library's side of channels: their contract is include/unisono/channel.h, which those of third parties follow,
// too. Components: self.c, shm/, ofi/, tcp/, and what is loaded. Each ends in its const tables; chan.c lists them in
// the order in which they are asked.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/job.h"
#include "unisono/channel.h"

// ---- upwards, defined in src/p2p/deliver.c (uno_link_lost: lost.c) ----

// A message arrived. payload points to all h->bytes of it, or is NULL: then uno_link_read or link->ops->look fetches
// them before this returns. Returns NULL, or what is wrong with the message, of which nothing was used or taken: the
// channel decides what becomes of the link.
const char *uno_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload);

// The header of a message arrived, and its payload is still under way. NULL: the channel collects the payload and
// delivers the whole. Otherwise the receive is found: the payload goes to that address, then uno_direct_done(*token)
// ends it.
void *uno_deliver_into(struct uno_link *link, const struct uno_hdr *h, uint64_t *token);

// A direct copy ended on this side; token is the one of offer's rts, of accept or of uno_deliver_into. err:
// MPI_SUCCESS, or the class of what kept the bytes from coming.
void uno_direct_done(uint64_t token, size_t bytes, int err);

// A payload that was lent is not used any more: the receiver has it, or the channel a copy.
void uno_send_returned(uint64_t token);

// src/core/pack.c: how a channel takes bytes out of a message that is packed while it is copied.
size_t uno_pack(struct uno_packer *p, void *dst, size_t n);

// The link is gone for good (tcp after all attempts to reconnect): the job ends, or goes on without that process.
void uno_link_lost(struct uno_link *link, const char *why);

// From now on messages of up to so many bytes had better go at once: link->eager_max. (flow.c)
void uno_link_eager(struct uno_link *link, uint32_t most);

// The next n bytes of a payload that is fetched (dst NULL: drops them).
static inline void uno_link_read(struct uno_link *link, void *dst, size_t n)
{
    const void *from;
    char *to = dst;
    for (size_t k; n > 0; n -= k) {
        k = link->ops->look(link, n, &from);
        if (!to) continue;
        uno_copy_in(to, from, k);
        to += k;
    }
}

// ---- chan.c: the list of channels ----

// Opens all usable channels (parameter `chan`: names separated by commas, default all).
int uno_chan_open_all(void) UNO_MUST_USE;

// Opens those, too, that this job alone has no use for: processes of other jobs are about to be met, which may be on
// other hosts (far).
int uno_chan_open_guests(bool far) UNO_MUST_USE;
int uno_chan_connect(int proc, struct uno_link **link) UNO_MUST_USE;    // the first channel that reaches proc
int uno_chan_poll_all(int budget);
struct uno_chan *const *uno_chan_usable(int *count);
void uno_chan_leave(int proc);
void uno_chan_close_all(void);
