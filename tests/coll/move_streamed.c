// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 set=shm_cma=0
// move.c once more, without permission to copy between processes.
#include "move.c"
