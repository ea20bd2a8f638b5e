// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication. A message is cut into chunks at partitions of the sender: a chunk is about CHUNK bytes or
// one partition, whichever is more, and leaves as an ordinary message as soon as its last partition is ready: early
// when partitions are large, cheap when they are small. Sender and receiver are matched once, in the order of
// initialisation: the sender's INIT meets a receive of the same (context, source, tag); the ACK brings the tag under
// which the receiver posts its chunks at each Start.
//
// Threads: all of this runs under the library's lock, which costs nothing below MPI_THREAD_MULTIPLE.
#include "p2p/partitioned.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/progress.h"
#include "core/world.h"
#include "p2p/inner.h"
#include "p2p/peer.h"

#define CHUNK ((size_t)256 << 10)    // bench: part-lat --parts 1,8,32,128 --sizes 1K:4M
#define MAX_CHUNKS 65536
#define FIRST_TAG (-(1 << 30))    // chunk k of channel id: FIRST_TAG - id * MAX_CHUNKS - k
#define MAX_IDS (1 << 14)

enum { PART_INIT = 1, PART_ACK = 2, PART_WHOLE = 0x100 };    // WHOLE: the sender's type must be packed in one go

struct part_init {
    uint32_t what, partitions;
    uint64_t token, bytes;
};
struct part_ack {
    uint32_t what, whole;
    uint64_t token;
    int32_t id;
};

struct part {
    struct uno_poller poller;
    MPI_Request req;
    struct part *next;    // in the list of receives or of INITs that wait for their match
    struct uno_part_spec spec;
    bool send, matched, started;
    int id;                      // the receiver's number for its chunks' tags
    uint64_t ctx, peer_token;    // while waiting for the match
    int src, tag;
    size_t bytes, partition_bytes;    // of the whole, of one partition of this side
    uint64_t sender_bytes;
    int chunks, per_chunk;    // sender's partitions a chunk
    size_t chunk_bytes;
    MPI_Request *chunk;    // [chunks] persistent requests
    int *missing;          // [chunks] partitions not yet ready
    bool *ready;           // [partitions]
    bool *left;            // [chunks] sent in this activation
};

// An INIT that came before its receive.
struct early {
    struct early *next;
    struct uno_link *link;
    uint64_t ctx;
    int src, tag;
    struct part_init init;
};

static struct part *receives;    // not yet matched, in order of initialisation
static struct early *early;
static uint64_t ids[MAX_IDS / 64];

static struct uno_where chunk_where(const struct part *p, int k)
{
    return (struct uno_where){
        .comm = p->req->comm, .rank = p->req->rank, .tag = FIRST_TAG - p->id * MAX_CHUNKS - k, .coll = true};
}

static bool is_plain(const struct part *p)
{
    return (p->spec.type->flags & UNO_TYPE_PLAIN) != 0;
}

// Cuts the sender's message. Both sides compute the same from the INIT and the ACK.
static void cut(struct part *p, size_t bytes, int partitions, bool whole)
{
    size_t one = partitions ? bytes / (size_t)partitions : 0;
    size_t want = bytes / (MAX_CHUNKS / 2) > CHUNK ? bytes / (MAX_CHUNKS / 2) : CHUNK;
    p->per_chunk = one >= want ? 1 : one ? (int)(want / one) : partitions;
    if (whole || p->per_chunk > partitions || p->per_chunk == 0) p->per_chunk = partitions ? partitions : 1;
    p->chunks = partitions ? (partitions + p->per_chunk - 1) / p->per_chunk : 1;
    p->chunk_bytes = one * (size_t)p->per_chunk;
}

static int make_chunks(struct part *p)
{
    p->chunk = calloc((size_t)p->chunks, sizeof *p->chunk);
    p->left = calloc((size_t)p->chunks, sizeof *p->left);
    if (!p->chunk || !p->left) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d chunks", p->chunks);
    size_t total = p->send ? p->bytes : p->sender_bytes;
    for (int k = 0; k < p->chunks; k++) {
        struct uno_where w = chunk_where(p, k);
        MPI_Request r = uno_request_new(p->send ? UNO_REQ_SEND : UNO_REQ_RECV);
        if (!r) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
        size_t at = (size_t)k * p->chunk_bytes, n = k == p->chunks - 1 ? total - at : p->chunk_bytes;
        char *buf = (char *)(uintptr_t)p->spec.buf;
        MPI_Count elements = (MPI_Count)p->spec.partitions * p->spec.count;
        struct MPI_ABI_Datatype *type = p->spec.type;
        if (is_plain(p)) {
            buf += at;
            elements = (MPI_Count)(p->send || at + n <= p->bytes ? n : p->bytes > at ? p->bytes - at : 0);
            type = uno_type(MPI_BYTE);
        }
        if (p->send) {
            uno_send_setup(r, buf, elements, type, &w);
        } else {
            uno_recv_setup(r, buf, elements, type, &w);
            uno_comm_hold(w.comm);
        }
        r->persistent = true;
        r->active = false;
        p->chunk[k] = r;
    }
    return MPI_SUCCESS;
}

static int start_chunk(MPI_Request r)
{
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);    // under the lock
    r->active = true;
    return r->kind == UNO_REQ_SEND ? uno_send_start(r) : uno_recv_start(r);
}

// Sends the chunks whose partitions are all ready. Sender, matched, lock held.
static void send_ready(struct part *p)
{
    for (int k = 0; k < p->chunks; k++) {
        if (p->left[k] || p->missing[k] > 0) continue;
        p->left[k] = true;
        start_chunk(p->chunk[k]);
    }
}

static int part_poll(struct uno_poller *self)
{
    struct part *p = (struct part *)self;
    if (!p->matched || !p->started) return 0;
    int error = MPI_SUCCESS;
    for (int k = 0; k < p->chunks; k++) {
        if (!p->left[k] || !uno_request_is_done(p->chunk[k])) return 0;
        if (p->chunk[k]->status.MPI_ERROR) error = p->chunk[k]->status.MPI_ERROR;
    }
    p->started = false;
    uno_poller_remove(self);
    MPI_Request r = p->req;
    if (!p->send) {
        r->status.MPI_SOURCE = r->rank;
        r->status.MPI_TAG = r->tag;
        size_t n = p->sender_bytes < p->bytes ? p->sender_bytes : p->bytes;
        if (p->sender_bytes > p->bytes) error = MPI_ERR_TRUNCATE;
        uno_status_set_bytes(&r->status, (MPI_Count)n);
    }
    uno_request_done(r, error);
    return 1;
}

static void start_receives(struct part *p)
{
    for (int k = 0; k < p->chunks; k++) {
        p->left[k] = true;
        start_chunk(p->chunk[k]);
    }
}

static int take_id(void)
{
    for (int w = 0; w < MAX_IDS / 64; w++) {
        if (ids[w] == UINT64_MAX) continue;
        int b = __builtin_ctzll(~ids[w]);
        ids[w] |= 1ULL << b;
        return w * 64 + b;
    }
    return -1;
}

// The receive p was matched with a sender's INIT: answers, and posts the chunks when it is active already.
static void match(struct part *p, struct uno_link *link, const struct part_init *init)
{
    p->id = take_id();
    if (p->id < 0) uno_world_abort(1, "more than 16384 partitioned receives at once");
    p->sender_bytes = init->bytes;
    cut(p, init->bytes, (int)init->partitions, !is_plain(p) || init->what & PART_WHOLE);
    p->matched = true;
    if (make_chunks(p) != MPI_SUCCESS) uno_world_abort(1, uno_fail_text());
    struct part_ack ack = {.token = init->token, .what = PART_ACK, .whole = !is_plain(p), .id = p->id};
    struct uno_msg m = {.kind = UNO_PART, .bytes = sizeof ack, .data = &ack};
    uno_peer_send(uno_peer_of(link->proc), &m, NULL);
    if (p->started) start_receives(p);
}

static void on_ack(const struct part_ack *ack)
{
    struct part *p = (struct part *)(uintptr_t)ack->token;
    p->id = ack->id;
    if (ack->whole) cut(p, p->bytes, p->spec.partitions, true);
    free(p->missing);
    p->missing = NULL;
    // Partitions marked ready before now were only noted; count them again by the final cut.
    int *missing = calloc((size_t)p->chunks, sizeof *missing);
    if (!missing || make_chunks(p) != MPI_SUCCESS) uno_world_abort(1, "out of memory for a partitioned send");
    for (int i = 0; i < p->spec.partitions; i++)
        if (!p->ready[i]) missing[i / p->per_chunk]++;
    p->missing = missing;
    p->matched = true;
    if (p->started) send_ready(p);
}

void uno_part_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    char copy[UNO_INLINE_MAX];
    if (payload)
        memcpy(copy, payload, h->bytes);
    else
        uno_link_read(link, copy, h->bytes);
    struct part_init init;
    uint32_t what;
    memcpy(&what, copy, sizeof what);
    if (what == PART_ACK) {
        struct part_ack ack;
        memcpy(&ack, copy, sizeof ack);
        on_ack(&ack);
        return;
    }
    memcpy(&init, copy, sizeof init);
    for (struct part **at = &receives; *at; at = &(*at)->next) {
        struct part *p = *at;
        if (p->ctx != h->ctx || p->src != h->src || p->tag != h->tag) continue;
        *at = p->next;
        match(p, link, &init);
        return;
    }
    struct early *e = malloc(sizeof *e);
    if (!e) uno_world_abort(1, "out of memory for a partitioned message");
    *e = (struct early){.link = link, .ctx = h->ctx, .src = h->src, .tag = h->tag, .init = init};
    struct early **at = &early;
    while (*at) at = &(*at)->next;
    *at = e;
}

static int part_start(MPI_Request r)
{
    struct part *p = r->extra;
    if (r->rank == MPI_PROC_NULL) {
        r->status.MPI_SOURCE = MPI_PROC_NULL;
        for (int i = 0; i < p->spec.partitions && p->send; i++) p->ready[i] = false;
        uno_request_done(r, MPI_SUCCESS);
        return MPI_SUCCESS;
    }
    for (int k = 0; k < p->chunks && p->left; k++) p->left[k] = false;
    if (p->send) {
        for (int i = 0; i < p->spec.partitions; i++) p->ready[i] = false;
        for (int k = 0; k < p->chunks && p->missing; k++) {
            int after = p->spec.partitions - k * p->per_chunk;
            p->missing[k] = after < p->per_chunk ? after : p->per_chunk;
        }
    }
    p->started = true;
    uno_poller_add(&p->poller);
    if (p->matched && !p->send) start_receives(p);
    if (p->matched && p->send && p->spec.partitions == 0) send_ready(p);
    return MPI_SUCCESS;
}

static void part_free(MPI_Request r)
{
    struct part *p = r->extra;
    uno_poller_remove(&p->poller);
    for (struct part **at = &receives; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    for (int k = 0; k < p->chunks && p->chunk; k++)
        if (p->chunk[k]) uno_request_release(p->chunk[k]);
    if (!p->send && p->matched) ids[p->id / 64] &= ~(1ULL << p->id % 64);
    free(p->chunk), free(p->missing), free(p->ready), free(p->left), free(p);
}

static int part_cancel(MPI_Request r)
{
    (void)r;
    return uno_fail(MPI_ERR_REQUEST, "a partitioned operation cannot be cancelled");
}

static const struct uno_request_ops part_ops = {
    .name = "partitioned", .start = part_start, .cancel = part_cancel, .free = part_free};

static int part_new(const struct uno_part_spec *spec, const struct uno_where *where, bool send, MPI_Request *req)
{
    struct part *p = calloc(1, sizeof *p);
    MPI_Request r = p ? uno_request_new(UNO_REQ_PARTITIONED) : NULL;
    size_t n = spec->partitions ? (size_t)spec->partitions : 1;
    if (r) p->ready = calloc(n, sizeof *p->ready);
    if (!r || !p->ready) {
        if (r) uno_request_release(r);
        free(p);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a partitioned request");
    }
    p->poller.fn = part_poll;
    p->req = r;
    p->spec = *spec;
    p->send = send;
    p->partition_bytes = (size_t)(spec->count * spec->type->size);
    p->bytes = p->partition_bytes * (size_t)spec->partitions;
    r->ops = &part_ops;
    r->extra = p;
    r->comm = where->comm;
    r->rank = where->rank;
    r->tag = where->tag;
    r->type = spec->type;
    r->persistent = true;
    r->active = false;
    uno_comm_hold(where->comm);
    uno_type_hold(spec->type);
    *req = r;
    return MPI_SUCCESS;
}

int uno_psend_init(const struct uno_part_spec *spec, const struct uno_where *to, MPI_Request *req)
{
    int err = part_new(spec, to, true, req);
    if (err || to->rank == MPI_PROC_NULL) return err;
    struct part *p = (*req)->extra;
    struct uno_peer *peer = uno_peer(to->comm, to->rank);
    if (!peer) return MPI_ERR_INTERN;
    cut(p, p->bytes, spec->partitions, !is_plain(p));
    p->missing = calloc((size_t)p->chunks, sizeof *p->missing);
    if (!p->missing) return uno_fail(MPI_ERR_NO_MEM, "no memory for a partitioned request");
    struct part_init init = {.token = (uint64_t)(uintptr_t)p,
                             .bytes = p->bytes,
                             .what = PART_INIT | (is_plain(p) ? 0 : PART_WHOLE),
                             .partitions = (uint32_t)spec->partitions};
    struct uno_msg m = {.kind = UNO_PART,
                        .src = to->comm->rank,
                        .tag = to->tag,
                        .bytes = sizeof init,
                        .ctx = to->comm->context,
                        .data = &init};
    uno_peer_send(peer, &m, NULL);
    return MPI_SUCCESS;
}

int uno_precv_init(const struct uno_part_spec *spec, const struct uno_where *from, MPI_Request *req)
{
    int err = part_new(spec, from, false, req);
    if (err || from->rank == MPI_PROC_NULL) return err;
    struct part *p = (*req)->extra;
    p->ctx = from->comm->context;
    p->src = from->rank;
    p->tag = from->tag;
    for (struct early **at = &early; *at; at = &(*at)->next) {
        struct early *e = *at;
        if (e->ctx != p->ctx || e->src != p->src || e->tag != p->tag) continue;
        *at = e->next;
        match(p, e->link, &e->init);
        free(e);
        return MPI_SUCCESS;
    }
    struct part **at = &receives;
    while (*at) at = &(*at)->next;
    *at = p;
    return MPI_SUCCESS;
}

bool uno_part_is_send(MPI_Request req)
{
    return ((struct part *)req->extra)->send;
}

bool uno_part_ready(MPI_Request req, int i)
{
    if (!uno_request_is_live(req) || req->kind != UNO_REQ_PARTITIONED || !req->active) return false;
    struct part *p = req->extra;
    if (!p->send || (unsigned)i >= (unsigned)p->spec.partitions || req->rank == MPI_PROC_NULL) return false;
    uno_lock();
    bool twice = p->ready[i];
    if (!twice) {
        p->ready[i] = true;
        int k = p->chunks == 1 ? 0 : i / p->per_chunk;    // no division where it would be most of the cost
        if (--p->missing[k] == 0 && p->matched) {
            p->left[k] = true;
            start_chunk(p->chunk[k]);
        }
    }
    uno_unlock();
    return !twice;
}

int uno_part_refusal(MPI_Request req, int i)
{
    struct part *p = req->extra;
    if (i < 0 || i >= p->spec.partitions)
        return uno_fail(MPI_ERR_ARG, "partition %d is out of range (0 .. %d allowed)", i, p->spec.partitions - 1);
    return req->rank == MPI_PROC_NULL ? MPI_SUCCESS : uno_fail(MPI_ERR_ARG, "partition %d was marked ready already", i);
}

int uno_part_arrived(MPI_Request req, int i, bool *arrived)
{
    struct part *p = req->extra;
    if (i < 0 || i >= p->spec.partitions)
        return uno_fail(MPI_ERR_ARG, "partition %d is out of range (0 .. %d allowed)", i, p->spec.partitions - 1);
    *arrived = true;
    if (!req->active || uno_request_is_done(req)) return MPI_SUCCESS;
    *arrived = false;
    uno_lock();
    uno_progress();
    if (uno_request_is_done(req)) {
        *arrived = true;
    } else if (p->matched && p->chunk_bytes) {
        size_t from = (size_t)i * p->partition_bytes, to = from + p->partition_bytes;
        if (!is_plain(p)) from = 0, to = 1;
        bool all = true;
        for (size_t k = from / p->chunk_bytes;
             k < (size_t)p->chunks && (k == from / p->chunk_bytes || k * p->chunk_bytes < to); k++)
            all = all && p->left[k] && uno_request_is_done(p->chunk[k]);
        *arrived = all;
    }
    uno_unlock();
    return MPI_SUCCESS;
}
