// SPDX-License-Identifier: BSD-3-Clause
// Blocks that both sides of a pair write in turns.
//
// A line of the byte ring that the sender writes again is still in the reader's caches: it must leave these first, and
// come again for the next message. Where each side writes what it has just read, a line travels once per message, and
// it is the same few lines that travel (a ping-pong on Zen 4, model of copies alone, one chiplet: 256 B 0.16 to 0.06
// us, 4 KiB 0.59 to 0.23, 16 KiB 0.87 to 0.69; two chiplets: 2 KiB 0.73 to 0.54, 64 KiB 7.1 to 4.7).
//
// A pair has two such blocks, one per direction, and each side begins with its own. A payload that fits goes into the
// block that came last; with the message the block goes, too. Who has none writes into the ring, so a stream that flows
// one way is in the ring but for its first message. The two sides of an exchange use a block each.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of hdr.chan: the payload lies in the block of the direction that it goes, or of the other one.
#define SHM_TURN_OWN 0x40
#define SHM_TURN_OTHER 0x80
#define SHM_TURN (SHM_TURN_OWN | SHM_TURN_OTHER)    // both: in one of two wide blocks for what flows one way (ring.h)
#define SHM_TURN_WIDE 0x20                          // with one of them: it is a wide block
#define SHM_TURN_FROM 129                           // two lines of the ring come as quickly

enum { SHM_OURS, SHM_PEERS };    // the block of our direction, of the peer's

struct shm_turn {
    char *block[2];
    size_t bytes;          // of each; 0: there are none
    bool have[2];          // we have it, and may write
    int last;              // which came last
    int gone;              // which went last
    bool crosses;          // it was not the one that went before: both sides send at once, each before it receives
    uint64_t sent, got;    // bytes that have gone by blocks, in all, wide ones included
};

static inline bool shm_turn_has(const struct shm_turn *t)
{
    return t->have[SHM_OURS] || t->have[SHM_PEERS];
}

// A block for a payload of n bytes, which goes with it: the flag that says so to the receiver. 0: there is none, or the
// payload is none for a block.
static inline uint8_t shm_turn_give(struct shm_turn *t, size_t n, char **block)
{
    if (n < SHM_TURN_FROM || n > t->bytes || !shm_turn_has(t)) return 0;
    int which = t->have[t->last] ? t->last : !t->last;
    t->have[which] = false;
    t->crosses = which != t->gone;
    t->gone = which;
    *block = t->block[which];
    return which == SHM_OURS ? SHM_TURN_OWN : SHM_TURN_OTHER;
}

// Whether messages as long as a block had better go at once. Two that send at once send as much without one, as when
// each sends two messages, while lines cost little (exchange of 128 KiB 16.8 to 12.6 us). If they share their cores
// with others, each writes a block and reads one before the other's turn comes, so there they carry no more than the
// ring (8 ranks, ialltoallv of 128 KiB 480 to 270 us).
static inline bool shm_turn_carries(const struct shm_turn *t, bool light, bool crowded)
{
    return t->crosses ? !crowded && (light || shm_turn_has(t)) : shm_turn_has(t);
}

// Which block the flags of an arrived message mean.
static inline int shm_turn_of(uint8_t flags)
{
    return flags & SHM_TURN_OWN ? SHM_PEERS : SHM_OURS;
}

static inline void shm_turn_take(struct shm_turn *t, int which)
{
    t->have[which] = true;
    t->last = which;
}
