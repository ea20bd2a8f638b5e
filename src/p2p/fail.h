// SPDX-License-Identifier: BSD-3-Clause
// Processes that are gone: what waits for them ends with an error class, and what needs them is refused from then on.
// Called where that is learnt: a notice of mpiexec (ft/), the lost link of a process of another job. The lock is held.
// Why it is so: docs/design/survive.md.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "core/comm.h"

// The process is gone for good. What it has sent completely counts; all else of this process that it takes part in ends
// with `error` (UNO_ERR_PROC_FAILED, or another class), here and on every communicator, and is refused later with the
// same. Not from inside a channel.
void uno_peer_fail(int proc, int error);

// The same from anywhere: when progress is made next.
void uno_peer_fail_later(int proc, int error);

// Set by src/ft in a job that survives: what else is done when a process cannot be reached, apart from failing it.
extern void (*uno_suspect)(int proc);

// The class that it failed with, 0: it is well as far as is known.
int uno_peer_failure(int proc);

// No group names the process of another job any more, and its number may come to mean another.
void uno_peer_forget(int proc);

// How many have failed; the i-th of them, in the order in which this process learnt of them.
int uno_peers_failed(void);
int uno_peer_failed(int i);

// Collective operations on c end, here and from now on; of a revoked communicator all operations do.
void uno_comm_break(struct MPI_ABI_Comm *c, int error);

// part, which the library made inside whole, breaks with that: its members may all be well and yet wait for each other,
// since one of them has left what they do because of a death in whole.
void uno_comm_tie(struct MPI_ABI_Comm *part, struct MPI_ABI_Comm *whole);
void uno_comm_revoke(struct MPI_ABI_Comm *c);
void uno_comm_revoke_later(uint64_t context);    // as soon as there is a communicator of that context here

// Acknowledges the first n failures of c's members, or as many as there are: receives from any source that are pending
// wait on without those.
void uno_comm_acknowledge(struct MPI_ABI_Comm *c, int n);

void uno_failures_close(void);
