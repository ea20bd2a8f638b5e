// SPDX-License-Identifier: BSD-3-Clause
// Requests: what the handle points to, for every kind of operation, and how an operation ends.
//
// `done` turns true exactly once an activation, under the library lock, by uno_request_done(). The waiter then takes
// status and, unless persistent, frees the request. A send that left at once has no request of its own: its handle is
// &uno_request_sent.
#pragma once
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/pool.h"
#include "core/pack.h"

#define UNO_REQUEST_MAGIC 0x55524551u

enum uno_request_kind {
    UNO_REQ_SENT,
    UNO_REQ_SEND,
    UNO_REQ_RECV,
    UNO_REQ_COLL,
    UNO_REQ_GENERAL,
    UNO_REQ_PARTITIONED,
    UNO_REQ_OTHER
};

struct uno_request_ops {
    const char *name;
    int (*start)(MPI_Request r);     // persistent: activates. The handle was checked to be inactive
    int (*cancel)(MPI_Request r);    // may do nothing; completes the request as cancelled when it can
    int (*query)(MPI_Request r,
                 MPI_Status *s);    // called once at completion to fill *s (generalized); NULL: r->status as it is
    int (*end)(MPI_Request r);      // NULL, or called once when wait or test ends the operation; an error class
    void (*free)(MPI_Request r);    // gives back what the kind holds; the request itself is freed by the caller
    bool (*poll)(MPI_Request r);    // NULL, or moves the operation on while a call waits for it
    void (*broken)(MPI_Request r, int error);    // NULL: uno_request_done. A message that the operation needs was lost
};

// The part of a send or a receive: where its message is matched, what is moved and how far it is.
struct uno_move {
    struct MPI_ABI_Request *next, *prev;    // in a matching queue
    struct uno_entry *entry;                // in the index of that queue, while it has one
    uint64_t order;                         // posting order in its uno_match
    bool queued;                            // in a matching queue
    bool coll;                              // it belongs to a collective: context | UNO_CTX_COLL
    uint8_t mode;                           // sends: enum uno_mode (p2p/p2p.h)
    const void *buf;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;    // held; NULL: plain bytes
    size_t room;                      // bytes as set up: of a send, or that a receive has room for
    size_t bytes;                     // `room`, cut down to the message by a rendezvous
    size_t moved;                     // bytes moved so far (streamed rendezvous)
    struct uno_packer packer;         // when type is not plain
    uint64_t begun;                   // ticks: when a send was announced
    int direct;                       // descriptor of the offer that stands (rendezvous by direct copy), -1: none
    uint64_t token;                   // p2p/token.h: of a send that was announced, else 0; of a streamed receive
    struct uno_run *runs;             // of a layout that is copied directly (p2p/direct.h), else NULL
    struct uno_promise {
        struct MPI_ABI_Datatype *type;
        MPI_Count count;
        int error;    // what comparing with the message's signature said
    } sign;           // checking mode (p2p/sign.h): what a receive is for, until it has met its message
};

// A common head, and the part of the kind.
struct MPI_ABI_Request {
    struct uno_head head;
    _Atomic uint32_t done;    // release by uno_request_done, acquire by waiters that hold no lock
    uint8_t kind;             // enum uno_request_kind
    bool persistent, active, freed, cancelled;
    const struct uno_request_ops *ops;
    struct MPI_ABI_Comm *comm;
    int rank, tag;        // peer: destination or source (MPI_ANY_SOURCE allowed), MPI_UNDEFINED
    MPI_Status status;    // as the user will see it; MPI_ERROR holds the outcome
    union {
        struct uno_move move;    // SEND, RECV
        void *extra;             // all others: schedule, callbacks, partitioned state; owned as ops->free says
    };
};

extern struct MPI_ABI_Request uno_request_sent;    // immortal, done, empty status
extern struct uno_pool uno_request_pool;

MPI_Request uno_request_new(enum uno_request_kind kind);
void uno_request_release(MPI_Request r);            // frees an inactive or completed request object
void uno_request_done(MPI_Request r, int error);    // completes; wakes what waits
// Wakes what waits, with an error, but the operation goes on; resume: it is waited for again.
void uno_request_alarm(MPI_Request r, int error);
void uno_request_resume(MPI_Request r);

void uno_request_cancelled(MPI_Request r);    // the same for an operation that was taken back

// How many requests hold c and have nothing under way: complete, or persistent and not started.
int uno_requests_at_rest(const struct MPI_ABI_Comm *c);

static inline void uno_request_fail(MPI_Request r, int error)
{
    if (r->ops && r->ops->broken)
        r->ops->broken(r, error);
    else
        uno_request_done(r, error);
}

static inline bool uno_request_is_done(MPI_Request r)
{
    // Acquire: pairs with the release in uno_request_done.
    return atomic_load_explicit(&r->done, memory_order_acquire);
}

// Whether a call that waits for it may do the operation itself, by its poll, for as long as it takes: a file access.
static inline bool uno_request_is_own_work(MPI_Request r)
{
    return r->kind == UNO_REQ_OTHER && r->ops && r->ops->poll;
}

static inline bool uno_request_is_live(MPI_Request r)
{
    return uno_head_is(r, UNO_REQUEST_MAGIC) && !r->freed;
}

// Status words (the ABI leaves internal[5] to us): bytes in [0],[1] as 63 bits, cancelled in the lowest bit of [2].
static inline void uno_status_set_bytes(MPI_Status *s, MPI_Count bytes)
{
    s->MPI_internal[0] = (int)(uint32_t)bytes;
    s->MPI_internal[1] = (int)(uint32_t)(bytes >> 32);
}

static inline MPI_Count uno_status_bytes(const MPI_Status *s)
{
    return (MPI_Count)((uint64_t)(uint32_t)s->MPI_internal[1] << 32 | (uint32_t)s->MPI_internal[0]);
}

// What the user is told; MPI_ERROR is the user's but in calls that return many statuses. Word by word, as it was
// written (volatile): wider loads would wait until all stores before are done, those into lines of other ranks too.
static inline void uno_status_tell(MPI_Status *to, const volatile MPI_Status *from)
{
    to->MPI_SOURCE = from->MPI_SOURCE;
    to->MPI_TAG = from->MPI_TAG;
    to->MPI_internal[0] = from->MPI_internal[0];
    to->MPI_internal[1] = from->MPI_internal[1];
    to->MPI_internal[2] = from->MPI_internal[2];
}

static inline void uno_status_empty(MPI_Status *s)
{
    *s = (MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
}
