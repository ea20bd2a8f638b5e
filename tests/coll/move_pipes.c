// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,8 set=coll_shm=0 set=coll_force=bcast=chain+allgather=ring+alltoall=pairwise
// move.c once more, over messages, by chains and rings whatever the size.
#include "move.c"
