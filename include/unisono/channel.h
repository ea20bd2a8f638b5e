// SPDX-License-Identifier: BSD-3-Clause
// The contract of a channel: a transport of messages between two processes, in order and reliable. A channel knows
// nothing of communicators, matching or requests. The library's own follow it, and so do those of third parties
// (unisono/component.h, docs/components.md).
//
// A link is one peer as reached by one channel; the channel embeds struct uno_link in its own and finds itself by its
// place in it. All functions are called with the library lock held. Upwards a channel calls struct uno_channel_host.
// No function blocks, except that `look` waits for a sender in the middle of its copy.
#pragma once
#ifdef __cplusplus
#include <atomic>
#define UNO_ATOMIC(type) std::atomic<type>
#else
#define UNO_ATOMIC(type) _Atomic(type)
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "component.h"

#define UNO_CHANNEL_MAJOR 1
#define UNO_CHANNEL_MINOR 0
#define UNO_COMPONENT_IS_CHANNEL UNO_COMPONENT_HEAD(UNO_COMPONENT_CHANNEL, UNO_CHANNEL_MAJOR, UNO_CHANNEL_MINOR)

#define UNO_FULL (-1)         // nothing was sent: poll, then call again
#define UNO_DECLINED (-2)     // this channel cannot: take the next one, or the other protocol
#define UNO_LENT (-3)         // it has left, but its payload is still the user's memory (uno_msg.lent)
#define UNO_LEND_MIN 16384    // bytes of a payload that is worth that
#define UNO_INLINE_MAX 40     // payload that fits the header's cache line on shm; control messages fit everywhere

// The kind of a message says what handles it above. A channel knows one: whole messages of users, most of
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
    uint64_t ctx;      // communicator's context, or a token
};

struct uno_rts {
    uint64_t token, bytes, addr;
    uint32_t desc, direct;    // direct: desc names memory that both sides can copy, in so many runs
    uint32_t row, tile;       // the order that the sender's layout likes
};

// Memory for a direct copy: runs in the order of the message; a run ends before byte `end` of it. A list of more than
// one run stays in place until done or withdraw; a single run need not.
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
    bool more;    // and lent: another lent one follows by this link at once, for which a channel may keep this one back
    int32_t src, tag;
    uint32_t bytes;
    uint64_t ctx;
    const void *data;
    struct uno_packer *packer;
    uint64_t lent;    // 0, or a token: data may stay in use until returned(lent), if `send` answers UNO_LENT
};

struct uno_chan;
struct uno_link;

// What a channel can do: callers ask for that, never for a name.
enum uno_chan_can {
    UNO_CAN_ALWAYS = 1,    // is used whatever the parameter `chan` lists
    UNO_CAN_SHARE = 2,     // reaches every process of this host, and shares the job segment's memory and doors with it
    UNO_CAN_FAR = 4,       // reaches processes on other hosts, once it is opened again
    UNO_CAN_ON_REQUEST = 8,    // is used only where the parameter `chan` lists it
    UNO_CAN_MEET = 16          // reaches processes of other jobs, too
};

struct uno_chan_ops {
    // Sets up what does not depend on peers. UNO_DECLINED: not usable in this job (said at verbosity 1).
    int (*open)(struct uno_chan *self);
    // A link to proc (a world rank, or a larger number: a process of another job, see UNO_CAN_MEET), cheap and without
    // waiting; UNO_DECLINED when this channel does not reach it.
    int (*connect)(struct uno_chan *self, int proc, struct uno_link **link);
    // Copies out of m before it returns, or answers UNO_LENT. UNO_FULL: nothing was sent.
    int (*send)(struct uno_link *link, const struct uno_msg *m);
    // Delivers what has arrived, at most budget messages; returns how many. poll_link: from this link alone.
    int (*poll)(struct uno_chan *self, int budget);
    int (*poll_link)(struct uno_link *link);
    // Only inside deliver with payload NULL: where the next bytes of the payload are, at most n (> 0); returns how
    // many. They count as taken, and stay until the next look or the return.
    size_t (*look)(struct uno_link *link, size_t n, const void **at);
    // Rendezvous by direct copy. offer: the sender publishes rts->bytes in its memory, fills rts->addr, desc, direct;
    // UNO_DECLINED: stream. The channel calls done(token, bytes) on either side once all bytes are there.
    int (*offer)(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
    // accept: the receiver names where up to all bytes of mem go; both sides then copy from within poll. UNO_DECLINED:
    // as for offer; the caller answers CTS.
    int (*accept)(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
    // The offer was not taken (the receiver never saw it, or answered CTS instead): forget it. False: it was taken.
    bool (*withdraw)(struct uno_link *link, const struct uno_rts *rts);
    // The memory of an offer goes away: its bytes are in copy from now on, until done or withdraw. The
    // receiver is not asked, and may come to answer CTS. False: both sides copy already, and polling ends that on this
    // side without the other's help.
    bool (*replace)(struct uno_link *link, const struct uno_rts *rts, const void *copy);
    // The process at the other end is gone: nothing is taken from it any more, and what is under way ends, by
    // done with err: at once, or later where the memory may still be used until then.
    void (*lose)(struct uno_link *link, int err);
    // A descriptor readable when poll would find something, -1: the door rings for this channel. Called before each
    // sleep on it.
    int (*wait_fd)(struct uno_chan *self);
    // Of a process of another job: nothing more will be sent to it. The other side is told; the link ends once
    // that side has left too.
    void (*leave)(struct uno_link *link);
    // Sends what may still be buffered, lets peers go; safe after a failed open.
    void (*close)(struct uno_chan *self);
};

// How a message of a user or of a collective went: whole, copied by both sides from memory to memory, or announced and
// then streamed; the last are the library's own, which arrange those, or act on windows and files. A channel of
// the library counts the first kind.
enum uno_protocol { UNO_BY_EAGER, UNO_BY_DIRECT, UNO_BY_STREAM, UNO_BY_OWN, UNO_PROTOCOLS };

// Sent so far.
struct uno_traffic {
    UNO_ATOMIC(uint64_t) messages, bytes;
    UNO_ATOMIC(uint64_t) ticks;    // from the announcement to the end; eager and own: in sending
};

struct uno_chan {
    const struct uno_chan_ops *ops;
    const struct uno_component *is;
    int usable;
    int index;    // its place among the channels
    struct uno_traffic sent[UNO_PROTOCOLS];
};

struct uno_link {
    struct uno_chan *chan;
    const struct uno_chan_ops *ops;    // = chan->ops, one load less
    int proc;                          // the other side: world rank, or a larger number
    uint32_t eager_max;                // UNO_EAGER payloads up to here: larger ones do better by direct copy
    uint32_t data_max;                 // largest payload of any kind
    bool lends;                        // messages with `lent` are worth it: the channel keeps what it sends
    bool heap;                         // both sides map the heap of one job segment
    bool torn;                         // its process died in the middle of a payload that is being read: it is nothing
    bool met;                          // a process of another job: there was a connection, or none is needed
    bool parted;                       // the same: it took leave, so what it had to send is there
};

// What the library does for a channel: struct uno_component_host.services of one that is loaded. Valid for as long as
// the process runs.
struct uno_channel_host {
    // A message arrived. payload points to all h->bytes of it, or is NULL: then `look` of the link's table is called
    // for them before this returns. Returns NULL, or what is wrong with the message, of which nothing was used or
    // taken: the channel decides what becomes of the link.
    const char *(*deliver)(struct uno_link *link, const struct uno_hdr *h, const void *payload);
    // The header of a message arrived, and its payload is still under way. NULL: the channel collects the payload and
    // delivers the whole. Otherwise the receive is found: the payload goes to that address, then done(*token, ...) ends
    // it.
    void *(*deliver_into)(struct uno_link *link, const struct uno_hdr *h, uint64_t *token);
    // A direct copy ended on this side; token is the one of offer's rts, of accept or of deliver_into. err: 0, or the
    // class of what kept the bytes from coming.
    void (*done)(uint64_t token, size_t bytes, int err);
    void (*returned)(uint64_t token);    // a payload that was lent is not used any more
    // Takes at most n bytes out of a message that is packed while it is sent; returns how many.
    size_t (*pack)(struct uno_packer *p, void *dst, size_t n);
    // The link is gone for good: the job ends, or goes on without that process.
    void (*lost)(struct uno_link *link, const char *why);

    // From here on: once the channel's table is asked to open.
    int (*rank)(void);    // of this process, in its MPI_COMM_WORLD; uno_link.proc is such a number
    int (*size)(void);
    uint64_t (*job)(void);     // the same on all ranks of the job, and in no other
    bool (*near)(int proc);    // whether the process is on this host
    void (*ring)(int proc);    // wakes a process of this host, should it sleep: after what it is to see
    // Values that ranks leave for each other; get waits until that rank has put. 0, or an errno value.
    int (*put)(const char *key, const void *value, size_t bytes);
    int (*get)(int rank, const char *key, void *value, size_t *bytes);    // *bytes: room, then length
};
