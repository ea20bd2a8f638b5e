// SPDX-License-Identifier: BSD-3-Clause
// Collectives inside a node, through a segment of shared memory that the communicator's ranks set up at their first blocking
// collective. Called by coll.c alone.
#pragma once
#include "coll/coll.h"

#define UNO_SHM_DECLINED (-2)        // not done here: every rank of the communicator decided so

int uno_shm_run(const struct uno_call *c);
void uno_shm_detach(struct MPI_ABI_Comm *comm);
