// SPDX-License-Identifier: BSD-3-Clause
// Places: which members of a communicator are on one host, so that they may share memory. Inside a job mpiexec has
// said so; processes of different jobs compare their kernels and look whether they can map each other's segments. The
// lock is held.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "core/comm.h"

// host: [size], the number of each member's host; hosts are counted in the order of their first members. The same on
// all members. Collective over c, an intracommunicator. Members on this host can be asked for their door and board
// (chan/proc.h) as long as c lives.
int uno_places(struct MPI_ABI_Comm *c, int *host) UNO_MUST_USE;

// False: the members are on one host for sure.
bool uno_places_differ(const struct MPI_ABI_Comm *c);

// A number of the host by itself that processes of other jobs on it come to as well: not negative.
int uno_place_number(void);

// Whether member r is on this host: what uno_places found, or mpiexec said.
bool uno_place_is_here(const struct MPI_ABI_Comm *c, const int *host, int r);
