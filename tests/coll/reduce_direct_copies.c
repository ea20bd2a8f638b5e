// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_direct_min=1
// reduce.c once more, nonblocking and persistent forms copying straight between buffers at any size.
#include "reduce.c"
