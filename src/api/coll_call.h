// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of the collectives share: from raw arguments to a checked, resolved struct uno_call that runs.
#pragma once
#include "api/check.h"
#include "coll/coll.h"

// A communicator of one rank that works, as MPI_COMM_SELF does.
static inline bool uno_is_alone(MPI_Comm comm)
{
    const struct MPI_ABI_Comm *c = uno_comm(comm);
    return uno_comm_is_live(c) && uno_comm_is_lone(c) && !c->broken && uno_is_running();
}

// An argument array of int, or of MPI_Count or MPI_Aint, which both have 64 bits.
#define UNO_VECTOR(array) ((struct uno_vector){(array), sizeof *(array) == sizeof(MPI_Count)})

// c holds handles as the user gave them; these resolve and check them, run, and raise the error handler.
int uno_call_run(const char *name, struct uno_call *c);
int uno_call_start(const char *name, struct uno_call *c, MPI_Request *request);
int uno_call_persist(const char *name, struct uno_call *c, MPI_Info info, MPI_Request *request);

// coll_check.c: the checks of one call; handles are resolved already where they are live.
int uno_check_call(const struct uno_call *c);
