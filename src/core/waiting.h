// SPDX-License-Identifier: BSD-3-Clause
// Who a wait is for, and what a rank tells its board (base/job.h) of it when it sleeps, for mpiexec's deadlock report.
// Called by core/progress.c with the library lock held.
#pragma once

#include <mpi.h>
#include <stdbool.h>

struct uno_patience;
struct uno_waiting;

// Where ranks share processors: a wait begins, and has ended.
void uno_waiting(const struct uno_waiting *what, struct uno_patience *p);
void uno_waited(const struct uno_patience *p);

// The same of a message from or to one rank of this host. False: the request stands for nothing of the kind.
bool uno_waiting_message(MPI_Request r, const struct uno_waiting *what, struct uno_patience *p);
void uno_waited_message(MPI_Request r, const struct uno_patience *p);

void uno_tell_sleeper(void);    // this thread keeps the door
void uno_tell_nap(void);        // something moves
void uno_tell_asleep(const struct uno_waiting *what);
void uno_tell_awake(void);
