// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": making persistent requests (started in api/start.c).
#include "api/p2p.h"
#include "api/twice/twice.h"
#include "p2p/sign.h"

static inline __attribute__((always_inline)) int send_init(struct uno_args a, enum uno_mode mode, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    struct uno_where to;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_send, &to, &type);
    if (err) return err;
    MPI_Request r = uno_request_new(UNO_REQ_SEND);
    if (!r) return uno_finish_comm(a.comm, a.call, uno_fail(MPI_ERR_NO_MEM, "no memory for a request"));
    uno_send_setup(r, a.buf, a.count, type, &to);
    if (uno_signing.num) uno_sign_expect(r, type, a.count);
    r->move.mode = (uint8_t)mode;
    r->persistent = true;
    r->active = false;
    *request = r;
    return uno_finish_comm(a.comm, a.call, MPI_SUCCESS);
}

static inline __attribute__((always_inline)) int recv_init(struct uno_args a, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    struct uno_where from;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_recv, &from, &type);
    if (err) return err;
    MPI_Request r = uno_request_new(UNO_REQ_RECV);
    if (!r) return uno_finish_comm(a.comm, a.call, uno_fail(MPI_ERR_NO_MEM, "no memory for a request"));
    uno_recv_setup(r, (void *)(uintptr_t)a.buf, a.count, type, &from);
    uno_comm_hold(from.comm);
    r->persistent = true;
    r->active = false;
    *request = r;
    return uno_finish_comm(a.comm, a.call, MPI_SUCCESS);
}

int MPI_Send_init(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    return send_init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_STANDARD, request);
}

int MPI_Ssend_init(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_SYNC, request);
}

int MPI_Rsend_init(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_READY, request);
}

int MPI_Bsend_init(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return send_init((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_BUFFERED, request);
}

int MPI_Recv_init(void *buf, uno_count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    return recv_init((struct uno_args){__func__, buf, count, type, source, tag, comm}, request);
}
