// SPDX-License-Identifier: BSD-3-Clause
// A lock of readers and writers in shared memory, first come first served: nobody overtakes, so nobody starves. A
// waiter leaves its index on the host by its ticket, and whoever lets go rings that door: no spinning among many.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/comm.h"

struct uno_ticket_lock {
    _Atomic uint64_t next;           // ticket of the next one to come
    _Atomic uint64_t read, write;    // tickets that may read, that may write: up to here
};

// Waiters by ticket modulo slots, each index on the host + 1; room for as many as may wait at once.
struct uno_ticket_queue {
    struct uno_ticket_lock *lock;
    _Atomic uint32_t *waiter;
    uint32_t slots;
};

uint64_t uno_ticket_draw(struct uno_ticket_queue q, int local);    // takes a place in the queue for the process `local`
bool uno_ticket_served(struct uno_ticket_queue q, uint64_t ticket, bool exclusive);
void uno_ticket_enter(struct uno_ticket_queue q, uint64_t ticket, bool exclusive);    // once served
void uno_ticket_leave(struct uno_ticket_queue q, bool exclusive);

// Draws, waits, enters. comm and peer (whose lock it is) are for the deadlock report.
void uno_ticket_lock(struct uno_ticket_queue q, bool exclusive, const struct MPI_ABI_Comm *comm, int peer);
