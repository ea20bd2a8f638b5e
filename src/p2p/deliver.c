// SPDX-License-Identifier: BSD-3-Clause
// What happens when a message arrives: it meets its receive, or is kept until the receive comes. Also the receiving
// half of the rendezvous. Channels call uno_deliver; src/p2p/recv.c calls uno_recv_unexpected for a receive that came
// later.
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "base/fail.h"
#include "core/world.h"
#include "p2p/direct.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/sign.h"
#include "p2p/token.h"

struct cts {
    uint64_t token, reply, bytes;
    uint32_t row, tile;    // the order to stream in
};
_Static_assert(sizeof(struct cts) <= UNO_INLINE_MAX && sizeof(struct uno_rts) <= UNO_INLINE_MAX, "control messages");

// Messages for a communicator whose construction this process has not finished yet.
struct orphan {
    struct orphan *next;
    struct uno_link *link;
    int proc;    // that sent it
    struct uno_hdr h;
    struct uno_signature sign;
    char payload[];
};
static struct orphan *orphans, **orphans_end = &orphans;

static void read_payload(struct uno_link *link, const void *payload, size_t from, void *dst, size_t n)
{
    if (payload)
        memcpy(dst, (const char *)payload + from, n);
    else
        uno_link_read(link, dst, n);
}

// Moves n payload bytes into the receive at r->move.moved.
static void take_in(MPI_Request r, struct uno_link *link, const void *payload, size_t n)
{
    bool plain = !r->move.type && !r->move.packer.ordered;
    bool past = plain && !payload && uno_copy_is_past((const void *)(uintptr_t)r->move.buf, r->move.bytes);
    char *to = (char *)(uintptr_t)r->move.buf + r->move.moved;
    r->move.moved += n;
    if (plain && !past) {
        read_payload(link, payload, 0, to, n);
        return;
    }
    if (payload) uno_unpack(&r->move.packer, payload, n);
    for (size_t at = 0, k; !payload && at < n; at += k) {
        const void *from;
        k = link->ops->look(link, n - at, &from);
        if (plain)
            uno_copy_past(to + at, from, k);
        else
            uno_unpack(&r->move.packer, from, k);
    }
}

static void set_status(MPI_Request r, int src, int tag, size_t bytes)
{
    r->status.MPI_SOURCE = src;
    r->status.MPI_TAG = tag;
    uno_status_set_bytes(&r->status, (MPI_Count)bytes);
}

static int truncation(MPI_Request r, size_t bytes)
{
    return bytes > r->move.bytes ? MPI_ERR_TRUNCATE : r->move.sign.error;
}

// The payload that was just read, piece by piece, is not what its sender meant.
static inline bool is_torn(const struct uno_link *link, const void *payload)
{
    return !payload && __builtin_expect(link->torn, 0);
}

static void fill_eager(MPI_Request r, struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    size_t n = h->bytes < r->move.bytes ? h->bytes : r->move.bytes;
    set_status(r, h->src, h->tag, n);
    if (payload && n <= UNO_INLINE_MAX && !r->move.type) {
        uno_copy_small((void *)(uintptr_t)r->move.buf, payload, n);
    } else {
        if (r->move.type)
            take_in(r, link, payload, n);
        else
            read_payload(link, payload, 0, (char *)(uintptr_t)r->move.buf, n);
        if (!payload && h->bytes > n) uno_link_read(link, NULL, h->bytes - n);
    }
    uno_request_done(r, is_torn(link, payload) ? UNO_ERR_PROC_FAILED : truncation(r, h->bytes));
}

static bool accept_offer(MPI_Request r, struct uno_link *link, const struct uno_rts *rts, size_t n)
{
    struct uno_run one;
    struct uno_mem mem;
    if (!uno_direct_memory(r, n, &one, &mem)) return false;
    uint64_t token = uno_token_take(UNO_TOKEN_RECV, r, link->proc);
    if (link->ops->accept(link, rts, &mem, token) == MPI_SUCCESS) return true;
    uno_token_give(token);
    uno_direct_forget(r);
    return false;
}

// Its sender does not hear that the receive is ready.
void uno_recv_broken(MPI_Request r, int error)
{
    if (r->move.bytes > 0) uno_token_give(r->move.token);
    uno_request_done(r, error);
}

// The data of a synchronous message: the sender, who gave the token, hears that so many bytes are taken.
static void fill_sync(MPI_Request r, struct uno_link *link, const struct uno_hdr *h, const void *payload,
                      uint64_t token)
{
    struct cts cts = {.token = token, .bytes = h->bytes < r->move.bytes ? h->bytes : r->move.bytes};
    struct uno_msg m = {.kind = UNO_CTS, .bytes = sizeof cts, .data = &cts};
    fill_eager(r, link, h, payload);
    if (is_torn(link, payload)) return;
    if (uno_peer_answer(link, &m, NULL)) uno_log(2, "the sender of a synchronous message is gone");
}

// The receive r was matched with a rendezvous: both copy, or the sender is asked to stream, or the data are here.
static void begin_rendezvous(MPI_Request r, struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    memcpy(&rts, payload, sizeof rts);
    if (h->bytes > sizeof rts) {
        struct uno_hdr data = {.src = h->src, .tag = h->tag, .bytes = (uint32_t)rts.bytes};
        fill_sync(r, link, &data, (const char *)payload + sizeof rts, rts.token);
        return;
    }
    size_t n = rts.bytes < r->move.bytes ? rts.bytes : r->move.bytes;
    set_status(r, h->src, h->tag, n);
    r->status.MPI_ERROR = truncation(r, rts.bytes);
    r->move.moved = 0;
    r->move.bytes = n;
    if (rts.direct && n > 0 && accept_offer(r, link, &rts, n)) {
        link->ops->poll_link(link);
        return;
    }
    if (!r->move.type) uno_packer_init(&r->move.packer, r->move.buf, (MPI_Count)r->move.room, uno_type(MPI_BYTE));
    struct uno_order order = uno_packer_likes(&r->move.packer);
    if (!order.row) order = (struct uno_order){rts.row, rts.tile};
    uno_packer_order(&r->move.packer, order, n);
    struct cts cts = {.token = rts.token, .bytes = n, .row = order.row, .tile = order.tile};
    if (n > 0) cts.reply = r->move.token = uno_token_take(UNO_TOKEN_STREAM, r, link->proc);
    struct uno_msg m = {.kind = UNO_CTS, .bytes = sizeof cts, .data = &cts};
    int err = uno_peer_answer(link, &m, n > 0 ? r : NULL);
    if (err)
        uno_recv_broken(r, err);
    else if (n == 0)
        uno_request_done(r, r->status.MPI_ERROR);
}

// Announcements weigh nothing, but for the data that one carries.
static bool is_counted(const struct uno_hdr *h)
{
    return h->kind == UNO_EAGER || h->bytes > sizeof(struct uno_rts);
}

// A synchronous message is kept as an announcement with the data behind it.
static struct uno_hdr kept_as(const struct uno_hdr *h)
{
    struct uno_hdr as = *h;
    if (h->kind != UNO_SYNC_DATA) return as;
    as.kind = UNO_RTS;
    as.bytes += (uint32_t)sizeof(struct uno_rts);
    return as;
}

// That came for the next synchronous message by this link.
static uint64_t take_token(const struct uno_link *link)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    uint64_t token = p ? p->sync : 0;
    if (p) p->sync = 0;
    return token;
}

static void keep_payload(struct uno_link *link, const struct uno_hdr *h, const void *payload, char *to)
{
    if (h->kind == UNO_SYNC_DATA) {
        struct uno_rts rts = {.token = take_token(link), .bytes = h->bytes};
        to = (char *)memcpy(to, &rts, sizeof rts) + sizeof rts;
    }
    read_payload(link, payload, 0, to, h->bytes);
}

static struct uno_unexp *keep_message(struct uno_link *link, int proc, const struct uno_hdr *came, const void *payload)
{
    const struct uno_hdr as = kept_as(came), *h = &as;
    bool parcel = h->bytes > UNO_UNEXP_HERE || uno_signing.num;
    struct uno_unexp *u = uno_unexp_new(h->bytes, parcel);
    if (!u) uno_world_abort(1, "out of memory for a message that arrived before its receive");
    u->src = h->src;
    u->tag = h->tag;
    u->proc = (uint32_t)proc & UNO_UNEXP_PROC;
    u->announced = h->kind == UNO_RTS;
    keep_payload(link, came, payload, parcel ? u->parcel->data : u->data);
    if (is_torn(link, payload)) {
        uno_unexp_give(u);
        return NULL;
    }
    if (parcel) u->parcel->link = link;
    if (uno_signing.num) u->parcel->sign = uno_sign_take(link);
    if (is_counted(h)) uno_flow_keep(proc, h->bytes);
    return u;
}

static void keep_orphan(struct uno_link *link, int proc, const struct uno_hdr *came, const void *payload)
{
    const struct uno_hdr as = kept_as(came), *h = &as;
    struct orphan *o = malloc(sizeof *o + h->bytes);
    if (!o) uno_world_abort(1, "out of memory for a message that arrived before its communicator");
    // The link of a whole message is not needed again, and may be closed by the time its communicator is made.
    *o = (struct orphan){.link = h->kind == UNO_EAGER && !uno_signing.num ? NULL : link, .proc = proc, .h = as};
    if (uno_signing.num) o->sign = uno_sign_take(link);
    keep_payload(link, came, payload, o->payload);
    if (is_torn(link, payload)) {
        free(o);
        return;
    }
    *orphans_end = o;
    orphans_end = &o->next;
}

void uno_p2p_keep(struct MPI_ABI_Comm *c)
{
    for (int coll = 0; coll < 2; coll++) {
        struct uno_match *m = &c->match[coll];
        for (struct uno_unexp *u = m->first, *next; u; u = next) {
            next = u->next_all;
            if (u->announced) continue;
            struct uno_hdr h = {.kind = UNO_EAGER, .src = u->src, .tag = u->tag, .bytes = u->bytes};
            h.ctx = c->context | (coll ? UNO_CTX_COLL : 0);
            uno_match_take(m, u);
            keep_orphan(u->parcelled ? u->parcel->link : NULL, (int)u->proc, &h, uno_unexp_data(u));
            uno_unexp_give(u);    // still counted, as an orphan
        }
    }
}

// Whether proc is the rank of c that a message names as its source.
static inline bool is_from(const struct MPI_ABI_Comm *c, int src, int proc)
{
    return (unsigned)src < (unsigned)c->npeers && uno_comm_proc(c, src) == proc;
}

// What is left when a message is not the common one, an eager one whose receive is posted.
static void meet(struct uno_match *m, MPI_Request r, struct uno_link *link, int proc, const struct uno_hdr *h,
                 const void *payload)
{
    if (uno_signing.num != 0 && r) {
        struct uno_signature sign = uno_sign_take(link);
        uno_sign_match(r, &sign, h->src, h->tag);
    }
    if (!r) {
        struct uno_unexp *u = keep_message(link, proc, h, payload);
        if (u) uno_match_keep(m, u);
    } else if (h->kind == UNO_EAGER) {
        fill_eager(r, link, h, payload);
    } else if (h->kind == UNO_SYNC_DATA) {
        fill_sync(r, link, h, payload, take_token(link));
    } else {
        begin_rendezvous(r, link, h, payload);
    }
}

// From the process proc, by the link (NULL when the message is whole).
static inline __attribute__((always_inline)) const char *deliver_message(struct uno_link *link, int proc,
                                                                         const struct uno_hdr *h, const void *payload)
{
    struct MPI_ABI_Comm *c = uno_context_find(h->ctx & ~UNO_CTX_COLL);
    if (__builtin_expect(c == NULL, 0)) {
        const struct uno_hdr as = kept_as(h);
        if (is_counted(&as)) uno_flow_keep(proc, as.bytes);
        keep_orphan(link, proc, h, payload);
        return NULL;
    }
    if (__builtin_expect(!is_from(c, h->src, proc), 0)) return "a message of no rank, or of another, arrived";
    struct uno_match *m = &c->match[h->ctx >> 63];
    MPI_Request r = uno_match_arrival(m, h->src, h->tag);
    if (__builtin_expect(r && h->kind == UNO_EAGER && !uno_signing.num, 1))
        fill_eager(r, link, h, payload);
    else
        meet(m, r, link, proc, h, payload);
    return NULL;
}

static const char *deliver_rts(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    memcpy(&rts, payload, sizeof rts);
    if (rts.bytes > PTRDIFF_MAX || (rts.row > 0 && rts.tile == 0)) return "an announcement that makes no sense arrived";
    return deliver_message(link, link->proc, h, payload);
}

static const char *deliver_sync_data(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    const struct uno_peer *p = uno_peer_of(link->proc);
    if (!p || !p->sync) return "a synchronous message without its token arrived";
    const char *wrong = deliver_message(link, link->proc, h, payload);
    if (wrong) take_token(link);
    return wrong;
}

static const char *deliver_sync(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    if (!p) return "a synchronous message of no process arrived";
    read_payload(link, payload, 0, &p->sync, sizeof p->sync);
    struct uno_hdr data = *h;
    data.kind = UNO_SYNC_DATA;
    data.bytes -= (uint32_t)sizeof p->sync;
    if (data.bytes == 0) return NULL;    // they come next
    return deliver_sync_data(link, &data, payload ? (const char *)payload + sizeof p->sync : NULL);
}

static const char *deliver_cts(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct cts cts;
    (void)h;
    memcpy(&cts, payload, sizeof cts);
    MPI_Request r = uno_token_find(cts.token, UNO_TOKEN_SEND, link->proc);
    if (!r) return "a clear-to-send for no send arrived";
    // Data go where a stream was asked for; those of a synchronous message may have gone before.
    bool gone = r->move.moved > 0, wanted = cts.reply != 0;
    if (cts.bytes > r->move.bytes || (cts.row > 0 && cts.tile == 0) || (cts.bytes > 0 && gone == wanted))
        return "a clear-to-send that makes no sense arrived";
    if (!uno_direct_withdraw(r, link)) return "a clear-to-send for a send under way arrived";
    uno_token_give(cts.token);
    r->move.bytes = cts.bytes;
    if (cts.bytes > 0 && !gone) {
        if (!r->move.type) uno_packer_init(&r->move.packer, r->move.buf, (MPI_Count)cts.bytes, uno_type(MPI_BYTE));
        uno_packer_order(&r->move.packer, (struct uno_order){cts.row, cts.tile}, cts.bytes);
        uno_peer_stream(uno_peer_of(link->proc), r, cts.reply);
        return NULL;
    }
    uno_send_ended(r, link, UNO_BY_STREAM);
    uno_request_done(r, MPI_SUCCESS);
    return NULL;
}

static const char *deliver_data(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    MPI_Request r = uno_token_find(h->ctx, UNO_TOKEN_STREAM, link->proc);
    if (!r) return "data for no receive arrived";
    if (h->bytes > r->move.bytes - r->move.moved) return "more data than announced arrived";
    take_in(r, link, payload, h->bytes);
    if (r->move.moved < r->move.bytes || is_torn(link, payload)) return NULL;
    uno_token_give(h->ctx);
    uno_request_done(r, r->status.MPI_ERROR);
    return NULL;
}

#define EXACT(type) .least = sizeof(type), .most = sizeof(type), .whole = true

static const struct uno_kind rts_kind = {
    .number = UNO_RTS, .name = "ready to send", EXACT(struct uno_rts), .deliver = deliver_rts};
static const struct uno_kind sync_kind = {.number = UNO_SYNC_TOKEN,
                                          .name = "synchronous message",
                                          .least = sizeof(uint64_t),
                                          .most = sizeof(struct uno_sync),
                                          .deliver = deliver_sync};
static const struct uno_kind sync_data_kind = {.number = UNO_SYNC_DATA,
                                               .name = "data of a synchronous message",
                                               .least = 1,
                                               .most = UINT32_MAX - sizeof(struct uno_rts),
                                               .deliver = deliver_sync_data};
static const struct uno_kind cts_kind = {
    .number = UNO_CTS, .name = "clear to send", EXACT(struct cts), .deliver = deliver_cts};
static const struct uno_kind data_kind = {
    .number = UNO_DATA, .name = "data", .least = 1, .most = UINT32_MAX, .deliver = deliver_data};
UNO_KIND_DECLARE(rts_kind);
UNO_KIND_DECLARE(sync_kind);
UNO_KIND_DECLARE(sync_data_kind);
UNO_KIND_DECLARE(cts_kind);
UNO_KIND_DECLARE(data_kind);

const char *uno_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    return __builtin_expect(h->kind == UNO_EAGER, 1) ? deliver_message(link, link->proc, h, payload)
                                                     : uno_kind_deliver(link, h, payload);
}

void *uno_deliver_into(struct uno_link *link, const struct uno_hdr *h, uint64_t *token)
{
    struct MPI_ABI_Comm *c = h->kind == UNO_EAGER && !uno_signing.num ? uno_context_find(h->ctx & ~UNO_CTX_COLL) : NULL;
    if (!c || !is_from(c, h->src, link->proc)) return NULL;
    struct uno_match *m = &c->match[h->ctx >> 63];
    MPI_Request r = uno_match_fit(m, h->src, h->tag);
    if (!r || r->move.type || r->move.bytes < h->bytes) return NULL;
    uno_match_unpost(m, r);
    set_status(r, h->src, h->tag, h->bytes);
    r->status.MPI_ERROR = MPI_SUCCESS;
    *token = uno_token_take(UNO_TOKEN_RECV, r, link->proc);
    return (void *)(uintptr_t)r->move.buf;
}

void uno_direct_done(uint64_t token, size_t bytes, int err)
{
    MPI_Request r = uno_token_end(token);
    (void)bytes;
    if (!r) uno_world_abort(MPI_ERR_INTERN, "a copy ended that was not under way");
    if (__builtin_expect(r->move.runs != NULL, 0)) uno_direct_forget(r);
    if (err) uno_fail(err, "the message's memory could not be read or written");
    if (!err && r->kind == UNO_REQ_SEND)
        uno_send_ended(r, uno_peer_known(uno_comm_proc(r->comm, r->rank))->link, UNO_BY_DIRECT);
    uno_request_done(r, err || r->kind != UNO_REQ_RECV ? err : r->status.MPI_ERROR);
}

void uno_recv_unexpected(MPI_Request r, struct uno_unexp *u)
{
    if (uno_signing.num && u->parcelled) uno_sign_match(r, &u->parcel->sign, u->src, u->tag);
    struct uno_hdr h = {.src = u->src, .tag = u->tag, .bytes = u->bytes};
    struct uno_link *link = u->parcelled ? u->parcel->link : NULL;
    if (u->announced)
        begin_rendezvous(r, link, &h, uno_unexp_data(u));
    else
        fill_eager(r, link, &h, uno_unexp_data(u));
    uno_unexp_free(u);
}

void uno_p2p_replay(struct MPI_ABI_Comm *c)
{
    uno_comm_examine(c);
    struct orphan *o = orphans;
    orphans = NULL;
    orphans_end = &orphans;
    for (struct orphan *next; o; o = next) {
        next = o->next;
        if ((o->h.ctx & ~UNO_CTX_COLL) == c->context) {
            struct uno_signature pending = {0};
            if (uno_signing.num) {
                pending = uno_sign_take(o->link);
                uno_sign_arrived(o->link, &o->sign);
            }
            if (is_counted(&o->h)) uno_flow_release(o->proc, o->h.bytes);
            const char *wrong = deliver_message(o->link, o->proc, &o->h, o->payload);
            if (wrong) uno_log(0, "%s for a new communicator: it is dropped", wrong);
            if (uno_signing.num) uno_sign_arrived(o->link, &pending);
            free(o);
        } else {
            o->next = NULL;
            *orphans_end = o;
            orphans_end = &o->next;
        }
    }
}
