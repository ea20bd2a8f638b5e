// SPDX-License-Identifier: BSD-3-Clause
// run: np=8 set=coll_shm=0 set=coll_force=bcast=scatter+gather=binomial+scatter=binomial+allgather=bruck+alltoall=bruck
// move.c once more, over messages, by trees whatever the size.
#include "move.c"
