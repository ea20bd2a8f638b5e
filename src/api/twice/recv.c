// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": receives, and send with receive in one call.
#include <stdlib.h>

#include "api/p2p.h"
#include "api/twice/twice.h"

static inline __attribute__((always_inline)) int recv_blocking(struct uno_args a, MPI_Status *status)
{
    struct uno_where from;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_recv, &from, &type);
    if (err) return err;
    return uno_finish_comm(a.comm, a.call, uno_recv((void *)(uintptr_t)a.buf, a.count, type, &from, status));
}

static inline __attribute__((always_inline)) int irecv(struct uno_args a, MPI_Request *request)
{
    if (!request) return uno_refuse_null(a.comm, a.call, "request");
    struct uno_where from;
    struct MPI_ABI_Datatype *type;
    int err = uno_begin(a, uno_check_recv, &from, &type);
    if (err) return err;
    return uno_finish_comm(a.comm, a.call, uno_irecv((void *)(uintptr_t)a.buf, a.count, type, &from, request));
}

int MPI_Recv(void *buf, uno_count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return recv_blocking((struct uno_args){__func__, buf, count, type, source, tag, comm}, status);
}

int MPI_Irecv(void *buf, uno_count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    return irecv((struct uno_args){__func__, buf, count, type, source, tag, comm}, request);
}
