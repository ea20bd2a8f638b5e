// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: accessors, creation, merging. Entry points of the chapter on contexts.
// Always holds: outputs are written on success only.
#include "api/check.h"
#include "coll/construct.h"
#include "p2p/p2p.h"

static int check_inter(MPI_Comm comm)
{
    int err = uno_check_comm(comm);
    if (err || uno_comm(comm)->inter) return err;
    return uno_fail(MPI_ERR_COMM, "comm is an intracommunicator (an intercommunicator is needed)");
}

int MPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    static const char call[] = "MPI_Comm_remote_size";
    uno_enter(call);
    int err = uno_check_pointer(size, "size");
    if (!err) err = check_inter(comm);
    if (!err) *size = uno_comm(comm)->remote->size;
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    static const char call[] = "MPI_Comm_remote_group";
    uno_enter(call);
    int err = uno_check_pointer(group, "group");
    if (!err) err = check_inter(comm);
    if (!err) {
        uno_group_hold(uno_comm(comm)->remote);
        *group = uno_group_give(uno_comm(comm)->remote);
    }
    return uno_finish_comm(comm, call, err);
}

static int check_leader(const char *name, int leader, int size)
{
    if (leader >= 0 && leader < size) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RANK, "%s %d is not a rank (0 .. %d allowed)", name, leader, size - 1);
}

int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                         MPI_Comm *newintercomm)
{
    static const char call[] = "MPI_Intercomm_create";
    uno_enter(call);
    int err = uno_check_intracomm(local_comm);
    if (!err) err = check_leader("local_leader", local_leader, uno_comm(local_comm)->size);
    if (!err) err = uno_check_tag(tag);
    if (!err) err = uno_check_pointer(newintercomm, "newintercomm");
    bool leader = !err && uno_comm(local_comm)->rank == local_leader;
    if (leader) err = uno_check_comm(peer_comm);
    if (leader && !err) err = check_leader("remote_leader", remote_leader, uno_comm(peer_comm)->npeers);
    struct MPI_ABI_Comm *child;
    if (!err) {
        struct uno_where remote = {
            .comm = leader ? uno_comm(peer_comm) : NULL, .rank = remote_leader, .tag = tag, .coll = true};
        err = uno_intercomm_create(uno_comm(local_comm), local_leader, leader ? &remote : NULL, &child);
    }
    if (!err) *newintercomm = child->handle;
    return uno_finish_comm(local_comm, call, err);
}

int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    static const char call[] = "MPI_Intercomm_merge";
    uno_enter(call);
    int err = uno_check_pointer(newintracomm, "newintracomm");
    if (!err) err = check_inter(intercomm);
    struct MPI_ABI_Comm *child;
    if (!err) err = uno_intercomm_merge(uno_comm(intercomm), high, &child);
    if (!err) *newintracomm = child->handle;
    return uno_finish_comm(intercomm, call, err);
}

int MPI_Comm_get_parent(MPI_Comm *parent)
{
    static const char call[] = "MPI_Comm_get_parent";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(parent, "parent");
    if (!err) *parent = uno_comm_is_live(uno_comm_parent) ? uno_comm_parent->handle : MPI_COMM_NULL;
    return uno_finish_self(call, err);
}
