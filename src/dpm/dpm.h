// SPDX-License-Identifier: BSD-3-Clause
// Ports and meetings: how jobs that know nothing of each other come to share an intercommunicator. Called by src/api
// (ports, connect, accept, join) and by spawn, with the library lock held and arguments checked. Results: 0 or an MPI
// error class.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "core/comm.h"

// Opens a port of this process; name: room for MPI_MAX_PORT_NAME characters. Whoever has the name may connect; far:
// from other hosts, too, where parameter port_reach lets them.
int uno_port_open(char *name, bool far) UNO_MUST_USE;

// MPI_ERR_PORT: it is not a port that this process has open. Who waits at it is refused.
int uno_port_close(const char *name) UNO_MUST_USE;

enum uno_meeting_role { UNO_ACCEPT, UNO_CONNECT };

// One side of a meeting, collective over comm.
struct uno_meeting_spec {
    enum uno_meeting_role role;
    struct MPI_ABI_Comm *comm;
    int root;
    const char *port;                   // at the root: the name. The rest of the ranks need none
    const struct MPI_ABI_Info *info;    // at the root: "timeout", seconds; may be NULL
};

// Begins; the request ends when the intercommunicator is there, in *out (MPI_COMM_NULL until then), or with an error
// class: MPI_ERR_PORT when the port is wrong, closed, or nobody answers in time. It can be cancelled (by the root; the
// others follow).
int uno_meeting_start(const struct uno_meeting_spec *spec, MPI_Comm *out, MPI_Request *req) UNO_MUST_USE;

// Of its request, at the root: whether there will be an intercommunicator, whoever dies now.
bool uno_meeting_is_bound(MPI_Request r);

// As uno_meeting_start, waited for.
int uno_meeting_hold(const struct uno_meeting_spec *spec, MPI_Comm *out) UNO_MUST_USE;

// Over a connected stream socket between two processes, each of which calls it.
int uno_meeting_join(int fd, MPI_Comm *out) UNO_MUST_USE;

// When the library closes, or rests between sessions: ports are closed, and can be opened again.
void uno_dpm_close(void);
