// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word of shared memory that another process of the host raises. The process that raises it rings the
// waiter's door (chan/door.h) afterwards. Called by src/p2p and the collectives, with the library lock held.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define UNO_WORD_LOOKS 400    // at the word, before the channels are polled too

struct MPI_ABI_Comm;

static inline bool uno_word_reached(const _Atomic uint64_t *word, uint64_t least)
{
    // Acquire: pairs with the release by the process that raised the word; what it announces is there.
    return atomic_load_explicit(word, memory_order_acquire) >= least;
}

// Waits until the word is `least` or more, or comm is broken: then the class. Other operations make progress meanwhile,
// and the rank sleeps until rung.
// comm and peer (a rank of it, or MPI_UNDEFINED) say in a deadlock report what it waits for; looks: whether that is
// looked for where ranks share processors (base/cosched.h).
int uno_word_wait(const _Atomic uint64_t *word, uint64_t least, const struct MPI_ABI_Comm *comm, int peer, bool looks);

// The same for a question about several words: until is_there(arg), which stays true once it was. It is asked with the
// lock held, by another thread of this process too, and must not block.
int uno_word_wait_for(bool (*is_there)(void *arg), void *arg, const struct MPI_ABI_Comm *comm, int peer);
