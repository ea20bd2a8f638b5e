// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_force=reduce=copies+allreduce=copies+reduce_scatter=copies+scan=copies
// reduce.c once more, combined out of the ranks' buffers whatever the size.
#include "reduce.c"
