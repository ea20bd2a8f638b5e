// SPDX-License-Identifier: BSD-3-Clause
// Unit test of the locks with two rooms (ticket.h): who enters, who waits and in which order, step by step in one
// process, and that what is written under the lock is whole, in several.
#include "chan/proc.h"
#include "core/world.h"
#include "p2p/meet.h"
#include "p2p/share.h"
#include "p2p/test_ranks.h"
#include "rma/ticket.h"

#define SLOTS 8
#define TURNS 3000

// What the members of a test share.
struct board {
    struct uno_ticket_lock lock;
    _Atomic uint64_t waiter[SLOTS];
    uint64_t a, b;    // written together under the lock
};

static struct uno_ticket_wait comer(struct board *s, enum uno_room room, bool many)
{
    static struct uno_door *door[SLOTS];
    for (int r = 0; r < ranks; r++) door[r] = uno_proc_door(r);
    struct uno_ticket_queue queue = {.lock = &s->lock, .waiter = s->waiter, .door = door, .slots = SLOTS, .many = many};
    queue.me = (uint32_t)uno_world.rank;
    return (struct uno_ticket_wait){.queue = queue, .room = room};
}

static void leave(struct uno_ticket_wait *w)
{
    CHECK(w->entered);
    uno_ticket_leave(w->queue, w->room);
}

static void step_by_step(void)
{
    struct board s = {0};
    struct uno_ticket_wait reader = comer(&s, UNO_ROOM_SHARED, false), other = reader, late = reader;
    struct uno_ticket_wait writer = comer(&s, UNO_ROOM_EXCLUSIVE, false), second = writer;
    CHECK(uno_ticket_come(&reader) && uno_ticket_come(&other));
    CHECK(!uno_ticket_come(&writer));    // waits for both readers
    CHECK(!uno_ticket_come(&late));      // a reader, but behind the writer
    CHECK(!uno_ticket_come(&second));
    leave(&reader);
    CHECK(!uno_ticket_come(&writer));
    leave(&other);
    CHECK(!uno_ticket_come(&second) && !uno_ticket_come(&late));    // not before the one that came first
    CHECK(uno_ticket_come(&writer) && uno_ticket_come(&writer));
    CHECK(!uno_ticket_come(&late));
    leave(&writer);
    CHECK(!uno_ticket_come(&second));
    CHECK(uno_ticket_come(&late));
    leave(&late);
    CHECK(uno_ticket_come(&second));
    leave(&second);
    CHECK(!uno_ticket_waits(&s.lock) && atomic_load(&s.lock.inside) == 0);
}

static void one_that_holds_goes_ahead(void)
{
    struct board s = {0};
    struct uno_ticket_wait inside = comer(&s, UNO_ROOM_SHARED, false), writer = comer(&s, UNO_ROOM_EXCLUSIVE, false);
    struct uno_ticket_wait again = inside;
    again.ahead = true;
    CHECK(uno_ticket_come(&inside) && !uno_ticket_come(&writer));
    CHECK(uno_ticket_come(&again));
    leave(&again);
    leave(&inside);
    CHECK(uno_ticket_come(&writer));
    leave(&writer);
}

// Writers of parts and those who lock all: behind the latter waits one that holds what the writer waits for.
static void one_that_holds_waits_for_those_inside_alone(void)
{
    struct board s = {0};
    struct uno_ticket_wait all = comer(&s, UNO_ROOM_SHARED, true), late = all;
    struct uno_ticket_wait writer = comer(&s, UNO_ROOM_EXCLUSIVE, true), holder = writer, second = writer;
    holder.ahead = second.ahead = true;
    CHECK(uno_ticket_come(&all) && !uno_ticket_come(&writer) && !uno_ticket_come(&late));
    CHECK(!uno_ticket_come(&holder) && !uno_ticket_come(&second));
    leave(&all);
    CHECK(!uno_ticket_come(&late) && !uno_ticket_come(&writer));    // both let those that hold go first
    CHECK(uno_ticket_come(&holder) && !uno_ticket_come(&writer));
    CHECK(uno_ticket_come(&second) && uno_ticket_come(&writer));
    leave(&holder);
    leave(&second);
    CHECK(!uno_ticket_come(&late));
    leave(&writer);
    CHECK(uno_ticket_come(&late));
    leave(&late);
    CHECK(!uno_ticket_waits(&s.lock) && atomic_load(&s.lock.inside) == 0);
}

static void two_rooms_for_many(void)
{
    struct board s = {0};
    struct uno_ticket_wait all = comer(&s, UNO_ROOM_SHARED, true), one = comer(&s, UNO_ROOM_EXCLUSIVE, true), two = one;
    CHECK(uno_ticket_come(&one) && uno_ticket_come(&two));
    CHECK(!uno_ticket_come(&all));
    leave(&one);
    CHECK(!uno_ticket_come(&all));
    leave(&two);
    CHECK(uno_ticket_come(&all));
    leave(&all);
}

static void alone(void)
{
    step_by_step();
    one_that_holds_goes_ahead();
    one_that_holds_waits_for_those_inside_alone();
    two_rooms_for_many();
}

static void order_of_entry(void **state)
{
    (void)state;
    run_ranks(1, alone);
}

// Every third turn writes, the others read; all ranks at once.
static void write_and_read(void)
{
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct uno_share share;
    struct uno_meet meet;
    CHECK(uno_share_make(c, sizeof(struct board), &share) == MPI_SUCCESS);
    CHECK(uno_meet_make(c, &meet) == MPI_SUCCESS);
    struct board *s = (struct board *)(void *)share.base;
    CHECK(uno_meet(&meet) == MPI_SUCCESS);
    for (int turn = 0; turn < TURNS; turn++) {
        enum uno_room room = turn % 3 == 0 ? UNO_ROOM_EXCLUSIVE : UNO_ROOM_SHARED;
        struct uno_ticket_wait w = comer(s, room, false);
        uno_ticket_lock(w, c, 0);
        CHECK(s->a == s->b);
        if (room == UNO_ROOM_EXCLUSIVE) {
            s->a++;
            s->b++;
        }
        uno_ticket_leave(w.queue, room);
    }
    CHECK(uno_meet(&meet) == MPI_SUCCESS);
    CHECK(s->a == (uint64_t)ranks * (TURNS / 3) && atomic_load(&s->lock.inside) == 0);
    uno_meet_drop(&meet);
    uno_share_drop(&share);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    run_ranks(2, write_and_read);
    run_ranks(5, write_and_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_of_entry), cmocka_unit_test(nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
