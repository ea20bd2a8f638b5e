// SPDX-License-Identifier: BSD-3-Clause
// Barrier over messages. Called by coll.c and by the intercommunicator forms. n ranks, latency a:
//   dissemination  ceil(log2 n) a   in round k a rank signals the rank 2^k ahead and awaits the one 2^k behind
//   linear         2 a              rank 0 awaits all and signals all, which cost it n messages each
#include "coll/build.h"
#include "coll/choose.h"

static void linear(struct uno_sched *s)
{
    if (s->view.rank) {
        uno_emit_signal(s, 0, -1);
        uno_emit_fence(s);
        uno_emit_signal(s, -1, 0);
        return;
    }
    for (int i = 1; i < s->view.size; i++) uno_emit_signal(s, -1, i);
    uno_emit_fence(s);
    for (int i = 1; i < s->view.size; i++) uno_emit_signal(s, i, -1);
}

void uno_build_barrier(struct uno_sched *s)
{
    int n = s->view.size, me = s->view.rank;
    if (uno_choose_for(s, UNO_BARRIER, 0) == UNO_ALG_LINEAR) {
        linear(s);
        return;
    }
    for (int k = 1; k < n; k *= 2) {
        uno_emit_signal(s, (me + k) % n, (me - k + n) % n);
        uno_emit_fence(s);
    }
}
