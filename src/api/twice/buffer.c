// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": attaching and detaching buffers for buffered sends, to the process, a
// communicator or a session.
#include "api/check.h"
#include "api/twice/twice.h"
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

int MPI_Buffer_attach(void *buffer, uno_count size)
{
    uno_enter(__func__);
    int err = uno_check_running();
    return uno_finish_self(__func__, err ? err : attach(&uno_bsend_process, buffer, size));
}

int MPI_Buffer_detach(void *buffer_addr, uno_count *size)
{
    if (!size) return uno_refuse_null(MPI_COMM_SELF, __func__, "size");
    uno_enter(__func__);
    MPI_Count n = 0;
    int err = detach(&uno_bsend_process, buffer_addr, &n);
    if (!err) *size = uno_fit(n);
    return uno_finish_self(__func__, err);
}

int MPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, uno_count size)
{
    uno_enter(__func__);
    int err = uno_check_comm(comm);
    return uno_finish_comm(comm, __func__, err ? err : attach(&uno_comm(comm)->bsend, buffer, size));
}

int MPI_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, uno_count *size)
{
    if (!size) return uno_refuse_null(comm, __func__, "size");
    uno_enter(__func__);
    MPI_Count n = 0;
    int err = uno_check_comm(comm);
    if (!err) err = detach(&uno_comm(comm)->bsend, buffer_addr, &n);
    if (!err) *size = uno_fit(n);
    return uno_finish_comm(comm, __func__, err);
}

int MPI_Session_attach_buffer(MPI_Session session, void *buffer, uno_count size)
{
    uno_enter(__func__);
    int err = uno_check_session(session);
    return uno_finish_session(session, __func__, err ? err : attach(&uno_session(session)->bsend, buffer, size));
}

int MPI_Session_detach_buffer(MPI_Session session, void *buffer_addr, uno_count *size)
{
    uno_enter(__func__);
    MPI_Count n = 0;
    int err = uno_check_session(session);
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) err = detach(&uno_session(session)->bsend, buffer_addr, &n);
    if (!err) *size = uno_fit(n);
    return uno_finish_session(session, __func__, err);
}
