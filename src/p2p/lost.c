// SPDX-License-Identifier: BSD-3-Clause
// A link that is gone for good: the end of the job if it led to a process of it, else an error on the communicators
// with that process. Called by the channels.
#include <stdio.h>

#include "chan/chan.h"
#include "chan/proc.h"
#include "core/world.h"
#include "p2p/fail.h"
#include "p2p/peer.h"

// Nobody names the process any more, and its links are on their way out: that it ends is nobody's business, and soon
// its number may mean another.
static bool is_let_go(const struct uno_proc *guest)
{
    return guest->left && !guest->peer;
}

void uno_link_lost(struct uno_link *link, const char *why)
{
    char text[256];
    if (uno_proc_is_guest(link->proc)) {
        if (is_let_go(uno_proc_of(link->proc))) return;
        uno_log(1, "rank %d of another job is lost: %s", uno_proc_rank(link->proc), why);
        uno_peer_fail_later(link->proc, UNO_ERR_PROC_FAILED);
        return;
    }
    if (uno_suspect) {
        uno_log(0, "the connection to rank %d is lost: %s", link->proc, why);
        uno_suspect(link->proc);
        uno_peer_fail_later(link->proc, UNO_ERR_PROC_FAILED);
        return;
    }
    snprintf(text, sizeof text, "the connection to rank %d is lost: %s", link->proc, why);
    uno_world_abort(MPI_ERR_PROC_ABORTED, text);
}
