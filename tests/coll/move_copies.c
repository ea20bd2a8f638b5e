// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_force=bcast=copies+gather=copies+scatter=copies+allgather=copies+alltoall=copies
// move.c once more, copied between the ranks' buffers whatever the size.
#include "move.c"
