// SPDX-License-Identifier: BSD-3-Clause
// The contract of a channel: a transport of messages between two processes, in order and reliable. A channel knows
// nothing of communicators, matching or requests. Components: self.c, shm/, tcp/. Each ends in its const table; chan.c
// lists them in the order in which they are asked.
//
// A link is one peer as reached by one channel; the channel embeds struct uno_link in its own and finds itself by its
// place in it. All functions are called with the library lock held. Upwards a channel calls uno_deliver (and the
// rendezvous hooks below), which src/p2p defines. No function blocks, except that `look` waits for a sender in the
// middle of its copy.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/job.h"

#define UNO_FULL (-1)        // nothing was sent: poll, then call again
#define UNO_DECLINED (-2)    // this channel cannot: take the next one, or the other protocol
#define UNO_INLINE_MAX 40    // payload that fits the header's cache line on shm; control messages fit everywhere

// The kind of a message says what handles it above (p2p/kind.h). A channel knows one: whole messages of users, most of
// what travels, may have a short form.
#define UNO_EAGER 1

// On the wire and in a slot. 24 bytes; the stamp belongs to the channel.
struct uno_hdr {
    uint16_t stamp;
    uint8_t kind;
    uint8_t chan;    // for the channel's own use
    int32_t src;     // sender's rank in the communicator
    int32_t tag;
    uint32_t bytes;    // of payload
    uint64_t ctx;      // communicator's context, or a token (p2p/token.h)
};

struct uno_rts {
    uint64_t token, bytes, addr;
    uint32_t desc, direct;    // direct: desc names memory that both sides can copy, in so many runs
    uint32_t row, tile;       // the order that the sender's layout likes (core/pack.h)
};

// Memory for a direct copy: runs in the order of the message; a run ends before byte `end` of it. A list of more than
// one run stays in place until uno_direct_done or withdraw; a single run need not.
struct uno_run {
    char *at;
    size_t end;
};
struct uno_mem {
    const struct uno_run *run;
    size_t runs;
};

static inline size_t uno_mem_bytes(const struct uno_mem *m)
{
    return m->run[m->runs - 1].end;
}

struct uno_packer;

// A message to send: header fields and a payload that is plain (data) or packed while it is copied (packer, data NULL).
struct uno_msg {
    uint8_t kind;
    int32_t src, tag;
    uint32_t bytes;
    uint64_t ctx;
    const void *data;
    struct uno_packer *packer;
};

struct uno_chan;
struct uno_link;

// What a channel can do: callers ask for that, never for a name.
enum uno_chan_can {
    UNO_CAN_ALWAYS = 1,    // is used whatever the parameter `chan` lists
    UNO_CAN_SHARE = 2,     // reaches every process of this host, and shares the job segment's memory and doors with it
};

struct uno_chan_ops {
    const char *name;    // for messages and the parameter `chan`: nothing else depends on it
    uint32_t can;        // enum uno_chan_can
    // Sets up what does not depend on peers. UNO_DECLINED: not usable in this job (said at verbosity 1).
    int (*open)(struct uno_chan *self);
    // A link to proc (proc.h), cheap and without waiting; UNO_DECLINED when this channel does not reach it.
    int (*connect)(struct uno_chan *self, int proc, struct uno_link **link);
    // Copies out of m before it returns. UNO_FULL: nothing was sent.
    int (*send)(struct uno_link *link, const struct uno_msg *m);
    // Delivers what has arrived, at most budget messages; returns how many. poll_link: from this link alone.
    int (*poll)(struct uno_chan *self, int budget);
    int (*poll_link)(struct uno_link *link);
    // Only inside uno_deliver with payload NULL: where the next bytes of the payload are, at most n (> 0); returns how
    // many. They count as taken, and stay until the next look or the return.
    size_t (*look)(struct uno_link *link, size_t n, const void **at);
    // Rendezvous by direct copy. offer: the sender publishes rts->bytes in its memory, fills rts->addr, desc, direct;
    // UNO_DECLINED: stream. The channel calls uno_direct_done(token, bytes) on either side once all bytes are there.
    int (*offer)(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
    // accept: the receiver names where up to all bytes of mem go; both sides then copy from within poll. UNO_DECLINED:
    // as for offer; the caller answers CTS.
    int (*accept)(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
    // The offer was not taken (the receiver never saw it, or answered CTS instead): forget it. False: it was taken.
    bool (*withdraw)(struct uno_link *link, const struct uno_rts *rts);
    // The memory of an offer goes away: its bytes are in copy from now on, until uno_direct_done or withdraw. The
    // receiver is not asked, and may come to answer CTS. False: both sides copy already, and polling ends that on this
    // side without the other's help.
    bool (*replace)(struct uno_link *link, const struct uno_rts *rts, const void *copy);
    // The process at the other end is gone: nothing is taken from it any more, and what is under way ends, by
    // uno_direct_done with err.
    void (*lose)(struct uno_link *link, int err);
    // A descriptor readable when poll would find something, -1: the door rings for this channel. Called before each
    // sleep on it.
    int (*wait_fd)(struct uno_chan *self);
    // Of a process of another job (proc.h): nothing more will be sent to it. The other side is told; the link ends once
    // that side has left too.
    void (*leave)(struct uno_link *link);
    // Sends what may still be buffered, lets peers go; safe after a failed open.
    void (*close)(struct uno_chan *self);
};

// How a message of a user or of a collective went: whole, copied by both sides from memory to memory, or announced and
// then streamed. A channel counts the first kind, p2p the others.
enum uno_protocol { UNO_BY_EAGER, UNO_BY_DIRECT, UNO_BY_STREAM, UNO_PROTOCOLS };

// Sent so far (base/pvar.h).
struct uno_traffic {
    _Atomic uint64_t messages, bytes;
    _Atomic uint64_t ticks;    // from the announcement to the end
};

struct uno_chan {
    const struct uno_chan_ops *ops;
    int usable;
    int index;    // 0 .. UNO_CHANNELS - 1 (proc.h)
    struct uno_traffic sent[UNO_PROTOCOLS];
};

struct uno_link {
    struct uno_chan *chan;
    const struct uno_chan_ops *ops;    // = chan->ops, one load less
    int proc;                          // the other side: world rank, or a number of proc.h
    uint32_t eager_max;                // UNO_EAGER payloads up to here: larger ones do better by direct copy
    uint32_t data_max;                 // largest payload of any kind
    bool heap;                         // both sides map the heap of one job segment (base/job.h)
    bool torn;                         // its process died in the middle of a payload that is being read: it is nothing
    bool parted;                       // a process of another job: it took leave, so what it had to send is there
};

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

// src/core/pack.c: how a channel takes bytes out of a message that is packed while it is copied.
size_t uno_pack(struct uno_packer *p, void *dst, size_t n);

// The link is gone for good (tcp after all attempts to reconnect): the job ends, or goes on without that process.
void uno_link_lost(struct uno_link *link, const char *why);

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

// Opens those, too, that this job alone has no use for: processes of other jobs are about to be met.
int uno_chan_open_guests(void) UNO_MUST_USE;
int uno_chan_connect(int proc, struct uno_link **link) UNO_MUST_USE;    // the first channel that reaches proc
int uno_chan_poll_all(int budget);
struct uno_chan *const *uno_chan_usable(int *count);
void uno_chan_leave(int proc);
void uno_chan_close_all(void);
