// SPDX-License-Identifier: BSD-3-Clause
// A lock in shared memory with two rooms: who is in one keeps everybody out of the other. Readers and writers of a part
// are the two rooms of its lock, with place for one writer; those who lock all parts and those who write to any are the
// two rooms of the window's. First come, first served: who finds somebody waiting draws a ticket and waits behind; but
// while the first one is still being woken, a few may go before it, since the lock would lie idle for a context switch:
// such as have had no more turns than it, so that in the end all have had as many. A waiter leaves its rank by its
// ticket, and whoever lets go rings that door: no spinning among many. Who holds another lock goes before those who
// draw tickets, since they may wait for it: it is counted, and nobody else enters until it has.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/comm.h"

enum uno_room { UNO_ROOM_SHARED, UNO_ROOM_EXCLUSIVE };

struct uno_door;

struct uno_ticket_lock {
    _Atomic uint64_t inside;     // how many are in the shared room (low half) and in the exclusive one (high half)
    _Atomic uint64_t next;       // ticket of the next one to wait
    _Atomic uint64_t serving;    // ticket of the first one that waits; next: nobody does
    _Atomic uint64_t looking;    // the same, plus 1, once that one is awake and looks
    _Atomic uint32_t passed;     // how many have gone before it while it was not
    _Atomic uint32_t holders;    // how many wait that hold another lock
};

// Waiters by ticket modulo slots, each rank + 1, in the high half its turns; room for as many as may wait at once.
struct uno_ticket_queue {
    struct uno_ticket_lock *lock;
    _Atomic uint64_t *waiter;
    struct uno_door *const *door;    // by rank
    uint32_t slots, me;              // own rank
    bool many;                       // the exclusive room has place for many
};

// One that wants to enter. Queue, room and `ahead` are the caller's, the rest is 0 at first.
struct uno_ticket_wait {
    struct uno_ticket_queue queue;
    enum uno_room room;
    bool ahead;         // holds another lock; only where its room has place for many
    uint32_t *turns;    // that it has had, counted here; NULL: it never goes before others else
    bool drawn, counted, entered;
    uint64_t ticket;
};

// Whether one more may enter now, whoever waits.
static inline bool uno_ticket_has_place(uint64_t inside, enum uno_room room, bool many)
{
    uint32_t readers = (uint32_t)inside, writers = (uint32_t)(inside >> 32);
    return room == UNO_ROOM_SHARED ? writers == 0 : readers == 0 && (many || writers == 0);
}

static inline uint64_t uno_ticket_one(enum uno_room room)
{
    return room == UNO_ROOM_EXCLUSIVE ? (uint64_t)1 << 32 : 1;
}

// Enters if there is place.
static inline bool uno_ticket_go_in(struct uno_ticket_lock *l, enum uno_room room, bool many)
{
    uint64_t inside = atomic_load_explicit(&l->inside, memory_order_relaxed);
    while (uno_ticket_has_place(inside, room, many))
        // Acquire: pairs with the release in uno_ticket_let_go: what was done under the lock is there.
        if (atomic_compare_exchange_weak_explicit(&l->inside, &inside, inside + uno_ticket_one(room),
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

static inline bool uno_ticket_waits(const struct uno_ticket_lock *l)
{
    // Relaxed: who comes meanwhile is overtaken, or wakes nobody: it looks itself.
    return atomic_load_explicit(&l->serving, memory_order_relaxed) !=
               atomic_load_explicit(&l->next, memory_order_relaxed) ||
           atomic_load_explicit(&l->holders, memory_order_relaxed);
}

// Enters, or takes a place in the queue. True once it is inside; else to be asked again when this process is rung.
bool uno_ticket_come(struct uno_ticket_wait *w);
void uno_ticket_wake(struct uno_ticket_queue q);    // whose turn it is, if it sleeps

// Leaves; whether there is somebody to wake.
static inline bool uno_ticket_let_go(struct uno_ticket_lock *l, enum uno_room room)
{
    // Release: pairs with the acquire in uno_ticket_go_in: what was done under the lock is there. Acquire: pairs with
    // the release here of those who left before: the next ticket that they have left is the one that is rung for.
    uint64_t was = atomic_fetch_sub_explicit(&l->inside, uno_ticket_one(room), memory_order_acq_rel);
    atomic_signal_fence(memory_order_seq_cst);    // who sleeps has seen to the rest by its membarrier (chan/door.h)
    return was == uno_ticket_one(room) && uno_ticket_waits(l);
}

static inline void uno_ticket_leave(struct uno_ticket_queue q, enum uno_room room)
{
    if (uno_ticket_let_go(q.lock, room)) uno_ticket_wake(q);
}

// Comes until it is inside. comm and peer (whose lock it is) are for the deadlock report.
// Returns early, without the lock, when comm is broken: the caller asks (uno_win_refusal).
void uno_ticket_lock(struct uno_ticket_wait w, const struct MPI_ABI_Comm *comm, int peer);
