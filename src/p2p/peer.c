// SPDX-License-Identifier: BSD-3-Clause
// Peers and their backlogs (peer.h). A backlog is tried again on every progress; it exists only while a channel is
// full.
#include "p2p/peer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "chan/proc.h"
#include "core/progress.h"
#include "core/world.h"
#include "p2p/fail.h"
#include "p2p/kind.h"
#include "p2p/token.h"

#define PIECES_PER_TURN 8    // pieces of a streamed message sent before others have their turn

static struct uno_peer **peers;    // [world size]; those of other jobs are in their entries (chan/proc.h)
static struct uno_peer *busy;

static int flush_all(struct uno_poller *self);
static struct uno_poller flusher = {.fn = flush_all};

static struct uno_peer **place_of(int proc)
{
    return uno_proc_is_guest(proc) ? &uno_proc_of(proc)->peer : &peers[proc];
}

struct uno_peer *uno_peer_of(int proc)
{
    if (!peers) peers = calloc((size_t)uno_world.size, sizeof *peers);
    if (!peers) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d peers", uno_world.size), NULL;
    int failed = uno_peer_failure(proc);
    if (failed) return uno_fail(failed, "process %d has failed", proc), NULL;
    struct uno_peer **place = place_of(proc);
    if (*place) return *place;
    struct uno_link *link;
    if (uno_chan_connect(proc, &link) != MPI_SUCCESS) return NULL;
    struct uno_peer *p = calloc(1, sizeof *p);
    if (!p) return uno_fail(MPI_ERR_NO_MEM, "no memory for a peer"), NULL;
    p->link = link;
    p->ops = uno_peer_ops(link);
    p->eager_max = (int64_t)link->eager_max;
    p->packed_max = (int64_t)link->data_max;
    p->proc = proc;
    return *place = p;
}

struct uno_peer *uno_peer_known(int proc)
{
    return peers ? *place_of(proc) : NULL;
}

void uno_peers_meet(const struct MPI_ABI_Group *g)
{
    for (int i = 0; i < g->size; i++)
        if (uno_proc_is_guest(g->proc[i]) && !uno_peer_of(g->proc[i])) uno_log(1, "%s", uno_fail_text());
}

bool uno_peers_are_met(const struct MPI_ABI_Group *g)
{
    bool all = true;
    for (int i = 0; i < g->size; i++) {
        if (uno_peer_failure(g->proc[i])) return true;
        const struct uno_peer *p = uno_proc_is_guest(g->proc[i]) ? uno_peer_known(g->proc[i]) : NULL;
        if (p && !p->link->met) all = false;
    }
    return all;
}

struct uno_peer *uno_peer_fill(struct MPI_ABI_Comm *c, int rank)
{
    if (c->revoked) return uno_fail(UNO_ERR_REVOKED, "the communicator is revoked"), NULL;
    return c->peer[rank] = uno_peer_of(uno_comm_proc(c, rank));
}

static void keep(struct uno_peer *p, struct uno_out *o)
{
    o->next = NULL;
    if (p->last)
        p->last->next = o;
    else
        p->first = o;
    p->last = o;
    if (!p->busy) {
        p->busy = true;
        p->next_busy = busy;
        busy = p;
        uno_poller_add(&flusher);
    }
}

static struct uno_out *make_out(const struct uno_msg *m, MPI_Request req)
{
    struct uno_out *o = malloc(sizeof *o);
    if (!o) return NULL;
    o->msg = *m;
    o->req = req;
    o->owner = NULL;
    o->stream = false;
    return o;
}

// Keeps what the channel has no room for now.
static struct uno_out *keep_out(struct uno_peer *p, const struct uno_msg *m, MPI_Request req)
{
    struct uno_out *o = make_out(m, req);
    if (!o) uno_world_abort(1, "out of memory for a message that waits to be sent");
    keep(p, o);
    return o;
}

int uno_peer_send(struct uno_peer *p, const struct uno_msg *m, MPI_Request req)
{
    if (!p->first) {
        int err = p->ops->send(p->link, m);
        if (err != UNO_FULL && err != UNO_LENT && m->lent) uno_token_give(m->lent);
        if (err != UNO_FULL) return err;
    }
    keep_out(p, m, req);
    return UNO_KEPT;
}

static void free_payload(MPI_Request r)
{
    free(r->extra);
}

static const struct uno_request_ops payload_ops = {.name = "message of the library", .free = free_payload};

int uno_peer_send_owned(struct uno_peer *p, const struct uno_msg *m, void *payload)
{
    MPI_Request r = uno_request_new(UNO_REQ_OTHER);
    if (!r) {
        free(payload);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a message of %u bytes", m->bytes);
    }
    r->ops = &payload_ops;
    r->extra = payload;
    r->freed = true;    // nobody waits for it: it goes when it has left
    int err = uno_peer_send(p, m, r);
    if (err == UNO_KEPT) return MPI_SUCCESS;
    uno_request_release(r);
    return err;
}

int uno_peer_tell(struct uno_peer *p, const struct uno_msg *m, MPI_Request owner)
{
    if (!p->first) {
        int err = p->ops->send(p->link, m);
        if (err != UNO_FULL) return err;
    }
    struct uno_out *o = keep_out(p, m, NULL);
    o->owner = owner;
    if (m->bytes) memcpy(o->control, m->data, m->bytes);
    o->msg.data = o->control;
    return MPI_SUCCESS;
}

int uno_peer_answer(const struct uno_link *link, const struct uno_msg *m, MPI_Request owner)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    if (p) return uno_peer_tell(p, m, owner);
    int failed = uno_peer_failure(link->proc);
    return failed ? failed : MPI_ERR_INTERN;
}

void uno_peer_disown(struct uno_peer *p, MPI_Request owner)
{
    for (struct uno_out *o = p->first; o; o = o->next)
        if (o->owner == owner) o->owner = NULL;
}

void uno_peer_pass(struct uno_peer *p, MPI_Request from, MPI_Request to)
{
    for (struct uno_out *o = p->first; o; o = o->next) {
        if (o->owner == from) o->owner = to;
        if (o->req != from) continue;
        o->req = to;
        o->msg.packer = NULL;    // of `from`: send_pieces sets it anew
    }
}

void uno_peer_stream(struct uno_peer *p, MPI_Request req, uint64_t token)
{
    keep_out(p, &(struct uno_msg){.kind = UNO_DATA, .ctx = token}, req)->stream = true;
    flusher.fn(&flusher);
}

static bool is_message_of(const struct uno_out *o, MPI_Request req)
{
    if (o->msg.kind == UNO_RTS) return ((const struct uno_rts *)(const void *)o->control)->token == req->move.token;
    return o->req == req && !o->stream;
}

bool uno_peer_unsend(struct uno_peer *p, MPI_Request req)
{
    struct uno_out *before = NULL, *o = p->first;
    while (o && !is_message_of(o, req)) before = o, o = o->next;
    if (!o) return false;
    if (before)
        before->next = o->next;
    else
        p->first = o->next;
    if (!o->next) p->last = before;
    free(o);
    return true;
}

// Sends pieces until all have left (MPI_SUCCESS), or the channel is full or the turn is over (UNO_FULL).
static int send_pieces(struct uno_peer *p, struct uno_out *o, int *moved)
{
    MPI_Request r = o->req;
    for (int i = 0; i < PIECES_PER_TURN && r->move.moved < r->move.bytes; i++) {
        size_t n = r->move.bytes - r->move.moved;
        if (n > p->link->data_max) n = p->link->data_max;
        o->msg.bytes = (uint32_t)n;
        if (r->move.type || r->move.packer.ordered)
            o->msg.packer = &r->move.packer;
        else
            o->msg.data = (const char *)r->move.buf + r->move.moved;
        int err = p->ops->send(p->link, &o->msg);
        if (err) return err;
        r->move.moved += n;
        ++*moved;
    }
    return r->move.moved == r->move.bytes ? MPI_SUCCESS : UNO_FULL;
}

// What has left, or never will, is off the backlog: the request that waits for it learns how it went.
static void tell_outcome(const struct uno_out *o, int err)
{
    if (err == UNO_LENT) return;    // uno_send_returned tells it
    if (o->msg.lent) uno_token_give(o->msg.lent);
    if (o->req)
        uno_request_done(o->req, err);
    else if (err && o->owner)
        uno_request_fail(o->owner, err);
    else if (err)
        uno_log(1, "a message of the library was lost: %s", uno_fail_text());
}

static int flush(struct uno_peer *p)
{
    int moved = 0;
    while (p->first) {
        struct uno_out *o = p->first;
        o->msg.more = o->next && o->next->msg.lent;
        int err = o->stream ? send_pieces(p, o, &moved) : p->ops->send(p->link, &o->msg);
        if (err == UNO_FULL) break;
        moved++;
        p->first = o->next;
        if (!p->first) p->last = NULL;
        if (o->stream && !err) uno_send_ended(o->req, p->link, UNO_BY_STREAM);
        tell_outcome(o, err);
        free(o);
    }
    return moved;
}

static int flush_all(struct uno_poller *self)
{
    static bool inside;    // a send to self can come back here
    if (inside) return 0;
    inside = true;
    int n = 0;
    struct uno_peer *p = busy, *left = NULL;
    busy = NULL;
    while (p) {
        struct uno_peer *next = p->next_busy;
        n += flush(p);
        p->busy = p->first != NULL;
        if (!p->busy && uno_proc_is_guest(p->proc)) uno_peer_leave(p->proc);
        if (p->busy) {
            p->next_busy = left;
            left = p;
        }
        p = next;
    }
    while (left) {    // those that became busy meanwhile stay in the list
        struct uno_peer *next = left->next_busy;
        left->next_busy = busy;
        busy = left;
        left = next;
    }
    if (!busy) uno_poller_remove(self);
    inside = false;
    return n;
}

void uno_peer_drop_backlog(struct uno_peer *p, int error)
{
    for (struct uno_out *o; (o = p->first);) {
        p->first = o->next;
        if (!p->first) p->last = NULL;
        tell_outcome(o, error);
        free(o);
    }
}

static bool nothing_waits(void *arg)
{
    (void)arg;
    return busy == NULL;
}

void uno_peers_flush(void)
{
    uno_wait_until(nothing_waits, NULL, &(struct uno_waiting){.peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED});
}

// Lets go of the processes that no group names any more and to which nothing is left to be sent. Not at once when the
// last group goes: that may be inside a message of theirs.
static void let_go(int proc, struct uno_proc *guest)
{
    struct uno_peer *p = guest->peer;
    if (!guest->left || (p && p->first)) return;
    free(p);
    guest->peer = NULL;
    uno_peer_forget(proc);
    uno_chan_leave(proc);
}

static int leave_all(struct uno_poller *self)
{
    uno_poller_remove(self);
    uno_proc_each(let_go);
    return 0;
}

static struct uno_poller leaver = {.fn = leave_all};

void uno_peer_leave(int proc)
{
    (void)proc;
    uno_poller_add(&leaver);
}

static void free_guest(int proc, struct uno_proc *guest)
{
    (void)proc;
    free(guest->peer);
    guest->peer = NULL;
}

void uno_peers_close(void)
{
    for (int i = 0; peers && i < uno_world.size; i++) free(peers[i]);
    uno_proc_each(free_guest);
    uno_poller_remove(&leaver);
    free(peers);
    peers = NULL;
    busy = NULL;
    uno_poller_remove(&flusher);
    uno_tokens_close();
    uno_failures_close();
}
