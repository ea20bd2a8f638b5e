// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": send and receive in one call. The work is in api/sendrecv.c.
#include "api/p2p.h"
#include "api/twice/twice.h"

int MPI_Sendrecv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                 uno_count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct uno_pair p = {{__func__, sendbuf, sendcount, sendtype, dest, sendtag, comm},
                         {__func__, recvbuf, recvcount, recvtype, source, recvtag, comm}};
    return uno_pair_exchange(&p, status);
}

int MPI_Sendrecv_replace(void *buf, uno_count count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                         MPI_Comm comm, MPI_Status *status)
{
    struct uno_pair p = {{__func__, buf, count, type, dest, sendtag, comm},
                         {__func__, buf, count, type, source, recvtag, comm}};
    return uno_pair_replace(&p, status);
}

int MPI_Isendrecv(const void *sendbuf, uno_count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                  uno_count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct uno_pair p = {{__func__, sendbuf, sendcount, sendtype, dest, sendtag, comm},
                         {__func__, recvbuf, recvcount, recvtype, source, recvtag, comm}};
    return uno_pair_start(&p, false, request);
}

int MPI_Isendrecv_replace(void *buf, uno_count count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                          MPI_Comm comm, MPI_Request *request)
{
    struct uno_pair p = {{__func__, buf, count, type, dest, sendtag, comm},
                         {__func__, buf, count, type, source, recvtag, comm}};
    return uno_pair_start(&p, true, request);
}
