// SPDX-License-Identifier: BSD-3-Clause
// Sending. A message that fits goes at once through the channel: no request, no allocation. What does not fit is
// offered for direct copy, or announced and streamed when the receiver is ready. Called by the entry points and by
// collectives.
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "p2p/buffered.h"
#include "p2p/direct.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/sign.h"
#include "p2p/token.h"

static uint64_t context_of(const struct uno_where *to)
{
    return to->comm->sends | (to->coll ? UNO_CTX_COLL : 0);
}

static inline bool is_plain(const struct MPI_ABI_Datatype *type)
{
    return (type->flags & UNO_TYPE_PLAIN) != 0;
}

// Columns of a matrix that share lines: once its receiver has agreed on an order, each line is touched once (columns of
// 2,048 rows, Xeon 167, us: 64 KiB 68 and 23, windows of 8 1,230 and 180, over TCP 173 and 106).
#define IN_ORDER_MIN ((size_t)16 << 10)

static bool is_better_announced(const struct uno_packer *packer)
{
    return packer->total >= IN_ORDER_MIN && uno_packer_likes(packer).row != 0;
}

// The slow half of sending at once: a layout to pack. Returns UNO_FULL, an error, or MPI_SUCCESS when it has left.
static int send_packed(struct uno_peer *p, struct uno_msg *m, const void *buf, MPI_Count count,
                       struct MPI_ABI_Datatype *type)
{
    struct uno_packer packer;
    uno_packer_init(&packer, buf, count, type);
    if (is_better_announced(&packer)) return UNO_FULL;
    m->packer = &packer;
    return p->ops->send(p->link, m);
}

// What becomes of a message that does not leave now: whoever sends it waits for it, or copies it first, and the copy is
// streamed, so into the channel it is copied once less (Zen 4, sendrecv-rep, us: 128 KiB 10.4 to 6.6, 256 KiB 24 to
// 17); or writes to its memory next, whose lines the receiver would have then.
enum otherwise { IT_STAYS, IT_IS_WAITED_FOR, IT_IS_COPIED, IT_IS_REWRITTEN };

// A rank that has waited for so many sends to another, and begun to receive nothing since the first of them, goes on
// like that. Shorter rows gain nothing (rows of 4, 12 KiB: 1.13 to 1.16 times as long).
#define ROW 4

static bool is_in_row(struct uno_peer *p)
{
    if (p->row_began != uno_receives) p->row = 0;
    p->row_began = uno_receives;
    if (p->row == ROW) return true;
    p->row++;
    return false;
}

// Whether it is too long for now, though it might be in the channel as long as that has room.
static bool is_too_long(struct uno_peer *p, size_t bytes, enum otherwise what)
{
    if (what == IT_STAYS || p->eager_max < 0) return true;
    if (what == IT_IS_COPIED) return bytes > uno_direct_copied_max(p->link);
    if (what == IT_IS_REWRITTEN) return bytes > uno_direct_rewritten_max(p->link);
    return bytes > uno_direct_waited_max(p->link, is_in_row(p));
}

// Tries to send now. MPI_SUCCESS: it has left. UNO_FULL: it needs a request. Else an error. Most layouts gain nothing
// from an announcement: they are packed into the channel in any case.
static inline int send_now(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                           enum otherwise what)
{
    struct uno_peer *p = uno_peer(to->comm, to->rank);
    if (__builtin_expect(!p, 0)) return UNO_FULL;    // the long way says why
    size_t bytes = (size_t)(count * type->size);
    bool plain = is_plain(type), is_short = (int64_t)bytes <= (plain ? p->eager_max : p->packed_max);
    if ((!is_short && (!plain || is_too_long(p, bytes, what))) || p->first) return UNO_FULL;
    struct uno_msg m = {.kind = UNO_EAGER,
                        .src = to->comm->rank,
                        .tag = to->tag,
                        .bytes = (uint32_t)bytes,
                        .ctx = context_of(to),
                        .data = buf};
    if (!plain && bytes) return send_packed(p, &m, buf, count, type);
    return p->ops->send(p->link, &m);
}

void uno_send_setup(MPI_Request r, const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type,
                    const struct uno_where *to)
{
    r->ops = &uno_send_ops;
    r->comm = to->comm;
    r->rank = to->rank;
    r->tag = to->tag;
    r->move.coll = to->coll;
    r->move.buf = buf;
    r->move.count = is_plain(type) ? count * type->size : count;    // plain data is bytes from here on
    r->move.bytes = r->move.room = (size_t)(count * type->size);
    uno_comm_hold(to->comm);
    r->move.type = NULL;
    r->move.runs = NULL;
    if (!is_plain(type)) {
        r->move.type = type;
        uno_type_hold(type);
    }
}

static int start_eager(MPI_Request r, struct uno_peer *p, struct uno_msg *m)
{
    m->kind = UNO_EAGER;
    m->bytes = (uint32_t)r->move.bytes;
    if (r->move.type)
        m->packer = &r->move.packer;
    else
        m->data = r->move.buf;
    if (p->link->lends && !r->move.type && r->move.bytes >= UNO_LEND_MIN)
        m->lent = r->move.token = uno_token_take(UNO_TOKEN_LENT, r, p->proc);
    int kept = uno_peer_send(p, m, r);
    if (kept == MPI_SUCCESS) uno_request_done(r, MPI_SUCCESS);
    return kept == UNO_KEPT || kept == UNO_LENT ? MPI_SUCCESS : kept;
}

void uno_send_returned(uint64_t token)
{
    MPI_Request r = uno_token_end(token);
    if (r) uno_request_done(r, MPI_SUCCESS);
}

// Whether a request shall be made so that the channel need not copy: the memory is the user's again when that is done.
static inline bool shall_lend(MPI_Count count, const struct MPI_ABI_Datatype *type, const struct uno_where *to)
{
    if (__builtin_expect(count * type->size < UNO_LEND_MIN, 1) || !is_plain(type)) return false;
    const struct uno_peer *p = uno_peer(to->comm, to->rank);
    return p && p->link->lends;
}

// Offers the memory for direct copy. Declined: it will be streamed.
static void offer(MPI_Request r, struct uno_peer *p, struct uno_rts *rts)
{
    struct uno_run one;
    struct uno_mem mem;
    if (r->move.bytes == 0 || !uno_direct_pays(r, p->link) || !uno_direct_memory(r, r->move.bytes, &one, &mem)) return;
    if (p->ops->offer(p->link, &mem, rts) == MPI_SUCCESS)
        r->move.direct = (int)rts->desc;
    else
        uno_direct_forget(r);
}

// It could not be sent, or its receiver is gone. False: the channel copies already.
static bool forget_announcement(MPI_Request r, struct uno_link *link)
{
    if (!uno_direct_withdraw(r, link)) return false;
    uno_token_give(r->move.token);
    return true;
}

static int start_rendezvous(MPI_Request r, struct uno_peer *p, struct uno_msg *m)
{
    struct uno_order likes = r->move.type ? uno_packer_likes(&r->move.packer) : (struct uno_order){0};
    r->move.token = uno_token_take(UNO_TOKEN_SEND, r, p->proc);
    uno_send_announced(r);
    struct uno_rts rts = {.token = r->move.token, .bytes = r->move.bytes, .row = likes.row, .tile = likes.tile};
    offer(r, p, &rts);
    m->kind = UNO_RTS;
    m->bytes = sizeof rts;
    m->data = &rts;
    int err = uno_peer_tell(p, m, r);
    m->data = NULL;
    if (err) forget_announcement(r, p->link);
    return err;
}

// An error, or UNO_FULL: the data have not left, and a token that has is one that nothing comes with.
static int send_sync(MPI_Request r, struct uno_peer *p, struct uno_msg *m)
{
    struct uno_sync whole;    // not cleared: it is long
    size_t n = r->move.bytes, in_front = n <= sizeof whole.data ? n : 0;
    whole.token = r->move.token;
    if (r->move.type)
        uno_pack(&r->move.packer, whole.data, in_front);
    else
        memcpy(whole.data, r->move.buf, in_front);
    m->kind = UNO_SYNC_TOKEN;
    m->bytes = (uint32_t)(sizeof whole.token + in_front);
    m->data = &whole;
    int err = p->ops->send(p->link, m);
    m->data = NULL;
    if (err || in_front) return err;
    m->kind = UNO_SYNC_DATA;
    m->bytes = (uint32_t)n;
    if (r->move.type)
        m->packer = &r->move.packer;
    else
        m->data = r->move.buf;
    err = p->ops->send(p->link, m);
    m->packer = NULL;
    m->data = NULL;
    return err;
}

// A synchronous message that can leave at once is its own announcement: its receiver says that it has met it, and asks
// for nothing. UNO_FULL: it is announced as a long one.
static int start_carried(MPI_Request r, struct uno_peer *p, struct uno_msg *m)
{
    size_t n = r->move.bytes, all = n + sizeof(uint64_t);
    if (n == 0 || p->first || (int64_t)n > (r->move.type ? p->packed_max : p->eager_max)) return UNO_FULL;
    if (n <= UNO_SYNC_MAX && (int64_t)all > p->packed_max) return UNO_FULL;
    r->move.token = uno_token_take(UNO_TOKEN_SEND, r, p->proc);
    r->move.moved = n;
    uno_send_announced(r);
    int err = send_sync(r, p, m);
    if (!err) return MPI_SUCCESS;
    uno_token_give(r->move.token);
    r->move.moved = 0;
    if (r->move.type) uno_packer_init(&r->move.packer, r->move.buf, r->move.count, r->move.type);
    return err;
}

// Persistent alone: others copy before there is a request. It is signed by what it was set up with.
static int start_buffered(MPI_Request r)
{
    struct uno_where to = {.comm = r->comm, .rank = r->rank, .tag = r->tag};
    struct MPI_ABI_Datatype *type = r->move.type ? r->move.type : uno_type(MPI_BYTE);
    int err = r->move.sign.type ? uno_bsend(r->move.buf, r->move.sign.count, r->move.sign.type, &to)
                                : uno_bsend(r->move.buf, r->move.count, type, &to);
    if (!err) uno_request_done(r, MPI_SUCCESS);
    return err;
}

// There is no way to the receiver, or it waits for nothing more. If it failed, a member did, or the communicator was
// revoked, that is how the operation ends.
static int refuse(MPI_Request r)
{
    int err = uno_comm_refusal(r->comm, r->rank, r->move.coll);
    if (!err) return MPI_ERR_INTERN;
    uno_request_done(r, err);
    return MPI_SUCCESS;
}

// To no process; a revoked communicator refuses that too.
static int send_nowhere(const struct MPI_ABI_Comm *c)
{
    return c->revoked ? uno_comm_refusal(c, MPI_PROC_NULL, false) : MPI_SUCCESS;
}

int uno_send_start(MPI_Request r)
{
    if (r->rank == MPI_PROC_NULL) {
        uno_request_done(r, MPI_SUCCESS);
        return MPI_SUCCESS;
    }
    if (r->move.mode == UNO_BUFFERED) return start_buffered(r);
    if (__builtin_expect(uno_signing.num != 0, 0) && r->persistent) uno_sign_start(r);
    struct uno_peer *p = uno_peer(r->comm, r->rank);
    if (!p) return refuse(r);
    r->move.moved = 0;
    r->move.direct = -1;
    r->move.token = 0;
    r->move.bytes = r->move.room;    // a receiver with less room may have cut it down last time
    if (r->move.type) uno_packer_init(&r->move.packer, r->move.buf, r->move.count, r->move.type);
    struct uno_msg m = {.src = r->comm->rank, .tag = r->tag, .ctx = r->comm->sends | (r->move.coll ? UNO_CTX_COLL : 0)};
    bool at_once = r->move.type ? (int64_t)r->move.bytes <= p->packed_max && !is_better_announced(&r->move.packer)
                                : (int64_t)r->move.bytes <= p->eager_max;
    if (at_once && r->move.mode != UNO_SYNC) return start_eager(r, p, &m);
    // Its receiver may have left the collective operation, and would never ask for the data (uno_comm_break).
    if (__builtin_expect(r->move.coll && r->comm->broken, 0)) return refuse(r);
    int err = r->move.mode == UNO_SYNC ? start_carried(r, p, &m) : UNO_FULL;
    return err == UNO_FULL ? start_rendezvous(r, p, &m) : err;
}

void uno_send_broken(MPI_Request r, int error)
{
    struct uno_link *link = uno_peer_known(uno_comm_proc(r->comm, r->rank))->link;
    if (forget_announcement(r, link)) uno_request_done(r, error);    // else the channel tells its end
}

const struct uno_request_ops uno_send_ops = {
    .name = "send", .start = uno_send_start, .cancel = uno_cancel_send, .broken = uno_send_broken};

int uno_send_at_once(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to)
{
    return to->rank == MPI_PROC_NULL ? send_nowhere(to->comm) : send_now(buf, count, type, to, IT_IS_COPIED);
}

int uno_isend(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
              enum uno_mode mode, MPI_Request *req)
{
    if (to->rank == MPI_PROC_NULL) {
        *req = &uno_request_sent;
        return send_nowhere(to->comm);
    }
    if (mode != UNO_SYNC && !shall_lend(count, type, to)) {
        int err = send_now(buf, count, type, to, IT_STAYS);
        if (err == MPI_SUCCESS) *req = &uno_request_sent;
        if (err != UNO_FULL) return err;
    }
    MPI_Request r = uno_request_new(UNO_REQ_SEND);
    if (!r) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    r->move.mode = (uint8_t)mode;
    uno_send_setup(r, buf, count, type, to);
    int err = uno_send_start(r);
    if (err) {
        uno_request_release(r);
        return err;
    }
    *req = r;
    return MPI_SUCCESS;
}

static int isend_or(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                    enum otherwise what, MPI_Request *req)
{
    bool tries = to->rank != MPI_PROC_NULL && !shall_lend(count, type, to);
    int err = tries ? send_now(buf, count, type, to, what) : UNO_FULL;
    if (err == MPI_SUCCESS) *req = &uno_request_sent;
    return err == UNO_FULL ? uno_isend(buf, count, type, to, UNO_STANDARD, req) : err;
}

int uno_isend_waited(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                     MPI_Request *req)
{
    return isend_or(buf, count, type, to, IT_IS_WAITED_FOR, req);
}

int uno_isend_rewritten(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                        MPI_Request *req)
{
    return isend_or(buf, count, type, to, IT_IS_REWRITTEN, req);
}

int uno_send(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
             enum uno_mode mode)
{
    if (__builtin_expect(to->rank == MPI_PROC_NULL, 0)) return send_nowhere(to->comm);
    if (mode != UNO_SYNC) {
        int err = send_now(buf, count, type, to, IT_IS_WAITED_FOR);
        if (err != UNO_FULL) return err;
    }
    MPI_Request r;
    int err = uno_isend(buf, count, type, to, mode, &r);
    return err ? err : uno_wait(&r, MPI_STATUS_IGNORE);
}
