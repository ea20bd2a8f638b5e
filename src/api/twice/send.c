// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": blocking and nonblocking sends of all modes. The buffered ones copy, see
// p2p/buffered.c.
#include "api/p2p.h"
#include "api/twice/twice.h"
#include "p2p/buffered.h"
#include "p2p/sign.h"

static inline __attribute__((always_inline)) int send_blocking(struct uno_args a, enum uno_mode mode)
{
    struct uno_where to;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_send, &to, &type);
    if (err) return err;
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(type, a.count, &to);
    return uno_finish_comm(a.comm, a.call, uno_send(a.buf, a.count, type, &to, mode));
}

static inline __attribute__((always_inline)) int isend(struct uno_args a, enum uno_mode mode, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    struct uno_where to;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_send, &to, &type);
    if (err) return err;
    if (__builtin_expect(uno_signing.num != 0, 0)) uno_sign_send(type, a.count, &to);
    return uno_finish_comm(a.comm, a.call, uno_isend(a.buf, a.count, type, &to, mode, request));
}

static inline __attribute__((always_inline)) int bsend(struct uno_args a)
{
    struct uno_where to;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_send, &to, &type);
    if (err) return err;
    return uno_finish_comm(a.comm, a.call, uno_bsend(a.buf, a.count, type, &to));
}

static int ibsend(struct uno_args a, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    int err = bsend(a);
    if (!err) *request = &uno_request_sent;
    return err;
}

int MPI_Send(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return send_blocking((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_STANDARD);
}

int MPI_Ssend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return send_blocking((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_SYNC);
}

int MPI_Rsend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return send_blocking((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_READY);
}

int MPI_Bsend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return bsend((struct uno_args){__func__, buf, count, type, dest, tag, comm});
}

int MPI_Isend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return isend((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_STANDARD, request);
}

int MPI_Issend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return isend((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_SYNC, request);
}

int MPI_Irsend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return isend((struct uno_args){__func__, buf, count, type, dest, tag, comm}, UNO_READY, request);
}

int MPI_Ibsend(const void *buf, uno_count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return ibsend((struct uno_args){__func__, buf, count, type, dest, tag, comm}, request);
}
