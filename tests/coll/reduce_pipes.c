// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_shm=0 set=coll_force=reduce=ring+allreduce=ring+reduce_scatter=ring+scan=chain
// reduce.c once more, over messages, by rings and chains whatever the size.
#include "reduce.c"
