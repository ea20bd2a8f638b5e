// SPDX-License-Identifier: BSD-3-Clause
// What a deadlock report tells of locks: what this process holds while it sleeps. Called by core/progress.c, which does
// not know windows, each time that it is about to sleep.
#include "base/job.h"
#include "chan/proc.h"
#include "rma/rma.h"

#include <string.h>

// World rank + 1 of a part that is locked one by one, 0: none.
static int locked_one(const struct MPI_ABI_Win *w, bool *exclusive)
{
    for (int r = 0; w->locks && r < w->ranks; r++) {
        if (w->part[r].held != UNO_RMA_SHARED && w->part[r].held != UNO_RMA_EXCLUSIVE) continue;
        *exclusive = w->part[r].held == UNO_RMA_EXCLUSIVE;
        int proc = uno_comm_proc(w->comm, r);
        return uno_proc_is_guest(proc) ? 0 : proc + 1;
    }
    return 0;
}

void uno_win_tell_held(struct uno_board *b)
{
    b->holds = 0;
    for (const struct MPI_ABI_Win *w = uno_win_first(); w && !b->holds; w = w->next) {
        bool exclusive = false;
        b->holds = w->all_locked && !w->all_unchecked ? UNO_HOLDS_ALL : locked_one(w, &exclusive);
        b->holds_alone = exclusive;
        if (b->holds) memcpy(b->held_on, w->comm->name, sizeof b->held_on - 1);
    }
}
