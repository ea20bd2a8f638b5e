// SPDX-License-Identifier: BSD-3-Clause
// run: np=3,5 set=coll_shm=0 set=coll_force=bcast=linear+allgather=linear+alltoall=linear
// move.c once more, over messages, by plain loops whatever the size.
#include "move.c"
