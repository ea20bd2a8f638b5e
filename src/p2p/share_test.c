// SPDX-License-Identifier: BSD-3-Clause
// Unit test of shares and barriers (share.c, meet.c): 2 to 8 ranks of one job, memory as a memfd and in the job's heap,
// barriers through words and through messages, memory that there is not.
#include "p2p/test_ranks.h"

#include <fcntl.h>
#include <stdint.h>

#include "p2p/meet.h"

#define MEETINGS 2000

static const int sizes[] = {2, 3, 5, 8};
static size_t bytes = 300000;    // of a share

// Descriptors of this process, to see that none is left open.
static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void fill_and_read(void)
{
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct uno_meet meet;
    struct uno_share s;
    CHECK(uno_share_possible(c, true));
    CHECK(uno_meet_make(c, &meet) == MPI_SUCCESS);
    int before = open_files();
    for (int round = 0; round < 20; round++) {
        CHECK(uno_share_make(c, bytes, &s) == MPI_SUCCESS);
        CHECK((uintptr_t)s.base % 4096 == 0 && s.bytes == bytes);
        for (size_t i = (size_t)me; i < bytes; i += (size_t)ranks) {
            CHECK(s.base[i] == 0);    // nothing is left of the round before
            s.base[i] = (char)(1 + me);
        }
        CHECK(uno_meet(&meet) == MPI_SUCCESS);
        for (size_t i = 0; i < bytes; i++) CHECK(s.base[i] == (char)(1 + i % (size_t)ranks));
        uno_share_drop(&s);
    }
    CHECK(open_files() == before);
    uno_meet_drop(&meet);
}

static void as_memfd(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) run_ranks(sizes[i], fill_and_read);
}

static void in_the_heap(void **state)
{
    (void)state;
    setenv("UNISONO_SHARE_MEMFD", "0", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) run_ranks(sizes[i], fill_and_read);
    unsetenv("UNISONO_SHARE_MEMFD");
}

// In a chunk of the heap, of which little or most is used; either way it is zero when it is taken again.
static void in_a_chunk(void **state)
{
    (void)state;
    size_t before = bytes;
    for (bytes = 5000; bytes < 60000; bytes *= 3) run_ranks(3, fill_and_read);
    bytes = before;
}

static void ask_for_too_much(void)
{
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct uno_share s = {.base = (char *)1};
    static const size_t absurd[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 62, (size_t)1 << 50, (size_t)1 << 46};
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        CHECK(uno_share_make(c, absurd[i], &s) == MPI_ERR_NO_MEM);
        CHECK(s.base == (char *)1 && strstr(uno_fail_text(), "share"));
    }
    CHECK(uno_share_make(c, 0, &s) == MPI_SUCCESS);    // and goes on
    uno_share_drop(&s);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    run_ranks(3, ask_for_too_much);
    setenv("UNISONO_SHARE_MEMFD", "0", 1);
    run_ranks(3, ask_for_too_much);
    unsetenv("UNISONO_SHARE_MEMFD");
}

// Nobody leaves turn k before all have come to it: a counter of each rank in shared memory shows.
static void meet_often(bool words)
{
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct uno_meet meet;
    struct uno_share s;
    CHECK(uno_meet_make(c, &meet) == MPI_SUCCESS);
    CHECK(meet.words);
    if (!words) meet.words = NULL;
    CHECK(uno_share_make(c, sizeof(_Atomic int) * TEST_RANKS, &s) == MPI_SUCCESS);
    _Atomic int *count = (_Atomic int *)(void *)s.base;
    for (int turn = 1; turn <= MEETINGS; turn++) {
        // Relaxed, here and below: the meeting alone makes the order.
        atomic_store_explicit(&count[me], turn, memory_order_relaxed);
        CHECK(uno_meet(&meet) == MPI_SUCCESS);
        for (int r = 0; r < ranks; r++) {
            int seen = atomic_load_explicit(&count[r], memory_order_relaxed);
            CHECK(seen == turn || seen == turn + 1);
        }
    }
    uno_share_drop(&s);
    uno_meet_drop(&meet);
}

static void by_words(void)
{
    meet_often(true);
}

static void by_messages(void)
{
    meet_often(false);
}

static void all_meet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        run_ranks(sizes[i], by_words);
        run_ranks(sizes[i], by_messages);
    }
    setenv("UNISONO_CHAN", "tcp", 1);
    run_ranks(3, by_messages);
    unsetenv("UNISONO_CHAN");
}

// A small share lies in the heap while that has a chunk, else it is a file of its own.
static void fill_the_heap(void)
{
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct uno_share s, more;
    CHECK(uno_share_make(c, 64, &s) == MPI_SUCCESS && !s.map);
    uno_share_drop(&s);
    int taken = 0;
    static int64_t chunk[UNO_HEAP_CHUNKS + 1];    // and the refusal
    struct uno_job_head *job = s.job;
    while (me == 0 && (chunk[taken] = uno_job_take(job, 1)) >= 0) taken++;
    CHECK(uno_share_make(c, 64, &s) == MPI_SUCCESS && s.map);
    s.base[me] = 'x';
    for (int i = 0; i < taken; i++) uno_job_give(job, (size_t)chunk[i], 1);
    CHECK(uno_share_make(c, 64, &more) == MPI_SUCCESS && !more.map);
    CHECK(s.base[me] == 'x' && more.base[me] == 0);
    uno_share_drop(&s);
    uno_share_drop(&more);
}

static void where_small_ones_lie(void **state)
{
    (void)state;
    run_ranks(3, fill_the_heap);
}

// Two of three ranks, with a communicator of their own, while the third does nothing of the kind.
static void some_of_them(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, me == 1 ? MPI_UNDEFINED : 0, -me, &part);
    if (me != 1) {
        struct uno_meet meet;
        struct uno_share s;
        CHECK(uno_share_make(part, 64, &s) == MPI_SUCCESS && uno_meet_make(part, &meet) == MPI_SUCCESS);
        MPI_Comm_free(&part);    // the barrier holds it
        s.base[me] = 'x';
        CHECK(uno_meet(&meet) == MPI_SUCCESS);
        CHECK(s.base[0] == 'x' && s.base[1] == 0 && s.base[2] == 'x');
        uno_share_drop(&s);
        uno_meet_drop(&meet);
    }
}

static void a_part_of_the_job(void **state)
{
    (void)state;
    run_ranks(3, some_of_them);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_memfd),
        cmocka_unit_test(in_the_heap),
        cmocka_unit_test(in_a_chunk),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(all_meet),
        cmocka_unit_test(a_part_of_the_job),
        cmocka_unit_test(where_small_ones_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
