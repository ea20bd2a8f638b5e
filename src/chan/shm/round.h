// SPDX-License-Identifier: BSD-3-Clause
// Where the payloads of a pair lie in its byte ring: in rounds, each from the start of the ring, none across its end.
//
// A line that the reader has in its caches is dear to write, until it has left them: so where that costs more than the
// way through memory (uno_thresholds.grows), a ring that is used much grows, round by round, until it is
// twice the reader's second-level cache. The sender decides, and says so by SHM_GROWS with the first message of a
// round.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_GROWS 0x20    // of hdr.chan, beside the logarithm of a piece
#define SHM_GROWS_AFTER 8
#define SHM_GROWS_BY (256 * 1024)

struct shm_round {
    uint64_t from;     // position of its first byte: positions count all bytes ever
    uint32_t bytes;    // of the ring
    uint32_t room;     // of the ring in the round before, which may still be read
    uint32_t most;     // that the ring may grow to
    uint32_t round;
};

static inline void shm_round_first(struct shm_round *r, uint32_t bytes, uint32_t most)
{
    *r = (struct shm_round){.bytes = bytes, .room = bytes, .most = most};
}

// Whether a payload of n bytes needs another round. at: where the one before ended.
static inline bool shm_round_ends(const struct shm_round *r, uint64_t at, size_t n)
{
    return at - r->from + n > r->bytes;
}

static inline bool shm_round_may_grow(const struct shm_round *r)
{
    return r->round >= SHM_GROWS_AFTER && r->most - r->bytes >= SHM_GROWS_BY;
}

static inline void shm_round_next(struct shm_round *r, bool grows)
{
    r->from += r->bytes;
    r->room = r->bytes;
    if (grows) r->bytes += SHM_GROWS_BY;
    r->round++;
}

static inline size_t shm_round_place(const struct shm_round *r, uint64_t at)
{
    return (size_t)(at - r->from);
}
