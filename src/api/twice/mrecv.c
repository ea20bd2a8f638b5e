// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": receives of matched messages (api/probe.c).
#include "api/p2p.h"
#include "api/twice/twice.h"

int MPI_Mrecv(void *buf, uno_count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    return uno_mrecv(&(struct uno_args){.call = __func__, .buf = buf, .count = count, .type = type}, message, status);
}

int MPI_Imrecv(void *buf, uno_count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    return uno_imrecv(&(struct uno_args){.call = __func__, .buf = buf, .count = count, .type = type}, message, request);
}
