// SPDX-License-Identifier: BSD-3-Clause
// What test programs share: CHECK ends the job with the rank, the place and the condition that did not hold.
// Included by the programs under tests/, which tests/run compiles and runs.
#ifndef UNO_TESTS_CHECK_H
#define UNO_TESTS_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)

static inline void check_that(int holds, const char *condition, const char *file, int line)
{
    int rank = -1, up = 0, down = 0;
    if (holds) return;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (up && !down) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "%s:%d: rank %d: CHECK(%s) failed\n", file, line, rank, condition);
    fflush(stderr);
    if (up && !down) MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

// Ends the program as skipped (status 77), with the reason as its last line.
static inline void skip(const char *reason)
{
    int up = 0;
    MPI_Initialized(&up);
    if (up) MPI_Finalize();
    printf("%s\n", reason);
    fflush(stdout);
    exit(77);
}

#endif
