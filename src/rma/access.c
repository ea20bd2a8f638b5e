// SPDX-License-Identifier: BSD-3-Clause
// Large puts and gets of a part that is reached by messages, where a channel copies between the memories of origin and
// target by itself (chan/access.h). The memory is opened when the window is made, and all members know the card of
// each. Called by win.c, remote.c and passive.c.
//
// Order: messages that the part has not answered for are waited for before an access begins; an access that overlaps
// what is under way waits for it, and so does a message that comes after (uno_rma_access_order).
#include <stdlib.h>

#include "base/fail.h"
#include "chan/access.h"
#include "core/request.h"
#include "core/word.h"
#include "p2p/peer.h"
#include "p2p/team.h"
#include "rma/remote.h"
#include "rma/wire.h"

// One that is under way.
struct going {
    struct going *next, **at;
    struct MPI_ABI_Win *win;    // NULL: it was freed, because a member has failed
    struct uno_rma_part *part;
    MPI_Request req;    // NULL: a flush ends it
};

struct uno_win_access {
    void *opened;    // one's own part, NULL: it is not open
    struct going *going;
    struct uno_access_card card[];    // by rank
};

// ---- the window ----

bool uno_win_access_room(struct MPI_ABI_Win *w)
{
    w->access = calloc(1, sizeof *w->access + (size_t)w->ranks * sizeof w->access->card[0]);
    return w->access;
}

int uno_win_access_open(struct MPI_ABI_Win *w)
{
    struct uno_win_access *a = w->access;
    const struct uno_rma_part *mine = &w->part[w->comm->rank];
    struct uno_team all = uno_team_all(w->comm, 0);
    if (uno_access) a->opened = uno_access->open(mine->base, mine->size, &a->card[w->comm->rank]);
    return uno_team_allgather(&all, a->card, sizeof a->card[0]);
}

void uno_win_access_drop(struct MPI_ABI_Win *w)
{
    if (!w->access) return;
    for (struct going *g = w->access->going; g; g = g->next) g->win = NULL;
    if (w->access->opened && uno_access) uno_access->shut(w->access->opened);
    free(w->access);
    w->access = NULL;
}

// ---- operations ----

// The bytes from `from` to `end` of the part, as the layout names them.
static void bounds(const struct uno_rma_part *p, const struct uno_rma_layout *l, uint64_t *from, uint64_t *end)
{
    *from = UINT64_MAX;
    *end = 0;
    for (size_t i = 0, done = 0; i < l->runs; done = l->run[i++].end) {
        uint64_t at = (uint64_t)(l->run[i].at - p->base), behind = at + (l->run[i].end - done);
        if (at < *from) *from = at;
        if (behind > *end) *end = behind;
    }
}

static bool is_quiet(const struct uno_rma_part *p)
{
    return uno_word_reached(&p->accessed, p->accesses);
}

int uno_rma_access_wait(struct MPI_ABI_Win *w, int rank)
{
    struct uno_rma_part *p = &w->part[rank];
    if (__builtin_expect(p->accesses == 0, 1)) return MPI_SUCCESS;
    int err = uno_word_wait(&p->accessed, p->accesses, w->comm, rank, false);
    if (!err && p->access_error) err = uno_fail(p->access_error, "rank %d is lost", rank);
    return err;
}

int uno_rma_access_order(struct MPI_ABI_Win *w, int rank, const struct uno_rma_layout *l)
{
    const struct uno_rma_part *p = &w->part[rank];
    uint64_t from, end;
    if (__builtin_expect(p->accesses == 0, 1) || is_quiet(p)) return MPI_SUCCESS;
    bounds(p, l, &from, &end);
    return from < p->access_end && end > p->access_from ? uno_rma_access_wait(w, rank) : MPI_SUCCESS;
}

static void ended(void *object, int err)
{
    struct going *g = object;
    if (g->req) uno_request_done(g->req, err);
    if (g->win) {
        *g->at = g->next;
        if (g->next) g->next->at = g->at;
        if (err && !g->req) g->part->access_error = err;
        uno_wire_raise(&g->part->accessed);
    }
    free(g);
}

static struct going *note(struct MPI_ABI_Win *w, struct uno_rma_part *p, MPI_Request req)
{
    struct going *g = malloc(sizeof *g);
    if (!g) return NULL;
    *g = (struct going){.next = w->access->going, .at = &w->access->going, .win = w, .part = p, .req = req};
    if (g->next) g->next->at = &g->next;
    w->access->going = g;
    return g;
}

// What is known to be under way, and this.
static void widen(struct uno_rma_part *p, uint64_t from, uint64_t end)
{
    bool first = is_quiet(p);
    if (first || from < p->access_from) p->access_from = from;
    if (first || end > p->access_end) p->access_end = end;
    p->accesses++;
}

static bool is_for_access(const struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l)
{
    bool plain = o->origin.type && o->origin.type->flags & UNO_TYPE_PLAIN;
    if (!w->access || !uno_access || o->op || l->runs != 1 || !plain) return false;
    const struct uno_peer *peer = uno_peer(w->comm, o->rank);
    return peer && peer->link->chan == uno_access->chan &&
           uno_access->takes(peer->link, &w->access->card[o->rank], l->bytes);
}

static int begin(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l, MPI_Request req)
{
    struct uno_rma_part *p = &w->part[o->rank];
    uint64_t from, end;
    struct going *g = note(w, p, req);
    if (!g) return uno_fail(MPI_ERR_NO_MEM, "no memory for a one-sided operation");
    bounds(p, l, &from, &end);
    widen(p, from, end);
    struct uno_access a = {o->origin.buf, l->bytes, from, o->get, ended, g};
    int err = uno_access->start(uno_peer(w->comm, o->rank)->link, &w->access->card[o->rank], &a);
    if (!err) return MPI_SUCCESS;
    g->req = NULL;
    ended(g, MPI_SUCCESS);
    return err;
}

int uno_rma_access(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l, MPI_Request *req)
{
    const struct uno_rma_part *p = &w->part[o->rank];
    MPI_Request r = NULL;
    if (!is_for_access(w, o, l)) return UNO_DECLINED;
    int err = p->stored || p->owed ? uno_remote_flush(w, o->rank) : uno_rma_access_order(w, o->rank, l);
    if (err) return err;
    if (req && !(r = uno_rma_request(w))) return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    err = begin(w, o, l, r);
    if (!err && r) *req = r;
    if (err && r) uno_request_release(r);
    return err;
}
