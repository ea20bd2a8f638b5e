// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word of shared memory (word.h): looks at it alone for a moment, then waits in uno_wait_on.
#include "core/word.h"

#include "base/patience.h"
#include "core/progress.h"
#include "core/world.h"

#define LOOKS 400    // at the word, before the channels are polled too

struct wanted {
    struct uno_poller poller;
    const _Atomic uint64_t *word;
    uint64_t least;
    bool told;
};

static bool is_there(void *arg)
{
    const struct wanted *w = arg;
    return uno_word_reached(w->word, w->least);
}

// With threads another one may be polling for this one: it hears, once, that the word is there as progress made.
static int poll_wanted(struct uno_poller *self)
{
    struct wanted *w = (struct wanted *)self;
    if (w->told || !is_there(w)) return 0;
    return w->told = true;
}

void uno_word_wait(const _Atomic uint64_t *word, uint64_t least, const struct MPI_ABI_Comm *comm, int peer)
{
    struct uno_patience patience = {0};
    while (patience.looks < LOOKS && uno_patience_spin(&patience))
        if (uno_word_reached(word, least)) return;
    struct uno_waiting what = {.comm = comm, .peer = peer, .tag = MPI_UNDEFINED};
    struct wanted w = {.poller.fn = poll_wanted, .word = word, .least = least};
    if (uno_world.threads) uno_poller_add(&w.poller);
    uno_wait_on(is_there, &w, &what, &patience);
    if (uno_world.threads) uno_poller_remove(&w.poller);
}
