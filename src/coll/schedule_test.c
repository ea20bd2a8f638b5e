// SPDX-License-Identifier: BSD-3-Clause
// Unit test of schedule.c: schedules built by hand, on one rank and on several: what each step does, what a fence
// orders, views, calls inside, schedules that run again, and errors.
#include "coll/schedule.h"

#include <stdint.h>
#include <sys/mman.h>

#include "coll/build.h"
#include "p2p/p2p.h"
#include "p2p/test_ranks.h"

static struct uno_sched *new_sched(struct MPI_ABI_Op *op)
{
    struct uno_sched *s = uno_sched_new(&uno_comm_world, op, uno_coll_tag(&uno_comm_world));
    CHECK(s);
    return s;
}

static struct MPI_ABI_Datatype *ints(void)
{
    return uno_type(MPI_INT);
}

// Runs a schedule as a blocking call and gives it back.
static int run_sched(struct uno_sched *s)
{
    int err = uno_sched_run(s);
    CHECK(s->at == s->nsteps || err);
    uno_sched_free(s);
    return err;
}

// ---- steps ----

static void emit_nothing(void)
{
    int x[2] = {1, 2};
    struct uno_sched *s = new_sched(NULL);
    uno_emit_fence(s);    // the first step cannot be a fence
    uno_emit_send(s, 0, x, 0, ints());
    uno_emit_recv(s, MPI_PROC_NULL, x, 1, ints());
    uno_emit_signal(s, -1, -1);
    uno_copy_block(s, uno_block(x, 1, ints()), uno_block(x, 1, ints()));    // onto itself
    uno_copy_block(s, uno_block(x, 1, ints()), uno_block(x + 1, 0, ints()));
    uno_emit_reduce(s, x, x, x, 0, ints());
    CHECK(s->nsteps == 0);
    uno_copy_block(s, uno_block(x, 1, ints()), uno_block(x + 1, 1, ints()));
    uno_emit_fence(s);
    uno_emit_fence(s);    // one is enough
    CHECK(s->nsteps == 2);
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(x[1] == 1);
}

static void copy_blocks(void)
{
    int from[6] = {1, 2, 3, 4, 5, 6}, to[6] = {0}, few[2] = {0}, packed[3], spread[6] = {0};
    MPI_Datatype every_second;
    CHECK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&every_second) == MPI_SUCCESS);
    struct MPI_ABI_Datatype *t = uno_type(every_second);
    struct uno_sched *s = new_sched(NULL);
    CHECK(uno_sched_hold(s, t) == MPI_SUCCESS);
    uno_copy_block(s, uno_block(from, 6, ints()), uno_block(to, 6, ints()));
    uno_copy_block(s, uno_block(to, 6, ints()), uno_block(few, 2, ints()));    // as much as both have
    uno_copy_block(s, uno_block(from, 1, t), uno_block(packed, 3, ints()));
    uno_copy_block(s, uno_block(packed, 3, ints()), uno_block(spread, 1, t));
    CHECK(MPI_Type_free(&every_second) == MPI_SUCCESS);    // the schedule holds it
    CHECK(to[0] == 0);                                     // nothing before it runs
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(memcmp(from, to, sizeof from) == 0);
    CHECK(few[0] == 1 && few[1] == 2);
    CHECK(packed[0] == 1 && packed[1] == 3 && packed[2] == 5);
    CHECK(spread[0] == 1 && spread[1] == 0 && spread[2] == 3 && spread[4] == 5 && spread[5] == 0);
}

// b = 10 a + b: does not commute.
static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += 10 * ((int *)in)[i];
}

static void reduce_in_order(void)
{
    MPI_Op op;
    CHECK(MPI_Op_create(join, 0, &op) == MPI_SUCCESS);
    int a[2] = {1, 2}, b[2] = {3, 4}, out[2] = {0};
    struct uno_sched *s = new_sched(uno_op(op));
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);    // the schedule holds it
    uno_emit_reduce(s, a, b, out, 2, ints());
    uno_emit_reduce(s, a, out, out, 2, ints());
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(a[0] == 1 && b[0] == 3 && b[1] == 4);
    CHECK(out[0] == 23 && out[1] == 44);
}

// A send says that a reduction writes where it reads, if that comes next and not later.
static void reduce_what_is_sent(void)
{
    int sum[1] = {1}, other[1] = {2};
    struct uno_sched *s = new_sched(uno_op(MPI_SUM));
    for (int i = 0; i < 3; i++) {
        uno_emit_send(s, 0, i ? sum : other, 1, ints());
        uno_emit_recv(s, 0, other + 0, 1, ints());
        uno_emit_fence(s);
        if (i == 1) uno_emit_fence(s);
        if (i != 1) uno_emit_reduce(s, other, sum, sum, 1, ints());
    }
    CHECK(s->nsteps == 11);
    CHECK(!s->step[0].rewritten && !s->step[4].rewritten && s->step[7].rewritten);
    uno_sched_free(s);
}

static void use_scratch(void)
{
    struct uno_sched *s = new_sched(NULL);
    int *tmp = uno_scratch_bytes(s, 100 * sizeof *tmp), in[100], out[100];
    char *none = uno_scratch_bytes(s, 0);
    CHECK(tmp && none && (char *)tmp != none && (uintptr_t)tmp % 64 == 0);
    CHECK(s->scratch_bytes == 100 * sizeof *tmp);
    for (int i = 0; i < 100; i++) in[i] = i;
    uno_copy_block(s, uno_block(in, 100, ints()), uno_block(tmp, 100, ints()));
    uno_copy_block(s, uno_block(tmp, 100, ints()), uno_block(out, 100, ints()));
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(memcmp(in, out, sizeof in) == 0);
}

// A message to itself: only what stands behind the fence may count on it.
static void send_to_self(void)
{
    int from = 7, at = 0, before = -1, after = -1;
    struct uno_sched *s = new_sched(NULL);
    uno_copy_block(s, uno_block(&at, 1, ints()), uno_block(&before, 1, ints()));
    uno_emit_recv(s, 0, &at, 1, ints());
    uno_emit_send(s, 0, &from, 1, ints());
    uno_emit_signal(s, 0, 0);
    uno_emit_fence(s);
    uno_copy_block(s, uno_block(&at, 1, ints()), uno_block(&after, 1, ints()));
    CHECK(s->nsteps == 7);
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(before == 0 && at == 7 && after == 7);
}

static void alone(void **state)
{
    (void)state;
    run_ranks(1, emit_nothing);
    run_ranks(1, copy_blocks);
    run_ranks(1, reduce_in_order);
    run_ranks(1, reduce_what_is_sent);
    run_ranks(1, use_scratch);
    run_ranks(1, send_to_self);
}

// ---- several ranks ----

// A sum on its way round, from rank 0 of the view to its last. Returns the sum of `mine` so far.
static void emit_ring_sum(struct uno_sched *s, int *mine, int *sum)
{
    int v = s->view.rank;
    if (v > 0) {
        uno_emit_recv(s, v - 1, sum, 1, ints());
        uno_emit_fence(s);
        uno_emit_reduce(s, mine, sum, sum, 1, ints());
    } else {
        uno_copy_block(s, uno_block(mine, 1, ints()), uno_block(sum, 1, ints()));
    }
    if (v + 1 < s->view.size) uno_emit_send(s, v + 1, sum, 1, ints());
}

static void pass_round(void)
{
    for (int round = 0; round < 50; round++) {
        int mine = me + round, sum = -1;
        struct uno_sched *s = new_sched(uno_op(MPI_SUM));
        emit_ring_sum(s, &mine, &sum);
        CHECK(run_sched(s) == MPI_SUCCESS);
        CHECK(sum == me * (me + 1) / 2 + (me + 1) * round);
    }
}

// Views: all ranks the other way round, then the even ones alone, in one schedule.
static void use_views(void)
{
    int map[TEST_RANKS], mine = 1 << me, down = -1, even = -1;
    struct uno_sched *s = new_sched(uno_op(MPI_SUM));
    struct uno_view all = s->view;
    for (int i = 0; i < ranks; i++) map[i] = ranks - 1 - i;
    s->view = (struct uno_view){&uno_comm_world, ranks - 1 - me, ranks, map};
    emit_ring_sum(s, &mine, &down);
    uno_emit_fence(s);
    int evens[TEST_RANKS];
    for (int i = 0; 2 * i < ranks; i++) evens[i] = 2 * i;
    s->view = (struct uno_view){&uno_comm_world, me / 2, (ranks + 1) / 2, evens};
    if (me % 2 == 0) emit_ring_sum(s, &mine, &even);
    s->view = all;
    // A view is looked at when a step is emitted, not when it runs.
    memset(map, -1, sizeof map);
    memset(evens, -1, sizeof evens);
    CHECK(run_sched(s) == MPI_SUCCESS);
    int above = 0, below = 0;
    for (int i = me; i < ranks; i++) above += 1 << i;
    for (int i = 0; i <= me; i += 2) below += 1 << i;
    CHECK(down == above);
    CHECK(even == (me % 2 ? -1 : below));
}

// Whether rank 0 has said so, in memory of all ranks.
static volatile int *said;

static void wait_for_signal(void)
{
    if (me == 0) *said = 1;
    struct uno_sched *s = new_sched(NULL);
    uno_emit_signal(s, -1, me > 0 ? me - 1 : -1);
    uno_emit_fence(s);
    uno_emit_signal(s, me + 1 < ranks ? me + 1 : -1, -1);
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(*said == 1);
}

// A whole collective in the middle: it sees what came before, and what follows sees its result.
static void call_inside(void)
{
    int mine = me + 1, own = 0, sum = 0, last = 0;
    struct uno_sched *s = new_sched(uno_op(MPI_SUM));
    s->form = UNO_BLOCKING;
    uno_copy_block(s, uno_block(&mine, 1, ints()), uno_block(&own, 1, ints()));
    uno_emit_fence(s);
    struct uno_call c = {.kind = UNO_ALLREDUCE,
                         .name = "test",
                         .comm = &uno_comm_world,
                         .sbuf = &own,
                         .rbuf = &sum,
                         .rcount = 1,
                         .rtype = ints(),
                         .op = uno_op(MPI_SUM)};
    uno_emit_call(s, &c);
    memset(&c, 0, sizeof c);    // the schedule has its own copy
    uno_copy_block(s, uno_block(&sum, 1, ints()), uno_block(&last, 1, ints()));
    CHECK(run_sched(s) == MPI_SUCCESS);
    CHECK(sum == ranks * (ranks + 1) / 2 && last == sum);
}

static void together(void **state)
{
    (void)state;
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(said, MAP_FAILED);
    static const int sizes[] = {2, 3, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_ranks(sizes[i], pass_round);
        run_ranks(sizes[i], use_views);
        *said = 0;
        run_ranks(sizes[i], wait_for_signal);
        run_ranks(sizes[i], call_inside);
    }
    munmap((void *)(uintptr_t)said, sizeof *said);
}

// ---- what builders copy ----

static int from[1 << 20], to[1 << 20];    // addresses only: none of these schedules runs

// Copies that rank `rank` of n makes in a call, beside reductions.
static int copies_of(const struct uno_call *c, int rank, int n)
{
    struct uno_sched *s = new_sched(c->op);
    s->view = (struct uno_view){&uno_comm_world, rank, n, NULL};
    uno_build(s, c);
    CHECK(s->error == MPI_SUCCESS && s->nsteps > 0);
    int copies = 0;
    for (int i = 0; i < s->nsteps; i++) copies += s->step[i].kind == UNO_STEP_COPY;
    uno_sched_free(s);
    return copies;
}

static struct uno_call call_of(enum uno_coll_kind kind, MPI_Count count)
{
    struct uno_call c = {.kind = kind,
                         .comm = &uno_comm_world,
                         .sbuf = from,
                         .rbuf = to,
                         .scount = count,
                         .rcount = count,
                         .stype = ints(),
                         .rtype = ints()};
    if (uno_coll_reduces(kind)) c.op = uno_op(MPI_SUM);
    return c;
}

// A predefined operation reads contributions where they lie and leaves the result where it belongs.
static void combine_little(int n, int rank, MPI_Count count)
{
    static const enum uno_coll_kind kinds[] = {UNO_ALLREDUCE, UNO_REDUCE, UNO_EXSCAN};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct uno_call c = call_of(kinds[i], count);
        CHECK(copies_of(&c, rank, n) == 0);
    }
    struct uno_call scan = call_of(UNO_SCAN, count), scatter = call_of(UNO_REDUCE_SCATTER_BLOCK, count / n + 1);
    if (rank) CHECK(copies_of(&scan, rank, n) == 0);
    CHECK(copies_of(&scatter, rank, n) <= (rank == 0));    // the root, when there is one
}

static void copy_little(void)
{
    for (int n = 2; n <= 9; n++)
        for (int rank = 0; rank < n; rank++) {
            combine_little(n, rank, 1);
            combine_little(n, rank, 4 << 10);
            combine_little(n, rank, 1 << 20);
            struct uno_call all = call_of(UNO_ALLGATHER, 1 << 16);
            CHECK(copies_of(&all, rank, n) == 1);    // its own block
        }
}

static void builders(void **state)
{
    (void)state;
    run_ranks(1, copy_little);
}

// ---- requests, and schedules that run again ----

static void start_once(void)
{
    int mine = 3 * me, sum = -1;
    MPI_Request r;
    struct uno_sched *s = new_sched(uno_op(MPI_SUM));
    emit_ring_sum(s, &mine, &sum);
    CHECK(uno_sched_start(s, &r) == MPI_SUCCESS);    // the request owns it from here on
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(r == MPI_REQUEST_NULL && sum == 3 * me * (me + 1) / 2);
}

static void start_again_and_again(void)
{
    int mine, sum;
    MPI_Request r;
    struct uno_sched *s = new_sched(uno_op(MPI_SUM));
    emit_ring_sum(s, &mine, &sum);
    int steps = s->nsteps;
    CHECK(uno_sched_persist(s, &r) == MPI_SUCCESS);
    for (int round = 0; round < 20; round++) {
        mine = me * round;
        sum = -1;
        CHECK(MPI_Start(&r) == MPI_SUCCESS);
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(sum == round * me * (me + 1) / 2);
        CHECK(s->nsteps == steps && s->at == steps && s->npending == 0);
    }
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
}

// Several at once: each has its tag, so they may be waited for in any order.
static void start_many(void)
{
    enum { MANY = 8 };
    int mine[MANY], sum[MANY];
    MPI_Request r[MANY];
    for (int i = 0; i < MANY; i++) {
        mine[i] = (i + 1) * me;
        struct uno_sched *s = new_sched(uno_op(MPI_SUM));
        emit_ring_sum(s, &mine[i], &sum[i]);
        CHECK(uno_sched_start(s, &r[i]) == MPI_SUCCESS);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK(MPI_Wait(&r[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(sum[i] == (i + 1) * me * (me + 1) / 2);
    }
}

static void as_requests(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        run_ranks(n, start_once);
        run_ranks(n, start_again_and_again);
        run_ranks(n, start_many);
    }
}

// ---- errors ----

static int look(const void *data, int count)
{
    return *(const int *)data == count ? MPI_SUCCESS : uno_fail(MPI_ERR_COUNT, "it is %d", *(const int *)data);
}

// A check that fails ends the schedule with its class: nothing behind it runs.
static void check_ends(void)
{
    for (int want = 1; want <= 2; want++) {
        int x = 1, before = 0, after = 0;
        struct uno_sched *s = new_sched(NULL);
        uno_copy_block(s, uno_block(&x, 1, ints()), uno_block(&before, 1, ints()));
        uno_emit_check(s, look, &x, want);
        uno_copy_block(s, uno_block(&x, 1, ints()), uno_block(&after, 1, ints()));
        CHECK(run_sched(s) == (want == 1 ? MPI_SUCCESS : MPI_ERR_COUNT));
        CHECK(before == 1 && after == (want == 1));
    }
}

// Building: an error is kept, nothing more is emitted, and it is what running gives.
static void scratch_fails(void)
{
    int x = 1, y = 0;
    struct uno_sched *s = new_sched(NULL);
    uno_copy_block(s, uno_block(&x, 1, ints()), uno_block(&y, 1, ints()));
    CHECK(!uno_scratch_bytes(s, SIZE_MAX) && s->error == MPI_ERR_NO_MEM);
    CHECK(strstr(uno_fail_text(), "scratch"));
    uno_emit_send(s, 0, &x, 1, ints());
    uno_emit_fence(s);
    CHECK(!uno_scratch_bytes(s, 1) && s->nsteps == 1);
    uno_sched_free(s);
}

// A message that is too long: the class comes out, the first one stays, and what stands behind still runs, so that the
// next rank gets its message.
static void send_too_much(void)
{
    int two[2] = {5, 6}, got[2] = {0}, next = me, from_last = -1, left = (me + ranks - 1) % ranks;
    struct uno_sched *s = new_sched(NULL);
    uno_emit_send(s, (me + 1) % ranks, two, me == 0 ? 2 : 1, ints());
    uno_emit_recv(s, left, got, 1, ints());
    uno_emit_fence(s);
    uno_emit_send(s, (me + 1) % ranks, &next, 1, ints());
    uno_emit_recv(s, left, &from_last, 1, ints());
    CHECK(run_sched(s) == (left == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    CHECK(from_last == left && got[1] == 0);
}

static void persistent_recovers(void)
{
    int x = 2, class;
    MPI_Request r;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    struct uno_sched *s = new_sched(NULL);
    uno_emit_check(s, look, &x, 1);
    CHECK(uno_sched_persist(s, &r) == MPI_SUCCESS);
    for (int round = 0; round < 4; round++) {
        x = 1 + round % 2;
        CHECK(MPI_Start(&r) == MPI_SUCCESS);
        CHECK(MPI_Error_class(MPI_Wait(&r, MPI_STATUS_IGNORE), &class) == MPI_SUCCESS);
        CHECK(class == (round % 2 ? MPI_ERR_COUNT : MPI_SUCCESS));
    }
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
}

// A message whose sender died: it ends with that class before mpiexec has told of the death. What was to be made of it
// and sent on is not.
static void stops_at_a_death(void)
{
    int x = 1, got = 0, sent_on = 0;
    MPI_Request r;
    struct uno_match *m = &uno_comm_world.match[1];
    struct uno_sched *s = new_sched(NULL);
    uno_emit_recv(s, 0, &got, 1, ints());
    uno_emit_fence(s);
    uno_copy_block(s, uno_block(&x, 1, ints()), uno_block(&sent_on, 1, ints()));
    CHECK(uno_sched_start(s, &r) == MPI_SUCCESS);
    MPI_Request inner = m->source[0].posted.head;
    CHECK(inner);
    uno_match_unpost(m, inner);
    uno_request_done(inner, UNO_ERR_PROC_FAILED);
    CHECK(uno_wait(&r, MPI_STATUS_IGNORE) == UNO_ERR_PROC_FAILED);
    CHECK(sent_on == 0 && uno_comm_world.broken == UNO_ERR_PROC_FAILED);
    uno_comm_world.broken = MPI_SUCCESS;
}

static void errors(void **state)
{
    (void)state;
    run_ranks(1, stops_at_a_death);
    run_ranks(1, check_ends);
    run_ranks(1, scratch_fails);
    for (int n = 1; n <= 4; n++) run_ranks(n, send_too_much);
    run_ranks(2, persistent_recovers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),       cmocka_unit_test(together), cmocka_unit_test(builders),
        cmocka_unit_test(as_requests), cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
