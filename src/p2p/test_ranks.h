// SPDX-License-Identifier: BSD-3-Clause
// For unit tests above the channels: runs a function in several processes that are ranks of one job, between MPI_Init
// and MPI_Finalize, as mpiexec would. A rank that fails exits non-zero, which fails the test and ends the others;
// alarm() ends one that hangs.
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fail.h"
#include "base/job.h"
#include "base/wait.h"
#include "core/comm.h"

#define TEST_RANKS 8    // at most
#define TEST_SECONDS 290

static int me, ranks;

#define CHECK(cond)                                                                                                    \
    ((cond)                                                                                                            \
         ? (void)0                                                                                                     \
         : (fprintf(stderr, "rank %d: %s:%d: %s (%s)\n", me, __FILE__, __LINE__, #cond, uno_fail_text()), _exit(1)))

static inline int make_job(int n)
{
    int world[TEST_RANKS], appnum[TEST_RANKS] = {0}, fd;
    for (int i = 0; i < n; i++) world[i] = i;
    unsigned char secret[32] = {1, 2, 3};
    struct uno_job_spec spec = {.nlocal = (uint32_t)n,
                                .nworld = (uint32_t)n,
                                .universe_size = (uint32_t)n,
                                .nhosts = 1,
                                .world_rank = world,
                                .appnum = appnum,
                                .job_id = (uint64_t)getpid() << 20 ^ uno_now_ns(),
                                .secret = secret};
    assert_int_equal(uno_job_create(&spec, &fd), 0);
    return fd;
}

static inline _Noreturn void be_rank(int fd, int rank, void (*body)(void))
{
    char place[32];
    alarm(TEST_SECONDS);
    me = rank;
    snprintf(place, sizeof place, "%d:%d:%d", fd, rank, (int)getppid());
    setenv(UNO_JOB_ENV, place, 1);
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    body();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    _exit(0);
}

// Runs body in n processes. Parameters come from the environment, as always.
static inline void run_ranks(int n, void (*body)(void))
{
    int fd = make_job(n), failures = 0;
    pid_t pid[TEST_RANKS];
    ranks = n;
    fflush(stdout);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] == 0) be_rank(fd, i, body);
    }
    for (int left = n; left > 0; left--) {
        int status, i = 0;
        pid_t ended = wait(&status);
        while (i < n - 1 && pid[i] != ended) i++;
        pid[i] = 0;
        if (status == 0 || failures++ > 0) continue;
        fprintf(stderr, "rank %d ended with %s %d\n", i, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        for (i = 0; i < n; i++)
            if (pid[i]) kill(pid[i], SIGKILL);    // they would wait for it
    }
    close(fd);
    assert_int_equal(failures, 0);
}
