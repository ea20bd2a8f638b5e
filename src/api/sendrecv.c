// SPDX-License-Identifier: BSD-3-Clause
// Send and receive in one call, in two buffers or in one, blocking and nonblocking, for the entry points in
// twice/sendrecv.c. The nonblocking forms are one request over two operations; a replacing form whose message does not
// leave at once sends from a packed copy.
#include <stdlib.h>

#include "api/p2p.h"
#include "chan/chan.h"
#include "core/progress.h"
#include "p2p/inner.h"
#include "p2p/sign.h"

static inline bool looks_right(const struct uno_args *a)
{
    const struct MPI_ABI_Comm *c = uno_comm(a->comm);
    return uno_quick_check(c, uno_type(a->type), *a) || uno_is_to_nobody(c, uno_type(a->type), *a);
}

static int check_pair(const struct uno_pair *p)
{
    if (!uno_world.checks) return MPI_SUCCESS;
    int err = looks_right(&p->s) ? MPI_SUCCESS : uno_check_send(p->s);
    return err || looks_right(&p->r) ? err : uno_check_recv(p->r);
}

static struct uno_where where(const struct uno_args *a)
{
    return (struct uno_where){.comm = uno_comm(a->comm), .rank = a->rank, .tag = a->tag};
}

int uno_pair_exchange(const struct uno_pair *p, MPI_Status *status)
{
    uno_enter(p->s.call);
    int err = check_pair(p);
    if (err) return uno_raise_comm(p->s.comm, p->s.call, err);
    struct uno_where to = where(&p->s), from = where(&p->r);
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(uno_type(p->s.type), p->s.count, &to);
    err = uno_sendrecv(p->s.buf, p->s.count, uno_type(p->s.type), &to, (void *)(uintptr_t)p->r.buf, p->r.count,
                       uno_type(p->r.type), &from, status);
    return uno_finish_comm(p->s.comm, p->s.call, err);
}

// The message packed into memory of its own (free it), so that the buffer can receive. NULL with the reason kept.
static char *packed_copy(const struct uno_args *a, size_t *bytes)
{
    struct MPI_ABI_Datatype *t = uno_type(a->type);
    *bytes = (size_t)(a->count * t->size);
    char *copy = malloc(*bytes ? *bytes : 1);
    if (!copy) {
        uno_fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", *bytes);
        return NULL;
    }
    struct uno_packer packer;
    uno_packer_init(&packer, a->buf, a->count, t);
    uno_pack(&packer, copy, *bytes);
    return copy;
}

// The message leaves before its buffer receives: at once, or from a copy.
static int replace(const struct uno_pair *p, MPI_Status *status)
{
    struct uno_where to = where(&p->s), from = where(&p->r);
    void *buf = (void *)(uintptr_t)p->r.buf;
    int err = uno_send_at_once(p->s.buf, p->s.count, uno_type(p->s.type), &to);
    if (err == MPI_SUCCESS) return uno_recv(buf, p->r.count, uno_type(p->r.type), &from, status);
    if (err != UNO_FULL) return err;
    size_t bytes;
    char *copy = packed_copy(&p->s, &bytes);
    MPI_Request send;
    err = copy ? uno_isend(copy, (MPI_Count)bytes, uno_type(MPI_BYTE), &to, UNO_COPIED, &send) : MPI_ERR_NO_MEM;
    if (!err) {
        int err2 = uno_recv(buf, p->r.count, uno_type(p->r.type), &from, status);
        err = uno_wait(&send, MPI_STATUS_IGNORE);
        if (err2) err = err2;
    }
    free(copy);
    return err;
}

int uno_pair_replace(const struct uno_pair *p, MPI_Status *status)
{
    uno_enter(p->s.call);
    int err = check_pair(p);
    if (err) return uno_raise_comm(p->s.comm, p->s.call, err);
    struct uno_where to = where(&p->s);
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(uno_type(p->s.type), p->s.count, &to);
    return uno_finish_comm(p->s.comm, p->s.call, replace(p, status));
}

// A nonblocking exchange: its request is done when both halves are. A poller of its own looks at them.
struct exchange {
    struct uno_poller poller;
    MPI_Request whole, send, recv;
    char *copy;
};

static int exchange_step(struct uno_poller *self)
{
    struct exchange *x = (struct exchange *)self;
    if (!uno_request_is_done(x->send) || !uno_request_is_done(x->recv)) return 0;
    uno_poller_remove(self);
    MPI_Request whole = x->whole;
    int err = uno_wait(&x->recv, &whole->status), err2 = uno_wait(&x->send, MPI_STATUS_IGNORE);
    uno_request_done(whole, err ? err : err2);
    return 1;
}

static void exchange_free(MPI_Request r)
{
    struct exchange *x = r->extra;
    free(x->copy);
    free(x);
}

static int exchange_cancel(MPI_Request r)
{
    (void)r;    // one half may have arrived: cancelling has no effect
    return MPI_SUCCESS;
}

static const struct uno_request_ops exchange_ops = {
    .name = "exchange", .cancel = exchange_cancel, .free = exchange_free};

static int start_halves(const struct uno_pair *p, struct exchange *x, bool replaces)
{
    struct uno_where to = where(&p->s), from = where(&p->r);
    size_t bytes = 0;
    int err = UNO_FULL;
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(uno_type(p->s.type), p->s.count, &to);
    if (replaces) err = uno_send_at_once(p->s.buf, p->s.count, uno_type(p->s.type), &to);
    if (err != UNO_FULL && err) return err;
    bool sent = err == MPI_SUCCESS;
    if (sent) x->send = &uno_request_sent;
    if (replaces && !sent && !(x->copy = packed_copy(&p->s, &bytes))) return MPI_ERR_NO_MEM;
    err = uno_irecv((void *)(uintptr_t)p->r.buf, p->r.count, uno_type(p->r.type), &from, &x->recv);
    if (err || sent) return err;
    if (x->copy)
        err = uno_isend(x->copy, (MPI_Count)bytes, uno_type(MPI_BYTE), &to, UNO_COPIED, &x->send);
    else
        err = uno_isend(p->s.buf, p->s.count, uno_type(p->s.type), &to, UNO_STANDARD, &x->send);
    if (err) uno_recv_abandon(&x->recv);
    return err;
}

static int start_exchange(const struct uno_pair *p, bool replaces, MPI_Request *request)
{
    struct exchange *x = calloc(1, sizeof *x);
    MPI_Request whole = uno_request_new(UNO_REQ_OTHER);
    if (!x || !whole) {
        free(x);
        if (whole) uno_request_release(whole);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    }
    x->poller.fn = exchange_step;
    x->whole = whole;
    whole->ops = &exchange_ops;    // from here on x goes with the request
    whole->extra = x;
    whole->rank = MPI_UNDEFINED;
    int err = start_halves(p, x, replaces);
    if (err) {
        uno_request_release(whole);
        return err;
    }
    uno_poller_add(&x->poller);
    exchange_step(&x->poller);
    *request = whole;
    return MPI_SUCCESS;
}

int uno_pair_start(const struct uno_pair *p, bool replaces, MPI_Request *request)
{
    if (!request) return uno_refuse_null(p->s.comm, p->s.call, "request");
    uno_enter(p->s.call);
    int err = check_pair(p);
    if (err) return uno_raise_comm(p->s.comm, p->s.call, err);
    return uno_finish_comm(p->s.comm, p->s.call, start_exchange(p, replaces, request));
}
