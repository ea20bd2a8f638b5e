// SPDX-License-Identifier: BSD-3-Clause
// Request objects: taken from a type-stable pool, completed in one place. A request freed by the user while active
// lives until its operation ends. Callers hold the library lock.
#include "core/request.h"

#include "base/invariant.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/type.h"
#include "core/world.h"

struct uno_pool uno_request_pool = {.bytes = sizeof(struct MPI_ABI_Request), .magic = UNO_REQUEST_MAGIC};

struct MPI_ABI_Request uno_request_sent = {
    .head = {.magic = UNO_REQUEST_MAGIC, .refs = 1},
    .done = 1,
    .kind = UNO_REQ_SENT,
    .active = true,
    .status = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG},
};

static bool moves(const struct MPI_ABI_Request *r)
{
    return r->kind == UNO_REQ_SEND || r->kind == UNO_REQ_RECV;
}

static void begin_move(struct uno_move *m)
{
    m->mode = 0;
    m->coll = false;
    m->type = m->sign.type = NULL;
    m->room = 0;
    m->moved = 0;
    m->direct = -1;
}

// Not through uno_pool_get: its zeroing of the whole object would be the dearest part of a small receive.
MPI_Request uno_request_new(enum uno_request_kind kind)
{
    struct uno_pool *pool = &uno_request_pool;
    MPI_Request r = (MPI_Request)(void *)pool->free;
    if (__builtin_expect(r == NULL, 0)) {
        r = uno_pool_get(pool);
        if (!r) return NULL;
    } else {
        pool->free = r->head.next_free;
        pool->live++;
        r->head.magic = UNO_REQUEST_MAGIC;
        r->head.refs = 1;
    }
    atomic_init(&r->done, 0);
    r->kind = (uint8_t)kind;
    r->persistent = r->freed = r->cancelled = false;
    r->active = true;
    r->ops = NULL;
    r->comm = NULL;
    if (moves(r))
        begin_move(&r->move);
    else
        r->extra = NULL;
    uno_status_empty(&r->status);
    r->status.MPI_internal[0] = r->status.MPI_internal[1] = r->status.MPI_internal[2] = 0;
    return r;
}

void uno_request_release(MPI_Request r)
{
    uno_assert(r->head.magic == UNO_REQUEST_MAGIC && r != &uno_request_sent);
    uno_assert(!r->active || uno_request_is_done(r) || r->kind != UNO_REQ_RECV);    // not in a matching queue
    if (r->ops && r->ops->free) r->ops->free(r);
    if (r->comm) uno_comm_drop(r->comm);
    if (moves(r)) {
        if (r->move.type) uno_type_drop(r->move.type);
        if (r->move.sign.type) uno_type_drop(r->move.sign.type);
    }
    uno_pool_put(&uno_request_pool, r);
}

void uno_request_done(MPI_Request r, int error)
{
    uno_assert_locked();
    uno_assert(r->head.magic == UNO_REQUEST_MAGIC && r->head.refs == 1);
    uno_assert(!uno_request_is_done(r));    // once an activation
    r->status.MPI_ERROR = error;
    // Release: pairs with the acquire in uno_request_is_done.
    atomic_store_explicit(&r->done, 1, memory_order_release);
    if (__builtin_expect(r->freed, 0)) {
        uno_request_release(r);
        return;
    }
    uno_wake_waiters();
}

void uno_request_alarm(MPI_Request r, int error)
{
    uno_assert_locked();
    if (r->freed) return;    // nobody waits
    r->status.MPI_ERROR = error;
    // Release: as in uno_request_done.
    atomic_store_explicit(&r->done, 1, memory_order_release);
    uno_wake_waiters();
}

void uno_request_resume(MPI_Request r)
{
    r->status.MPI_ERROR = MPI_SUCCESS;
    // Relaxed: nobody looks at it but with the lock.
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);
}

void uno_request_cancelled(MPI_Request r)
{
    r->cancelled = true;
    uno_status_empty(&r->status);
    r->status.MPI_internal[2] = 1;
    uno_request_done(r, MPI_SUCCESS);
}

struct census {
    const struct MPI_ABI_Comm *comm;
    int at_rest;
};

static void count_at_rest(void *object, void *arg)
{
    MPI_Request r = object;
    struct census *census = arg;
    if (r->comm == census->comm && (uno_request_is_done(r) || !r->active)) census->at_rest++;
}

int uno_requests_at_rest(const struct MPI_ABI_Comm *c)
{
    struct census census = {.comm = c};
    uno_pool_each(&uno_request_pool, count_at_rest, &census);
    return census.at_rest;
}
