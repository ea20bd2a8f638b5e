// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: requests, marking, and chunks that travel as messages. How the two sides find each other
// is in part_match.c, how messages are cut in part_cut.c, chunks that move through shared memory are in part_shared.c.
//
// Threads: Pready takes no lock (part.h says how) but to start a message or to end the request; all else is under it.
#include "p2p/partitioned.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/patience.h"
#include "p2p/inner.h"
#include "p2p/part.h"
#include "p2p/peer.h"

#define FIRST_TAG (-(1 << 30))    // chunk k of channel id: FIRST_TAG - id * PART_MAX_CHUNKS - k

enum { TAKEN = 1, STARTED };    // left[] of messages: STARTED once the message's request is of this activation

// The bits of a word that stand for no partition.
static uint64_t absent(const struct part *p, int word)
{
    int from = word << p->marks.shift, n = p->spec.partitions - from, most = 1 << p->marks.shift;
    if (n > most) n = most;
    uint64_t bits = n == 64 ? UINT64_MAX : ((1ULL << n) - 1) << (from & 63);
    return ~bits;
}

// ---- messages ----

static int make_message(struct part *p, int k, size_t at, size_t n)
{
    struct uno_where w = {
        .comm = p->req->comm, .rank = p->req->rank, .tag = FIRST_TAG - p->id * PART_MAX_CHUNKS - k, .coll = true};
    MPI_Request r = uno_request_new(p->send ? UNO_REQ_SEND : UNO_REQ_RECV);
    if (!r) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    char *buf = (char *)(uintptr_t)p->spec.buf;
    MPI_Count elements = (MPI_Count)p->spec.partitions * p->spec.count;
    struct MPI_ABI_Datatype *type = p->spec.type;
    if (part_is_plain(p)) {
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
    return MPI_SUCCESS;
}

int part_make_messages(struct part *p)
{
    int n = part_messages(p), err = MPI_SUCCESS;
    p->chunk = calloc((size_t)n, sizeof(MPI_Request));
    if (!p->chunk) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d chunks", n);
    for (int k = 0; k < n && !err; k++) {
        size_t at = (size_t)k * p->chunk_bytes;
        err = make_message(p, k, at, k == n - 1 ? p->total - at : p->chunk_bytes);
    }
    return err;
}

static void start_message(MPI_Request r)
{
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);    // under the lock
    r->active = true;
    int err = r->kind == UNO_REQ_SEND ? uno_send_start(r) : uno_recv_start(r);
    if (err) uno_request_done(r, err);
}

static void post_receives(struct part *p)
{
    for (int k = 0; k < part_messages(p); k++) {
        start_message(p->chunk[k]);
        // Release: pairs with the acquire in chunk_arrived.
        atomic_store_explicit(&p->left[k], STARTED, memory_order_release);
    }
}

// Whether all messages have ended; *error: how.
static bool messages_ended(struct part *p, int *error)
{
    for (int k = 0; k < part_messages(p); k++) {
        // Relaxed: set under the lock, as this is.
        if (atomic_load_explicit(&p->left[k], memory_order_relaxed) != STARTED) return false;
        if (!uno_request_is_done(p->chunk[k])) return false;
        if (p->chunk[k]->status.MPI_ERROR) *error = p->chunk[k]->status.MPI_ERROR;
    }
    return true;
}

// ---- sending ----

static void send_message(struct part *p, int k)
{
    uno_lock();
    start_message(p->chunk[k]);
    // Relaxed: read under the lock.
    atomic_store_explicit(&p->left[k], STARTED, memory_order_relaxed);
    uno_unlock();
}

// Chunk k is full and p is open: sends it, unless another thread does. True: the request has ended by that.
static bool leave(struct part *p, int k)
{
    // Seq_cst: one of the threads that find the chunk full takes it.
    if (uno_world.threads ? atomic_exchange(&p->left[k], TAKEN)
                          : atomic_load_explicit(&p->left[k], memory_order_relaxed))
        return false;
    if (!uno_world.threads) atomic_store_explicit(&p->left[k], TAKEN, memory_order_relaxed);
    int all = p->chunks, n = 0;
    if (p->mode == PART_STAGED)
        part_stage_put(p, k);
    else if (p->mode == PART_DIRECT)
        return part_direct_put(p, k), false;
    else if (p->mode == PART_MESSAGES)
        return send_message(p, k), false;
    // Acq_rel: the last one comes after all others.
    if (uno_world.threads)
        n = atomic_fetch_add_explicit(&p->nleft, 1, memory_order_acq_rel) + 1;
    else
        atomic_store_explicit(&p->nleft, n = atomic_load_explicit(&p->nleft, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    if (n == all && p->mode == PART_WHOLE) send_message(p, 0);
    return n == all && p->mode == PART_STAGED;
}

// A word of marks became full. True: the request has ended by that.
static bool word_full(struct part *p, unsigned word)
{
    int k = p->words > 1 ? (int)((word << p->marks.shift) / (unsigned)p->per_chunk) : 0;
    uint32_t rest;
    // Seq_cst, and so is the look at `open`: either we see it open, or the thread that opens sees the chunk full.
    if (uno_world.threads)
        rest = atomic_fetch_sub(&p->missing[k], 1) - 1;
    else
        atomic_store_explicit(&p->missing[k], rest = atomic_load_explicit(&p->missing[k], memory_order_relaxed) - 1,
                              memory_order_relaxed);
    return rest == 0 && atomic_load(&p->open) && leave(p, k);
}

void uno_part_word_full(MPI_Request req, unsigned word)
{
    if (word_full(req->extra, word)) uno_request_done(req, MPI_SUCCESS);
}

bool uno_part_ready(MPI_Request req, int i)
{
    if (!uno_request_is_live(req) || req->kind != UNO_REQ_PARTITIONED) return false;
    struct part *p = req->extra;
    if (!uno_world.threads || (unsigned)i >= p->marks.n) return false;
    unsigned w = (unsigned)i >> p->marks.shift;
    // Relaxed: only a guess for the exchange below.
    uint64_t bit = 1ULL << (i & 63), old = atomic_load_explicit(&p->marks.word[w], memory_order_relaxed);
    bool last = false, ended = false;
    do {
        // Release, as at the end: pairs with the acquire in settle_part().
        if (last) atomic_fetch_sub_explicit(&p->inside, 1, memory_order_release);
        if (old & bit) return false;
        last = (old | bit) == UINT64_MAX;
        // Announced before the word is full: the request is not freed or restarted under us. Pairs with settle_part().
        if (last) atomic_fetch_add(&p->inside, 1);
        // Acq_rel: the thread that fills the word comes after all that marked before it.
    } while (!atomic_compare_exchange_weak_explicit(&p->marks.word[w], &old, old | bit, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if (!last) return true;
    ended = word_full(p, w);
    atomic_fetch_sub_explicit(&p->inside, 1, memory_order_release);
    if (!ended) return true;
    uno_lock();
    uno_request_done(req, MPI_SUCCESS);
    uno_unlock();
    return true;
}

// Waits until no thread is on its way out of a Pready. Lock held; it is let go, because such a thread may want it.
static void settle_part(struct part *p)
{
    // Acquire: pairs with the release in uno_part_ready.
    while (atomic_load_explicit(&p->inside, memory_order_acquire) > 0) uno_lock_give_core();
}

static void open_sender(struct part *p)
{
    // Seq_cst: pairs with the look in word_full.
    atomic_store(&p->open, 1);
    bool ended = false;
    for (int k = 0; k < p->chunks; k++)
        if (atomic_load(&p->missing[k]) == 0) ended = leave(p, k) || ended;
    if (ended) uno_request_done(p->req, MPI_SUCCESS);
}

// ---- progress ----

static void end_part(struct part *p, int error)
{
    MPI_Request r = p->req;
    p->started = false;
    uno_poller_remove(&p->poller);
    if (!p->send) {
        r->status.MPI_SOURCE = r->rank;
        r->status.MPI_TAG = r->tag;
        if (p->total > p->bytes) error = MPI_ERR_TRUNCATE;
        uno_status_set_bytes(&r->status, (MPI_Count)(p->total < p->bytes ? p->total : p->bytes));
    }
    uno_request_done(r, error);
}

static int part_poll(struct uno_poller *self)
{
    struct part *p = (struct part *)(void *)((char *)self - offsetof(struct part, poller));
    if (!p->matched || !p->started) return 0;
    if (p->error) return end_part(p, p->error), 1;
    bool ended = false;
    int error = MPI_SUCCESS, n = 1;
    if (p->send && p->mode == PART_STAGED) {    // it waits for room
        if (!part_stage_free(p)) return 0;
        uno_poller_remove(&p->poller);
        open_sender(p);
        return 1;
    }
    if (part_is_shared(p)) {
        n = part_shared_poll(p, &ended);
        if (ended) error = part_shared_error(p);
    } else {
        ended = messages_ended(p, &error);
    }
    if (ended) end_part(p, error);
    return n && (ended || part_is_shared(p));
}

void part_go(struct part *p)
{
    if (p->error) {
        end_part(p, p->error);
        return;
    }
    part_use(p);
    if (part_is_shared(p)) part_shared_start(p);
    bool staged = p->send && p->mode == PART_STAGED;    // its last Pready ends it, unless it has to wait for room
    bool free = !staged || part_stage_free(p);
    if (!staged || !free) uno_poller_add(&p->poller);
    if (!p->send && !part_is_shared(p)) post_receives(p);
    if (p->send && free) open_sender(p);
}

void part_broken(struct part *p, int error)
{
    p->error = error;
    p->matched = true;    // as far as that goes: its other side will not hear of it
    if (p->started) end_part(p, error);
}

static int part_start(MPI_Request r)
{
    struct part *p = r->extra;
    settle_part(p);
    atomic_store_explicit(&p->open, 0, memory_order_relaxed);    // relaxed, as all here: no other thread knows yet
    atomic_store_explicit(&p->nleft, 0, memory_order_relaxed);
    for (int k = 0; k < p->chunks && p->left; k++) atomic_store_explicit(&p->left[k], 0, memory_order_relaxed);
    if (p->send) {
        p->marks.alone = uno_world.threads ? 0 : p->marks.n;
        int words = p->per_chunk >> p->marks.shift;
        for (int w = 0; w < p->words; w++) atomic_store_explicit(&p->marks.word[w], absent(p, w), memory_order_relaxed);
        for (int k = 0; k < p->chunks; k++) {
            int rest = p->words - k * words;
            atomic_store_explicit(&p->missing[k], (uint32_t)(rest < words ? rest : words), memory_order_relaxed);
        }
        if (p->spec.partitions == 0) atomic_store_explicit(&p->missing[0], 0, memory_order_relaxed);
    }
    if (r->rank == MPI_PROC_NULL) {
        r->status.MPI_SOURCE = MPI_PROC_NULL;
        uno_request_done(r, MPI_SUCCESS);
        return MPI_SUCCESS;
    }
    p->started = true;
    if (p->matched) part_go(p);
    return MPI_SUCCESS;
}

// ---- requests ----

// What was not matched yet stays until it is: its other side was initialised for it and nothing else.
static void part_free(MPI_Request r)
{
    struct part *p = r->extra;
    settle_part(p);
    part_hold(p, false);
    uno_poller_remove(&p->poller);
    uno_type_drop(p->spec.type);
    if (p->told) uno_peer_disown(uno_peer_known(p->proc), r);
    if (p->matched || r->rank == MPI_PROC_NULL)
        part_release(p);
    else
        p->req = NULL;
}

static int part_cancel(MPI_Request r)
{
    (void)r;
    return uno_fail(MPI_ERR_REQUEST, "a partitioned operation cannot be cancelled");
}

static bool poll_request(MPI_Request r)
{
    struct part *p = r->extra;
    return p->poller.queued && part_poll(&p->poller) > 0;
}

static void part_fail(MPI_Request r, int error)
{
    part_broken(r->extra, error);
}

static const struct uno_request_ops part_ops = {.name = "partitioned",
                                                .start = part_start,
                                                .cancel = part_cancel,
                                                .free = part_free,
                                                .poll = poll_request,
                                                .broken = part_fail};

struct lost_proc {
    int proc, error;
};

// One whose chunks are messages ends with those.
static void fail_with(void *object, void *arg)
{
    MPI_Request r = object;
    const struct lost_proc *lost = arg;
    if (r->kind != UNO_REQ_PARTITIONED || r->rank < 0 || uno_comm_proc(r->comm, r->rank) != lost->proc) return;
    struct part *p = r->extra;
    if (p->error || (p->matched && !part_is_shared(p))) return;
    if (!p->matched && !p->send) part_forget(p);
    part_broken(p, lost->error);
}

void uno_parts_fail(int proc, int error)
{
    uno_pool_each(&uno_request_pool, fail_with, &(struct lost_proc){proc, error});
}

static int part_new(const struct uno_part_spec *spec, const struct uno_where *where, bool send, MPI_Request *req)
{
    struct part *p = calloc(1, sizeof *p);
    MPI_Request r = p ? uno_request_new(UNO_REQ_PARTITIONED) : NULL;
    if (!r) {
        free(p);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a partitioned request");
    }
    p->poller.fn = part_poll;
    p->req = r;
    p->spec = *spec;
    p->send = send;
    p->id = -1;
    p->chunks = p->words = p->per_chunk = 1;
    p->partition_bytes = (size_t)(spec->count * spec->type->size);
    p->bytes = p->partition_bytes * (size_t)spec->partitions;
    r->ops = &part_ops;
    r->extra = p;
    r->comm = where->comm;
    r->rank = where->rank;
    r->tag = where->tag;
    r->persistent = true;
    r->active = false;
    part_hold(p, true);
    uno_comm_hold(where->comm);
    uno_type_hold(spec->type);
    *req = r;
    return MPI_SUCCESS;
}

static int make_marks(struct part *p, bool near)
{
    part_cut(p, p->bytes, p->spec.partitions, part_choose_cut(p, near));
    p->marks.word = calloc((size_t)p->words, sizeof *p->marks.word);
    p->missing = calloc((size_t)p->chunks, sizeof *p->missing);
    p->left = calloc((size_t)p->chunks, sizeof *p->left);
    if (!p->marks.word || !p->missing || !p->left) return uno_fail(MPI_ERR_NO_MEM, "no memory for the partitions");
    p->marks.n = (unsigned)p->spec.partitions;
    for (int w = 0; w < p->words; w++) atomic_init(&p->marks.word[w], UINT64_MAX);
    return MPI_SUCCESS;
}

static int give_up(MPI_Request *req, int err)
{
    ((struct part *)(*req)->extra)->matched = true;    // it has announced itself to no rank
    uno_request_release(*req);
    return err;
}

int uno_psend_init(const struct uno_part_spec *spec, const struct uno_where *to, MPI_Request *req)
{
    int err = part_new(spec, to, true, req);
    if (err) return err;
    struct part *p = (*req)->extra;
    struct uno_peer *peer = to->rank == MPI_PROC_NULL ? NULL : uno_peer(to->comm, to->rank);
    if (!peer && to->rank != MPI_PROC_NULL) return give_up(req, MPI_ERR_INTERN);
    err = make_marks(p, peer && part_is_near(peer->link) && part_is_plain(p));
    if (err) return give_up(req, err);
    if (!peer) return MPI_SUCCESS;
    err = part_announce(p, to, peer);
    return err ? give_up(req, err) : MPI_SUCCESS;
}

int uno_precv_init(const struct uno_part_spec *spec, const struct uno_where *from, MPI_Request *req)
{
    int err = part_new(spec, from, false, req);
    if (err || from->rank == MPI_PROC_NULL) return err;
    return part_expect((*req)->extra, from);
}

bool uno_part_is_send(MPI_Request req)
{
    return ((struct part *)req->extra)->send;
}

static int out_of_range(const struct part *p, int i)
{
    return uno_fail(MPI_ERR_ARG, "partition %d is out of range (0 .. %d allowed)", i, p->spec.partitions - 1);
}

int uno_part_refusal(MPI_Request req, int i)
{
    struct part *p = req->extra;
    if (i < 0 || i >= p->spec.partitions) return out_of_range(p, i);
    return uno_fail(MPI_ERR_ARG, "partition %d was marked ready already", i);
}

// Whether chunk k of a receive is there. Without the lock.
static bool chunk_arrived(struct part *p, int k)
{
    if (part_is_shared(p)) return part_shared_arrived(p, k);
    // Acquire: pairs with the release in post_receives; before it the message's `done` is of an earlier activation.
    return atomic_load_explicit(&p->left[k], memory_order_acquire) && uno_request_is_done(p->chunk[k]);
}

// The chunks in which partition i lies, whatever the sender's partitions were.
static bool has_arrived(struct part *p, int i)
{
    if (p->mode == PART_WHOLE || p->chunk_bytes == 0) return chunk_arrived(p, 0);
    size_t from = (size_t)i * p->partition_bytes, to = from + p->partition_bytes;
    for (size_t k = p->chunks > 1 ? from / p->chunk_bytes : 0; k < (size_t)p->chunks; k++) {
        if (!chunk_arrived(p, (int)k)) return false;
        if ((k + 1) * p->chunk_bytes >= to) break;
    }
    return true;
}

int uno_part_arrived(MPI_Request req, int i, bool *arrived)
{
    struct part *p = req->extra;
    if (i < 0 || i >= p->spec.partitions) return out_of_range(p, i);
    *arrived = true;
    if (!req->active || uno_request_is_done(req)) return MPI_SUCCESS;
    // Acquire: pairs with the release in match().
    bool matched = atomic_load_explicit(&p->matched, memory_order_acquire);
    if (matched && has_arrived(p, i)) return MPI_SUCCESS;
    uno_lock();
    if (part_poll(&p->poller) == 0) uno_look_for(req);
    *arrived = uno_request_is_done(req) || (p->matched && has_arrived(p, i));
    uno_unlock();
    return MPI_SUCCESS;
}
