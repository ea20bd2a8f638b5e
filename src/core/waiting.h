// SPDX-License-Identifier: BSD-3-Clause
// Who a wait is for, and what a rank tells its board (base/job.h) of it when it sleeps, for mpiexec's deadlock report.
// Called by core/progress.c with the library lock held.
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "core/world.h"

struct uno_patience;
struct uno_waiting;

// Where ranks share processors: a wait begins, and has ended.
void uno_waiting(const struct uno_waiting *what, struct uno_patience *p);
void uno_waited(const struct uno_patience *p);

// A look in vain is about to be repeated, for so many ticks at least.
uint64_t uno_waiting_looks(const struct uno_waiting *what, struct uno_patience *p);

// The same of a message from or to one rank of this host. False: the request stands for nothing of the kind.
bool uno_waiting_message(MPI_Request r, const struct uno_waiting *what, struct uno_patience *p);
void uno_waited_message(MPI_Request r, const struct uno_patience *p);

void uno_tell_sleeper(void);    // this thread keeps the door
void uno_tell_nap(void);        // something moves
void uno_tell_asleep(const struct uno_waiting *what);
void uno_tell_awake(void);

// Others who begin something with this rank like to know whether it is there to help: 0 or enum uno_door_waits.
static inline void uno_tell_wait(uint32_t waits)
{
    // Relaxed: a hint, for uno_patience_is_there() and the errands of windows (rma/errand.c).
    atomic_store_explicit(&uno_world.door->waits, waits, memory_order_relaxed);
}
