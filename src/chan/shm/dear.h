// SPDX-License-Identifier: BSD-3-Clause
// Whether copies across processes have become dear, so that messages had better go through the ring up to a larger
// size.
//
// A call of the kernel that a program makes between pieces of its own work finds the kernel's code, page tables and
// pages in no cache: a copy of 8 to 32 KiB, 1 us in a loop of nothing but messages, takes 7 to 10 us after 2 MiB of
// other data (Xeon 167), and two copies through the ring 3 to 5. So copies of such a size are timed, and what they took
// in sixteenths of what the costs say is noted by the sender, who decides. Messages that went through the ring since
// are counted, and after so many a few go across again, to see.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "chan/peer_memory.h"

#define SHM_DEAR_FROM (5 * UNO_PEER_MEMORY_USUAL / 2)    // in the mean, which halves or doubles in two to three copies
#define SHM_DEAR_CHEAP (7 * UNO_PEER_MEMORY_USUAL / 4)
#define SHM_DEAR_LOOKS 3          // copies in a row, the first of which brings the kernel's code back
#define SHM_DEAR_REST 16          // messages between two such rows at first, twice as many each time,
#define SHM_DEAR_REST_MOST 256    // and at most

struct shm_dear {
    uint32_t mean;     // of what copies took; 0: none was made
    uint32_t rest;     // messages that go through the ring before copies are looked at again; 0: they are not dear
    uint32_t left;     // of those; 0: copies are being made
    uint32_t looks;    // copies made since
};

static inline bool shm_dear_is(const struct shm_dear *d)
{
    return d->left != 0;
}

static inline void shm_dear_begin(struct shm_dear *d)
{
    d->rest = !d->rest ? SHM_DEAR_REST : 2 * d->rest < SHM_DEAR_REST_MOST ? 2 * d->rest : SHM_DEAR_REST_MOST;
    d->left = d->rest;
    d->looks = 0;
}

// A copy took as many sixteenths of what is usual. One that ends while copies are dear was begun before: it is no news.
static inline void shm_dear_note(struct shm_dear *d, uint32_t took)
{
    if (d->left) return;
    if (d->rest) {
        bool cheap = ++d->looks > 1 && took <= SHM_DEAR_CHEAP;
        if (cheap)
            *d = (struct shm_dear){.mean = took};
        else if (d->looks == SHM_DEAR_LOOKS)
            shm_dear_begin(d);
        return;
    }
    d->mean = d->mean ? (3 * d->mean + took) / 4 : (3 * UNO_PEER_MEMORY_USUAL + took) / 4;
    if (d->mean > SHM_DEAR_FROM) shm_dear_begin(d);
}

// A message went through the ring that would else have been copied across.
static inline void shm_dear_pass(struct shm_dear *d)
{
    if (d->left) d->left--;
}
