// SPDX-License-Identifier: BSD-3-Clause
// Fair locks of readers and writers (ticket.h). A reader that enters lets the next reader in; a writer that leaves lets
// both in. Called by passive.c and, for origins on other hosts, remote.c.
//
// Always holds: read >= write; a writer holds the lock with its ticket == write, readers hold tickets in
// [write, read).
#include "rma/ticket.h"

#include "chan/door.h"
#include "core/word.h"
#include "core/world.h"

static _Atomic uint32_t *slot_of(struct uno_ticket_queue q, uint64_t ticket)
{
    return &q.waiter[ticket % q.slots];
}

static void wake_holder_of(struct uno_ticket_queue q, uint64_t ticket)
{
    // Relaxed: whoever sleeps has left its index before its membarrier (chan/door.h), or sees the word itself.
    uint32_t who = atomic_load_explicit(slot_of(q, ticket), memory_order_relaxed);
    if (who) uno_door_ring(uno_job_door(uno_world.job, who - 1));
}

uint64_t uno_ticket_draw(struct uno_ticket_queue q, int local)
{
    // Relaxed: only the order of tickets counts; what the lock protects is ordered by read and write.
    uint64_t t = atomic_fetch_add_explicit(&q.lock->next, 1, memory_order_relaxed);
    atomic_store_explicit(slot_of(q, t), (uint32_t)local + 1, memory_order_relaxed);
    return t;
}

bool uno_ticket_served(struct uno_ticket_queue q, uint64_t ticket, bool exclusive)
{
    return uno_word_reached(exclusive ? &q.lock->write : &q.lock->read, ticket);
}

void uno_ticket_enter(struct uno_ticket_queue q, uint64_t ticket, bool exclusive)
{
    atomic_store_explicit(slot_of(q, ticket), 0, memory_order_relaxed);    // only a hint whom to wake
    if (exclusive) return;
    // Release: pairs with the acquire in uno_word_reached of the next reader.
    atomic_fetch_add_explicit(&q.lock->read, 1, memory_order_release);
    wake_holder_of(q, ticket + 1);
}

void uno_ticket_leave(struct uno_ticket_queue q, bool exclusive)
{
    // Release: pairs with the acquire in uno_word_reached: what was done under the lock is there.
    if (exclusive) atomic_fetch_add_explicit(&q.lock->read, 1, memory_order_release);
    uint64_t next = atomic_fetch_add_explicit(&q.lock->write, 1, memory_order_release) + 1;    // likewise
    wake_holder_of(q, next);
}

void uno_ticket_lock(struct uno_ticket_queue q, bool exclusive, const struct MPI_ABI_Comm *comm, int peer)
{
    uint64_t t = uno_ticket_draw(q, (int)uno_world.local);
    if (!uno_ticket_served(q, t, exclusive)) uno_word_wait(exclusive ? &q.lock->write : &q.lock->read, t, comm, peer);
    uno_ticket_enter(q, t, exclusive);
}
