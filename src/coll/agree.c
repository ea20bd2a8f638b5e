// SPDX-License-Identifier: BSD-3-Clause
#include "coll/agree.h"
int uno_agree(const struct uno_call *c){(void)c;return 0;}
