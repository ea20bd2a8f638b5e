// SPDX-License-Identifier: BSD-3-Clause
// Peers: one structure per process that this one talks to, made on first use, with its link and what waits to be sent
// on it. Everything that goes to a peer passes its backlog in order: nothing overtakes.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "chan/chan.h"
#include "core/comm.h"
#include "core/request.h"
#include "core/signature.h"

// Something that could not be sent at once: a message of a request, a control message, or the rest of a streamed one.
struct uno_out {
    struct uno_out *next;
    struct uno_msg msg;
    char control[UNO_INLINE_MAX];    // payload of a control message (msg.data points here)
    MPI_Request req;                 // eager: completes when sent; stream: sends its data; NULL: control
    MPI_Request owner;               // control: fails when this cannot be sent (uno_request_fail); NULL: none
    bool stream;
};

struct uno_peer {
    struct uno_link *link;
    const struct uno_chan_ops *ops;    // of link (timed.c)
    int64_t eager_max, packed_max;     // plain, packed messages up to here leave at once; -1 while told to hold back
    size_t kept;                       // bytes of its messages that wait here (flow.c)
    bool holds;                        // it was told to hold back
    uint32_t row;                      // long sends to it that were waited for while receives were row_began
    uint64_t row_began;
    int proc;
    struct uno_out *first, *last;    // backlog
    struct uno_peer *next_busy;      // peers with a backlog
    bool busy;
    uint64_t sync;     // token of the synchronous message that arrives next; 0: none came
    bool is_signed;    // checking mode: `sign` belongs to the next message that arrives
    struct uno_signature sign;
};

struct uno_peer *uno_peer_of(int proc);       // NULL, reason kept: no channel reaches it, it failed, no memory
struct uno_peer *uno_peer_known(int proc);    // NULL: there is none so far, or no more

// Those of other jobs in the group: makes their links, which show when one of them dies though nothing is ever sent to
// it; whether each was reached once. How one ended that never was nobody could tell. Where one has failed nobody waits:
// those that are well may have left what they did, and never come to be reached.
void uno_peers_meet(const struct MPI_ABI_Group *g);
bool uno_peers_are_met(const struct MPI_ABI_Group *g);
struct uno_peer *uno_peer_fill(struct MPI_ABI_Comm *c, int rank);    // c->peer[rank], filled unless it is refused

static inline struct uno_peer *uno_peer(struct MPI_ABI_Comm *c, int rank)
{
    struct uno_peer *p = c->peer[rank];
    return __builtin_expect(p != NULL, 1) ? p : uno_peer_fill(c, rank);
}

// Whether a process has ever failed (fail.c): then a message may be for something that its receiver has given up.
bool uno_peers_ever_failed(void);

#define UNO_KEPT 1    // no error: it was kept for later

// Sends now, or keeps it for later. m->data must stay valid; req completes when its message has left, or fails: it is
// not touched when that is at once (MPI_SUCCESS, UNO_LENT or an error class; UNO_KEPT otherwise). A lent one that could
// not be sent, or was copied, has its token given back.
int uno_peer_send(struct uno_peer *p, const struct uno_msg *m, MPI_Request req) UNO_MUST_USE;

// The same of a payload in malloced memory, which is freed once it has left, or now.
int uno_peer_send_owned(struct uno_peer *p, const struct uno_msg *m, void *payload) UNO_MUST_USE;

// The same for a control message, whose payload is copied. An error class when it cannot be sent; when that turns out
// later, owner fails (NULL: nothing waits for it).
int uno_peer_tell(struct uno_peer *p, const struct uno_msg *m, MPI_Request owner) UNO_MUST_USE;

// To the process at the other end of the link.
int uno_peer_answer(const struct uno_link *link, const struct uno_msg *m, MPI_Request owner) UNO_MUST_USE;

// What is still to be sent for one request is for the other, whose data are the same.
void uno_peer_pass(struct uno_peer *p, MPI_Request from, MPI_Request to);

// The request goes away: what is still to be sent for it leaves without an owner.
void uno_peer_disown(struct uno_peer *p, MPI_Request owner);

// Queues the data of a streamed rendezvous: req->moved .. req->bytes go as UNO_DATA to `token`; req completes or fails.
void uno_peer_stream(struct uno_peer *p, MPI_Request req, uint64_t token);

// timed.c: the table to send by, the channel's own unless the parameter `stats` is set.
const struct uno_chan_ops *uno_peer_ops(const struct uno_link *link);

// count.c: a send is announced; it is over; a process failed, which tools may ask to hear (base/event.h).
void uno_send_announced(MPI_Request r);
void uno_process_failed(int proc);
void uno_send_ended(MPI_Request r, struct uno_link *link, enum uno_protocol by);

// Takes the message of a send, or its announcement, back out of the backlog. False: it has left.
bool uno_peer_unsend(struct uno_peer *p, MPI_Request req);

// What waits to be sent to it never will be: it ends with the error.
void uno_peer_drop_backlog(struct uno_peer *p, int error);

void uno_peers_flush(void);    // waits until no message is left that a channel had no room for
void uno_peers_close(void);

// ---- flow.c: how much of what a process sends may lie here unreceived. Whole messages that no receive waits for are
// counted by sender; above the parameter unexpected_max the sender is told to hold back: its further messages are
// announced and stay with it (rendezvous) until half of them are received. The own rank is not held: it would wait for
// itself. ----

// A message from proc with so many bytes of payload is kept; it is kept no more.
void uno_flow_keep(int proc, size_t bytes);
void uno_flow_release(int proc, size_t bytes);
