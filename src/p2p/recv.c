// SPDX-License-Identifier: BSD-3-Clause
// Receiving. A receive looks at the unexpected messages, is posted, and waits. A blocking one lives on the caller's
// stack and looks at the one ring by which its message will come. Called by the entry points and by collectives.
#include <stdlib.h>

#include "base/fail.h"
#include "base/patience.h"
#include "core/progress.h"
#include "core/waiting.h"
#include "core/world.h"
#include "p2p/inner.h"
#include "p2p/peer.h"
#include "p2p/sign.h"

void uno_recv_setup(MPI_Request r, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type,
                    const struct uno_where *from)
{
    r->ops = &uno_recv_ops;
    r->comm = from->comm;
    r->rank = from->rank;
    r->tag = from->tag;
    r->move.coll = from->coll;
    r->move.queued = false;
    r->move.buf = buf;
    r->move.count = count;
    r->move.bytes = r->move.room = (size_t)(count * type->size);
    r->move.type = NULL;
    r->move.runs = NULL;
    r->move.sign.type = NULL;
    r->move.sign.error = MPI_SUCCESS;
    if (__builtin_expect(uno_signing.num != 0, 0) && !from->coll) uno_sign_expect(r, type, count);
    if (__builtin_expect(!(type->flags & UNO_TYPE_PLAIN), 0)) {
        r->move.type = type;
        uno_type_hold(type);
    }
}

static void proc_null(MPI_Status *s)
{
    uno_status_empty(s);
    s->MPI_SOURCE = MPI_PROC_NULL;
}

// Members have failed, or the communicator is revoked.
static void start_hurt(MPI_Request r, struct uno_match *m)
{
    const struct MPI_ABI_Comm *c = r->comm;
    int err = uno_comm_refusal(c, r->rank, r->move.coll);
    bool at_once = c->revoked || (r->move.coll && c->broken);
    struct uno_unexp *u = m->first && !at_once ? uno_match_posting(m, r->rank, r->tag) : NULL;
    if (u) {
        uno_match_take(m, u);
        uno_recv_unexpected(r, u);
    } else if (err) {
        uno_request_done(r, err);
    } else {
        uno_match_post(m, r);
        if (r->rank == MPI_ANY_SOURCE && uno_comm_is_uneasy(c)) uno_request_alarm(r, UNO_ERR_PROC_FAILED_PENDING);
    }
}

uint64_t uno_receives;

int uno_recv_start(MPI_Request r)
{
    uno_receives++;
    if (r->rank == MPI_PROC_NULL) {
        proc_null(&r->status);
        uno_request_done(r, MPI_SUCCESS);
        return MPI_SUCCESS;
    }
    r->move.moved = 0;
    r->move.bytes = r->move.room;    // a rendezvous cuts bytes down to the message
    if (r->move.type) uno_packer_init(&r->move.packer, r->move.buf, r->move.count, r->move.type);
    struct uno_match *m = &r->comm->match[r->move.coll];
    if (__builtin_expect(m->hurt, 0)) {
        start_hurt(r, m);
        return MPI_SUCCESS;
    }
    struct uno_unexp *u = m->first ? uno_match_posting(m, r->rank, r->tag) : NULL;
    if (!u) {
        uno_match_post(m, r);
        return MPI_SUCCESS;
    }
    uno_match_take(m, u);
    uno_recv_unexpected(r, u);
    return MPI_SUCCESS;
}

void uno_recv_abandon(MPI_Request *req)
{
    MPI_Request r = *req;
    if (uno_recv_is_pending(r)) uno_request_resume(r);
    if (!uno_request_is_done(r) && uno_match_unpost(&r->comm->match[r->move.coll], r)) uno_request_cancelled(r);
    int ignored = uno_wait(req, MPI_STATUS_IGNORE);    // where its message had come, that still ends in the buffer
    (void)ignored;
}

static int cancel(MPI_Request r)
{
    if (uno_recv_is_pending(r)) uno_request_resume(r);
    if (uno_request_is_done(r) || r->rank == MPI_PROC_NULL) return MPI_SUCCESS;
    if (uno_match_unpost(&r->comm->match[r->move.coll], r)) uno_request_cancelled(r);
    return MPI_SUCCESS;
}

const struct uno_request_ops uno_recv_ops = {
    .name = "receive", .start = uno_recv_start, .cancel = cancel, .broken = uno_recv_broken};

int uno_irecv(void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *from, MPI_Request *req)
{
    MPI_Request r = uno_request_new(UNO_REQ_RECV);
    if (__builtin_expect(!r, 0)) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    uno_recv_setup(r, buf, count, type, from);
    uno_comm_hold(from->comm);
    *req = r;
    return uno_recv_start(r);
}

// Bytes: longer messages come sooner if they are looked for all the time (Xeon 167, us, 8, 64, 128 and 256 B: 0.17 to
// 0.12, 0.19 to 0.16, 0.19 to 0.18, 0.19 to 0.24).
#define FEW 128

// Looks at the ring of the expected sender alone, most of the time; after a while for what others have left, too.
// Returns whether the receive ended.
static bool look_for(MPI_Request r, struct uno_peer *p, struct uno_patience *patience)
{
    bool told = false, few = r->move.room <= FEW;
    uno_patience_for(&r->done);
    do {
        p->ops->poll_link(p->link);
        if (uno_request_is_done(r)) break;
        if (few) uno_patience_apart(1);
        if (patience->looks % 64 == 63) {
            uno_progress();
            if (!told) uno_tell_wait(UNO_DOOR_LOOKS);
            told = true;
        } else if (told) {
            uno_pollers_run();
        }
        if (__builtin_expect(uno_world.threads, 0)) uno_lock_offer();
        if (uno_request_is_done(r)) break;
        if (__builtin_expect(uno_first_waiter != NULL, 0)) break;    // of a thread that waits for anything
    } while (uno_patience_spin(patience));
    uno_patience_for(NULL);
    if (told) uno_tell_wait(0);
    return uno_request_is_done(r);
}

// A blocking receive from any source does not wait while one of the senders is dead and nobody has acknowledged that.
static void give_up_any(MPI_Request r)
{
    uno_match_unpost(&r->comm->match[r->move.coll], r);
    r->status.MPI_ERROR = uno_fail(UNO_ERR_PROC_FAILED, "a process that might send has failed");
}

int uno_recv(void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *from,
             MPI_Status *status)
{
    if (__builtin_expect(from->rank == MPI_PROC_NULL, 0)) {
        if (status != MPI_STATUS_IGNORE) proc_null(status);
        return from->comm->revoked ? uno_comm_refusal(from->comm, from->rank, false) : MPI_SUCCESS;
    }
    struct MPI_ABI_Request r;
    r.head = (struct uno_head){.magic = UNO_REQUEST_MAGIC, .refs = 1};
    atomic_init(&r.done, 0);
    r.kind = UNO_REQ_RECV;
    r.persistent = r.freed = r.cancelled = false;
    r.move.direct = -1;
    r.status.MPI_internal[2] = 0;
    uno_recv_setup(&r, buf, count, type, from);
    int err = uno_recv_start(&r);
    if (err) return err;
    if (!uno_request_is_done(&r)) {
        struct uno_patience patience = {0};
        bool known = from->rank != MPI_ANY_SOURCE && !uno_first_waiter && uno_patience.spin != 0;
        struct uno_peer *p = known ? uno_peer(from->comm, from->rank) : NULL;
        if (!p || !look_for(&r, p, &patience)) uno_wait_request_on(&r, &patience);
    }
    if (r.move.type) uno_type_drop(r.move.type);
    if (__builtin_expect(uno_recv_is_pending(&r), 0)) give_up_any(&r);
    err = r.status.MPI_ERROR;
    if (status != MPI_STATUS_IGNORE) uno_status_tell(status, &r.status);
    return err;
}

int uno_sendrecv(const void *sbuf, MPI_Count scount, struct MPI_ABI_Datatype *stype, const struct uno_where *to,
                 void *rbuf, MPI_Count rcount, struct MPI_ABI_Datatype *rtype, const struct uno_where *from,
                 MPI_Status *status)
{
    MPI_Request recv, send;
    if (to->rank == MPI_PROC_NULL) return uno_recv(rbuf, rcount, rtype, from, status);
    // To itself a message goes straight into a receive that is posted; else the receive needs no request, once the
    // message has left (8 B 0.30 to 0.24 us).
    bool itself = to->rank == to->comm->rank;
    int err = itself ? uno_irecv(rbuf, rcount, rtype, from, &recv) : MPI_SUCCESS;
    if (err) return err;
    err = uno_isend_waited(sbuf, scount, stype, to, &send);
    if (err) {
        if (itself) uno_recv_abandon(&recv);
        return err;
    }
    int err2 = itself ? uno_wait(&recv, status) : uno_recv(rbuf, rcount, rtype, from, status);
    err = uno_wait(&send, MPI_STATUS_IGNORE);
    return err2 ? err2 : err;
}
