// SPDX-License-Identifier: BSD-3-Clause
// The state of a partitioned operation, shared by partitioned.c (requests, marking, messages), part_cut.c (chunks),
// part_match.c (how its two sides find each other) and part_shared.c (partitions that move through shared memory). No
// other file looks inside.
//
// The sender's message is cut into chunks of whole partitions; a chunk leaves when the last of them was marked. Threads
// mark without the lock: a word of marks that becomes full counts down its chunk's `missing`, a chunk whose count is
// zero is sent by the one thread that sets its `left`, and only while `open`; the thread that opens looks at all
// chunks.
#pragma once
#include <stdatomic.h>

#include "base/fail.h"
#include "core/progress.h"
#include "p2p/partitioned.h"

// How the chunks travel; the receiver decides when it has met the sender.
enum part_mode {
    PART_MESSAGES,    // each as a message of its own
    PART_WHOLE,       // all as one message: a side's type must be packed in one go
    PART_STAGED,      // copied through a shared segment: small ones
    PART_DIRECT       // from memory to memory, by both sides: large ones on one host
};

struct part_block;    // part_shared.c

struct part {
    struct uno_marks marks;    // first: uno_part_ready_alone looks for it there
    struct uno_poller poller;
    MPI_Request req;      // NULL: freed before it met its other side
    struct part *next;    // in the list of receives that wait for their match
    struct uno_part_spec spec;
    bool send, started;
    bool told;         // the other side: `proc` is known
    uint64_t token;    // sender: until the receiver has answered, else 0
    int error;         // why its two sides could not meet: each activation ends with it
    _Atomic bool matched;
    enum part_mode mode;
    int id;          // the receiver's number for its chunks' tags
    uint64_t ctx;    // while waiting for the match
    int src, tag;
    size_t bytes, partition_bytes;    // of the whole, of one partition of this side
    size_t total;                     // what the sender sends
    int chunks, words, per_chunk;     // words of marks: of the whole, of a chunk
    size_t chunk_bytes;
    size_t stage_piece, alone;      // of base/thresholds.h
    MPI_Request *chunk;             // messages: [chunks] persistent requests
    _Atomic uint32_t *missing;      // sender: [chunks] words not yet full
    _Atomic unsigned char *left;    // [chunks] sent, or (receiver) posted, or (staged) there
    _Atomic int nleft;              // chunks sent in this activation
    _Atomic int open;               // sender: chunks may leave
    _Atomic int inside;             // threads that are sending a chunk
    // shared memory
    struct part_block *block;
    size_t block_at;      // its place in the job's heap
    int proc, pid;        // the other side
    uint64_t peer_buf;    // its buffer's address
    uint32_t turn;        // activations so far
    uint32_t consumed;    // staged: the receiver's last, as the sender knows it
    uint32_t stages, looks;
    size_t record;    // staged: bytes of a record, records of a chunk
    int records;
    uint32_t pieces[2];           // direct: of a chunk, of the last chunk
    int first;                    // chunks before it have arrived
    _Atomic uint64_t last_put;    // direct: when a chunk became ready, in ticks
};

#define PART_MAX_CHUNKS 1024

// part_cut.c
void part_cut(struct part *p, size_t bytes, int partitions, int per_chunk);    // chunks of per_chunk partitions
int part_choose_cut(struct part *p, bool near);     // sender: how many partitions are a chunk
enum part_mode part_mode_near(size_t bytes);        // what suits so much, between two ranks of a host
void part_hold(const struct part *p, bool more);    // one more request, or one less
bool part_are_cold(void);                           // the buffers of all: those that move directly had better not
void part_use(const struct part *p);                // an activation begins

// part_shared.c. choose: the receiver has met the sender at proc; makes the block for a shared mode if it can.
enum part_mode part_shared_choose(struct part *p);
void part_shared_join(struct part *p);     // the sender does the same with the block it was told of
void part_shared_leave(struct part *p);    // frees
void part_shared_start(struct part *p);
bool part_stage_free(struct part *p);          // sender: there is room for this activation
void part_stage_put(struct part *p, int k);    // sender: chunk k is ready
void part_direct_put(struct part *p, int k);
bool part_shared_arrived(struct part *p, int k);
int part_shared_poll(struct part *p, bool *ended);    // moves what can be moved; how many things did. Lock held
int part_shared_error(struct part *p);
void part_count_send(size_t bytes);    // part_count.c: one more was started

static inline bool part_is_plain(const struct part *p)
{
    return (p->spec.type->flags & UNO_TYPE_PLAIN) != 0;
}

static inline bool part_is_shared(const struct part *p)
{
    return p->mode == PART_STAGED || p->mode == PART_DIRECT;
}

// How many messages carry the chunks.
static inline int part_messages(const struct part *p)
{
    return p->mode == PART_WHOLE ? 1 : p->chunks;
}

// partitioned.c, for both sides once they have met.
int part_make_messages(struct part *p) UNO_MUST_USE;    // the requests of chunks that travel as messages
void part_go(struct part *p);                           // matched and started
void part_broken(struct part *p, int error);

// part_match.c. The sender tells the receiver's process; the receive meets a sender that came before, or waits.
struct uno_peer;
int part_announce(struct part *p, const struct uno_where *to, struct uno_peer *peer) UNO_MUST_USE;
int part_expect(struct part *p, const struct uno_where *from) UNO_MUST_USE;
bool part_is_near(const struct uno_link *link);    // partitions may move through shared memory
void part_forget(struct part *p);                  // a receive that waits for its match waits no more
void part_release(struct part *p);                 // frees what has met its other side, or has not announced itself
