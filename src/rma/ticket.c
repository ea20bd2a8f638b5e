// SPDX-License-Identifier: BSD-3-Clause
// Fair locks with two rooms (ticket.h). Where nobody waits, entering and leaving are one atomic each. Called by
// passive.c and, for origins on other hosts, remote.c.
//
// Always holds: only one half of `inside` is not 0; serving <= next; only the process whose ticket is served changes
// `serving`.
#include "rma/ticket.h"

#include "chan/door.h"
#include "core/word.h"
#include "core/world.h"

#define HALF 32

static uint64_t one(enum uno_room room)
{
    return room == UNO_ROOM_EXCLUSIVE ? (uint64_t)1 << HALF : 1;
}

static bool has_place(struct uno_ticket_queue q, uint64_t inside, enum uno_room room)
{
    uint32_t readers = (uint32_t)inside, writers = (uint32_t)(inside >> HALF);
    return room == UNO_ROOM_SHARED ? writers == 0 : readers == 0 && (q.many || writers == 0);
}

static bool go_in(struct uno_ticket_queue q, enum uno_room room)
{
    uint64_t inside = atomic_load_explicit(&q.lock->inside, memory_order_relaxed);
    while (has_place(q, inside, room))
        // Acquire: pairs with the release in uno_ticket_leave: what was done under the lock is there.
        if (atomic_compare_exchange_weak_explicit(&q.lock->inside, &inside, inside + one(room), memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static _Atomic uint32_t *slot_of(struct uno_ticket_queue q, uint64_t ticket)
{
    return &q.waiter[ticket % q.slots];
}

static void wake_first(struct uno_ticket_queue q)
{
    // Relaxed: whoever sleeps has left its index before its membarrier (chan/door.h), or sees the words themselves.
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t first = atomic_load_explicit(&q.lock->serving, memory_order_relaxed);
    if (first == atomic_load_explicit(&q.lock->next, memory_order_relaxed)) return;
    uint32_t who = atomic_load_explicit(slot_of(q, first), memory_order_relaxed);
    if (who) uno_door_ring(uno_job_door(uno_world.job, who - 1));
}

static bool is_free(const struct uno_ticket_wait *w)
{
    const struct uno_ticket_lock *l = w->queue.lock;
    // Relaxed: who comes between this and the entering is overtaken once.
    return w->ahead || atomic_load_explicit(&l->serving, memory_order_relaxed) ==
                           atomic_load_explicit(&l->next, memory_order_relaxed);
}

static void draw(struct uno_ticket_wait *w)
{
    // Relaxed: only the order of tickets counts; what the lock protects is ordered by `inside`.
    w->ticket = atomic_fetch_add_explicit(&w->queue.lock->next, 1, memory_order_relaxed);
    atomic_store_explicit(slot_of(w->queue, w->ticket), uno_world.local + 1, memory_order_relaxed);
    w->drawn = true;
}

static bool is_served(const struct uno_ticket_wait *w)
{
    if (!uno_word_reached(&w->queue.lock->serving, w->ticket) || !go_in(w->queue, w->room)) return false;
    atomic_store_explicit(slot_of(w->queue, w->ticket), 0, memory_order_relaxed);    // only a hint whom to wake
    // Release: pairs with the acquire in uno_word_reached of the next one.
    atomic_store_explicit(&w->queue.lock->serving, w->ticket + 1, memory_order_release);
    wake_first(w->queue);    // there may be place for it, too
    return true;
}

bool uno_ticket_come(struct uno_ticket_wait *w)
{
    if (w->entered) return true;
    if (!w->drawn && is_free(w) && go_in(w->queue, w->room)) return w->entered = true;
    if (!w->drawn) draw(w);
    return w->entered = is_served(w);
}

void uno_ticket_leave(struct uno_ticket_queue q, enum uno_room room)
{
    // Release: pairs with the acquire in go_in: what was done under the lock is there.
    uint64_t left = atomic_fetch_sub_explicit(&q.lock->inside, one(room), memory_order_release) - one(room);
    if (left == 0) wake_first(q);
}

static bool come(void *arg)
{
    return uno_ticket_come(arg);
}

void uno_ticket_lock(struct uno_ticket_wait w, const struct MPI_ABI_Comm *comm, int peer)
{
    if (!uno_ticket_come(&w)) uno_word_wait_for(come, &w, comm, peer);
}
