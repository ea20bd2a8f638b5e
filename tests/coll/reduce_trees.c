// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_shm=0 set=coll_force=reduce=binomial+allreduce=doubling+reduce_scatter=reduce+scan=doubling
// reduce.c once more, over messages, by trees whatever the size.
#include "reduce.c"
