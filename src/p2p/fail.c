// SPDX-License-Identifier: BSD-3-Clause
// Ends what waits for a process that is gone (fail.h). Three places know what is under way with a process: its backlog,
// the table of tokens, and the channel; the posted receives are with the communicators.
// Always holds: a request ends once; a process that failed has no peer in any communicator, so that every operation
// with it passes uno_peer_fill, which refuses.
#include "p2p/fail.h"

#include <stdlib.h>
#include <string.h>

#include "core/progress.h"
#include "core/world.h"
#include "base/invariant.h"
#include "p2p/inner.h"
#include "p2p/partitioned.h"
#include "p2p/peer.h"
#include "p2p/token.h"

void (*uno_suspect)(int proc);
void (*uno_token_lost)(uint64_t token, void *object, int error);

struct failure {
    int proc, error;
    bool parted;    // it took leave: it has done its part of every collective operation
};

static struct failure *list, *late;    // that are dealt with; that wait for their turn
static int count, room, nlate, late_room;
static bool ever;            // there was one, even if it is forgotten
static uint64_t *revoked;    // contexts that were revoked before they were known here
static int nrevoked;

static int run_late(struct uno_poller *self);
static struct uno_poller later = {.fn = run_late};

static void add_failure(struct failure **to, int *n, int *has, struct failure f)
{
    if (*n == *has) {
        int more = *has ? 2 * *has : 8;
        struct failure *grown = realloc(*to, (size_t)more * sizeof *grown);
        if (!grown) uno_world_abort(MPI_ERR_NO_MEM, "out of memory for the list of failed processes");
        *to = grown;
        *has = more;
    }
    (*to)[(*n)++] = f;
}

int uno_peer_failure(int proc)
{
    for (int i = 0; i < count; i++)
        if (list[i].proc == proc) return list[i].error;
    return MPI_SUCCESS;
}

void uno_peer_forget(int proc)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (list[i].proc != proc) list[n++] = list[i];
    count = n;
    n = 0;
    for (int i = 0; i < nlate; i++)
        if (late[i].proc != proc) late[n++] = late[i];
    nlate = n;
}

bool uno_peers_ever_failed(void)
{
    return ever;
}

int uno_peers_failed(void)
{
    return count;
}

int uno_peer_failed(int i)
{
    return list[i].proc;
}

// ---- what is refused ----

static int refuse_rank(const struct MPI_ABI_Comm *c, int rank)
{
    int error = rank >= 0 && rank < c->npeers ? uno_peer_failure(uno_comm_proc(c, rank)) : MPI_SUCCESS;
    return error ? uno_fail(error, "rank %d has failed", rank) : MPI_SUCCESS;
}

int uno_comm_refusal(const struct MPI_ABI_Comm *c, int rank, bool coll)
{
    if (c->revoked) return uno_fail(UNO_ERR_REVOKED, "the communicator is revoked");
    if (coll && c->broken) return uno_fail(c->broken, "a member of the communicator has failed");
    return c->failed ? refuse_rank(c, rank) : MPI_SUCCESS;
}

// ---- receives ----

bool uno_recv_is_pending(const struct MPI_ABI_Request *r)
{
    return r->kind == UNO_REQ_RECV && r->status.MPI_ERROR == UNO_ERR_PROC_FAILED_PENDING;
}

// Ends the receives that are posted there, all or those for one rank.
static void end_queue(struct uno_match *m, struct uno_queue *q, int error)
{
    while (q->head) {
        MPI_Request r = q->head;
        uno_match_unpost(m, r);
        if (uno_request_is_done(r)) uno_request_resume(r);    // it was pending
        uno_request_done(r, error);
    }
}

static void end_all_posted(struct MPI_ABI_Comm *c, struct uno_match *m, int error)
{
    end_queue(m, &m->any, error);
    for (int r = 0; r < c->npeers; r++) end_queue(m, &m->source[r].posted, error);
}

// Wakes those that wait for a receive from any source: they are told, and it stays posted.
static void alarm_wildcards(struct uno_match *m)
{
    for (MPI_Request r = m->any.head; r; r = r->move.next)
        if (!uno_request_is_done(r)) uno_request_alarm(r, UNO_ERR_PROC_FAILED_PENDING);
}

// Announcements of a process that cannot be asked for the data any more.
static void drop_announcements(struct uno_match *m, int proc)
{
    for (struct uno_unexp *u = m->first, *next; u; u = next) {
        next = u->next_all;
        if ((int)u->proc != proc || !u->announced) continue;
        uno_match_take(m, u);
        uno_unexp_free(u);
    }
}

// ---- communicators ----

// Sends of a context that their receivers will not ask for: the library takes them over.
static void abandon_send(uint64_t token, enum uno_token_kind kind, void *object, void *arg)
{
    const struct MPI_ABI_Comm *c = arg;
    MPI_Request r = object;
    (void)token;
    if (kind != UNO_TOKEN_SEND || r->comm != c || r->freed || (!r->move.coll && !c->revoked)) return;
    if (uno_cancel_send(r)) uno_log(1, "a send on a broken communicator stays: %s", uno_fail_text());
    if (!uno_request_is_done(r)) return;    // both sides copy: that ends by itself
    r->cancelled = false;
    r->status.MPI_internal[2] = 0;
    r->status.MPI_ERROR = c->broken;
}

void uno_comm_break(struct MPI_ABI_Comm *c, int error)
{
    if (c->broken) return;
    c->broken = error;
    if (c->broke) c->broke(c);
    c->match[1].hurt = true;
    end_all_posted(c, &c->match[1], error);
    uno_token_each(-1, abandon_send, c);
    for (struct MPI_ABI_Comm *part = c->has_parts ? uno_comm_self.next : NULL; part; part = part->next)
        if (part->part_of == c) uno_comm_break(part, error);
    if (c->local_comm) uno_comm_break(c->local_comm, error);
}

void uno_comm_tie(struct MPI_ABI_Comm *part, struct MPI_ABI_Comm *whole)
{
    part->part_of = whole;
    whole->has_parts = true;
    if (whole->broken) uno_comm_break(part, whole->broken);
}

void uno_comm_revoke(struct MPI_ABI_Comm *c)
{
    if (c->revoked) return;
    c->revoked = true;
    c->match[0].hurt = true;
    end_all_posted(c, &c->match[0], UNO_ERR_REVOKED);
    memset(c->peer, 0, (size_t)c->npeers * sizeof *c->peer);
    uno_comm_break(c, UNO_ERR_REVOKED);
    c->broken = UNO_ERR_REVOKED;
    uno_token_each(-1, abandon_send, c);
    uno_wake_waiters();
}

// The process is a member, or not.
static void hurt(struct MPI_ABI_Comm *c, const struct failure *f)
{
    int proc = f->proc, error = f->error, rank = uno_group_find(c->remote ? c->remote : c->group, proc);
    if (rank != MPI_UNDEFINED) {
        c->peer[rank] = NULL;
        for (int coll = 0; coll < 2; coll++) {
            end_queue(&c->match[coll], &c->match[coll].source[rank].posted, error);
            drop_announcements(&c->match[coll], proc);
        }
    }
    if (rank == MPI_UNDEFINED && (!c->remote || uno_group_find(c->group, proc) == MPI_UNDEFINED)) return;
    c->failed++;
    c->match[0].hurt = c->match[1].hurt = true;
    alarm_wildcards(&c->match[0]);
    if (!f->parted) uno_comm_break(c, error);
}

void uno_comm_revoke_later(uint64_t context)
{
    uint64_t *more = realloc(revoked, (size_t)(nrevoked + 1) * sizeof *more);
    if (!more) uno_world_abort(MPI_ERR_NO_MEM, "out of memory for the list of revoked communicators");
    revoked = more;
    revoked[nrevoked++] = context;
}

void uno_comm_examine(struct MPI_ABI_Comm *c)
{
    for (int i = 0; i < nrevoked; i++) {
        if (revoked[i] != c->context) continue;
        revoked[i] = revoked[--nrevoked];
        uno_comm_revoke(c);
    }
    for (int i = 0; i < count; i++) hurt(c, &list[i]);
}

void uno_comm_acknowledge(struct MPI_ABI_Comm *c, int n)
{
    if (n > c->failed) n = c->failed;
    if (n > c->acknowledged) c->acknowledged = n;
    if (uno_comm_is_uneasy(c)) return;
    for (MPI_Request r = c->match[0].any.head; r; r = r->move.next)
        if (uno_recv_is_pending(r)) uno_request_resume(r);
}

// ---- processes ----

// An operation that the process would have to go on with. What its channel still copies is left to that: the memory is
// not the user's again before it ends.
static void end_operation(uint64_t token, enum uno_token_kind kind, void *object, void *arg)
{
    const struct failure *f = arg;
    if (kind == UNO_TOKEN_STREAM) {
        uno_token_give(token);
        uno_request_done(object, f->error);
    } else if (kind == UNO_TOKEN_SEND) {
        uno_send_broken(object, f->error);
    } else if (kind == UNO_TOKEN_RMA && uno_token_lost) {
        uno_token_lost(token, object, f->error);
    }
}

void uno_peer_fail(int proc, int error)
{
    uno_assert_locked();
    if (proc == uno_world.rank || uno_peer_failure(proc)) return;
    struct uno_peer *p = uno_peer_of(proc);    // also of one that nothing was sent to: of it there may be messages
    while (p && p->ops->poll_link(p->link) > 0) continue;    // what it has sent is received
    uno_log(1, "process %d has failed", proc);
    uno_process_failed(proc);
    ever = true;
    struct failure f = {proc, error, p && p->link->parted};
    add_failure(&list, &count, &room, f);
    for (struct MPI_ABI_Comm *c = &uno_comm_world, *next; c; c = next) {
        uno_comm_hold(c);    // what ends may be the last that holds it
        hurt(c, &f);
        next = c->next;
        uno_comm_drop(c);
    }
    if (p) {
        uno_peer_drop_backlog(p, error);
        p->ops->lose(p->link, error);
    }
    uno_token_each(proc, end_operation, &f);
    uno_parts_fail(proc, error);
    uno_wake_waiters();
}

static int run_late(struct uno_poller *self)
{
    uno_poller_remove(self);
    int done = 0;
    for (; nlate > 0; done++) {    // while one is dealt with, others may come
        struct failure f = late[0];
        memmove(late, late + 1, (size_t)--nlate * sizeof f);
        uno_peer_fail(f.proc, f.error);
    }
    return done;
}

void uno_peer_fail_later(int proc, int error)
{
    add_failure(&late, &nlate, &late_room, (struct failure){proc, error, false});
    uno_poller_add(&later);
}

void uno_failures_close(void)
{
    uno_poller_remove(&later);
    free(late);
    late = NULL;
    nlate = late_room = 0;
    free(revoked);
    revoked = NULL;
    nrevoked = 0;
}
