// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec tells this rank (ft.h): who is dead, as bits in the job segment, and messages. Called by uno_progress
// when the word in the door has changed. Always holds: the word is read before what it announces, so that nothing is
// missed.
#include <errno.h>
#include <stdlib.h>

#include "base/pm.h"
#include "core/world.h"
#include "ft/ft.h"
#include "ft/vote.h"
#include "p2p/fail.h"

static void look_for_dead(void)
{
    _Atomic uint64_t *failed = uno_job_failed(uno_world.job);
    for (size_t w = 0; w < uno_job_words(uno_world.job); w++) {
        // Acquire: pairs with mpiexec's release; what the dead rank stored is there.
        uint64_t bits = atomic_load_explicit(&failed[w], memory_order_acquire);
        for (; bits; bits &= bits - 1) {
            int rank = (int)(w * 64) + __builtin_ctzll(bits);
            if (rank < uno_world.size) uno_peer_fail(rank, UNO_ERR_PROC_FAILED);
        }
    }
}

static void take_message(const struct uno_ballot *b, size_t bytes)
{
    if (b->kind == UNO_BALLOT_DECISION) uno_ft_decided(b, bytes);
    if (b->kind == UNO_BALLOT_REVOKE) uno_ft_revoked(b->context);
}

void uno_ft_look(void)
{
    struct uno_ballot *b;
    size_t bytes;
    if (uno_world.job->survive) look_for_dead();
    while ((b = uno_pm_news(&bytes))) {
        take_message(b, bytes);
        free(b);
    }
}

// A rank that cannot be reached any more is to be dead for all.
static void suspect(int proc)
{
    struct uno_ballot b = {.kind = UNO_BALLOT_SUSPECT, .flag = proc};
    errno = uno_pm_tell(&b, sizeof b);
    if (errno) uno_log(0, "mpiexec does not hear that rank %d cannot be reached", proc);
}

void uno_ft_open(void)
{
    uno_news_taken = uno_ft_look;
    uno_news = &uno_world.door->news;
    if (uno_world.job->survive && uno_pm_there()) uno_suspect = suspect;
}

void uno_ft_close(void)
{
    uno_mixed_close();
}
