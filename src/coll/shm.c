// SPDX-License-Identifier: BSD-3-Clause
#include "coll/shm.h"
int uno_shm_run(const struct uno_call *c){(void)c;return UNO_SHM_DECLINED;}
void uno_shm_detach(struct MPI_ABI_Comm *comm){(void)comm;}
