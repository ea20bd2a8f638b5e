// SPDX-License-Identifier: BSD-3-Clause
// An operation on its way: where the target's layout lies, which path it takes. Called by src/api/twice/rma.c.
//
// Always holds: on MAPPED and REACH the operation is complete when this returns.
#include <string.h>

#include "base/fail.h"
#include "core/request.h"
#include "core/type.h"
#include "p2p/fail.h"
#include "rma/combine.h"
#include "rma/direct.h"
#include "rma/errand.h"
#include "rma/remote.h"

#define BOUNCE 32768    // bytes of a packed layout per copy across processes

// One type stands for all of a kind, so that the elements of two types are the same when they compare equal.
struct MPI_ABI_Datatype *uno_rma_element(const struct MPI_ABI_Datatype *type)
{
    static struct MPI_ABI_Datatype *of[UNO_BASIC_END];
    bool packed = type->basic == UNO_BASIC_NONE && type->flags & UNO_TYPE_PREDEFINED;
    if (packed) return (struct MPI_ABI_Datatype *)(uintptr_t)type;
    if (of[UNO_BASIC_I32]) return of[type->basic];
    for (int i = 0; i < UNO_TYPE_END - UNO_TYPE_FIRST; i++) {
        struct MPI_ABI_Datatype *t = &uno_predefined_types[i];
        if (t->flags & UNO_TYPE_LIVE && t->basic != UNO_BASIC_NONE && !of[t->basic]) of[t->basic] = t;
    }
    return of[type->basic];
}

// The bytes that the operation touches, from `from` to `end` relative to the part.
static void bounds(const struct uno_rma_part *p, const struct uno_rma_op *o, MPI_Aint *from, MPI_Aint *end)
{
    MPI_Aint first = o->disp * p->unit + o->type->true_lb, last = first + (o->count - 1) * o->type->extent;
    *from = first < last ? first : last;
    *end = (first < last ? last : first) + o->type->true_extent;
}

static int check_range(const struct MPI_ABI_Win *w, const struct uno_rma_part *p, const struct uno_rma_op *o)
{
    MPI_Aint from, end;
    if (o->count == 0 || o->type->size == 0 || w->flavor == MPI_WIN_FLAVOR_DYNAMIC) return MPI_SUCCESS;
    bounds(p, o, &from, &end);
    if (from >= 0 && (size_t)end <= p->size) return MPI_SUCCESS;
    return uno_fail(
        MPI_ERR_RMA_RANGE,
        "target_disp %lld (%lld bytes each): bytes %lld .. %lld are outside the window of rank %d (0 .. %zu)",
        (long long)o->disp, (long long)p->unit, (long long)from, (long long)end, o->rank, p->size);
}

// Of a dynamic window, whose regions the runs may be in several of.
static int check_attached(const struct MPI_ABI_Win *w, int rank, const struct uno_rma_layout *l)
{
    size_t done = 0;
    for (size_t i = 0; i < l->runs; i++) {
        uint64_t at = (uint64_t)(uintptr_t)l->run[i].at;
        size_t bytes = l->run[i].end - done;
        done += bytes;
        if (uno_win_is_attached(w, rank, at, bytes)) continue;
        return uno_fail(MPI_ERR_RMA_RANGE, "addresses %#llx .. %#llx are not attached at rank %d",
                        (unsigned long long)at, (unsigned long long)(at + bytes), rank);
    }
    return MPI_SUCCESS;
}

// Between a side of the origin and the layout.
static int move(const struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_side *side, bool get)
{
    struct uno_rma_stream s;
    char bounce[BOUNCE];
    int err = MPI_SUCCESS;
    uno_rma_stream(&s, side);
    if (s.plain) return uno_rma_move(p, l, s.plain, l->bytes, get);
    for (size_t n, left = l->bytes; left > 0 && !err; left -= n) {
        n = left < BOUNCE ? left : BOUNCE;
        if (!get) uno_rma_read(&s, bounce, n);
        err = uno_rma_move(p, l, bounce, n, get);
        if (get && !err) uno_rma_write(&s, bounce, n);
    }
    return err;
}

static int combine(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_op *o)
{
    struct uno_rma_stream in, out;
    bool no_op = o->op->handle == MPI_NO_OP;
    if (!no_op) uno_rma_stream(&in, &o->origin);
    if (o->result.type) uno_rma_stream(&out, &o->result);
    struct uno_rma_combination c = {.op = o->op,
                                    .element = uno_rma_element(o->type),
                                    .in = no_op ? NULL : &in,
                                    .out = o->result.type ? &out : NULL};
    return uno_rma_combine(p, l, &c);
}

static int begin(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l)
{
    struct uno_rma_part *p = &w->part[o->rank];
    int err = uno_win_refusal(w);
    if (!err) err = check_range(w, p, o);
    bool dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    char *base = dynamic ? NULL : p->base;
    if (!err) err = uno_rma_lay_out(l, base + o->disp * p->unit, o->count, o->type);
    if (!err && dynamic && (err = check_attached(w, o->rank, l))) uno_rma_lay_down(l);
    return err;
}

// A copy finds a target dead before mpiexec says so: the window is broken from then on.
static int end(struct MPI_ABI_Win *w, int err)
{
    if (__builtin_expect(err == UNO_ERR_PROC_FAILED, 0)) uno_comm_break(w->comm, err);
    return err;
}

int uno_rma_start(struct MPI_ABI_Win *w, const struct uno_rma_op *o, MPI_Request *req)
{
    struct uno_rma_part *p = &w->part[o->rank];
    struct uno_rma_layout l;
    int err = begin(w, o, &l);
    if (err) return err;
    if (req) *req = &uno_request_sent;
    if (o->get || o->result.type) uno_rma_order_load();
    if (l.bytes == 0)
        err = MPI_SUCCESS;
    else if (p->path == UNO_RMA_MESSAGE)
        err = uno_remote_start(w, o, &l, req);
    else if ((err = uno_errand_run(w, o, &l, NULL)) == UNO_DECLINED)
        err = o->op ? combine(p, &l, o) : move(p, &l, &o->origin, o->get);
    if (!o->get) uno_rma_unordered |= UNO_RMA_STORED;
    uno_rma_lay_down(&l);
    return end(w, err);
}

int uno_rma_fetch(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const void *compare)
{
    struct uno_rma_part *p = &w->part[o->rank];
    struct uno_rma_layout l;
    if (!compare) return uno_rma_start(w, o, NULL);
    int err = begin(w, o, &l);
    if (err) return err;
    uno_rma_order_load();
    if (p->path == UNO_RMA_MESSAGE)
        err = uno_remote_swap(w, o, &l, compare);
    else if ((err = uno_errand_run(w, o, &l, compare)) == UNO_DECLINED)
        err = uno_rma_swap(p, &l, compare, o->origin.buf, o->result.buf);
    uno_rma_unordered |= UNO_RMA_STORED;
    uno_rma_lay_down(&l);
    return end(w, err);
}
