// SPDX-License-Identifier: BSD-3-Clause
// Errands: small operations, and accumulates, that an origin leaves for a target on its host whose part it could access
// by calls of the kernel alone (REACH), while the target waits in MPI: who is there anyway does them with loads and
// stores. What the target has not begun soon the origin takes back and does itself, so an operation is complete when it
// returns, and a target that computes is never waited for.
#pragma once
#include "rma/copy.h"

struct uno_errands;    // where those for one process are left, in the heap of its job

// Of this process: where the others leave them, as the rest of its host is told; 0: nowhere. Counted: each open has one
// close, when nobody leaves any more.
int64_t uno_errands_open(void);
void uno_errands_close(void);

// Where to leave those for a process that has told this number; NULL: not to be left.
struct uno_errands *uno_errands_of(int proc, int64_t told);

// An operation on the layout l of its target; compare: of a compare and swap, else NULL. UNO_DECLINED: nothing was
// done.
int uno_errand_run(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l,
                   const void *compare);
