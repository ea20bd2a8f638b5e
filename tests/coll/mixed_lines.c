// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,5,9,70 timeout=120 set=coll_flat=1
// mixed.c once more, what fits a line over the tree that many ranks use.
#include "mixed.c"
