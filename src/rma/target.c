// SPDX-License-Identifier: BSD-3-Clause
// The handler of one-sided messages (wire.h). It runs inside delivery, on whatever thread makes progress here (the
// helper while the program computes), and acts as an origin on this host would.
//
// Always holds: what comes is checked against the window before it touches memory; messages of one origin are done in
// the order sent, so the answer to a flush confirms all before it.
#include "rma/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/progress.h"
#include "core/world.h"
#include "p2p/fail.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "rma/combine.h"
#include "rma/remote.h"
#include "rma/words.h"

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

// Whether the lock is held now, and its asker told; or neither, because a member has failed.
static bool come(struct asked *a)
{
    bool writes = a->part.room == UNO_ROOM_EXCLUSIVE;
    if (a->win->comm->broken) return true;    // nobody waits for it any more
    if ((writes && !uno_ticket_come(&a->any)) || !uno_ticket_come(&a->part)) return false;
    if (uno_wire_tell(a->win, a->rank, &(struct wire){.what = GRANT})) uno_world_abort(MPI_ERR_OTHER, uno_fail_text());
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
                        .part = {.queue = uno_win_queue(w, mine(w)), .room = room, .ahead = h->holds && !h->exclusive}};
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

void uno_wire_forget(const struct MPI_ABI_Win *w)
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

const char *uno_wire_layout(const struct MPI_ABI_Win *w, const struct wire *h, const char *runs, size_t wanted,
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
    return uno_wire_send(w, rank, all, sizeof h + n) ? "an answer cannot be sent" : NULL;
}

static int combine_here(struct uno_rma_part *p, struct uno_rma_layout *l, const struct wire *h, char *data, char *old)
{
    struct MPI_ABI_Op *op = uno_op((MPI_Op)(uintptr_t)h->op);
    struct MPI_ABI_Datatype *e = uno_type((MPI_Datatype)(uintptr_t)h->element);
    if (!op || !op->predefined || !(e->flags & UNO_TYPE_LIVE) || l->bytes % (size_t)e->size != 0 || uno_op_check(op, e))
        return uno_fail(MPI_ERR_OP, "an accumulate of a type or operation that makes no sense arrived");
    struct uno_rma_stream in = {.plain = data}, out = {.plain = old};
    struct uno_rma_combination c = {op, e, op->handle == MPI_NO_OP ? NULL : &in, old ? &out : NULL};
    return uno_rma_combine(p, l, &c);
}

int uno_wire_act(struct uno_rma_part *p, struct uno_rma_layout *l, const struct wire *h, char *data, char *back)
{
    switch (h->what) {
    case PUT: return uno_rma_move(p, l, data, l->bytes, false);
    case GET: return uno_rma_move(p, l, back, l->bytes, true);
    case SWAP: return uno_rma_swap(p, l, data, data + l->bytes, back);
    default: return combine_here(p, l, h, data, h->what == FETCH ? back : NULL);
    }
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
    return uno_wire_tell(w, rank, &answer) ? "an answer cannot be sent" : NULL;
}

// PUT, GET, ACCUMULATE, FETCH, SWAP. data: what came behind the runs, n bytes.
static const char *operate(struct MPI_ABI_Win *w, int rank, struct wire *h, const char *runs, char *data, size_t n)
{
    struct uno_run list[RUNS_MAX];
    struct uno_rma_layout l;
    bool no_data = h->what == GET || (h->what == FETCH && n == 0);
    if (h->bytes > PIECE_MAX || n != (no_data ? 0 : h->bytes)) return "a one-sided operation of a wrong length arrived";
    size_t wanted = h->what == SWAP ? (size_t)h->bytes / 2 : (size_t)h->bytes;
    const char *wrong = uno_wire_layout(w, h, runs, wanted, list, &l);
    bool back = h->what != PUT && h->what != ACCUMULATE;
    if (wrong == outside && w->flavor == MPI_WIN_FLAVOR_DYNAMIC) return refuse(w, rank, h, runs, back);
    if (wrong) return wrong;
    char *all = back ? malloc(sizeof *h + wanted) : NULL;
    if (back && !all) return "no memory for an answer";
    if (!uno_wire_act(mine(w), &l, h, data, back ? all + sizeof *h : NULL))
        return back ? send_back(w, rank, h, all, wanted) : NULL;
    free(all);
    return uno_fail_text();
}

void uno_wire_raise(_Atomic uint64_t *word)
{
    // Release: pairs with the acquire in uno_word_reached.
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    uno_wake_waiters();
}

static const char *synchronise(struct MPI_ABI_Win *w, int rank, const struct wire *h)
{
    struct wire answer = {.what = ANSWER};
    switch (h->what) {
    case LOCK: asked_for_lock(w, rank, h); return NULL;
    case UNLOCK: let_lock_go(w, h->exclusive); break;
    case FLUSH: break;
    case GRANT: uno_wire_raise(&w->part[rank].granted); return NULL;
    case ANSWER: uno_wire_raise(&w->part[rank].answered); return NULL;
    case POST: uno_wire_raise(&w->posted[rank]); return NULL;
    case COMPLETE: uno_wire_raise(&w->completed[rank]); return NULL;
    default: return "a one-sided message of no kind arrived";
    }
    return uno_wire_tell(w, rank, &answer) ? "an answer cannot be sent" : NULL;
}

static const char *deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct MPI_ABI_Win *w = uno_win_of_context(h->ctx);
    if (!w && uno_peers_ever_failed()) return NULL;    // a member that had failed let this one free it alone
    if (!w) return "a one-sided message for no window arrived";
    if ((unsigned)h->src >= (unsigned)w->comm->size || uno_comm_proc(w->comm, h->src) != link->proc)
        return "a one-sided message of no member arrived";
    struct wire wire;
    memcpy(&wire, payload, sizeof wire);
    size_t head = sizeof wire + wire.runs * sizeof(struct wire_run);
    if (wire.runs > RUNS_MAX || head > h->bytes) return "a one-sided message of a wrong length arrived";
    const char *runs = (const char *)payload + sizeof wire;
    char *data = (char *)(uintptr_t)payload + head;
    if (wire.what == DATA) return uno_wire_data(w, h->src, &wire, data, h->bytes - head);
    if (wire.what == REFUSED) return uno_wire_refusal(w, h->src, &wire, link->proc);
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
