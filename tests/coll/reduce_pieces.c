// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=coll_piece=4096
// reduce.c once more, in small pieces.
#include "reduce.c"
