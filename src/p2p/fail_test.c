// SPDX-License-Identifier: BSD-3-Clause
// Unit test of what becomes of operations with a process that is gone (fail.c), on shm and tcp: each kind that can be
// under way ends with the class, each kind that is begun later is refused with it, and the living talk on. Rank 1 dies;
// rank 0 tells the library so, as a notice of mpiexec would.
#include "p2p/test_ranks.h"

#include <mpi_ext.h>
#include <sched.h>

#include "chan/self.h"
#include "core/world.h"
#include "p2p/fail.h"
#include "p2p/p2p.h"

#define LARGE (1 << 20)
#define DEAD 1
#define ALIVE 2

static char mine[LARGE], other[LARGE];

static void die(void)
{
    // Release: pairs with the acquire in uno_local_is_dead; what mpiexec writes when it has reaped a process.
    atomic_store_explicit(&uno_world.board->state, UNO_RANK_FAILED, memory_order_release);
    _exit(0);
}

static int heard[2];    // by a tool: how often a process failed, which one

static void on_failure(MPI_T_event_instance i, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    MPI_Count rank;
    (void)r, (void)safety, (void)data;
    heard[0]++;
    if (MPI_T_event_read(i, 0, &rank) == MPI_SUCCESS) heard[1] = (int)rank;
}

static void listen_for_failures(void)
{
    int index, provided;
    MPI_T_event_registration r;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_index("process_failed", &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, on_failure) ==
          MPI_SUCCESS);
}

static void learn(void)
{
    listen_for_failures();
    if (me == 0) CHECK(MPI_Ssend(mine, 1, MPI_BYTE, DEAD, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
    while (!uno_local_is_dead(DEAD)) sched_yield();
    uno_peer_fail(DEAD, MPIX_ERR_PROC_FAILED);
    CHECK(uno_peer_failure(DEAD) == MPIX_ERR_PROC_FAILED && uno_peers_failed() == 1 && uno_peer_failed(0) == DEAD);
    CHECK(heard[0] == 1 && heard[1] == DEAD);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

static int class_of(int code)
{
    int class = 0;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    return class;
}

static void ends_failed(MPI_Request *r)
{
    CHECK(class_of(MPI_Wait(r, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(*r == MPI_REQUEST_NULL);
}

// Rank 2 is well, and so is what goes between it and rank 0.
static void talk(void)
{
    MPI_Status s;
    if (me == ALIVE) {
        CHECK(MPI_Recv(mine, LARGE, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
        CHECK(mine[LARGE - 1] == 'x');
        CHECK(MPI_Send(mine, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        memset(mine, 'x', LARGE);
        CHECK(MPI_Send(mine, LARGE, MPI_BYTE, ALIVE, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Recv(mine, 1, MPI_BYTE, ALIVE, 9, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
    }
}

static void begin(void)
{
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (me != DEAD) return;
    CHECK(MPI_Send(mine, 3, MPI_BYTE, 0, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(mine, 1, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    die();
}

static void under_way(void)
{
    MPI_Request r[7];
    begin();
    if (me == 0) {
        MPI_Comm w = MPI_COMM_WORLD;
        CHECK(MPI_Irecv(other, 8, MPI_BYTE, DEAD, 1, w, &r[0]) == MPI_SUCCESS);
        CHECK(MPI_Irecv(other, LARGE, MPI_BYTE, DEAD, MPI_ANY_TAG, w, &r[1]) == MPI_SUCCESS);    // tag 5 ends this one
        CHECK(MPI_Isend(mine, LARGE, MPI_BYTE, DEAD, 2, w, &r[2]) == MPI_SUCCESS);
        CHECK(MPI_Issend(mine, 8, MPI_BYTE, DEAD, 2, w, &r[3]) == MPI_SUCCESS);
        CHECK(MPI_Precv_init(other, 4, 1000, MPI_BYTE, DEAD, 3, w, MPI_INFO_NULL, &r[4]) == MPI_SUCCESS);
        CHECK(MPI_Psend_init(mine, 4, 1000, MPI_BYTE, DEAD, 4, w, MPI_INFO_NULL, &r[5]) == MPI_SUCCESS);
        CHECK(MPI_Start(&r[4]) == MPI_SUCCESS && MPI_Start(&r[5]) == MPI_SUCCESS);
        CHECK(MPI_Iallreduce(mine, other, 1, MPI_INT, MPI_SUM, w, &r[6]) == MPI_SUCCESS);
        MPI_Status s;
        CHECK(MPI_Wait(&r[1], &s) == MPI_SUCCESS && s.MPI_TAG == 5);    // a message that it sent is received
        learn();
        ends_failed(&r[0]);
        ends_failed(&r[2]);
        ends_failed(&r[3]);
        ends_failed(&r[6]);
        for (int i = 4; i < 6; i++) {
            CHECK(class_of(MPI_Wait(&r[i], MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
            CHECK(MPI_Start(&r[i]) == MPI_SUCCESS);
            CHECK(class_of(MPI_Wait(&r[i], MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
            CHECK(MPI_Request_free(&r[i]) == MPI_SUCCESS);
        }
    }
    talk();
    if (me == ALIVE) learn();
}

static void begun_later(void)
{
    MPI_Request r;
    int flag;
    begin();
    if (me == 0) {
        MPI_Status s;
        CHECK(MPI_Probe(DEAD, 5, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
        learn();
        CHECK(MPI_Recv(other, 3, MPI_BYTE, DEAD, 5, MPI_COMM_WORLD, &s) == MPI_SUCCESS);    // it came before
        CHECK(class_of(MPI_Recv(other, 3, MPI_BYTE, DEAD, 5, MPI_COMM_WORLD, &s)) == MPIX_ERR_PROC_FAILED);
        CHECK(class_of(MPI_Send(mine, 8, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
        CHECK(class_of(MPI_Send(mine, LARGE, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
        CHECK(class_of(MPI_Probe(DEAD, 5, MPI_COMM_WORLD, &s)) == MPIX_ERR_PROC_FAILED);
        CHECK(class_of(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &s)) == MPIX_ERR_PROC_FAILED);
        CHECK(MPI_Isend(mine, 8, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        ends_failed(&r);
        CHECK(MPI_Irecv(other, 8, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        ends_failed(&r);
        CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        ends_failed(&r);
        // A part of a collective operation, whose receiver may have left it.
        struct uno_where there = {.comm = &uno_comm_world, .rank = ALIVE, .tag = 1, .coll = true};
        CHECK(uno_send(mine, LARGE, uno_type(MPI_BYTE), &there, UNO_STANDARD) == MPIX_ERR_PROC_FAILED);
        CHECK(uno_send(mine, 8, uno_type(MPI_BYTE), &there, UNO_SYNC) == MPIX_ERR_PROC_FAILED);
    }
    talk();
    if (me == ALIVE) learn();
}

static void from_any_source(void)
{
    MPI_Request r;
    int flag;
    begin();
    if (me == 0) {
        CHECK(MPI_Irecv(other, 8, MPI_BYTE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        learn();
        for (int i = 0; i < 2; i++) {
            CHECK(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
            CHECK(r != MPI_REQUEST_NULL);
        }
        CHECK(class_of(MPI_Recv(mine, 8, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
              MPIX_ERR_PROC_FAILED);
        uno_comm_acknowledge(&uno_comm_world, 1);
        CHECK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        talk();
        MPI_Status s;
        CHECK(MPI_Wait(&r, &s) == MPI_SUCCESS && s.MPI_SOURCE == ALIVE && r == MPI_REQUEST_NULL);
    } else {
        talk();
        CHECK(MPI_Send(mine, 8, MPI_BYTE, 0, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
        learn();
    }
}

static void revoked(void)
{
    MPI_Request r[2];
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm c;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    if (me == 0) {
        CHECK(MPI_Irecv(other, 8, MPI_BYTE, MPI_ANY_SOURCE, 7, c, &r[0]) == MPI_SUCCESS);
        CHECK(MPI_Issend(mine, LARGE, MPI_BYTE, 1, 7, c, &r[1]) == MPI_SUCCESS);
    }
    uno_comm_revoke(uno_comm(c));
    for (int i = 0; i < 2 && me == 0; i++) {
        CHECK(class_of(MPI_Wait(&r[i], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
        CHECK(r[i] == MPI_REQUEST_NULL);
    }
    CHECK(class_of(MPI_Send(mine, 8, MPI_BYTE, MPI_PROC_NULL, 1, c)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Send(mine, 8, MPI_BYTE, 0, 1, c)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Recv(mine, 8, MPI_BYTE, MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Recv(mine, 8, MPI_BYTE, 0, 1, c, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Barrier(c)) == MPIX_ERR_REVOKED);
    CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

// Ranks 0 and 2 are well; what they wait for in a part of c ends with c all the same.
static void parts(void)
{
    MPI_Comm c, part[2];
    MPI_Request r;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) CHECK(MPI_Comm_split(c, me == 1, 0, &part[i]) == MPI_SUCCESS);
    uno_comm_tie(uno_comm(part[0]), uno_comm(c));
    if (me == 0) CHECK(MPI_Ibarrier(part[0], &r) == MPI_SUCCESS);    // rank 2 never comes
    uno_comm_break(uno_comm(c), MPIX_ERR_PROC_FAILED);
    if (me == 0) CHECK(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    if (me == 2) CHECK(class_of(MPI_Barrier(part[0])) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Barrier(part[1]) == MPI_SUCCESS);
    uno_comm_tie(uno_comm(part[1]), uno_comm(c));
    if (me != 1) CHECK(class_of(MPI_Barrier(part[1])) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Comm_free(&part[0]) == MPI_SUCCESS && MPI_Comm_free(&part[1]) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static const char *const channels[] = {"shm", "tcp"};

static void on_both(void (*body)(void))
{
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        setenv("UNISONO_CHAN", channels[i], 1);
        run_ranks(3, body);
    }
}

static void operations_under_way(void **state)
{
    (void)state;
    on_both(under_way);
}

static void operations_begun_later(void **state)
{
    (void)state;
    on_both(begun_later);
}

static void receives_from_any_source(void **state)
{
    (void)state;
    on_both(from_any_source);
}

static void a_revoked_communicator(void **state)
{
    (void)state;
    on_both(revoked);
}

static void a_part_of_a_broken_communicator(void **state)
{
    (void)state;
    on_both(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_under_way),
        cmocka_unit_test(operations_begun_later),
        cmocka_unit_test(receives_from_any_source),
        cmocka_unit_test(a_revoked_communicator),
        cmocka_unit_test(a_part_of_a_broken_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
