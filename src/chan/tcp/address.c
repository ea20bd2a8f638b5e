// SPDX-License-Identifier: BSD-3-Clause
// Where this rank and other ranks are reached. Ranks of the host find it in the boards of the job segment, ranks of
// other hosts ask the process manager. Called when the channel opens and before each dial.
#include <errno.h>
#include <mpi.h>
#include <string.h>

#include "base/fail.h"
#include "base/pm.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/tcp/tcp.h"

#define KEY "tcp"    // of the card, with the launcher

_Static_assert(sizeof(struct uno_net) <= UNO_CARD_BYTES, "a card fits the board");

int tcp_publish(const struct uno_net *card)
{
    struct uno_board *b = uno_chan_self.board;
    memcpy(b->card, card, sizeof *card);
    // Release: pairs with the acquire in tcp_find_card.
    atomic_store_explicit(&b->card_bytes, (uint32_t)sizeof *card, memory_order_release);
    if (uno_chan_self.job->nhosts < 2) return MPI_SUCCESS;
    int e = uno_pm_put(KEY, card, sizeof *card);
    if (e == 0) return MPI_SUCCESS;
    errno = e;
    return uno_fail_errno(MPI_ERR_OTHER, "tell the launcher how this rank is reached");
}

// Of a rank on another host: waits until that has opened its channel, which it does when it initialises MPI.
static bool ask_launcher(int proc, struct uno_net *card)
{
    size_t bytes = sizeof *card;
    int e = uno_pm_get(proc, KEY, card, &bytes);
    if (e) uno_log(1, "the launcher does not tell how rank %d is reached: %s", proc, strerror(e));
    return e == 0 && bytes == sizeof *card && card->count > 0 && card->count <= UNO_ADDRESSES;
}

bool tcp_find_card(int proc, struct uno_net *card)
{
    int local = uno_local_of(proc);
    if (uno_proc_is_guest(proc)) {
        memcpy(card, uno_proc_of(proc)->card.net, sizeof *card);
        return card->count > 0 && card->count <= UNO_ADDRESSES;
    }
    if (local < 0) return ask_launcher(proc, card);
    struct uno_board *b = uno_job_board(uno_chan_self.job, (uint32_t)local);
    // Acquire: pairs with the release in tcp_publish.
    if (atomic_load_explicit(&b->card_bytes, memory_order_acquire) != sizeof *card) return false;
    memcpy(card, b->card, sizeof *card);
    return card->count > 0 && card->count <= UNO_ADDRESSES;
}
