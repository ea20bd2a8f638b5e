// SPDX-License-Identifier: BSD-3-Clause
// Barriers through shared words (meet.h). Each member counts itself in; the last one of a turn raises the turn and
// rings those that sleep. Two members look at each other. Both words only grow. Made for windows and files.
#include "p2p/meet.h"

#include "chan/door.h"
#include "chan/proc.h"
#include "core/word.h"

struct meet_words {
    _Atomic uint64_t arrived;    // arrivals of all turns; of two members those of the first
    char pad[UNO_LINE - sizeof(uint64_t)];
    _Atomic uint64_t turn;    // complete; of two members arrivals of the second
};

size_t uno_meet_bytes(void)
{
    return sizeof(struct meet_words);
}

void uno_meet_make_in(struct MPI_ABI_Comm *c, void *words, struct uno_meet *meet)
{
    uno_comm_hold(c);
    *meet = (struct uno_meet){.team = uno_team_all(c, 0), .words = words};
}

int uno_meet_make(struct MPI_ABI_Comm *c, struct uno_meet *meet)
{
    struct uno_share share = {0};
    bool shared = c->size > 1 && uno_share_possible(c, true);
    int err = shared ? uno_share_make(c, sizeof(struct meet_words), &share) : MPI_SUCCESS;
    if (err) return err;
    uno_meet_make_in(c, share.base, meet);
    meet->share = share;
    return MPI_SUCCESS;
}

static void ring_others(const struct uno_meet *m)
{
    for (int r = 0; r < m->team.n; r++)
        if (r != m->team.me) uno_door_ring(uno_proc_door(uno_comm_proc(m->team.comm, r)));
}

static int failed(int err)
{
    return err ? uno_fail(err, "a process that takes part has failed") : MPI_SUCCESS;
}

static int wait_word(const struct uno_meet *m, const _Atomic uint64_t *word, uint64_t turn)
{
    return failed(uno_word_wait(word, turn, m->team.comm, MPI_UNDEFINED, false));
}

// Two members look at each other's word: one way between the cores instead of two.
static int meet_other(struct uno_meet *m, uint64_t turn)
{
    _Atomic uint64_t *word[2] = {&m->words->arrived, &m->words->turn};
    // Release: pairs with the acquire in uno_word_reached of the other one. An addition, since a plain store arrives
    // later (rma/win.c).
    atomic_fetch_add_explicit(word[m->team.me], 1, memory_order_release);
    ring_others(m);
    return wait_word(m, word[1 - m->team.me], turn);
}

int uno_meet(struct uno_meet *m)
{
    if (!m->words) return uno_team_barrier(&m->team);
    // Who knows of a failure does not arrive: it would be taken for the one that failed by those who do not know yet.
    if (m->team.comm->broken) return failed(m->team.comm->broken);
    if (m->team.n == 2) return meet_other(m, ++m->turn);
    uint64_t turn = ++m->turn, all = turn * (uint64_t)m->team.n;
    // Acq_rel: pairs with itself: the last one has seen what all others wrote before they came.
    if (atomic_fetch_add_explicit(&m->words->arrived, 1, memory_order_acq_rel) + 1 == all) {
        // Release: pairs with the acquire in uno_word_reached.
        atomic_store_explicit(&m->words->turn, turn, memory_order_release);
        ring_others(m);
        return MPI_SUCCESS;
    }
    return wait_word(m, &m->words->turn, turn);
}

void uno_meet_drop(struct uno_meet *m)
{
    uno_share_drop(&m->share);
    uno_comm_drop(m->team.comm);
}
