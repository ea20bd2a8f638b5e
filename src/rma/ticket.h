// SPDX-License-Identifier: BSD-3-Clause
// A lock in shared memory with two rooms: who is in one keeps everybody out of the other. Readers and writers of a part
// are the two rooms of its lock, with place for one writer; those who lock all parts and those who write to any are the
// two rooms of the window's. First come, first served: who finds somebody waiting draws a ticket and waits behind. A
// waiter leaves its index on the host by its ticket, and whoever lets go rings that door: no spinning among many.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/comm.h"

enum uno_room { UNO_ROOM_SHARED, UNO_ROOM_EXCLUSIVE };

struct uno_ticket_lock {
    _Atomic uint64_t inside;     // how many are in the shared room (low half) and in the exclusive one (high half)
    _Atomic uint64_t next;       // ticket of the next one to wait
    _Atomic uint64_t serving;    // ticket of the first one that waits; next: nobody does
};

// Waiters by ticket modulo slots, each index on the host + 1; room for as many as may wait at once.
struct uno_ticket_queue {
    struct uno_ticket_lock *lock;
    _Atomic uint32_t *waiter;
    uint32_t slots;
    bool many;    // the exclusive room has place for many
};

// One that wants to enter. Queue, room and `ahead` are the caller's, the rest is 0 at first.
struct uno_ticket_wait {
    struct uno_ticket_queue queue;
    enum uno_room room;
    bool ahead;    // goes before those who wait: it holds what they wait for
    bool drawn, entered;
    uint64_t ticket;
};

// Enters, or takes a place in the queue. True once it is inside; else to be asked again when this process is rung.
bool uno_ticket_come(struct uno_ticket_wait *w);
void uno_ticket_leave(struct uno_ticket_queue q, enum uno_room room);

// Comes until it is inside. comm and peer (whose lock it is) are for the deadlock report.
void uno_ticket_lock(struct uno_ticket_wait w, const struct MPI_ABI_Comm *comm, int peer);
