// SPDX-License-Identifier: BSD-3-Clause
// Unit test of the way that partitions take inside a host (part_cut.c), and that the use of what moves directly is
// noted as that of other messages is.
#include "p2p/test_ranks.h"

#include "base/huge.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "chan/peer_memory.h"
#include "p2p/part.h"

#define KB 1024
#define PARTS 8

// A request from rank 0 to rank 1, which was active `turns` times; what arrived is right.
static MPI_Request moved(char *buf, size_t bytes, int turns)
{
    MPI_Request r;
    if (me == 0)
        CHECK(MPI_Psend_init(buf, PARTS, (MPI_Count)bytes / PARTS, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r) ==
              MPI_SUCCESS);
    else
        CHECK(MPI_Precv_init(buf, PARTS, (MPI_Count)bytes / PARTS, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r) ==
              MPI_SUCCESS);
    for (int t = 1; t <= turns; t++) {
        memset(buf, me == 0 ? t : 0, bytes);
        CHECK(MPI_Start(&r) == MPI_SUCCESS);
        for (int i = 0; i < PARTS && me == 0; i++) CHECK(MPI_Pready(i, r) == MPI_SUCCESS);
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(buf[0] == t && memcmp(buf, buf + 1, bytes - 1) == 0);
    }
    return r;
}

static enum part_mode mode_of(MPI_Request r)
{
    return ((const struct part *)r->extra)->mode;
}

static enum part_mode mode_for(size_t bytes)
{
    static char buf[256 * KB];
    MPI_Request r = moved(buf, bytes, 1);
    enum part_mode mode = mode_of(r);
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
    return mode;
}

static bool is_direct(enum part_mode mode)
{
    bool reached = uno_peer_memory_pid(1 - me) != 0;
    return mode == (reached ? PART_DIRECT : PART_MESSAGES);
}

static void ways(void)
{
    uno_patience.crowded = false;
    uno_thresholds.eager = 32 * KB;
    uno_thresholds.eager_light = 64 * KB;
    uno_thresholds.turn_piece = 4 * KB;
    uno_thresholds.streamed = UNO_THRESHOLD_NEVER;
    uno_thresholds.grows = 1;    // lines that another core has are dear
    CHECK(mode_for(2 * KB) == PART_STAGED);
    CHECK(mode_for(4 * KB) == PART_MESSAGES);
    CHECK(mode_for(32 * KB) == PART_MESSAGES);
    CHECK(is_direct(mode_for(64 * KB)));
    uno_patience.crowded = true;
    CHECK(mode_for(64 * KB) == PART_MESSAGES);
    CHECK(is_direct(mode_for(128 * KB)));
    uno_thresholds.grows = 0;
    CHECK(mode_for(4 * KB) == PART_STAGED);
    CHECK(mode_for(32 * KB) == PART_STAGED);
}

// All of them are taken to be used in turns.
static void what_leaves_the_caches_is_streamed(void)
{
    static char one[128 * KB], other[128 * KB];
    uno_thresholds.eager = uno_thresholds.eager_light = 32 * KB;
    uno_thresholds.streamed = sizeof one + sizeof other;
    MPI_Request r = moved(one, sizeof one, 2), s = moved(other, sizeof other, 2);
    CHECK(is_direct(mode_of(r)));
    CHECK(mode_of(s) == PART_MESSAGES);
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS && MPI_Request_free(&s) == MPI_SUCCESS);
    CHECK(!part_are_cold());
    CHECK(is_direct(mode_for(128 * KB)));
}

// So they are gathered into huge pages as those of messages are (huge_test.c).
static void direct_ones_are_noted(void)
{
    static char buf[256 * KB];
    uno_thresholds.cold = 0;    // any buffer whose use was noted is as good as cold
    CHECK(!uno_huge_is_cold(buf));
    uno_thresholds.cold = UNO_THRESHOLD_NEVER;
    MPI_Request r = moved(buf, sizeof buf, 1);
    uno_thresholds.cold = 0;
    CHECK(uno_huge_is_cold(buf) == (mode_of(r) == PART_DIRECT));
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
}

static void which_way(void **state)
{
    (void)state;
    run_ranks(2, ways);
    run_ranks(2, what_leaves_the_caches_is_streamed);
    run_ranks(2, direct_ones_are_noted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
