// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": buffers for buffered sends, attached to the process, a communicator or a
// session.
#include "api/check.h"
#include "core/session.h"
#include "p2p/buffered.h"

static int check_buffer(const void *buffer, MPI_Count size)
{
    if (!uno_world.checks || buffer == MPI_BUFFER_AUTOMATIC) return MPI_SUCCESS;
    if (size < 0) return uno_fail(MPI_ERR_ARG, "size %lld is negative (0 or more allowed)", (long long)size);
    return buffer || size == 0 ? MPI_SUCCESS
                               : uno_fail(MPI_ERR_BUFFER, "buffer is NULL, but size is %lld", (long long)size);
}

static int attach(struct uno_bsend **slot, void *buffer, MPI_Count size)
{
    int err = check_buffer(buffer, size);
    return err ? err : uno_bsend_attach(slot, buffer, size);
}

// addr is the address of the user's pointer; size may be an int or a count.
static int detach(struct uno_bsend **slot, void *addr, MPI_Count *size)
{
    int err = uno_check_pointer(addr, "buffer_addr");
    return err ? err : uno_bsend_detach(slot, addr, size);
}

static int end_self(const char *call, int err)
{
    if (err) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static int end_comm(const char *call, MPI_Comm comm, int err)
{
    if (err) return uno_raise_comm(comm, call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static int end_session(const char *call, MPI_Session session, int err)
{
    if (err) return uno_raise_session(session, call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static int check_session(MPI_Session s)
{
    return uno_session(s) ? MPI_SUCCESS : uno_fail(MPI_ERR_SESSION, "the session is not alive");
}

int MPI_Buffer_attach(void *buffer, int size)
{
    uno_enter("MPI_Buffer_attach");
    int err = uno_check_running();
    return end_self("MPI_Buffer_attach", err ? err : attach(&uno_bsend_process, buffer, size));
}

int MPI_Buffer_detach(void *buffer_addr, int *size)
{
    uno_enter("MPI_Buffer_detach");
    MPI_Count n = 0;
    int err = detach(&uno_bsend_process, buffer_addr, &n);
    if (!err) *size = (int)n;
    return end_self("MPI_Buffer_detach", err);
}

int MPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    uno_enter("MPI_Comm_attach_buffer");
    int err = uno_check_comm(comm);
    return end_comm("MPI_Comm_attach_buffer", comm, err ? err : attach(&uno_comm(comm)->bsend, buffer, size));
}

int MPI_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, int *size)
{
    uno_enter("MPI_Comm_detach_buffer");
    MPI_Count n = 0;
    int err = uno_check_comm(comm);
    if (!err) err = detach(&uno_comm(comm)->bsend, buffer_addr, &n);
    if (!err) *size = (int)n;
    return end_comm("MPI_Comm_detach_buffer", comm, err);
}

int MPI_Session_attach_buffer(MPI_Session session, void *buffer, int size)
{
    uno_enter("MPI_Session_attach_buffer");
    int err = check_session(session);
    return end_session("MPI_Session_attach_buffer", session,
                       err ? err : attach(&uno_session(session)->bsend, buffer, size));
}

int MPI_Session_detach_buffer(MPI_Session session, void *buffer_addr, int *size)
{
    uno_enter("MPI_Session_detach_buffer");
    MPI_Count n = 0;
    int err = check_session(session);
    if (!err) err = detach(&uno_session(session)->bsend, buffer_addr, &n);
    if (!err) *size = (int)n;
    return end_session("MPI_Session_detach_buffer", session, err);
}

int MPI_Buffer_attach_c(void *buffer, MPI_Count size)
{
    uno_enter("MPI_Buffer_attach_c");
    int err = uno_check_running();
    return end_self("MPI_Buffer_attach_c", err ? err : attach(&uno_bsend_process, buffer, size));
}

int MPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    uno_enter("MPI_Buffer_detach_c");
    MPI_Count n = 0;
    int err = detach(&uno_bsend_process, buffer_addr, &n);
    if (!err) *size = (MPI_Count)n;
    return end_self("MPI_Buffer_detach_c", err);
}

int MPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size)
{
    uno_enter("MPI_Comm_attach_buffer_c");
    int err = uno_check_comm(comm);
    return end_comm("MPI_Comm_attach_buffer_c", comm, err ? err : attach(&uno_comm(comm)->bsend, buffer, size));
}

int MPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
    uno_enter("MPI_Comm_detach_buffer_c");
    MPI_Count n = 0;
    int err = uno_check_comm(comm);
    if (!err) err = detach(&uno_comm(comm)->bsend, buffer_addr, &n);
    if (!err) *size = (MPI_Count)n;
    return end_comm("MPI_Comm_detach_buffer_c", comm, err);
}

int MPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size)
{
    uno_enter("MPI_Session_attach_buffer_c");
    int err = check_session(session);
    return end_session("MPI_Session_attach_buffer_c", session,
                       err ? err : attach(&uno_session(session)->bsend, buffer, size));
}

int MPI_Session_detach_buffer_c(MPI_Session session, void *buffer_addr, MPI_Count *size)
{
    uno_enter("MPI_Session_detach_buffer_c");
    MPI_Count n = 0;
    int err = check_session(session);
    if (!err) err = detach(&uno_session(session)->bsend, buffer_addr, &n);
    if (!err) *size = (MPI_Count)n;
    return end_session("MPI_Session_detach_buffer_c", session, err);
}

int MPI_Buffer_flush(void)
{
    uno_enter("MPI_Buffer_flush");
    return end_self("MPI_Buffer_flush", uno_bsend_flush(uno_bsend_process));
}

int MPI_Buffer_iflush(MPI_Request *request)
{
    uno_enter("MPI_Buffer_iflush");
    return end_self("MPI_Buffer_iflush", uno_bsend_iflush(uno_bsend_process, request));
}

int MPI_Comm_flush_buffer(MPI_Comm comm)
{
    uno_enter("MPI_Comm_flush_buffer");
    int err = uno_check_comm(comm);
    return end_comm("MPI_Comm_flush_buffer", comm, err ? err : uno_bsend_flush(uno_comm(comm)->bsend));
}

int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    uno_enter("MPI_Comm_iflush_buffer");
    int err = uno_check_comm(comm);
    return end_comm("MPI_Comm_iflush_buffer", comm, err ? err : uno_bsend_iflush(uno_comm(comm)->bsend, request));
}

int MPI_Session_flush_buffer(MPI_Session session)
{
    uno_enter("MPI_Session_flush_buffer");
    int err = check_session(session);
    return end_session("MPI_Session_flush_buffer", session, err ? err : uno_bsend_flush(uno_session(session)->bsend));
}

int MPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    uno_enter("MPI_Session_iflush_buffer");
    int err = check_session(session);
    return end_session("MPI_Session_iflush_buffer", session,
                       err ? err : uno_bsend_iflush(uno_session(session)->bsend, request));
}
