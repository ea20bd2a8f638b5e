// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word of shared memory (word.h): looks at it alone for a moment, then waits in uno_wait_on.
#include "core/word.h"

#include "base/patience.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/world.h"

struct wanted {
    struct uno_poller poller;
    bool (*is_there)(void *arg);
    void *arg;
    const struct MPI_ABI_Comm *comm;
    bool told;
};

static bool is_over(void *arg)
{
    const struct wanted *w = arg;
    return w->is_there(w->arg) || w->comm->broken;
}

// With threads another one may be polling for this one: it hears, once, that the word is there as progress made.
static int poll_wanted(struct uno_poller *self)
{
    struct wanted *w = (struct wanted *)self;
    if (w->told || !is_over(w)) return 0;
    return w->told = true;
}

static int wait_on(struct wanted *w, struct uno_patience *patience, const struct uno_waiting *what)
{
    w->poller.fn = poll_wanted;
    w->poller.waited = true;
    w->comm = what->comm;
    if (uno_world.threads) uno_poller_add(&w->poller);
    uno_wait_on(is_over, w, what, patience);
    if (uno_world.threads) uno_poller_remove(&w->poller);
    return w->is_there(w->arg) ? MPI_SUCCESS : what->comm->broken;
}

int uno_word_wait_for(bool (*is_there)(void *arg), void *arg, const struct MPI_ABI_Comm *comm, int peer)
{
    struct uno_patience patience = {0};
    while (patience.looks < UNO_WORD_LOOKS && uno_patience_spin(&patience))
        if (is_there(arg)) return MPI_SUCCESS;
    struct uno_waiting what = {comm, peer, MPI_UNDEFINED, false};
    return wait_on(&(struct wanted){.is_there = is_there, .arg = arg}, &patience, &what);
}

struct at_least {
    const _Atomic uint64_t *word;
    uint64_t least;
};

static bool is_reached(void *arg)
{
    const struct at_least *a = arg;
    return uno_word_reached(a->word, a->least);
}

int uno_word_wait(const _Atomic uint64_t *word, uint64_t least, const struct MPI_ABI_Comm *comm, int peer, bool looks)
{
    struct uno_patience patience = {0};
    while (patience.looks < UNO_WORD_LOOKS && uno_patience_spin(&patience))
        if (uno_word_reached(word, least)) return MPI_SUCCESS;
    struct at_least a = {word, least};
    struct uno_waiting what = {comm, peer, MPI_UNDEFINED, looks};
    return wait_on(&(struct wanted){.is_there = is_reached, .arg = &a}, &patience, &what);
}
