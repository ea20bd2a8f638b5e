// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": flushing the buffers of buffered sends.
#include "api/check.h"
#include "core/session.h"
#include "p2p/buffered.h"

int MPI_Buffer_flush(void)
{
    uno_enter("MPI_Buffer_flush");
    int err = uno_check_running();
    if (!err) uno_bsend_flush(uno_bsend_process);
    return uno_finish_self("MPI_Buffer_flush", err);
}

int MPI_Buffer_iflush(MPI_Request *request)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Buffer_iflush");
    int err = uno_check_running();
    return uno_finish_self("MPI_Buffer_iflush", err ? err : uno_bsend_iflush(uno_bsend_process, request));
}

int MPI_Comm_flush_buffer(MPI_Comm comm)
{
    uno_enter("MPI_Comm_flush_buffer");
    int err = uno_check_comm(comm);
    if (!err) uno_bsend_flush(uno_comm(comm)->bsend);
    return uno_finish_comm(comm, "MPI_Comm_flush_buffer", err);
}

int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    if (!request) return uno_refuse_null(comm, __func__, "request");
    uno_enter("MPI_Comm_iflush_buffer");
    int err = uno_check_comm(comm);
    return uno_finish_comm(comm, "MPI_Comm_iflush_buffer",
                           err ? err : uno_bsend_iflush(uno_comm(comm)->bsend, request));
}

int MPI_Session_flush_buffer(MPI_Session session)
{
    uno_enter("MPI_Session_flush_buffer");
    int err = uno_check_session(session);
    if (!err) uno_bsend_flush(uno_session(session)->bsend);
    return uno_finish_session(session, "MPI_Session_flush_buffer", err);
}

int MPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    uno_enter("MPI_Session_iflush_buffer");
    int err = uno_check_session(session);
    if (!err) err = uno_check_pointer(request, "request");
    return uno_finish_session(session, "MPI_Session_iflush_buffer",
                              err ? err : uno_bsend_iflush(uno_session(session)->bsend, request));
}
