// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": persistent requests, made here and started by MPI_Start(all).
#include "api/p2p.h"
#include "p2p/sign.h"

static int send_init(struct uno_args a, enum uno_mode mode, MPI_Request *request)
{
    struct uno_where to;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_send, &to, &type);
    if (err) return err;
    MPI_Request r = uno_request_new(UNO_REQ_SEND);
    if (!r) return uno_end(a, uno_fail(MPI_ERR_NO_MEM, "no memory for a request"));
    uno_send_setup(r, a.buf, a.count, type, &to);
    if (uno_signing.num) uno_sign_expect(r, type, a.count);
    r->mode = (uint8_t)mode;
    r->persistent = true;
    r->active = false;
    *request = r;
    return uno_end(a, MPI_SUCCESS);
}

static int recv_init(struct uno_args a, MPI_Request *request)
{
    struct uno_where from;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_recv, &from, &type);
    if (err) return err;
    MPI_Request r = uno_request_new(UNO_REQ_RECV);
    if (!r) return uno_end(a, uno_fail(MPI_ERR_NO_MEM, "no memory for a request"));
    uno_recv_setup(r, (void *)(uintptr_t)a.buf, a.count, type, &from);
    uno_comm_hold(from.comm);
    r->persistent = true;
    r->active = false;
    *request = r;
    return uno_end(a, MPI_SUCCESS);
}

int MPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Send_init", buf, count, type, dest, tag, comm}, UNO_STANDARD, request);
}

int MPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Send_init_c", buf, count, type, dest, tag, comm}, UNO_STANDARD, request);
}

int MPI_Ssend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Ssend_init", buf, count, type, dest, tag, comm}, UNO_SYNC, request);
}

int MPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Ssend_init_c", buf, count, type, dest, tag, comm}, UNO_SYNC, request);
}

int MPI_Rsend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Rsend_init", buf, count, type, dest, tag, comm}, UNO_READY, request);
}

int MPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Rsend_init_c", buf, count, type, dest, tag, comm}, UNO_READY, request);
}

int MPI_Bsend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Bsend_init", buf, count, type, dest, tag, comm}, UNO_BUFFERED, request);
}

int MPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    return send_init((struct uno_args){"MPI_Bsend_init_c", buf, count, type, dest, tag, comm}, UNO_BUFFERED, request);
}

int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    return recv_init((struct uno_args){"MPI_Recv_init", buf, count, type, source, tag, comm}, request);
}

int MPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    return recv_init((struct uno_args){"MPI_Recv_init_c", buf, count, type, source, tag, comm}, request);
}

// Starts one; the reason of a failure is kept.
static int start_one(MPI_Request r)
{
    if (r == MPI_REQUEST_NULL) return uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be started");
    int err = uno_check_request(r);
    if (err) return err;
    if (!r->persistent) return uno_fail(MPI_ERR_REQUEST, "only persistent requests can be started");
    if (r->active) return uno_fail(MPI_ERR_REQUEST, "the request is active already (complete it first)");
    // Relaxed: the request is the caller's until it is started.
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);
    r->active = true;
    r->cancelled = false;
    uno_status_empty(&r->status);
    r->status.MPI_internal[2] = 0;
    err = r->ops->start(r);
    if (err) r->active = false;
    return err;
}

static MPI_Comm comm_of(MPI_Request r)
{
    return uno_request_is_live(r) && r->comm ? r->comm->handle : MPI_COMM_SELF;
}

int MPI_Start(MPI_Request *request)
{
    uno_enter("MPI_Start");
    int err = start_one(*request);
    if (err) return uno_raise_comm(comm_of(*request), "MPI_Start", err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    uno_enter("MPI_Startall");
    int err = uno_check_count(count);
    if (err) return uno_raise_self("MPI_Startall", err);
    for (int i = 0; i < count; i++) {
        err = start_one(requests[i]);
        if (err) return uno_raise_comm(comm_of(requests[i]), "MPI_Startall", err);
    }
    uno_leave();
    return MPI_SUCCESS;
}
