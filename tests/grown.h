// SPDX-License-Identifier: BSD-3-Clause
// A world that grows: with TEST_SPAWN=N in the environment a program that uses `world` instead of MPI_COMM_WORLD runs
// over two jobs, its own ranks and N more of the same program that they spawn, merged into one communicator.
#ifndef UNO_TESTS_GROWN_H
#define UNO_TESTS_GROWN_H

#include "check.h"

static MPI_Comm world = MPI_COMM_NULL;

// After MPI_Init.
static inline void grow_world(char **argv)
{
    const char *more = getenv("TEST_SPAWN");
    MPI_Comm other;
    MPI_Comm_get_parent(&other);
    int spawned = other != MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    if (!spawned && !more) return;
    if (!spawned)
        CHECK(MPI_Comm_spawn(argv[0], argv + 1, atoi(more), MPI_INFO_NULL, 0, world, &other, MPI_ERRCODES_IGNORE) ==
              MPI_SUCCESS);
    MPI_Comm_free(&world);
    CHECK(MPI_Intercomm_merge(other, spawned, &world) == MPI_SUCCESS);
    MPI_Comm_disconnect(&other);
}

// Before MPI_Finalize.
static inline void leave_world(void)
{
    CHECK(MPI_Comm_disconnect(&world) == MPI_SUCCESS);
}

#endif
