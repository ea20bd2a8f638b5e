// SPDX-License-Identifier: BSD-3-Clause
// run: np=3,4 set=coll_shm=0 set=coll_force=reduce_scatter=direct
// reduce.c once more, over messages, each rank combining its own block.
#include "reduce.c"
