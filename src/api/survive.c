// SPDX-License-Identifier: BSD-3-Clause
// Process failure: the functions of the forum's User Level Failure Mitigation, an extension documented in
// include/mpi_ext.h. The work is in src/ft and src/p2p/fail.c.
// Always holds: the calls work on a communicator that is revoked or has lost members, as they must.
#include <mpi_ext.h>
#include <stdlib.h>

#include "api/check.h"
#include "ft/ft.h"
#include "p2p/fail.h"
#include "p2p/p2p.h"

static int enter(MPI_Comm comm, const char *call)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (err) return err;
    uno_ft_look();
    uno_guests_look();    // whoever asks over and over may still owe the others a message
    return MPI_SUCCESS;
}

int MPIX_Comm_revoke(MPI_Comm comm)
{
    int err = enter(comm, "MPIX_Comm_revoke");
    if (!err) err = uno_ft_revoke(uno_comm(comm));
    return uno_finish_comm(comm, "MPIX_Comm_revoke", err);
}

int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag)
{
    int err = enter(comm, "MPIX_Comm_is_revoked");
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) *flag = uno_comm(comm)->revoked;
    return uno_finish_comm(comm, "MPIX_Comm_is_revoked", err);
}

// A group of the first n failures that are known.
static int give_failed(const struct MPI_ABI_Comm *c, int n, MPI_Group *group)
{
    int *proc = malloc((size_t)(c->failed + 1) * sizeof *proc);
    if (!proc) return uno_fail(MPI_ERR_NO_MEM, "no memory for a group of %d processes", c->failed);
    struct MPI_ABI_Group *g = uno_group_make(uno_ft_failed(c, n < c->failed ? n : c->failed, proc), proc);
    free(proc);
    if (!g) return uno_fail(MPI_ERR_NO_MEM, "no memory for a group");
    *group = uno_group_give(g);
    return MPI_SUCCESS;
}

int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed)
{
    int err = enter(comm, "MPIX_Comm_get_failed");
    if (!err) err = uno_check_pointer(failed, "failed");
    if (!err) err = give_failed(uno_comm(comm), uno_comm(comm)->failed, failed);
    return uno_finish_comm(comm, "MPIX_Comm_get_failed", err);
}

int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked)
{
    int err = enter(comm, "MPIX_Comm_ack_failed");
    if (!err) err = uno_check_pointer(num_acked, "num_acked");
    if (!err) {
        uno_comm_acknowledge(uno_comm(comm), num_to_ack);
        *num_acked = uno_comm(comm)->acknowledged;
    }
    return uno_finish_comm(comm, "MPIX_Comm_ack_failed", err);
}

int MPIX_Comm_failure_ack(MPI_Comm comm)
{
    int err = enter(comm, "MPIX_Comm_failure_ack");
    if (!err) uno_comm_acknowledge(uno_comm(comm), uno_comm(comm)->failed);
    return uno_finish_comm(comm, "MPIX_Comm_failure_ack", err);
}

int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed)
{
    int err = enter(comm, "MPIX_Comm_failure_get_acked");
    if (!err) err = uno_check_pointer(failed, "failed");
    if (!err) err = give_failed(uno_comm(comm), uno_comm(comm)->acknowledged, failed);
    return uno_finish_comm(comm, "MPIX_Comm_failure_get_acked", err);
}

static int start_agree(MPI_Comm comm, const char *call, int *flag, MPI_Request *req)
{
    int err = enter(comm, call);
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) err = uno_check_pointer(req, "request");
    return err ? err : uno_ft_agree(uno_comm(comm), flag, req);
}

int MPIX_Comm_agree(MPI_Comm comm, int *flag)
{
    MPI_Request req;
    int err = start_agree(comm, "MPIX_Comm_agree", flag, &req);
    if (!err) err = uno_wait(&req, MPI_STATUS_IGNORE);
    return uno_finish_comm(comm, "MPIX_Comm_agree", err);
}

int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request)
{
    int err = start_agree(comm, "MPIX_Comm_iagree", flag, request);
    return uno_finish_comm(comm, "MPIX_Comm_iagree", err);
}

static int start_shrink(MPI_Comm comm, const char *call, MPI_Comm *newcomm, MPI_Request *req)
{
    int err = enter(comm, call);
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = uno_check_pointer(req, "request");
    return err ? err : uno_ft_shrink(uno_comm(comm), newcomm, req);
}

int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm)
{
    MPI_Request req;
    int err = start_shrink(comm, "MPIX_Comm_shrink", newcomm, &req);
    if (!err) err = uno_wait(&req, MPI_STATUS_IGNORE);
    return uno_finish_comm(comm, "MPIX_Comm_shrink", err);
}

int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    int err = start_shrink(comm, "MPIX_Comm_ishrink", newcomm, request);
    return uno_finish_comm(comm, "MPIX_Comm_ishrink", err);
}
