// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations by messages (remote.h): the origin. A large one goes in pieces that fit the channel; each names
// the runs at the target and brings its data, so a piece is complete by itself. What the target does: target.c.
#include "rma/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/helper.h"
#include "core/progress.h"
#include "core/word.h"
#include "core/world.h"
#include "core/request.h"
#include "p2p/fail.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/token.h"
#include "rma/combine.h"
#include "rma/wire.h"
#include "rma/words.h"

#define KEPT_MAX ((size_t)4096)                // of a message that waits for what comes after it
#define OWED_MAX ((uint64_t)256 << 10)         // bytes asked of a part before some of them are waited for
#define UNCONFIRMED_MAX ((uint64_t)8 << 20)    // bytes sent to a part before an answer is waited for

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

static const struct uno_request_ops whole_ops = {.name = "one-sided operation"};

MPI_Request uno_rma_request(struct MPI_ABI_Win *w)
{
    MPI_Request r = uno_request_new(UNO_REQ_OTHER);
    if (!r) return NULL;
    r->ops = &whole_ops;
    r->comm = w->comm;    // whose handler hears of an error
    uno_comm_hold(w->comm);
    return r;
}

// It has no peer, and the reason is kept.
static int no_way_to(const struct MPI_ABI_Win *w, int rank)
{
    int failed = uno_peer_failure(uno_comm_proc(w->comm, rank));
    return failed ? failed : MPI_ERR_OTHER;
}

// Sends a message that was put together in malloced memory, which goes with it.
int uno_wire_send(struct MPI_ABI_Win *w, int rank, char *all, size_t bytes)
{
    struct uno_peer *peer = uno_peer(w->comm, rank);
    struct uno_msg m = {
        .kind = UNO_RMA, .src = w->comm->rank, .ctx = w->comm->context, .data = all, .bytes = (uint32_t)bytes};
    if (peer) return uno_peer_send_owned(peer, &m, all);
    free(all);
    return no_way_to(w, rank);
}

int uno_wire_tell(struct MPI_ABI_Win *w, int rank, const struct wire *h)
{
    struct uno_peer *peer = uno_peer(w->comm, rank);
    struct uno_msg m = {.kind = UNO_RMA, .src = w->comm->rank, .ctx = w->comm->context, .data = h, .bytes = sizeof *h};
    if (!peer) return no_way_to(w, rank);
    int err = uno_peer_tell(peer, &m, NULL);
    return err == UNO_KEPT ? MPI_SUCCESS : err;
}

// The last small message to a part is kept until it is known what comes after it: mostly a flush, which then travels
// with it. Nothing has to reach the part before a synchronisation, which sends it in any case.
static int send_kept(struct MPI_ABI_Win *w, int rank, const struct wire *after)
{
    struct uno_rma_part *p = &w->part[rank];
    char *all = p->kept;
    if (!all) return after ? uno_wire_tell(w, rank, after) : MPI_SUCCESS;
    struct wire *h = (struct wire *)(void *)all;
    if (after) h->after = after->what;
    if (after) h->exclusive = after->exclusive;
    p->kept = NULL;
    return uno_wire_send(w, rank, all, p->kept_bytes);
}

static int send_or_keep(struct MPI_ABI_Win *w, int rank, char *all, size_t bytes, bool may_wait)
{
    int err = send_kept(w, rank, NULL);
    if (err) free(all);
    if (err || !may_wait || bytes > KEPT_MAX) return err ? err : uno_wire_send(w, rank, all, bytes);
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

// A piece has come, or never will.
static void piece_done(struct piece *p, uint64_t token, int err)
{
    struct whole *whole = p->whole;
    uno_token_give(token);
    if (!p->to.plain) uno_type_drop(held_by(p));
    p->part->owed -= p->bytes;
    if (whole && err) whole->error = err;
    if (whole && --whole->pieces == 0) {
        uno_request_done(whole->req, whole->error);
        free(whole);
    }
    free(p);
}

static void lose_piece(uint64_t token, void *object, int error)
{
    piece_done(object, token, error);
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
    p->owed += n;
    if (whole) whole->pieces++;
    uno_token_lost = lose_piece;
    return piece;
}

static void skip(struct uno_rma_stream *s, size_t n)
{
    if (s->plain)
        s->plain += n;
    else
        uno_packer_seek(&s->packer, s->packer.pos + n);
}

struct target {
    const struct MPI_ABI_Win *win;
    int rank;
};

// That nothing waits to be sent to it any more, and that it owes little.
static bool has_room(void *arg)
{
    const struct target *t = arg;
    const struct uno_peer *peer = t->win->comm->peer[t->rank];
    return ((!peer || !peer->first) && t->win->part[t->rank].owed <= OWED_MAX) || t->win->comm->broken;
}

// What the channel has no room for is waited for, here and at the target: pieces that pile up are malloc's at the end
// of the heap, which it gives back page by page each time (over tcp: put of 2 MiB 1,400 to 830 us, get of 1 MiB 650 to
// 400).
static int bounded(struct MPI_ABI_Win *w, int rank, size_t bytes)
{
    struct uno_rma_part *p = &w->part[rank];
    struct target to = {w, rank};
    if (!has_room(&to)) uno_wait_until(has_room, &to, &(struct uno_waiting){w->comm, rank, MPI_UNDEFINED, false});
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
    uno_helper_spared();
    return err ? err : bounded(w, o->rank, n);
}

int uno_remote_start(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, MPI_Request *req)
{
    struct uno_rma_stream in, out;
    bool no_op = o->op && o->op->handle == MPI_NO_OP, back = o->get || o->result.type;
    struct wire h = {.what = o->get ? GET : !o->op ? PUT : back ? FETCH : ACCUMULATE};
    struct whole *whole = NULL;
    int err = uno_rma_access(w, o, l, req);
    if (err != UNO_DECLINED) return err;
    err = uno_rma_access_order(w, o->rank, l);
    if (err) return err;
    if (o->op) h.op = (uint8_t)(uintptr_t)o->op->handle;
    if (o->op) h.element = (uint16_t)(uintptr_t)uno_rma_element(o->type)->handle;
    if (!o->get && !no_op) uno_rma_stream(&in, &o->origin);
    if (back) uno_rma_stream(&out, o->get ? &o->origin : &o->result);
    if (req && back) {
        whole = calloc(1, sizeof *whole);
        MPI_Request r = whole ? uno_rma_request(w) : NULL;
        if (!r) {
            free(whole);
            return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
        }
        whole->req = *req = r;
        whole->pieces = 1;    // until all are sent
    }
    struct ends ends = {o->get || no_op ? NULL : &in, back ? &out : NULL, whole};
    while (l->done < l->bytes && !err) err = send_piece(w, o, l, h, &ends);
    w->part[o->rank].stored |= !o->get;
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
    int err = uno_rma_access_order(w, o->rank, l);
    if (err) return err;
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
    err = send_or_keep(w, o->rank, all, head + 2 * n, true);
    p->stored = true;
    return err ? err : bounded(w, o->rank, n);
}

// ---- synchronisation at the origin ----

// All that was sent to the part is done, or refused.
static int await_answer(struct MPI_ABI_Win *w, int rank)
{
    struct uno_rma_part *p = &w->part[rank];
    int err = uno_word_wait(&p->answered, ++p->asked_answers, w->comm, rank, false);
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
    int err = uno_rma_access_wait(w, rank);
    if (!err) err = send_kept(w, rank, &(struct wire){.what = FLUSH});
    return err ? err : await_answer(w, rank);
}

int uno_remote_lock(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    int err = send_kept(w, rank, NULL);
    if (!err) err = uno_wire_tell(w, rank, &(struct wire){.what = LOCK, .exclusive = exclusive, .holds = w->locks > 0});
    if (err) return err;
    return uno_word_wait(&p->granted, ++p->asked_locks, w->comm, rank, false);
}

int uno_remote_unlock(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    int wrong = uno_rma_access_wait(w, rank);    // unlocked all the same: others wait for that
    int err = send_kept(w, rank, &(struct wire){.what = UNLOCK, .exclusive = exclusive});
    if (!err) err = await_answer(w, rank);
    return wrong ? wrong : err;
}

int uno_remote_post(struct MPI_ABI_Win *w, int rank)
{
    return uno_wire_tell(w, rank, &(struct wire){.what = POST});
}

int uno_remote_complete(struct MPI_ABI_Win *w, int rank)
{
    return send_kept(w, rank, &(struct wire){.what = COMPLETE});
}

// ---- what comes back ----

const char *uno_wire_data(struct MPI_ABI_Win *w, int rank, const struct wire *h, const char *data, size_t n)
{
    struct piece *p = uno_token_find(h->token, UNO_TOKEN_RMA, uno_comm_proc(w->comm, rank));
    if (!p || n != h->bytes || n != p->bytes) return "one-sided data that nobody asked for arrived";
    uno_rma_write(&p->to, data, n);
    piece_done(p, h->token, MPI_SUCCESS);
    if (h->after == ANSWER) uno_wire_raise(&w->part[rank].answered);
    return NULL;
}

const char *uno_wire_refusal(struct MPI_ABI_Win *w, int rank, const struct wire *h, int proc)
{
    struct piece *p = h->token ? uno_token_find(h->token, UNO_TOKEN_RMA, proc) : NULL;
    if ((h->token && !p) || w->flavor != MPI_WIN_FLAVOR_DYNAMIC) return "a refusal of what was not asked for arrived";
    // Told once: by the request, or else by the next flush.
    if (!p || !p->whole) w->part[rank].refused = h->bytes ? h->bytes : 1;
    if (p) piece_done(p, h->token, MPI_ERR_RMA_RANGE);
    return NULL;
}

// What a living member still owes when members have failed: it may come, and finds no window.
static void give_up_piece(uint64_t token, enum uno_token_kind kind, void *object, void *arg)
{
    const struct MPI_ABI_Win *w = arg;
    if (kind != UNO_TOKEN_RMA) return;
    struct piece *p = object;
    if (p->part >= w->part && p->part < w->part + w->ranks) piece_done(p, token, w->comm->broken);
}

void uno_remote_forget(struct MPI_ABI_Win *w)
{
    if (w->comm->broken) uno_token_each(-1, give_up_piece, w);
    for (int r = 0; r < w->ranks; r++) free(w->part[r].kept);
    uno_wire_forget(w);
}
