// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5,10 set=coll_flat=1
// move.c once more, what fits a line over the tree that many ranks use.
#include "move.c"
