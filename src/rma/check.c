// SPDX-License-Identifier: BSD-3-Clause
// The checking mode of windows (rma.h). Each member keeps a table of its operations that are not complete yet, where
// all on its host see it; what an origin reads and writes of its own memory is in a list of its own. Called by the
// entry points.
//
// Always holds: one lock per window and host guards all tables; two accesses conflict only if no synchronisation that
// the library knows of comes between, so a correct program is never told of one.
#include "rma/rma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "base/patience.h"
#include "chan/proc.h"
#include "core/op.h"
#include "core/word.h"
#include "p2p/share.h"
#include "rma/copy.h"

static struct uno_param check = UNO_PARAM_BOOL(
    "check_windows", 0, "look for one-sided operations that conflict and for wrong epochs (slow, for debugging)");
UNO_PARAM_DECLARE(check);

#define ACCESSES 4096    // of one member that are remembered; the oldest are forgotten first
#define RUNS_MAX 512     // a layout of more runs is not compared

enum kind { LOAD, STORE, COMBINE };

// One run of an operation.
struct access {
    uint64_t from, end;    // in the part; of dynamic windows addresses
    uint64_t fence;        // number of the fence epoch, 0: of another one
    int32_t target;
    uint8_t kind, fetches;
    uint16_t element, op;    // COMBINE: handles
};

// Of one member, in the share.
struct table {
    int32_t rank;
    uint32_t count;
    uint64_t no_put[2];    // fence epochs in which nobody may store here: this one and the one before or after
    struct access access[ACCESSES];
};

struct head {
    _Atomic uint32_t busy;
    uint32_t pad[15];
    struct table table[];    // of the members of this host
};

// A run of a buffer here.
struct use {
    const char *from, *end;
    int target;
    bool written;
};

struct uno_win_check {
    struct uno_share share;
    struct table *mine;
    uint64_t fences;    // so far, the same on all members
    bool open;          // operations came since the last one
    struct use *use;
    size_t uses, room;
};

static struct head *head_of(const struct MPI_ABI_Win *w)
{
    return (struct head *)(void *)w->check->share.base;
}

int uno_win_check_make(struct MPI_ABI_Win *w)
{
    if (!uno_share_possible(w->node, check.num != 0)) return MPI_SUCCESS;
    struct uno_share share = {0};
    size_t bytes = sizeof(struct head) + (size_t)w->node->size * sizeof(struct table);
    int err = uno_share_make(w->node, bytes, &share);
    if (err) return err;
    w->check = calloc(1, sizeof *w->check);
    if (!w->check) {
        uno_share_drop(&share);
        return uno_fail(MPI_ERR_NO_MEM, "no memory to check a window");
    }
    w->check->share = share;
    w->check->mine = &head_of(w)->table[w->node->rank];
    w->check->mine->rank = w->comm->rank;
    return MPI_SUCCESS;
}

void uno_win_check_drop(struct MPI_ABI_Win *w)
{
    if (!w->check) return;
    uno_share_drop(&w->check->share);
    free(w->check->use);
    free(w->check);
}

#define ORPHAN (1u << 16)    // looks at a lock that nobody seems to hold any more

static void hold(struct head *h)
{
    // Acquire: pairs with the release in let_go.
    struct uno_patience p = {0};
    for (unsigned n = 1; atomic_exchange_explicit(&h->busy, 1, memory_order_acquire) != 0; n++) {
        if (n % ORPHAN == 0 && uno_neighbour_died()) return;    // with the lock, it seems
        uno_patience_copy(&p);
    }
}

static void let_go(struct head *h)
{
    // Release: pairs with the acquire in hold.
    atomic_store_explicit(&h->busy, 0, memory_order_release);
}

// ---- at the target ----

static void describe(const struct access *a, char *out, size_t size)
{
    const struct MPI_ABI_Datatype *e = uno_type((MPI_Datatype)(uintptr_t)a->element);
    if (a->kind == COMBINE)
        snprintf(out, size, "an accumulate of %s", e->name);
    else
        snprintf(out, size, a->kind == LOAD ? "a get" : "a put");
}

// The hint that the user gave says which operations may meet.
static bool may_meet(const struct MPI_ABI_Win *w, uint16_t a, uint16_t b)
{
    const char *hint = uno_win_hint(w, "accumulate_ops");
    uint16_t none = (uint16_t)(uintptr_t)MPI_NO_OP;
    if (!hint || a == b) return true;
    return strcmp(hint, "same_op") != 0 && (a == none || b == none);
}

static bool conflict(const struct MPI_ABI_Win *w, const struct access *a, const struct access *b, bool same_origin)
{
    if (a->end <= b->from || b->end <= a->from) return false;
    if (a->kind == LOAD && b->kind == LOAD) return false;
    if (a->kind != COMBINE || b->kind != COMBINE) return true;
    return a->element != b->element || (!same_origin && !may_meet(w, a->op, b->op));
}

static int tell_conflict(const struct access *fresh, const struct access *old, int rank)
{
    char one[100], other[100];
    uint64_t from = fresh->from > old->from ? fresh->from : old->from,
             end = fresh->end < old->end ? fresh->end : old->end;
    describe(fresh, one, sizeof one);
    describe(old, other, sizeof other);
    bool by_op = fresh->kind == COMBINE && old->kind == COMBINE && fresh->element == old->element;
    return uno_fail(
        MPI_ERR_RMA_CONFLICT,
        "%s conflicts with %s%s by rank %d at bytes %llu .. %llu of rank %d: nothing orders them (a flush or "
        "another epoch would)",
        one, other, by_op ? " with another operation (hint accumulate_ops)" : "", rank, (unsigned long long)from,
        (unsigned long long)end, fresh->target);
}

static int compare(const struct MPI_ABI_Win *w, const struct access *fresh)
{
    struct head *h = head_of(w);
    for (int i = 0; i < w->node->size; i++) {
        const struct table *t = &h->table[i];
        bool mine = t == w->check->mine;
        if (t->rank == fresh->target && fresh->kind != LOAD && fresh->fence &&
            t->no_put[fresh->fence % 2] == fresh->fence)
            return uno_fail(MPI_ERR_RMA_SYNC, "rank %d said MPI_MODE_NOPUT in the MPI_Win_fence before", t->rank);
        for (uint32_t k = 0; k < t->count; k++) {
            const struct access *old = &t->access[k];
            if (old->target != fresh->target || (!mine && old->fence != fresh->fence)) continue;
            if (conflict(w, fresh, old, mine)) return tell_conflict(fresh, old, t->rank);
        }
    }
    return MPI_SUCCESS;
}

static void remember(struct table *t, const struct access *a)
{
    if (t->count == ACCESSES) {
        t->count = ACCESSES / 2;
        memmove(t->access, t->access + ACCESSES / 2, ACCESSES / 2 * sizeof *a);
    }
    t->access[t->count++] = *a;
}

// What a request fetches has been read when it is complete, which is not seen here: compared, but not remembered.
static int check_target(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l, bool local)
{
    struct uno_win_check *c = w->check;
    bool atomic = o->op || o->result.type, swap = atomic && !o->op;
    struct access a = {.target = o->rank,
                       .kind = atomic   ? COMBINE
                               : o->get ? LOAD
                                        : STORE,
                       .fetches = o->get || o->result.type,
                       .fence = w->fenced ? c->fences : 0,
                       .element = atomic ? (uint16_t)(uintptr_t)uno_rma_element(o->type)->handle : 0,
                       .op = swap    ? (uint16_t)(uintptr_t)MPI_REPLACE
                             : o->op ? (uint16_t)(uintptr_t)o->op->handle
                                     : 0};
    struct head *h = head_of(w);
    int err = MPI_SUCCESS;
    hold(h);
    for (int pass = 0; pass < (local || !a.fetches ? 2 : 1);
         pass++) {    // compared whole before anything is remembered
        size_t done = 0;
        for (size_t i = 0; i < l->runs && !err; done = l->run[i++].end) {
            a.from = (uint64_t)(uintptr_t)l->run[i].at;
            a.end = a.from + (l->run[i].end - done);
            if (pass == 0)
                err = compare(w, &a);
            else
                remember(c->mine, &a);
        }
    }
    let_go(h);
    return err;
}

// ---- at the origin ----

static int use_run(struct uno_win_check *c, const struct use *fresh, bool later)
{
    for (size_t i = 0; i < c->uses; i++) {
        const struct use *old = &c->use[i];
        if (fresh->end <= old->from || old->end <= fresh->from || (!fresh->written && !old->written)) continue;
        return uno_fail(MPI_ERR_RMA_CONFLICT,
                        "bytes %p .. %p here are %s, and an operation on rank %d that is not complete %s them (a flush "
                        "or another epoch comes between)",
                        (const void *)fresh->from, (const void *)fresh->end, fresh->written ? "filled" : "read",
                        old->target, old->written ? "fills" : "reads");
    }
    if (!later) return MPI_SUCCESS;
    if (c->uses == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct use *more = room <= ACCESSES ? realloc(c->use, room * sizeof *more) : NULL;
        if (!more) return MPI_SUCCESS;    // what is not remembered is not compared
        c->use = more;
        c->room = room;
    }
    c->use[c->uses++] = *fresh;
    return MPI_SUCCESS;
}

static int use_side(struct MPI_ABI_Win *w, const struct uno_rma_side *s, int target, bool written, bool later)
{
    struct uno_rma_layout l;
    if (s->count == 0 || s->type->size == 0) return MPI_SUCCESS;
    int err = uno_rma_lay_out(&l, s->buf, s->count, s->type);
    size_t done = 0;
    for (size_t i = 0; i < l.runs && l.runs <= RUNS_MAX && !err; done = l.run[i++].end) {
        struct use u = {l.run[i].at, l.run[i].at + (l.run[i].end - done), target, written};
        err = use_run(w->check, &u, later);
    }
    uno_rma_lay_down(&l);
    return err;
}

int uno_win_check_op(struct MPI_ABI_Win *w, const struct uno_rma_op *o, bool local)
{
    struct uno_rma_layout l;
    bool reads = !o->op || o->op->handle != MPI_NO_OP;
    if (o->count == 0 || o->type->size == 0) return MPI_SUCCESS;
    int err = uno_rma_lay_out(&l, (char *)(uintptr_t)(o->disp * w->part[o->rank].unit), o->count, o->type);
    if (err) return err;
    if (l.runs <= RUNS_MAX) err = check_target(w, o, &l, local);
    uno_rma_lay_down(&l);
    if (!err && reads) err = use_side(w, &o->origin, o->rank, o->get, local);
    if (!err && o->result.type) err = use_side(w, &o->result, o->rank, true, local);
    w->check->open |= w->fenced;
    return err;
}

// ---- synchronisation ----

static int still_open(const struct MPI_ABI_Win *w, const char *what)
{
    if (!w->check->open) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RMA_SYNC, "operations since the last MPI_Win_fence are not complete (%s)", what);
}

int uno_win_check_fence(struct MPI_ABI_Win *w, int assert)
{
    hold(head_of(w));
    uint64_t next = w->check->fences + 1;
    w->check->mine->no_put[next % 2] = (assert &MPI_MODE_NOPUT) ? next : 0;
    let_go(head_of(w));
    return assert &MPI_MODE_NOPRECEDE ? still_open(w, "MPI_MODE_NOPRECEDE says that there are none") : MPI_SUCCESS;
}

int uno_win_check_passive(const struct MPI_ABI_Win *w)
{
    return still_open(w, "MPI_Win_fence comes first");
}

int uno_win_check_start(const struct MPI_ABI_Win *w, const struct MPI_ABI_Group *g, int assert)
{
    int err = uno_win_check_passive(w);
    for (int i = 0; i < g->size && assert &MPI_MODE_NOCHECK && !err; i++) {
        int r = uno_group_find(w->comm->group, g->proc[i]);
        // From another host the word may come later than what the caller knows it by.
        if (r == MPI_UNDEFINED || !w->part[r].words || uno_word_reached(&w->posted[r], w->part[r].posts + 1)) continue;
        err = uno_fail(MPI_ERR_RMA_SYNC, "MPI_MODE_NOCHECK, but rank %d has not called MPI_Win_post", r);
    }
    return err;
}

// local: only what is complete once it is complete here, since its data came back.
static void forget(struct MPI_ABI_Win *w, int rank, bool local)
{
    struct uno_win_check *c = w->check;
    struct table *t = c->mine;
    size_t kept = 0;
    uint32_t left = 0;
    for (size_t i = 0; i < c->uses; i++)
        if (rank >= 0 && c->use[i].target != rank) c->use[kept++] = c->use[i];
    c->uses = kept;
    hold(head_of(w));
    for (uint32_t i = 0; i < t->count; i++)
        if ((rank >= 0 && t->access[i].target != rank) || (local && !t->access[i].fetches))
            t->access[left++] = t->access[i];
    t->count = left;
    let_go(head_of(w));
}

void uno_win_check_local(struct MPI_ABI_Win *w, int rank)
{
    forget(w, rank, true);
}

void uno_win_check_done(struct MPI_ABI_Win *w, int rank)
{
    forget(w, rank, false);
}

void uno_win_check_fenced(struct MPI_ABI_Win *w)
{
    struct uno_win_check *c = w->check;
    uno_win_check_done(w, -1);
    c->open = false;
    c->fences++;
}
