// SPDX-License-Identifier: BSD-3-Clause
// Jobs that meet: ports, connect, accept, join, and their nonblocking forms, which are extensions (include/mpi_ext.h).
// Entry points of the chapter on dynamic processes. The work is in src/dpm.
#include <mpi_ext.h>

#include "api/check.h"
#include "core/info.h"
#include "dpm/dpm.h"

int MPI_Open_port(MPI_Info info, char *port_name)
{
    static const char call[] = "MPI_Open_port";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(port_name, "port_name");
    if (!err) err = uno_port_open(port_name, true);
    return uno_finish_self(call, err);
}

int MPI_Close_port(const char *port_name)
{
    static const char call[] = "MPI_Close_port";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(port_name, "port_name");
    if (!err) err = uno_port_close(port_name);
    return uno_finish_self(call, err);
}

// Of the arguments only those that matter at this rank.
static int check_meeting(struct uno_meeting_spec *spec, const char *port_name, MPI_Info info, MPI_Comm comm)
{
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_root(uno_comm(comm), spec->root);
    if (err) return err;
    spec->comm = uno_comm(comm);
    if (spec->comm->rank != spec->root) return MPI_SUCCESS;
    spec->port = port_name;
    err = uno_check_pointer(port_name, "port_name");
    if (!err) err = uno_check_info(info);
    if (!err) spec->info = uno_info(info);
    return err;
}

static int meet_now(const char *call, struct uno_meeting_spec spec, const char *port_name, MPI_Info info, MPI_Comm comm,
                    MPI_Comm *newcomm)
{
    uno_enter(call);
    int err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = check_meeting(&spec, port_name, info, comm);
    MPI_Comm made;
    if (!err) err = uno_meeting_hold(&spec, &made);
    if (!err) *newcomm = made;
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_accept(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm)
{
    struct uno_meeting_spec spec = {.role = UNO_ACCEPT, .root = root};
    return meet_now("MPI_Comm_accept", spec, port_name, info, comm, newcomm);
}

int MPI_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm)
{
    struct uno_meeting_spec spec = {.role = UNO_CONNECT, .root = root};
    return meet_now("MPI_Comm_connect", spec, port_name, info, comm, newcomm);
}

static int meet_later(const char *call, struct uno_meeting_spec *spec, MPI_Comm comm, MPI_Comm *newcomm,
                      MPI_Request *request)
{
    int err = uno_check_pointer(newcomm, "newcomm");
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = uno_meeting_start(spec, newcomm, request);
    return uno_finish_comm(comm, call, err);
}

int MPIX_Comm_iaccept(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm,
                      MPI_Request *request)
{
    static const char call[] = "MPIX_Comm_iaccept";
    struct uno_meeting_spec spec = {.role = UNO_ACCEPT, .root = root};
    uno_enter(call);
    int err = check_meeting(&spec, port_name, info, comm);
    return err ? uno_finish_comm(comm, call, err) : meet_later(call, &spec, comm, newcomm, request);
}

int MPIX_Comm_iconnect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm,
                       MPI_Request *request)
{
    static const char call[] = "MPIX_Comm_iconnect";
    struct uno_meeting_spec spec = {.role = UNO_CONNECT, .root = root};
    uno_enter(call);
    int err = check_meeting(&spec, port_name, info, comm);
    return err ? uno_finish_comm(comm, call, err) : meet_later(call, &spec, comm, newcomm, request);
}

int MPI_Comm_join(int fd, MPI_Comm *intercomm)
{
    static const char call[] = "MPI_Comm_join";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(intercomm, "intercomm");
    MPI_Comm made;
    if (!err) err = uno_meeting_join(fd, &made);
    if (!err) *intercomm = made;
    return uno_finish_self(call, err);
}
