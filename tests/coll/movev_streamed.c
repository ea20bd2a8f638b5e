// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=shm_cma=0 set=coll_force=allgatherv=linear+alltoallv=pairwise+alltoallw=pairwise
// movev.c once more, without permission to copy between processes, by the other algorithms.
#include "movev.c"
