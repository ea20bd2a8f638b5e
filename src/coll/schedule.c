// SPDX-License-Identifier: BSD-3-Clause
// The schedule engine: emission of steps by the builders and their execution (schedule.h). Called by coll.c.
//
// Always holds: a schedule only ever moves forward; its messages carry one tag, unique among the operations outstanding
// on the communicator; an error of one step is kept and the rest still runs, so that other ranks are not left waiting.
#include "coll/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "coll/build.h"
#include "coll/cache.h"
#include "coll/choose.h"
#include "coll/segment.h"
#include "core/pack.h"
#include "p2p/fail.h"
#include "p2p/p2p.h"

// A message that a dead process left unfinished tells of its death before mpiexec does: from here on nobody gets what
// this rank could not get.
static void fail(struct uno_sched *s, int error)
{
    if (!s->error) s->error = error;
    if (__builtin_expect(error == UNO_ERR_PROC_FAILED, 0)) uno_comm_break(s->comm, error);
}

static struct uno_step *emit(struct uno_sched *s, enum uno_step_kind kind)
{
    if (s->error) return NULL;
    if (s->nsteps == s->room) {
        int room = s->room ? 2 * s->room : 32;
        struct uno_step *more = realloc(s->step, (size_t)room * sizeof *more);
        if (!more) {
            fail(s, uno_fail(MPI_ERR_NO_MEM, "no memory for a schedule of %d steps", room));
            return NULL;
        }
        s->step = more;
        s->room = room;
    }
    struct uno_step *p = &s->step[s->nsteps++];
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->comm = s->view.comm;
    return p;
}

static int peer_of(const struct uno_sched *s, int rank)
{
    return s->view.map ? s->view.map[rank] : rank;
}

void uno_emit_send(struct uno_sched *s, int peer, const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (peer == MPI_PROC_NULL || count == 0 || type->size == 0) return;
    struct uno_step *p = emit(s, UNO_STEP_SEND);
    if (!p) return;
    p->peer = peer_of(s, peer);
    p->src = buf;
    p->count = count;
    p->type = type;
}

void uno_emit_recv(struct uno_sched *s, int peer, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (peer == MPI_PROC_NULL || count == 0 || type->size == 0) return;
    struct uno_step *p = emit(s, UNO_STEP_RECV);
    if (!p) return;
    p->peer = peer_of(s, peer);
    p->dst = buf;
    p->count = count;
    p->type = type;
}

void uno_emit_signal(struct uno_sched *s, int to, int from)
{
    struct uno_step *p;
    if (to >= 0 && (p = emit(s, UNO_STEP_SEND))) {
        p->peer = peer_of(s, to);
        p->type = uno_bytes();
    }
    if (from >= 0 && (p = emit(s, UNO_STEP_RECV))) {
        p->peer = peer_of(s, from);
        p->type = uno_bytes();
    }
}

void uno_copy_block(struct uno_sched *s, struct uno_block from, struct uno_block to)
{
    if (from.count == 0 || from.type->size == 0 || to.count == 0 || to.type->size == 0) return;
    if (from.at == to.at && from.type == to.type) return;
    struct uno_step *p = emit(s, UNO_STEP_COPY);
    if (!p) return;
    p->src = from.at;
    p->count = from.count;
    p->type = from.type;
    p->dst = to.at;
    p->dcount = to.count;
    p->dtype = to.type;
}

// A send before the last fence, and few steps ago, from where a reduction writes now.
#define FEW_STEPS 4

static void tell_rewritten(struct uno_sched *s, const void *to)
{
    for (int i = s->nsteps - 1, fences = 0; i >= 0 && i >= s->nsteps - FEW_STEPS && fences < 2; i--) {
        fences += s->step[i].kind == UNO_STEP_FENCE;
        if (s->step[i].kind == UNO_STEP_SEND && s->step[i].src == to) s->step[i].rewritten = true;
    }
}

void uno_emit_reduce(struct uno_sched *s, const void *a, const void *b, void *out, MPI_Count count,
                     struct MPI_ABI_Datatype *type)
{
    if (count == 0) return;
    tell_rewritten(s, out);
    struct uno_step *p = emit(s, UNO_STEP_REDUCE);
    if (!p) return;
    p->src = a;
    p->second = b;
    p->dst = out;
    p->count = count;
    p->type = type;
}

static struct uno_step *emit_cross(struct uno_sched *s, enum uno_step_kind kind, struct uno_remote there, size_t bytes)
{
    struct uno_step *p = bytes ? emit(s, kind) : NULL;
    if (!p) return NULL;
    p->peer = there.rank;
    p->at = there.at;
    p->count = (MPI_Count)bytes;
    p->dcount = (MPI_Count)there.skip;
    return p;
}

void uno_emit_pull(struct uno_sched *s, struct uno_remote from, void *dst, size_t bytes)
{
    struct uno_step *p = emit_cross(s, UNO_STEP_PULL, from, bytes);
    if (p) p->dst = dst;
}

void uno_emit_push(struct uno_sched *s, struct uno_remote to, const void *src, size_t bytes)
{
    struct uno_step *p = emit_cross(s, UNO_STEP_PUSH, to, bytes);
    if (p) p->src = src;
}

void uno_emit_fence(struct uno_sched *s)
{
    if (s->nsteps && s->step[s->nsteps - 1].kind != UNO_STEP_FENCE) emit(s, UNO_STEP_FENCE);
}

void uno_emit_check(struct uno_sched *s, int (*check)(const void *data, int count), const void *data, int count)
{
    struct uno_step *p = emit(s, UNO_STEP_CHECK);
    if (!p) return;
    p->check = check;
    p->src = data;
    p->count = count;
}

void uno_emit_call(struct uno_sched *s, const struct uno_call *c)
{
    struct uno_call *copy = uno_scratch_bytes(s, sizeof *copy);
    struct uno_step *p = copy ? emit(s, UNO_STEP_CALL) : NULL;
    if (!p) return;
    *copy = *c;
    p->call = copy;
}

void *uno_scratch_bytes(struct uno_sched *s, size_t bytes)
{
    if (s->error) return NULL;
    struct uno_scratch *p = NULL;
    if (bytes > SIZE_MAX - 128 || posix_memalign((void **)&p, 64, 64 + bytes + (bytes == 0)) != 0) {
        fail(s, uno_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of scratch of a collective", bytes));
        return NULL;
    }
    p->next = s->scratch;
    s->scratch = p;
    s->scratch_bytes += bytes;
    return (char *)p + 64;
}

void *uno_scratch_typed(struct uno_sched *s, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    if (count == 0) return uno_scratch_bytes(s, 0);
    MPI_Count step = type->extent < 0 ? -type->extent : type->extent;
    MPI_Count low = type->true_lb + (type->extent < 0 ? (count - 1) * type->extent : 0);
    // Whole elements: a kernel may move the last one with its padding.
    MPI_Count last = type->true_extent > step ? type->true_extent : step;
    char *p = uno_scratch_bytes(s, (size_t)(last + (count - 1) * step));
    return p ? p - low : NULL;
}

struct uno_sched *uno_sched_new(struct MPI_ABI_Comm *comm, struct MPI_ABI_Op *op, int tag)
{
    struct uno_sched *s = calloc(1, sizeof *s);
    if (!s) {
        uno_fail(MPI_ERR_NO_MEM, "no memory for a schedule");
        return NULL;
    }
    s->comm = comm;
    s->op = op;
    if (op) uno_op_hold(op);
    s->tag = tag;
    s->view = (struct uno_view){comm, comm->rank, comm->size, NULL};
    return s;
}

// Whether all ranks are of one host and outnumber its cores: known once the segment is, which all of them then have.
static bool is_sharing(const struct uno_sched *s)
{
    const struct uno_coll *u = s->comm->coll;
    return s->form != UNO_INSIDE && !s->comm->inter && u && u->on && u->crowded;
}

enum uno_alg uno_choose_for(const struct uno_sched *s, enum uno_coll_kind kind, size_t bytes)
{
    return uno_choose(kind, s->view.size, bytes, is_sharing(s));
}

int uno_sched_hold(struct uno_sched *s, struct MPI_ABI_Datatype *type)
{
    if (!type || (type->flags & UNO_TYPE_PREDEFINED)) return MPI_SUCCESS;
    struct MPI_ABI_Datatype **more = realloc(s->held, (size_t)(s->nheld + 1) * sizeof(*more));
    if (!more) return uno_fail(MPI_ERR_NO_MEM, "no memory for a schedule");
    s->held = more;
    s->held[s->nheld++] = type;
    uno_type_hold(type);
    return MPI_SUCCESS;
}

void uno_sched_free(struct uno_sched *s)
{
    for (struct uno_scratch *p = s->scratch, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    for (int i = 0; i < s->nheld; i++) uno_type_drop(s->held[i]);
    if (s->op) uno_op_drop(s->op);
    free(s->held);
    free(s->pending);
    free(s->step);
    free(s);
}

// ---- running ----

static void copy(const struct uno_step *p)
{
    uno_block_copy((struct uno_block){p->dst, p->dcount, p->dtype},
                   (struct uno_block){(char *)(uintptr_t)p->src, p->count, p->type});
}

static void reduce(const struct uno_sched *s, const struct uno_step *p)
{
    if (p->dst == p->second)
        uno_op_apply(s->op, p->src, p->dst, p->count, p->type);
    else
        uno_op_apply3(s->op, p->src, p->second, p->dst, p->count, p->type);
}

static void cross(struct uno_sched *s, const struct uno_step *p)
{
    uint64_t there = *p->at + (uint64_t)p->dcount;
    struct uno_coll *u = s->comm->coll;
    uno_assert(u && u->cma && p->peer >= 0 && p->peer < u->n);
    if (*p->at == 0) return;
    if (p->kind == UNO_STEP_PULL)
        fail(s, uno_seg_pull(u, p->peer, p->dst, there, (size_t)p->count));
    else
        fail(s, uno_seg_push(u, p->peer, there, p->src, (size_t)p->count));
}

static void message(struct uno_sched *s, const struct uno_step *p)
{
    uno_assert(p->peer >= 0 && p->peer < p->comm->npeers);
    struct uno_where w = {.comm = p->comm, .rank = p->peer, .tag = s->tag, .coll = true};
    MPI_Request r = NULL;
    int err = p->kind == UNO_STEP_RECV ? uno_irecv(p->dst, p->count, p->type, &w, &r)
              : p->rewritten           ? uno_isend_rewritten(p->src, p->count, p->type, &w, &r)
                                       : uno_isend(p->src, p->count, p->type, &w, UNO_STANDARD, &r);
    if (err) {
        fail(s, err);
        return;
    }
    if (r == &uno_request_sent) return;
    if (s->npending == s->pending_room) {
        int room = s->pending_room ? 2 * s->pending_room : 8;
        MPI_Request *more = realloc(s->pending, (size_t)room * sizeof *more);
        if (!more) {    // no room to remember it: finish it now
            fail(s, uno_fail(MPI_ERR_NO_MEM, "no memory for %d messages of a collective", room));
            err = uno_wait(&r, MPI_STATUS_IGNORE);
            if (err) fail(s, err);
            return;
        }
        s->pending = more;
        s->pending_room = room;
    }
    s->pending[s->npending++] = r;
}

// Whether all messages since the last fence are through; completed ones are given back.
static bool settled(struct uno_sched *s)
{
    while (s->first < s->npending) {
        MPI_Request *r = &s->pending[s->first];
        // Acquire: pairs with the release in uno_request_done(). The data must be seen before the flag.
        if (!atomic_load_explicit(&(*r)->done, memory_order_acquire)) return false;
        int err = uno_wait(r, MPI_STATUS_IGNORE);
        if (err) fail(s, err);
        s->first++;
    }
    s->first = s->npending = 0;
    return true;
}

// Its receives have ended; nobody is to get wrong data from here.
static void stop_if_broken(struct uno_sched *s)
{
    if (__builtin_expect(s->comm->broken == MPI_SUCCESS, 1)) return;
    fail(s, s->comm->broken);
    s->at = s->nsteps;
}

// Runs as far as possible; true when the whole schedule is done, or all that is before a CALL step (at which s->at
// then stands). *moved counts the steps taken.
static bool advance_sched(struct uno_sched *s, int *moved)
{
    stop_if_broken(s);
    while (s->at < s->nsteps) {
        const struct uno_step *p = &s->step[s->at];
        switch (p->kind) {
        case UNO_STEP_FENCE:
            if (!settled(s)) return false;
            break;
        case UNO_STEP_CALL: return settled(s);
        case UNO_STEP_COPY: copy(p); break;
        case UNO_STEP_REDUCE: reduce(s, p); break;
        case UNO_STEP_PULL:
        case UNO_STEP_PUSH: cross(s, p); break;
        case UNO_STEP_CHECK:
            fail(s, p->check(p->src, (int)p->count));
            if (s->error) s->at = s->nsteps - 1;
            break;
        default: message(s, p); break;
        }
        s->at++;
        ++*moved;
        if (s->error) stop_if_broken(s);
    }
    return settled(s);
}

// May be asked from within itself: a step that completes a request wakes waiting threads, which ask.
static bool ready(void *arg)
{
    struct uno_sched *s = arg;
    int moved = 0;
    if (s->running) return false;
    s->running = true;
    bool over = advance_sched(s, &moved);
    s->running = false;
    return over;
}

int uno_sched_run(struct uno_sched *s)
{
    struct uno_waiting what = {.comm = s->comm, .peer = MPI_UNDEFINED, .tag = MPI_UNDEFINED};
    for (;;) {
        if (!ready(s)) uno_wait_until(ready, s, &what);
        if (s->at == s->nsteps) return s->error;
        fail(s, uno_coll_run(s->step[s->at++].call));
    }
}

// ---- as a request ----

static int poll_schedule(struct uno_poller *self)
{
    struct uno_sched *s = (struct uno_sched *)((char *)self - offsetof(struct uno_sched, poller));
    int moved = 0;
    if (s->running) return 0;
    s->running = true;
    bool over = advance_sched(s, &moved);
    s->running = false;
    if (!over) return moved;
    uno_poller_remove(&s->poller);
    MPI_Request r = s->req;
    int error = s->error;
    if (!r->persistent) {
        r->extra = NULL;
        uno_cache_give(s);
    }
    uno_request_done(r, error);
    return moved + 1;
}

static void launch(struct uno_sched *s)
{
    uno_assert(!s->poller.queued && !s->running && s->first == s->npending);    // nothing of it is under way
    s->at = s->first = s->npending = 0;
    s->error = MPI_SUCCESS;
    s->poller.fn = poll_schedule;
    uno_poller_add(&s->poller);
    poll_schedule(&s->poller);
}

static int start_again(MPI_Request r)
{
    r->active = true;
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);
    launch(r->extra);
    return MPI_SUCCESS;
}

static int cannot_cancel(MPI_Request r)
{
    (void)r;
    return uno_fail(MPI_ERR_REQUEST, "a collective operation cannot be cancelled");
}

static void free_request(MPI_Request r)
{
    if (r->extra) uno_sched_free(r->extra);
    r->extra = NULL;
}

static bool poll_request(MPI_Request r)
{
    struct uno_sched *s = r->extra;
    return s && s->poller.queued && poll_schedule(&s->poller) > 0;
}

static const struct uno_request_ops coll_ops = {
    .name = "collective",
    .start = start_again,
    .cancel = cannot_cancel,
    .free = free_request,
    .poll = poll_request,
};

static MPI_Request request_of(struct uno_sched *s, bool persistent)
{
    MPI_Request r = uno_request_new(UNO_REQ_COLL);
    if (!r) {
        uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
        return NULL;
    }
    r->ops = &coll_ops;
    r->comm = s->comm;
    r->persistent = persistent;
    r->active = !persistent;
    r->extra = s;
    uno_status_empty(&r->status);
    s->req = r;
    uno_comm_hold(s->comm);    // the request's, dropped with it
    return r;
}

int uno_sched_start(struct uno_sched *s, MPI_Request *req)
{
    MPI_Request r = request_of(s, false);
    if (!r) return MPI_ERR_NO_MEM;
    launch(s);
    *req = r;
    return MPI_SUCCESS;
}

int uno_sched_persist(struct uno_sched *s, MPI_Request *req)
{
    MPI_Request r = request_of(s, true);
    if (!r) return MPI_ERR_NO_MEM;
    *req = r;
    return MPI_SUCCESS;
}
