// SPDX-License-Identifier: BSD-3-Clause
// Spawning: mpiexec starts a further job on request, whose processes then connect to a port of the root of those that
// asked (dpm.h). Called by src/api with the library lock held and arguments checked. Results: 0 or an MPI error class.
#pragma once
#include <mpi.h>

#include "base/fail.h"
#include "core/comm.h"

struct uno_spawn_command {
    const char *command;
    char **argv;    // NULL none, else ended by NULL
    int maxprocs;
    const struct MPI_ABI_Info *info;    // may be NULL
};

// Collective over comm. What follows root matters there alone.
struct uno_spawn_spec {
    struct MPI_ABI_Comm *comm;
    int root;
    int count;
    const struct uno_spawn_command *command;    // [count]
    int wrong;    // error class of what the root's arguments lack, with the reason kept; the others are told
};

// *out on success. errcodes: one for each process asked for, also where the call fails; NULL: not wanted.
int uno_dpm_spawn(const struct uno_spawn_spec *spec, MPI_Comm *out, int *errcodes) UNO_MUST_USE;

// Called by MPI_Init: a spawned process connects to its parents, and uno_comm_parent is set.
int uno_dpm_meet_parents(void) UNO_MUST_USE;
