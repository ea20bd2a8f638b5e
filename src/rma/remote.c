// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations by messages (remote.h). A large one goes in pieces that fit the channel; each names the runs at
// the target and brings its data, so a piece is complete by itself. The handler at the target runs inside delivery, on
// whatever thread makes progress there (the helper while the program computes), and acts as an origin on that host.
//
// Always holds: what comes is checked against the window before it touches memory; messages of one origin are done in
// the order sent, so the answer to a flush confirms all before it.
#include "rma/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/progress.h"
#include "core/word.h"
#include "core/world.h"
#include "core/request.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/token.h"
#include "rma/combine.h"
#include "rma/words.h"

#define PIECE_MAX ((size_t)65536)              // of a message
#define RUNS_MAX ((size_t)1024)                // in a message
#define KEPT_MAX ((size_t)4096)                // of a message that waits for what comes after it
#define UNCONFIRMED_MAX ((uint64_t)8 << 20)    // bytes sent to a part before an answer is waited for

enum what { PUT, GET, ACCUMULATE, FETCH, SWAP, DATA, LOCK, GRANT, UNLOCK, FLUSH, ANSWER, POST, COMPLETE, REFUSED };

struct wire {
    uint8_t what, after;              // FLUSH, UNLOCK or COMPLETE comes with the operation before it, ANSWER with DATA
    bool exclusive : 1, holds : 1;    // of a lock that is asked for; its asker has others
    uint8_t op;                       // handle of the predefined operation
    uint16_t element;                 // handle of the predefined type (accumulates)
    uint16_t runs;                    // that follow
    uint64_t bytes;                   // of the layout (GET), else of the data behind the runs; REFUSED: the address
    uint64_t token;                   // whom the data that comes back is for, 0: none comes
};

struct wire_run {
    uint64_t at, bytes;    // relative to the window's base; of a dynamic window an address
};

// A piece of a get or a fetch that is under way at the origin.
struct piece {
    struct uno_rma_stream to;
    size_t bytes;
    struct uno_rma_part *part;
    struct whole *whole;    // of a request-based operation, else NULL
};

struct whole {
    MPI_Request req;
    size_t pieces;
    int error;
};

// ---- sending ----

static void free_extra(MPI_Request r)
{
    free(r->extra);
}

static const struct uno_request_ops whole_ops = {.name = "one-sided operation"};
static const struct uno_request_ops message_ops = {.name = "one-sided message", .free = free_extra};

// Sends a message that was put together in malloced memory, which goes with it.
static int send_owned(struct MPI_ABI_Win *w, int rank, char *all, size_t bytes)
{
    struct uno_peer *peer = uno_peer(w->comm, rank);
    struct uno_msg m = {
        .kind = UNO_RMA, .src = w->comm->rank, .ctx = w->comm->context, .data = all, .bytes = (uint32_t)bytes};
    MPI_Request r = peer ? uno_request_new(UNO_REQ_OTHER) : NULL;
    if (!r) {
        free(all);
        return peer ? uno_fail(MPI_ERR_NO_MEM, "no memory for a one-sided message") : MPI_ERR_OTHER;
    }
    r->ops = &message_ops;
    r->extra = all;
    r->freed = true;    // nobody waits for it: it goes when it has left
    int err = uno_peer_send(peer, &m, r);
    if (err == UNO_KEPT) return MPI_SUCCESS;
    uno_request_release(r);
    return err;
}

static int tell(struct MPI_ABI_Win *w, int rank, const struct wire *h)
{
    struct uno_peer *peer = uno_peer(w->comm, rank);
    struct uno_msg m = {.kind = UNO_RMA, .src = w->comm->rank, .ctx = w->comm->context, .data = h, .bytes = sizeof *h};
    if (!peer) return MPI_ERR_OTHER;
    int err = uno_peer_tell(peer, &m, NULL);
    return err == UNO_KEPT ? MPI_SUCCESS : err;
}

// The last small message to a part is kept until it is known what comes after it: mostly a flush, which then travels
// with it. Nothing has to reach the part before a synchronisation, which sends it in any case.
static int send_kept(struct MPI_ABI_Win *w, int rank, const struct wire *after)
{
    struct uno_rma_part *p = &w->part[rank];
    char *all = p->kept;
    if (!all) return after ? tell(w, rank, after) : MPI_SUCCESS;
    struct wire *h = (struct wire *)(void *)all;
    if (after) h->after = after->what;
    if (after) h->exclusive = after->exclusive;
    p->kept = NULL;
    return send_owned(w, rank, all, p->kept_bytes);
}

static int send_or_keep(struct MPI_ABI_Win *w, int rank, char *all, size_t bytes, bool may_wait)
{
    int err = send_kept(w, rank, NULL);
    if (err) free(all);
    if (err || !may_wait || bytes > KEPT_MAX) return err ? err : send_owned(w, rank, all, bytes);
    w->part[rank].kept = all;
    w->part[rank].kept_bytes = bytes;
    return MPI_SUCCESS;
}

// Puts together the next piece of an operation: head, runs, room for data. h->bytes becomes the packed bytes of it, a
// multiple of unit.
static char *next_piece(struct MPI_ABI_Win *w, int rank, struct uno_rma_layout *l, struct wire *h, size_t unit,
                        bool with_data)
{
    const struct uno_rma_part *p = &w->part[rank];
    const struct uno_peer *peer = uno_peer(w->comm, rank);
    size_t most = peer && peer->link->data_max < PIECE_MAX ? peer->link->data_max : PIECE_MAX;
    struct wire_run run[RUNS_MAX];
    char *base = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? NULL : p->base;
    size_t room = most - sizeof *h, some = 0, at = l->at, done = l->done, runs = 0;
    for (; at < l->runs && runs < RUNS_MAX && room > sizeof *run + unit; runs++) {
        size_t start = at ? l->run[at - 1].end : 0, k = l->run[at].end - done;
        room -= sizeof *run;
        if (k > room) k = room;
        run[runs] = (struct wire_run){(uint64_t)(l->run[at].at + (done - start) - base), k};
        room -= k;
        some += k;
        done += k;
        if (done == l->run[at].end) at++;
    }
    for (size_t over = some % unit; over > 0;) {    // whole elements alone
        size_t k = run[runs - 1].bytes < over ? run[runs - 1].bytes : over;
        run[runs - 1].bytes -= k;
        over -= k;
        some -= k;
        if (run[runs - 1].bytes == 0) runs--;
    }
    h->runs = (uint16_t)runs;
    h->bytes = some;
    char *all = malloc(sizeof *h + runs * sizeof *run + (with_data ? some : 0));
    if (!all) return NULL;
    memcpy(all, h, sizeof *h);
    memcpy(all + sizeof *h, run, runs * sizeof *run);
    l->done += some;
    while (l->at < l->runs && l->run[l->at].end <= l->done) l->at++;
    return all;
}

// The user may free the type before the data comes.
static struct MPI_ABI_Datatype *held_by(const struct piece *p)
{
    return (struct MPI_ABI_Datatype *)(uintptr_t)p->to.packer.type;
}

// Notes that n bytes will come back, to be written to the stream of the result.
static struct piece *expect(struct uno_rma_part *p, const struct uno_rma_stream *to, size_t n, struct whole *whole)
{
    struct piece *piece = malloc(sizeof *piece);
    if (!piece) return NULL;
    *piece = (struct piece){.to = *to, .bytes = n, .part = p, .whole = whole};
    if (!to->plain) {
        uno_packer_seek(&piece->to.packer, to->packer.pos);
        uno_type_hold(held_by(piece));
    }
    p->answers++;
    if (whole) whole->pieces++;
    return piece;
}

static void skip(struct uno_rma_stream *s, size_t n)
{
    if (s->plain)
        s->plain += n;
    else
        uno_packer_seek(&s->packer, s->packer.pos + n);
}

static int bounded(struct MPI_ABI_Win *w, int rank, size_t bytes)
{
    struct uno_rma_part *p = &w->part[rank];
    p->unconfirmed += bytes;
    return p->unconfirmed > UNCONFIRMED_MAX ? uno_remote_flush(w, rank) : MPI_SUCCESS;
}

// The origin's ends of an operation: what goes along, where what comes back goes; both may be NULL.
struct ends {
    struct uno_rma_stream *in, *out;
    struct whole *whole;
};

static int send_piece(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, struct wire h,
                      const struct ends *e)
{
    struct uno_rma_part *p = &w->part[o->rank];
    size_t unit = o->op ? (size_t)uno_rma_element(o->type)->size : 1;
    int proc = uno_comm_proc(w->comm, o->rank);
    char *all = next_piece(w, o->rank, l, &h, unit, e->in != NULL);
    size_t n = (size_t)h.bytes;
    struct piece *piece = all && e->out ? expect(p, e->out, n, e->whole) : NULL;
    if (!all || (e->out && !piece)) {
        free(all);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a one-sided message");
    }
    size_t head = sizeof h + h.runs * sizeof(struct wire_run);
    if (e->in) uno_rma_read(e->in, all + head, n);
    if (e->out) {
        skip(e->out, n);
        ((struct wire *)(void *)all)->token = uno_token_take(UNO_TOKEN_RMA, piece, proc);
    }
    int err = send_or_keep(w, o->rank, all, head + (e->in ? n : 0), l->done == l->bytes && !e->whole);
    return err ? err : bounded(w, o->rank, n);
}

int uno_remote_start(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, MPI_Request *req)
{
    struct uno_rma_stream in, out;
    bool no_op = o->op && o->op->handle == MPI_NO_OP, back = o->get || o->result.type;
    struct wire h = {.what = o->get ? GET : !o->op ? PUT : back ? FETCH : ACCUMULATE};
    struct whole *whole = NULL;
    if (o->op) h.op = (uint8_t)(uintptr_t)o->op->handle;
    if (o->op) h.element = (uint16_t)(uintptr_t)uno_rma_element(o->type)->handle;
    if (!o->get && !no_op) uno_rma_stream(&in, &o->origin);
    if (back) uno_rma_stream(&out, o->get ? &o->origin : &o->result);
    if (req && back) {
        whole = calloc(1, sizeof *whole);
        MPI_Request r = whole ? uno_request_new(UNO_REQ_OTHER) : NULL;
        if (!r) {
            free(whole);
            return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
        }
        r->ops = &whole_ops;
        whole->req = *req = r;
        whole->pieces = 1;    // until all are sent
    }
    struct ends ends = {o->get || no_op ? NULL : &in, back ? &out : NULL, whole};
    int err = MPI_SUCCESS;
    while (l->done < l->bytes && !err) err = send_piece(w, o, l, h, &ends);
    if (whole && --whole->pieces == 0) {
        uno_request_done(whole->req, err ? err : whole->error);
        free(whole);
    }
    return err;
}

int uno_remote_swap(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, const void *compare)
{
    struct wire h = {.what = SWAP};
    size_t n = l->bytes;
    char both[64];    // what is compared and, behind it, the new value
    memcpy(both, compare, n);
    memcpy(both + n, o->origin.buf, n);
    struct uno_rma_stream out = {.plain = o->result.buf};
    struct uno_rma_part *p = &w->part[o->rank];
    size_t head = sizeof h + sizeof(struct wire_run);
    char *base = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? NULL : p->base, *all = malloc(head + 2 * n);
    struct piece *piece = all ? expect(p, &out, n, NULL) : NULL;
    if (!piece) {
        free(all);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a one-sided message");
    }
    h.runs = 1;
    h.bytes = 2 * n;
    h.token = uno_token_take(UNO_TOKEN_RMA, piece, uno_comm_proc(w->comm, o->rank));
    memcpy(all, &h, sizeof h);
    memcpy(all + sizeof h, &(struct wire_run){(uint64_t)(l->run[0].at - base), n}, sizeof(struct wire_run));
    memcpy(all + head, both, 2 * n);
    int err = send_or_keep(w, o->rank, all, head + 2 * n, true);
    return err ? err : bounded(w, o->rank, n);
}

// ---- synchronisation at the origin ----

// All that was sent to the part is done, or refused.
static int await_answer(struct MPI_ABI_Win *w, int rank)
{
    struct uno_rma_part *p = &w->part[rank];
    int err = uno_word_wait(&p->answered, ++p->asked_answers, w->comm, rank);
    if (err) return err;
    uint64_t refused = p->refused;
    p->unconfirmed = 0;
    p->stored = false;
    p->refused = 0;
    if (!refused) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RMA_RANGE, "rank %d refused an operation: address %#llx is not attached there", rank,
                    (unsigned long long)refused);
}

int uno_remote_flush(struct MPI_ABI_Win *w, int rank)
{
    int err = send_kept(w, rank, &(struct wire){.what = FLUSH});
    return err ? err : await_answer(w, rank);
}

int uno_remote_lock(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    int err = send_kept(w, rank, NULL);
    if (!err) err = tell(w, rank, &(struct wire){.what = LOCK, .exclusive = exclusive, .holds = w->locks > 0});
    if (err) return err;
    return uno_word_wait(&p->granted, ++p->asked_locks, w->comm, rank);
}

int uno_remote_unlock(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    int err = send_kept(w, rank, &(struct wire){.what = UNLOCK, .exclusive = exclusive});
    return err ? err : await_answer(w, rank);
}

int uno_remote_post(struct MPI_ABI_Win *w, int rank)
{
    return tell(w, rank, &(struct wire){.what = POST});
}

int uno_remote_complete(struct MPI_ABI_Win *w, int rank)
{
    return send_kept(w, rank, &(struct wire){.what = COMPLETE});
}

// ---- at the target ----

// Locks asked for by members on other hosts that are not served yet: first the window's, if it is to write, then the
// part's.
struct asked {
    struct uno_poller poller;
    struct asked *next;
    struct MPI_ABI_Win *win;
    int rank;
    struct uno_ticket_wait any, part;
};
static struct asked *asked;

static struct uno_rma_part *mine(const struct MPI_ABI_Win *w)
{
    return &w->part[w->comm->rank];
}

// Whether the lock is held now, and its asker told.
static bool come(struct asked *a)
{
    bool writes = a->part.room == UNO_ROOM_EXCLUSIVE;
    if ((writes && !uno_ticket_come(&a->any)) || !uno_ticket_come(&a->part)) return false;
    if (tell(a->win, a->rank, &(struct wire){.what = GRANT})) uno_world_abort(MPI_ERR_OTHER, uno_fail_text());
    return true;
}

static int poll_asked(struct uno_poller *self)
{
    struct asked *a = (struct asked *)self;
    if (!come(a)) return 0;
    uno_poller_remove(&a->poller);
    for (struct asked **at = &asked; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            break;
        }
    free(a);
    return 1;
}

static void asked_for_lock(struct MPI_ABI_Win *w, int rank, const struct wire *h)
{
    enum uno_room room = h->exclusive ? UNO_ROOM_EXCLUSIVE : UNO_ROOM_SHARED;
    struct asked *a = malloc(sizeof *a);
    if (!a) uno_world_abort(MPI_ERR_NO_MEM, "no memory for a lock that was asked for");
    *a = (struct asked){.poller.fn = poll_asked,
                        .next = asked,
                        .win = w,
                        .rank = rank,
                        .any = {.queue = w->shared->all, .room = room, .ahead = h->holds},
                        .part = {.queue = uno_win_queue(w, mine(w)), .room = room}};
    if (come(a)) {
        free(a);
        return;
    }
    asked = a;
    uno_poller_add(&a->poller);
}

static void let_lock_go(const struct MPI_ABI_Win *w, bool exclusive)
{
    uno_ticket_leave(uno_win_queue(w, mine(w)), exclusive ? UNO_ROOM_EXCLUSIVE : UNO_ROOM_SHARED);
    if (exclusive) uno_ticket_leave(w->shared->all, UNO_ROOM_EXCLUSIVE);
}

void uno_remote_forget(struct MPI_ABI_Win *w)
{
    for (struct asked **at = &asked, *a; (a = *at);) {
        if (a->win != w) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        uno_poller_remove(&a->poller);
        free(a);
    }
}

static const char outside[] = "a one-sided operation outside the window arrived";

// What a message says of the layout, in addresses of this process. What is wrong with it, or NULL.
static const char *find_layout(const struct MPI_ABI_Win *w, const struct wire *h, const char *runs, size_t wanted,
                               struct uno_run *list, struct uno_rma_layout *l)
{
    const struct uno_rma_part *p = mine(w);
    size_t end = 0;
    for (size_t i = 0; i < h->runs; i++) {
        struct wire_run r;
        memcpy(&r, runs + i * sizeof r, sizeof r);
        bool inside = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? uno_win_is_attached(w, w->comm->rank, r.at, (size_t)r.bytes)
                                                          : r.bytes <= p->size && r.at <= p->size - r.bytes;
        if (!inside || r.bytes == 0) return outside;
        end += (size_t)r.bytes;
        list[i] = (struct uno_run){w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? (char *)(uintptr_t)r.at : p->base + r.at, end};
    }
    if (end != wanted || h->runs == 0) return "a one-sided operation of a wrong length arrived";
    *l = (struct uno_rma_layout){.run = list, .runs = h->runs, .bytes = end};
    return NULL;
}

// Data go back; with them the answer to what comes with the operation, which is then done.
static const char *send_back(struct MPI_ABI_Win *w, int rank, struct wire *to, char *all, size_t n)
{
    struct wire h = {.what = DATA, .bytes = n, .token = to->token};
    if (to->after == UNLOCK) let_lock_go(w, to->exclusive);
    if (to->after == UNLOCK || to->after == FLUSH) {
        h.after = ANSWER;
        to->after = 0;
    }
    memcpy(all, &h, sizeof h);
    return send_owned(w, rank, all, sizeof h + n) ? "an answer cannot be sent" : NULL;
}

static const char *combine_here(struct MPI_ABI_Win *w, const struct wire *h, struct uno_rma_layout *l, char *data,
                                char *old)
{
    struct MPI_ABI_Op *op = uno_op((MPI_Op)(uintptr_t)h->op);
    struct MPI_ABI_Datatype *e = uno_type((MPI_Datatype)(uintptr_t)h->element);
    if (!op || !op->predefined || !(e->flags & UNO_TYPE_LIVE) || l->bytes % (size_t)e->size != 0 || uno_op_check(op, e))
        return "an accumulate of a type or operation that makes no sense arrived";
    struct uno_rma_stream in = {.plain = data}, out = {.plain = old};
    struct uno_rma_combination c = {op, e, op->handle == MPI_NO_OP ? NULL : &in, old ? &out : NULL};
    return uno_rma_combine(mine(w), l, &c) ? uno_fail_text() : NULL;
}

// The origin of a dynamic window cannot know what is attached on another host. It is told, before the next answer.
static const char *refuse(struct MPI_ABI_Win *w, int rank, const struct wire *h, const char *runs, bool back)
{
    struct wire_run r = {0};
    for (size_t i = 0; i < h->runs; i++) {
        memcpy(&r, runs + i * sizeof r, sizeof r);
        if (!uno_win_is_attached(w, w->comm->rank, r.at, (size_t)r.bytes)) break;
    }
    struct wire answer = {.what = REFUSED, .bytes = r.at, .token = back ? h->token : 0};
    return tell(w, rank, &answer) ? "an answer cannot be sent" : NULL;
}

// PUT, GET, ACCUMULATE, FETCH, SWAP. data: what came behind the runs, n bytes.
static const char *operate(struct MPI_ABI_Win *w, int rank, struct wire *h, const char *runs, char *data, size_t n)
{
    struct uno_run list[RUNS_MAX];
    struct uno_rma_layout l;
    bool no_data = h->what == GET || (h->what == FETCH && n == 0);
    if (h->bytes > PIECE_MAX || n != (no_data ? 0 : h->bytes)) return "a one-sided operation of a wrong length arrived";
    size_t wanted = h->what == SWAP ? (size_t)h->bytes / 2 : (size_t)h->bytes;
    const char *wrong = find_layout(w, h, runs, wanted, list, &l);
    if (wrong == outside && w->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return refuse(w, rank, h, runs, h->what != PUT && h->what != ACCUMULATE);
    if (wrong) return wrong;
    if (h->what == PUT) return uno_rma_move(mine(w), &l, data, n, false) ? uno_fail_text() : NULL;
    if (h->what == ACCUMULATE) return combine_here(w, h, &l, data, NULL);
    char *all = malloc(sizeof *h + wanted), *back = all ? all + sizeof *h : NULL;
    if (!all) return "no memory for an answer";
    if (h->what == GET)
        wrong = uno_rma_move(mine(w), &l, back, wanted, true) ? uno_fail_text() : NULL;
    else if (h->what == FETCH)
        wrong = combine_here(w, h, &l, data, back);
    else
        wrong = uno_rma_swap(mine(w), &l, data, data + wanted, back) ? uno_fail_text() : NULL;
    if (!wrong) return send_back(w, rank, h, all, wanted);
    free(all);
    return wrong;
}

// A piece has come, or never will.
static void piece_done(struct piece *p, uint64_t token, int err)
{
    struct whole *whole = p->whole;
    uno_token_give(token);
    if (!p->to.plain) uno_type_drop(held_by(p));
    p->part->answers--;
    if (whole && err) whole->error = err;
    if (whole && --whole->pieces == 0) {
        uno_request_done(whole->req, whole->error);
        free(whole);
    }
    free(p);
}

static void raise_own(_Atomic uint64_t *word)
{
    // Release: pairs with the acquire in uno_word_reached.
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    uno_wake_waiters();
}

static const char *take_data(struct MPI_ABI_Win *w, int rank, const struct wire *h, const char *data, size_t n)
{
    struct piece *p = uno_token_find(h->token, UNO_TOKEN_RMA, uno_comm_proc(w->comm, rank));
    if (!p || n != h->bytes || n != p->bytes) return "one-sided data that nobody asked for arrived";
    uno_rma_write(&p->to, data, n);
    piece_done(p, h->token, MPI_SUCCESS);
    if (h->after == ANSWER) raise_own(&w->part[rank].answered);
    return NULL;
}

static const char *take_refusal(struct MPI_ABI_Win *w, int rank, const struct wire *h, int proc)
{
    struct piece *p = h->token ? uno_token_find(h->token, UNO_TOKEN_RMA, proc) : NULL;
    if ((h->token && !p) || w->flavor != MPI_WIN_FLAVOR_DYNAMIC) return "a refusal of what was not asked for arrived";
    // Told once: by the request, or else by the next flush.
    if (!p || !p->whole) w->part[rank].refused = h->bytes ? h->bytes : 1;
    if (p) piece_done(p, h->token, MPI_ERR_RMA_RANGE);
    return NULL;
}

static const char *synchronise(struct MPI_ABI_Win *w, int rank, const struct wire *h)
{
    struct wire answer = {.what = ANSWER};
    switch (h->what) {
    case LOCK: asked_for_lock(w, rank, h); return NULL;
    case UNLOCK: let_lock_go(w, h->exclusive); break;
    case FLUSH: break;
    case GRANT: raise_own(&w->part[rank].granted); return NULL;
    case ANSWER: raise_own(&w->part[rank].answered); return NULL;
    case POST: raise_own(&w->posted[rank]); return NULL;
    case COMPLETE: raise_own(&w->completed[rank]); return NULL;
    default: return "a one-sided message of no kind arrived";
    }
    return tell(w, rank, &answer) ? "an answer cannot be sent" : NULL;
}

static const char *deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct MPI_ABI_Win *w = uno_win_of_context(h->ctx);
    if (!w) return "a one-sided message for no window arrived";
    if ((unsigned)h->src >= (unsigned)w->comm->size || uno_comm_proc(w->comm, h->src) != link->proc)
        return "a one-sided message of no member arrived";
    struct wire wire;
    memcpy(&wire, payload, sizeof wire);
    size_t head = sizeof wire + wire.runs * sizeof(struct wire_run);
    if (wire.runs > RUNS_MAX || head > h->bytes) return "a one-sided message of a wrong length arrived";
    const char *runs = (const char *)payload + sizeof wire;
    char *data = (char *)(uintptr_t)payload + head;
    if (wire.what == DATA) return take_data(w, h->src, &wire, data, h->bytes - head);
    if (wire.what == REFUSED) return take_refusal(w, h->src, &wire, link->proc);
    if (wire.what > SWAP) return synchronise(w, h->src, &wire);
    const char *wrong = operate(w, h->src, &wire, runs, data, h->bytes - head);
    if (wrong || !wire.after) return wrong;
    if (wire.after != FLUSH && wire.after != UNLOCK && wire.after != COMPLETE)
        return "a one-sided message of no kind arrived";
    wire.what = wire.after;
    return synchronise(w, h->src, &wire);
}

static const struct uno_kind rma_kind = {.number = UNO_RMA,
                                         .name = "one-sided",
                                         .least = sizeof(struct wire),
                                         .most = PIECE_MAX,
                                         .whole = true,
                                         .deliver = deliver};
UNO_KIND_DECLARE(rma_kind);
