// SPDX-License-Identifier: BSD-3-Clause
// Fair locks with two rooms (ticket.h). Where nobody waits, entering and leaving are one atomic each. Called by
// passive.c and, for origins on other hosts, remote.c.
//
// Always holds: only one half of `inside` is not 0; serving <= next; only the process whose ticket is served changes
// `serving`.
#include "rma/ticket.h"

#include "chan/door.h"
#include "core/word.h"

#define PASS_MOST 16    // before one waiter (bench: lock-turns with 8 ranks on two cores)

static _Atomic uint64_t *slot_of(struct uno_ticket_queue q, uint64_t ticket)
{
    return &q.waiter[ticket % q.slots];
}

static bool has_holders(const struct uno_ticket_lock *l)
{
    // Relaxed: as in uno_ticket_waits.
    return atomic_load_explicit(&l->holders, memory_order_relaxed) != 0;
}

void uno_ticket_wake(struct uno_ticket_queue q)
{
    if (has_holders(q.lock)) {    // seldom: nobody keeps who they are
        for (uint32_t r = 0; r < q.slots; r++)
            if (q.door[r]) uno_door_ring(q.door[r]);
        return;
    }
    // Relaxed: whoever sleeps has left its index before its membarrier (chan/door.h), or sees the words themselves.
    uint64_t first = atomic_load_explicit(&q.lock->serving, memory_order_relaxed);
    uint32_t who = (uint32_t)atomic_load_explicit(slot_of(q, first), memory_order_relaxed);
    if (who) uno_door_ring(q.door[who - 1]);
}

static bool go_in(const struct uno_ticket_wait *w)
{
    return uno_ticket_go_in(w->queue.lock, w->room, w->queue.many);
}

static void draw(struct uno_ticket_wait *w)
{
    // Relaxed: only the order of tickets counts; what the lock protects is ordered by `inside`.
    w->ticket = atomic_fetch_add_explicit(&w->queue.lock->next, 1, memory_order_relaxed);
    uint64_t turns = w->turns ? *w->turns : 0;
    atomic_store_explicit(slot_of(w->queue, w->ticket), turns << 32 | (w->queue.me + 1), memory_order_relaxed);
    w->drawn = true;
}

static bool is_served(const struct uno_ticket_wait *w)
{
    struct uno_ticket_lock *l = w->queue.lock;
    if (!uno_word_reached(&l->serving, w->ticket)) return false;
    if (has_holders(l) || !go_in(w)) {
        // Relaxed: a hint, for may_pass.
        atomic_store_explicit(&l->looking, w->ticket + 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(slot_of(w->queue, w->ticket), 0, memory_order_relaxed);    // only a hint whom to wake
    atomic_store_explicit(&l->passed, 0, memory_order_relaxed);
    // Release: pairs with the acquire in uno_word_reached of the next one.
    atomic_store_explicit(&l->serving, w->ticket + 1, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    bool place = w->room == UNO_ROOM_SHARED || w->queue.many;    // there may be place for it, too
    if (place && uno_ticket_waits(l)) uno_ticket_wake(w->queue);
    return true;
}

// Whether the first one that waits is still asleep, has not been passed too often yet, and had as many turns.
static bool may_pass(const struct uno_ticket_wait *w)
{
    struct uno_ticket_lock *l = w->queue.lock;
    if (!w->turns || has_holders(l)) return false;
    // Relaxed: hints; two that come at once may count once.
    uint64_t first = atomic_load_explicit(&l->serving, memory_order_relaxed);
    uint32_t passed = atomic_load_explicit(&l->passed, memory_order_relaxed);
    if (passed >= PASS_MOST || atomic_load_explicit(&l->looking, memory_order_relaxed) == first + 1) return false;
    uint32_t its = (uint32_t)(atomic_load_explicit(slot_of(w->queue, first), memory_order_relaxed) >> 32);
    if ((int32_t)(*w->turns - its) >= PASS_MOST) return false;
    atomic_store_explicit(&l->passed, passed + 1, memory_order_relaxed);
    return true;
}

// One that holds another lock waits for the other room to be empty, and for nothing else.
static bool go_ahead(struct uno_ticket_wait *w)
{
    struct uno_ticket_lock *l = w->queue.lock;
    if (!w->counted) {
        if (go_in(w)) return true;
        // Relaxed: who lets go sees it, or this process sees below what was let go (uno_ticket_let_go).
        atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed);
        w->counted = true;
    }
    if (!go_in(w)) return false;
    atomic_fetch_sub_explicit(&l->holders, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (uno_ticket_waits(l)) uno_ticket_wake(w->queue);
    return true;
}

static bool enter(struct uno_ticket_wait *w)
{
    if (w->drawn) return is_served(w);
    if (w->ahead) return go_ahead(w);
    bool first = !uno_ticket_waits(w->queue.lock) || may_pass(w);
    if (first && go_in(w)) return true;
    draw(w);
    return is_served(w);
}

bool uno_ticket_come(struct uno_ticket_wait *w)
{
    if (w->entered || !enter(w)) return w->entered;
    if (w->turns) (*w->turns)++;
    return w->entered = true;
}

static bool come(void *arg)
{
    return uno_ticket_come(arg);
}

void uno_ticket_lock(struct uno_ticket_wait w, const struct MPI_ABI_Comm *comm, int peer)
{
    if (!uno_ticket_come(&w) && uno_word_wait_for(come, &w, comm, peer)) uno_log(2, "a lock was not waited for");
}
