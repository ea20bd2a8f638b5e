// SPDX-License-Identifier: BSD-3-Clause
// Doors: how a process on this host is woken (base/job.h holds the words). A sender looks at the mode after each
// message that it has left, and pays nothing more while the receiver is awake: the sleeper makes the order right with a
// membarrier before it sleeps.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/job.h"

void uno_door_ring_slow(struct uno_door *door);

// Wakes the process whose door this is if it sleeps. Call after the store that it should see.
static inline void uno_door_ring(struct uno_door *door)
{
    // Relaxed: ordered after our message by the sleeper's membarrier (uno_door_arm), or seen by its last poll. The
    // compiler keeps that order.
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&door->mode, memory_order_relaxed) != UNO_DOOR_AWAKE, 0))
        uno_door_ring_slow(door);
}

// This process's own door.
int uno_door_open(void) UNO_MUST_USE;    // once, from uno_chan_open_all
uint32_t uno_door_arm(
    enum uno_door_mode mode);    // announces sleep: whatever was sent before is visible after; returns the ticket
void uno_door_sleep(uint32_t ticket);    // futex mode: until rung (returns at once when rung since arm)
void uno_door_disarm(void);
int uno_door_fd(void);        // FD mode: the descriptor that a ring makes readable; -1 with the reason kept
int uno_door_limit(void);     // FD mode: ms that a sleep may last, -1: until rung
void uno_door_drain(void);    // takes the rings off the descriptor
void uno_door_close(void);
