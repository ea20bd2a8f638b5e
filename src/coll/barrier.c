// SPDX-License-Identifier: BSD-3-Clause
// Barrier over messages: dissemination. In round k a rank signals the rank 2^k ahead and awaits the one 2^k behind.
// Cost: ceil(log2 n) latencies. Called by coll.c and by the intercommunicator forms.
#include "coll/build.h"

void uno_build_barrier(struct uno_sched *s)
{
    int n = s->view.size, me = s->view.rank;
    for (int k = 1; k < n; k *= 2) {
        uno_emit_signal(s, (me + k) % n, (me - k + n) % n);
        uno_emit_fence(s);
    }
}
