// SPDX-License-Identifier: BSD-3-Clause
// Matching: the posted and the unexpected queue of one context of one communicator. Two functions decide every match:
// uno_match_arrival (a message looks for a receive) and uno_match_posting (a receive or probe looks for a message).
//
// Invariant: receives of one source and wildcard receives carry one increasing `order`, and the lower one wins;
// unexpected messages of one source stay in the order sent, and all of them in the order arrived.
//
// A queue is a list; one in which a search went far gets an index by tag (match_index.h), which it keeps until it is
// empty. Without memory for the index the list is searched as before.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/signature.h"

struct MPI_ABI_Request;
struct uno_entry;
struct uno_index;
struct uno_link;

// ---- messages that arrived before their receives: one line each (64 bytes), from blocks of them (unexp.c), because a
// program may have a million. What few of them need lies elsewhere: a payload that does not fit, and the places in the
// indexes of long queues ----

#define UNO_UNEXP_HERE 16    // bytes of payload that fit
#define UNO_UNEXP_PROC ((1u << 30) - 1)

// The payload of a larger message, the struct uno_rts of an announced one, and all that is checked.
struct uno_parcel {
    struct uno_link *link;        // the way it came
    struct uno_signature sign;    // checking mode (p2p/sign.h)
    char data[];
};

struct uno_unexp {
    struct uno_unexp *next, *prev;            // same source, in order sent
    struct uno_unexp *next_all, *prev_all;    // all sources, in order arrived
    int src, tag;
    uint32_t proc : 30;    // that sent it (world rank), UNO_UNEXP_PROC at most
    uint32_t announced : 1;
    uint32_t parcelled : 1;
    uint32_t bytes;    // that lie here
    union {
        char data[UNO_UNEXP_HERE];
        struct uno_parcel *parcel;    // owned here
    };
};

enum uno_unexp_list { UNO_UNEXP_SOURCE, UNO_UNEXP_ALL, UNO_UNEXP_LISTS };

// parcel: with one, for `bytes` of data. NULL: no memory.
struct uno_unexp *uno_unexp_new(size_t bytes, bool parcel);
void uno_unexp_give(struct uno_unexp *u);    // and its parcel
size_t uno_unexp_spare(void);                // bytes that are kept for the next ones
void uno_unexp_trim(void);                   // frees these

static inline const void *uno_unexp_data(const struct uno_unexp *u)
{
    return u->parcelled ? u->parcel->data : u->data;
}

size_t uno_unexp_bytes(const struct uno_unexp *u);    // of the whole message

// Where the message's place in the index of a list is kept while that exists. NULL: no memory.
struct uno_entry **uno_unexp_place(struct uno_unexp *u, enum uno_unexp_list list);

// ---- the queues ----

struct uno_queue {
    struct MPI_ABI_Request *head, *tail;
    struct uno_index *index;    // NULL while the queue is short
};

struct uno_match_source {
    struct uno_queue posted;
    struct uno_unexp *first, *last;
    struct uno_index *index;    // of the unexpected ones; NULL while they are few
};

struct uno_match {
    struct uno_match_source *source;    // [npeers]
    struct uno_queue any;               // receives from MPI_ANY_SOURCE
    struct uno_unexp *first, *last;     // all unexpected ones
    struct uno_index *index;            // of them; NULL while they are few
    uint64_t order;
    bool hurt;    // members have failed, or the context is revoked: a receive asks first (p2p/fail.h)
};

// The posted receive that the message (src, tag) belongs to, taken off its queue; NULL when there is none.
struct MPI_ABI_Request *uno_match_arrival(struct uno_match *m, int src, int tag);

// The same, still queued.
struct MPI_ABI_Request *uno_match_fit(struct uno_match *m, int src, int tag);

// The first unexpected message that fits (src or MPI_ANY_SOURCE, tag or MPI_ANY_TAG), still queued; NULL when none.
struct uno_unexp *uno_match_posting(struct uno_match *m, int src, int tag);

void uno_match_post(struct uno_match *m, struct MPI_ABI_Request *r);
bool uno_match_unpost(struct uno_match *m, struct MPI_ABI_Request *r);    // false when it is not queued any more
void uno_match_keep(struct uno_match *m, struct uno_unexp *u);
void uno_match_take(struct uno_match *m, struct uno_unexp *u);    // off both lists; the caller owns it
