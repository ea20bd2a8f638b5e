// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=shm_cma=0 set=coll_split=0
// reduce.c once more, without permission to copy between processes, all small allreduces shared out.
#include "reduce.c"
