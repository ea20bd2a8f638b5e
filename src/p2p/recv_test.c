// SPDX-License-Identifier: BSD-3-Clause
// Unit test of how far a wait looks: what comes behind the message that is waited for stays in the ring.
#include "p2p/test_ranks.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "p2p/p2p.h"

#define MESSAGES 4

static _Atomic int *sent;    // shared: rank 1 has sent as many messages

static void send_some(void)
{
    for (int i = 0; i < MESSAGES; i++) CHECK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD) == MPI_SUCCESS);
    // Release: pairs with the acquire in come; the messages are in the ring.
    atomic_store_explicit(sent, MESSAGES, memory_order_release);
}

static void come(void)
{
    // Acquire: pairs with the release in send_some.
    while (atomic_load_explicit(sent, memory_order_acquire) < MESSAGES) sched_yield();
}

static bool took_more(void)
{
    return uno_comm_world.match[0].first != NULL;
}

// The receive itself, a wait for a request, and one for several: each takes no more than it is for.
static void take_in_turn(void)
{
    int in[MESSAGES] = {-1, -1, -1, -1};
    MPI_Request q[2];
    come();
    CHECK(MPI_Recv(&in[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(!took_more());
    CHECK(MPI_Irecv(&in[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &q[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&q[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(!took_more());
    CHECK(MPI_Irecv(&in[2], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &q[0]) == MPI_SUCCESS);
    q[1] = MPI_REQUEST_NULL;
    CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(!took_more());
    int there = 0;
    while (!there) CHECK(MPI_Iprobe(1, 3, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(took_more());
    CHECK(MPI_Recv(&in[3], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++) CHECK(in[i] == i);
}

static void look_body(void)
{
    if (me == 1)
        send_some();
    else
        take_in_turn();
}

static void looks_no_further(void **state)
{
    (void)state;
    sent = mmap(NULL, sizeof *sent, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(sent, MAP_FAILED);
    run_ranks(2, look_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(looks_no_further)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
