// SPDX-License-Identifier: BSD-3-Clause
// Unit test of choose.c and rules_read.c: the order of the rules, the table file, coll_force, the words, and the
// messages for what is wrong in them. uno_choose_open() reads once per process, so each case runs in a process of its
// own.
#include "coll/choose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fail.h"
#include "base/machine.h"
#include "base/param.h"
#include "base/thresholds.h"

#define EXPECT(cond)                                                                                                   \
    ((cond) ? (void)0 : (fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #cond, uno_fail_text()), _exit(1)))

// Runs body in a process whose parameters say so: the text of a table file and the value of coll_force, NULL for none.
static void run_with(const char *rules, const char *force, void (*body)(void))
{
    char path[] = "/tmp/uno-choose-XXXXXX";
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    if (rules) assert_int_equal(write(fd, rules, strlen(rules)), strlen(rules));
    close(fd);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (rules) setenv("UNISONO_COLL_TABLE", path, 1);
        if (force) setenv("UNISONO_COLL_FORCE", force, 1);
        EXPECT(uno_params_load() == MPI_SUCCESS);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(path);
    assert_int_equal(status, 0);
}

// What the rules follow, of machines where copies across are cheap, or streaming is.
static void be_machine(uint64_t slots, uint64_t paged)
{
    uno_thresholds.slots = uno_thresholds.slots_lone = slots;
    uno_thresholds.paged = paged;
    uno_thresholds.cached = 32 << 20;
    uno_thresholds.streamed = UNO_THRESHOLD_NEVER;
    uno_thresholds.grows = uno_thresholds.ahead = 0;
    uno_thresholds_told = uno_thresholds;
}

// Ranks of one host that outnumber its cores send in fewer rounds.
static void share_cores(void)
{
    be_machine(8 << 10, 4 << 10);
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    EXPECT(uno_choose(UNO_BARRIER, 4, 0, true) == UNO_ALG_DISSEMINATION);
    EXPECT(uno_choose(UNO_BARRIER, 5, 0, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_BCAST, 127, 8, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_BCAST, 128, 16 << 10, true) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_ALLGATHER, 32, 8, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_ALLGATHER, 33, 8, true) == UNO_ALG_BRUCK);
    EXPECT(uno_choose(UNO_ALLGATHER, 127, 16 << 10, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_ALLGATHER, 128, (16 << 10) - 1, true) == UNO_ALG_BRUCK);
    EXPECT(uno_choose(UNO_ALLGATHERV, 128, 8, true) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLTOALL, 8, 64 << 10, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_ALLTOALL, 128, 64 << 10, true) == UNO_ALG_PAIRWISE);
    EXPECT(uno_choose(UNO_REDUCE_SCATTER, 8, 16 << 10, true) == UNO_ALG_DIRECT);
    EXPECT(uno_choose(UNO_ALLREDUCE, 4, (32 << 10) - 1, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 8, (32 << 10) - 1, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_ALLREDUCE, 8, 32 << 10, true) == UNO_ALG_DIRECT);
    EXPECT(uno_choose(UNO_ALLREDUCE, 32, 64 << 10, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_ALLREDUCE, 33, 128 << 10, true) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 128, 8, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 3, 64 << 10, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 3, 64 << 10, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_SCAN, 4, 8, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_SCAN, 3, 128 << 10, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_SCAN, 4, (64 << 10) - 1, true) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_SCAN, 4, 64 << 10, true) == UNO_ALG_DIRECT);
    EXPECT(uno_choose(UNO_SCAN, 4, 128 << 10, false) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_SCAN, 8, (32 << 10) - 1, true) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_SCAN, 32, 32 << 10, true) == UNO_ALG_DIRECT);
    EXPECT(uno_choose(UNO_SCAN, 33, 32 << 10, true) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_SCAN, 5, 8, true) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_REDUCE, 3, (4 << 10) - 1, true) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_REDUCE, 3, 4 << 10, true) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_REDUCE, 5, 64 << 10, true) == UNO_ALG_LINEAR);
}

static void use_built_in(void)
{
    be_machine(8 << 10, 4 << 10);
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    // A border belongs to the rule that begins there; of the rules that fit, the last one wins.
    EXPECT(uno_choose(UNO_ALLREDUCE, 2, 256 << 10, false) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 2, (256 << 10) + 1, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 3, (16 << 10) - 1, false) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 3, 16 << 10, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_BCAST, 4, (128 << 10) - 1, false) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_BCAST, 4, 128 << 10, false) == UNO_ALG_SCATTER);
    EXPECT(uno_choose(UNO_BCAST, 4, SIZE_MAX, false) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_BCAST, 3, SIZE_MAX, false) == UNO_ALG_BINOMIAL);
    // Rings, and parts, pay from the later on the more ranks there are.
    EXPECT(uno_choose(UNO_ALLREDUCE, 4, (64 << 10) - 1, false) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 4, 64 << 10, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 16, 64 << 10, false) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 63, 128 << 10, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 64, 128 << 10, false) == UNO_ALG_DOUBLING);
    EXPECT(uno_choose(UNO_ALLREDUCE, 1 << 20, SIZE_MAX, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_REDUCE, 63, 32 << 10, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_REDUCE, 64, 32 << 10, false) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_REDUCE, 1 << 20, SIZE_MAX, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_BCAST, 32, 2 << 20, false) == UNO_ALG_SCATTER);
    EXPECT(uno_choose(UNO_BCAST, 32, SIZE_MAX, false) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_BCAST, 128, 128 << 10, false) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_BCAST, 1 << 20, SIZE_MAX, false) == UNO_ALG_SCATTER);
    EXPECT(uno_choose(UNO_GATHER, 7, 64, false) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_GATHER, 8, 64, false) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_GATHER, 8, 4 << 10, false) == UNO_ALG_LINEAR);
    // The rule for inside a host stands after those for messages and does not meet them.
    EXPECT(uno_choose(UNO_ALLGATHER, 4, 1 << 20, false) == UNO_ALG_RING);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 2, false) == 6 << 10);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_COPIES, 2, false) == 6 << 10);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_COPIES, 4, true) == (24 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCAN, UNO_ALG_COPIES, 2, false) == (16 << 10) + 1);
    // Where ranks outnumber cores, reductions stay in the slots for longer, and what has no rule there is as elsewhere.
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 4, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 4, true) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_COPIES, 4, true) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 8, true) == (1 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 4, true) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 4, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_WINDOWS, 4, true) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_WINDOWS, 8, true) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_WINDOWS, 4, true) == (8 << 20) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 4, true) == (32 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_WINDOWS, 8, true) == (512 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_WINDOWS, 64, true) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_WINDOWS, 4, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_EXSCAN, UNO_ALG_COPIES, 4, true) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 8, true) == (16 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 4, true) == (16 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 8, true) == (256 << 10) + 1);
    EXPECT(uno_choose(UNO_NEIGHBOR_ALLGATHER, 4, 8, false) == UNO_ALG_LINEAR);    // no rule at all
}

static void built_in_rules(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_built_in);
    run_with(NULL, NULL, share_cores);
}

static void use_cores_each(void)
{
    be_machine(8 << 10, 4 << 10);
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    // With a core each, slots serve the longer the more ranks there are.
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 3, false) == (24 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 8, false) == (84 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_COPIES, 16, false) == (150 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER_BLOCK, UNO_ALG_COPIES, 4, false) == (18 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 8, false) == (49 << 9) + 1);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_COPIES, 4, false) == (12 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_COPIES, 4, false) == (8 << 10) + 1);
    // A scatter to several ranks goes by messages until copies are worth it.
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 4, false) == (2 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 4, false) == (16 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 4, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 4, true) == (4 << 10) + 1);
    // What all caches together cannot hold.
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_WINDOWS, 8, false) == 3 * (2 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 4, false) == 12 * (1 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 8, false) == 6 * (256 << 10) + 1);
    EXPECT(uno_choose_far(false) == 0 && uno_choose_far(true) == UNO_THRESHOLD_NEVER);
}

// A scatter of medium blocks goes by messages where lines are dear, until copies or, of many ranks, slots do better.
static void scatter_over_dear_lines(void)
{
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 2, false) == (4 << 10) + 1);
    EXPECT(uno_choose_until(UNO_SCATTER, UNO_ALG_MESSAGES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 4, true) == (4 << 10) + 1);
    EXPECT(uno_choose_until(UNO_SCATTER, UNO_ALG_MESSAGES, 4, true) == (16 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 32, true) == SIZE_MAX);
    EXPECT(uno_choose_until(UNO_SCATTER, UNO_ALG_MESSAGES, 32, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 32, true) == (8 << 10) + 1);
    uno_thresholds.slots = 4 << 10;    // copies begin before messages, and are there again behind them
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 2, false) == (2 << 10) + 1);
    EXPECT(uno_choose_until(UNO_SCATTER, UNO_ALG_COPIES, 2, false) == (4 << 10) + 1);
    EXPECT(uno_choose_until(UNO_SCATTER, UNO_ALG_MESSAGES, 2, false) == (8 << 10) + 1);
}

// Two ranks exchange what is short by messages where lines are dear to write; with more they do not, nor on one core.
static void use_dear_lines(void)
{
    be_machine(8 << 10, 4 << 10);
    uno_thresholds.ahead = 1;
    uno_thresholds.eager = 8 << 10;
    uno_thresholds_told = uno_thresholds;
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 2, false) == (1 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_COPIES, 2, false) == (8 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_MESSAGES, 2, false) == (1 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_COPIES, 2, false) == (12 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER_BLOCK, UNO_ALG_COPIES, 2, false) == (14 << 10) + 1);
    EXPECT(uno_choose_from(UNO_EXSCAN, UNO_ALG_COPIES, 2, false) == (16 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_MESSAGES, 2, false) == SIZE_MAX);
    EXPECT(uno_choose(UNO_SCAN, 8, 64 << 10, true) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_SCAN, 8, (64 << 10) + 1, true) == UNO_ALG_DIRECT);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_MESSAGES, 2, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 3, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 3, false) == (4 << 10) + 1);
    scatter_over_dear_lines();
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_MESSAGES, 3, false) == SIZE_MAX);
}

static void exchanges_where_lines_are_dear(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_dear_lines);
}

static void more_ranks_with_a_core_each(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_cores_each);
}

static void use_streams(void)
{
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    be_machine(128 << 10, 4 << 10);    // slots serve longer, in proportion
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 2, false) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 2, false) == (64 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 2, false) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 4, true) == (512 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 8, true) == (1 << 20) + 1);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_COPIES, 4, true) == (384 << 10) + 1);
    be_machine(128 << 10, UINT64_C(1) << 40);    // and reductions never go by copies
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 2, false) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_COPIES, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_COPIES, 2, false) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 4, true) == (64 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_WINDOWS, 4, true) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 8, true) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 4, true) == (4 << 20) + 1);
    be_machine(8 << 10, 4 << 10);    // where two ranks that copy out of memory are no faster than one
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    uno_thresholds.streamed = 16 << 20;
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_WINDOWS, 2, false) == (8 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 2, false) == (2 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 2, false) == (8 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_MESSAGES, 2, false) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 2, false) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 3, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 3, false) < (1 << 20));
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_MESSAGES, 4, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_WINDOWS, 2, false) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_WINDOWS, 4, true) == (8 << 20) + 1);
    EXPECT(uno_choose_from(UNO_GATHER, UNO_ALG_MESSAGES, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);    // by what was told of the machine
    uno_thresholds_told.streamed = 16 << 20;
    EXPECT(uno_choose_from(UNO_REDUCE, UNO_ALG_WINDOWS, 2, false) == (16 << 20) / 3 + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_WINDOWS, 2, false) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_WINDOWS, 3, false) == SIZE_MAX);
}

static void use_spread_slots(void)
{
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    be_machine(32 << 10, 32 << 10);
    EXPECT(uno_choose_spread(2) == 0);
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_COPIES, 2, false) == (32 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 4, true) == (64 << 10) + 1);
    uno_thresholds.grows = 1;    // lines that were read have left the reader's cache before they are written again
    EXPECT(uno_choose_spread(2) == 2 * uno_own_cache() && uno_choose_spread(4) == 2 * uno_own_cache() / 3);
    if (uno_own_cache() == 0) return;    // the system does not tell (an emulator): nothing is spread
    EXPECT(uno_choose_from(UNO_ALLREDUCE, UNO_ALG_COPIES, 2, false) == (64 << 10) + 1);
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 2, false) == (32 << 10) + 1);
    EXPECT(uno_choose_from(UNO_BCAST, UNO_ALG_COPIES, 2, false) == (32 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 4, true) == (128 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_COPIES, 4, true) == (256 << 10) + 1);
    EXPECT(!uno_choose_is_fixed(UNO_ALLREDUCE, true));
    be_machine(64 << 10, UINT64_C(1) << 40);    // and small pages are dear, too
    uno_thresholds.grows = 1;
    uno_thresholds.streamed = uno_thresholds_told.streamed = 32 << 20;
    EXPECT(uno_choose_cold() == 32 << 20);
    EXPECT(uno_choose_far(false) >= 32 << 20 && uno_choose_far(false) <= 64 << 20);
    if (uno_shared_cache() > 32 << 20) EXPECT(uno_choose_far(false) > 32 << 20);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_MESSAGES, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLGATHERV, UNO_ALG_WINDOWS, 2, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 2, false) == (64 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_WINDOWS, 4, true) == (512 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 4, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_COPIES, 4, true) == (256 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 8, true) == (512 << 10) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_WINDOWS, 4, true) == (4 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 4, true) == (8 << 20) + 1);
    EXPECT(uno_choose_from(UNO_ALLTOALL, UNO_ALG_MESSAGES, 8, true) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER, UNO_ALG_WINDOWS, 2, false) == (16 << 20) + 1);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER, UNO_ALG_WINDOWS, 4, false) == SIZE_MAX);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER_BLOCK, UNO_ALG_WINDOWS, 4, true) == (8 << 20) + 1);
    EXPECT(uno_choose_is_fixed(UNO_ALLREDUCE, true) && !uno_choose_is_fixed(UNO_ALLREDUCE, false));
    EXPECT(!uno_choose_is_fixed(UNO_ALLGATHER, true));
}

// What a job finds out about its kernel moves data another way, and rounds nothing another way.
static void use_raised(void)
{
    static const enum uno_coll_kind reductions[] = {UNO_REDUCE, UNO_ALLREDUCE, UNO_REDUCE_SCATTER, UNO_SCAN};
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    be_machine(32 << 10, 32 << 10);
    for (int alg = UNO_ALG_SLOTS; alg < UNO_ALG_END; alg++)
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
            for (int ranks = 2; ranks <= 8; ranks *= 2) {
                uno_thresholds = uno_thresholds_told;
                size_t told[2] = {uno_choose_from(reductions[i], alg, ranks, false),
                                  uno_choose_from(reductions[i], alg, ranks, true)};
                uno_thresholds.slots = 64 << 10;
                uno_thresholds.paged = UNO_THRESHOLD_NEVER;
                uno_thresholds.streamed = 16 << 20;
                EXPECT(uno_choose_from(reductions[i], alg, ranks, false) == told[0]);
                EXPECT(uno_choose_from(reductions[i], alg, ranks, true) == told[1]);
            }
    EXPECT(uno_choose_from(UNO_SCATTER, UNO_ALG_COPIES, 2, false) == (32 << 10) + 1);    // 16 KiB as told
}

static void raised_costs_leave_reductions(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_raised);
}

static void built_in_rules_of_spread_slots(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_spread_slots);
}

static void built_in_rules_of_streams(void **state)
{
    (void)state;
    run_with(NULL, NULL, use_streams);
}

static const char rules[] = "# collective ranks bytes algorithm\n"
                            "\n"
                            "  bcast 2 100 linear   # a comment behind a rule\n"
                            "bcast 2 200 chain\n"
                            "bcast 2 150 scatter\n"
                            "allgather 0 0 slots\n"
                            "allgather 4 2000 copies\n"
                            "allgather 4 5000 slots\n"
                            "allgather 4 7000 copies\n"
                            "reduce_scatter 0 512 copies\n"
                            "scan 0 300 copies\n";

static void use_file(void)
{
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    EXPECT(uno_choose(UNO_BCAST, 2, 99, false) == UNO_ALG_BINOMIAL);    // the built-in table still stands below
    EXPECT(uno_choose(UNO_BCAST, 1, 1000, false) == UNO_ALG_BINOMIAL);
    EXPECT(uno_choose(UNO_BCAST, 2, 100, false) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_BCAST, 2, 149, false) == UNO_ALG_LINEAR);
    EXPECT(uno_choose(UNO_BCAST, 2, 150, false) == UNO_ALG_SCATTER);
    EXPECT(uno_choose(UNO_BCAST, 2, 200, false) == UNO_ALG_SCATTER);        // the last line that fits, not the nearest
    EXPECT(uno_choose(UNO_BCAST, 8, 4 << 20, false) == UNO_ALG_SCATTER);    // above the built-in chain
    EXPECT(uno_choose(UNO_REDUCE, 2, 8, false) == UNO_ALG_BINOMIAL);
    // Copies begin at the first border at which the rules come to copies. One on fewer ranks is another case.
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 4, false) == 2000);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 3, false) == SIZE_MAX);
    EXPECT(uno_choose(UNO_ALLGATHER, 4, 100, false) == UNO_ALG_BRUCK);    // what is said of a host touches no messages
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER, UNO_ALG_COPIES, 2, false) == 512);
    EXPECT(uno_choose_from(UNO_REDUCE_SCATTER_BLOCK, UNO_ALG_COPIES, 2, false) ==
           512);    // follow the form that has a word in the table
    EXPECT(uno_choose_from(UNO_EXSCAN, UNO_ALG_COPIES, 2, false) == 300);
    EXPECT(uno_choose_from(UNO_ALLGATHER, UNO_ALG_COPIES, 4, true) == 2000);    // the file has the last word there, too
}

static void rules_of_a_file(void **state)
{
    (void)state;
    run_with(rules, NULL, use_file);
}

static void use_force(void)
{
    EXPECT(uno_choose_open() == MPI_SUCCESS);
    EXPECT(uno_choose(UNO_BCAST, 2, 1, false) == UNO_ALG_CHAIN);
    EXPECT(uno_choose(UNO_BCAST, 100, SIZE_MAX, false) == UNO_ALG_CHAIN);    // whatever the file says
    EXPECT(uno_choose(UNO_ALLREDUCE, 2, 8, false) == UNO_ALG_RING);
    EXPECT(uno_choose(UNO_ALLTOALLW, 2, 8, false) == UNO_ALG_PAIRWISE);
    EXPECT(uno_choose(UNO_GATHER, 8, 64, false) == UNO_ALG_BINOMIAL);    // not named: untouched
    EXPECT(uno_choose_open() == MPI_SUCCESS);                            // once: the rules are not read again
    EXPECT(uno_choose(UNO_BCAST, 2, 1, false) == UNO_ALG_CHAIN);
}

static void force_beats_all(void **state)
{
    (void)state;
    run_with(rules, "bcast=chain,allreduce=ring+alltoallw=pairwise", use_force);
    run_with(NULL, "bcast=linear+bcast=chain+allreduce=ring+alltoallw=pairwise", use_force);    // the last one wins
}

static const char *wanted;    // what the message must hold

static void be_refused(void)
{
    EXPECT(uno_choose_open() == MPI_ERR_ARG);
    EXPECT(strstr(uno_fail_text(), wanted));
}

static void wrong_words(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *force, *text;
    } cases[] = {
        {"broadcast 0 0 chain\n", NULL, "no collective `broadcast`"},
        {"bcast 0 0 chian\n", NULL, "bcast has no algorithm `chian`"},
        {"bcast 0 0 doubling\n", NULL, "bcast has no algorithm `doubling`"},    // a word, but of other collectives
        {"barrier 0 0 copies\n", NULL, "barrier has no algorithm `copies`"},
        {"gather 0 0 linear\nbcast 0 chain\n", NULL, ":2: expected COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM"},
        {"bcast 0 0 chain 7\n", NULL, ":1: expected COLLECTIVE"},
        {"bcast\n", NULL, ":1: expected COLLECTIVE"},
        {NULL, "bcast", "coll_force: expected COLLECTIVE=ALGORITHM at `bcast`"},
        {NULL, "bcast=chain+allreduce", "at `allreduce`"},
        {NULL, "bcast=chain;allreduce=ring", "at `;allreduce=ring`"},
        {NULL, "bcast=", "at `bcast=`"},
        {NULL, "bcast=ring", "bcast has no algorithm `ring`"},
        {NULL, "bcat=ring", "no collective `bcat`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wanted = cases[i].text;
        run_with(cases[i].rules, cases[i].force, be_refused);
    }
}

static void look_for_a_file_that_is_not(void)
{
    setenv("UNISONO_COLL_TABLE", "/no/such/table", 1);
    EXPECT(uno_params_load() == MPI_SUCCESS);
    EXPECT(uno_choose_open() == MPI_ERR_ARG);
    EXPECT(strstr(uno_fail_text(), "coll_table /no/such/table"));
    EXPECT(uno_choose_open() == MPI_ERR_ARG);    // a failure is not remembered as done
}

static void missing_file(void **state)
{
    (void)state;
    run_with(NULL, NULL, look_for_a_file_that_is_not);
}

// Every number has a word of its own, none has two, and there are no more.
static void words(void **state)
{
    (void)state;
    for (int i = 0; i < UNO_COLL_KINDS; i++) {
        assert_non_null(uno_coll_word((enum uno_coll_kind)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(uno_coll_word((enum uno_coll_kind)i), uno_coll_word((enum uno_coll_kind)k));
    }
    for (int i = 0; i < UNO_ALG_END; i++) {
        assert_non_null(uno_alg_word((enum uno_alg)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(uno_alg_word((enum uno_alg)i), uno_alg_word((enum uno_alg)k));
    }
    assert_null(uno_coll_word(UNO_COLL_KINDS));
    assert_null(uno_alg_word(UNO_ALG_END));
    assert_string_equal(uno_coll_word(UNO_REDUCE_SCATTER_BLOCK), "reduce_scatter_block");
    assert_string_equal(uno_alg_word(UNO_ALG_COPIES), "copies");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_rules),
        cmocka_unit_test(more_ranks_with_a_core_each),
        cmocka_unit_test(built_in_rules_of_streams),
        cmocka_unit_test(raised_costs_leave_reductions),
        cmocka_unit_test(built_in_rules_of_spread_slots),
        cmocka_unit_test(exchanges_where_lines_are_dear),
        cmocka_unit_test(rules_of_a_file),
        cmocka_unit_test(force_beats_all),
        cmocka_unit_test(wrong_words),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
