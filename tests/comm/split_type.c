// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,4 chan=shm,tcp
// MPI_Comm_split_type: by host, guided and unguided by hardware, by process set, and what is wrong input. Ranks bind
// themselves.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../check.h"

#include <sched.h>
#include <string.h>

static int rank, size;

static int size_of(MPI_Comm *c)
{
    int n = 0;
    if (*c == MPI_COMM_NULL) return 0;
    MPI_Comm_size(*c, &n);
    MPI_Comm_free(c);
    return n;
}

static int split(int type, const char *key, const char *value)
{
    MPI_Comm c;
    MPI_Info info = MPI_INFO_NULL;
    if (key) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, value);
    }
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &c) == MPI_SUCCESS);
    if (key) MPI_Info_free(&info);
    return size_of(&c);
}

// Binds this process to its nth allowed processor (mpiexec may have left it a single one). Returns how many ranks, this
// one too, are on the same.
static int bind_to(int nth)
{
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    int count = CPU_COUNT(&all), seen = 0, mine = -1, same = 0;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && seen++ == nth % count) mine = cpu;
    }
    CPU_SET(mine, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    for (int r = 0; r < size; r++) {
        int theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, (rank + r) % size, r, &theirs, 1, MPI_INT, (rank + size - r) % size, r,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        same += theirs == mine;
    }
    return same;
}

static void bound(void)
{
    MPI_Comm c;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL] = "";
    int flag, n = sizeof value, same = bind_to(rank);
    int got = split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "PU");
    CHECK(got == same);
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "hwloc://pu") == same);
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &n, value, &flag);
    got = size_of(&c);
    // Strictly smaller parts, and their kind is told; nothing when all share everything.
    CHECK(flag == (got > 0) && got >= (same < size) && got <= size - (size > 1));
    MPI_Info_free(&info);
}

// What the library says it can split by, it can.
static void resource_info(void)
{
    MPI_Info info;
    int n, flag;
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    MPI_Info_get_nkeys(info, &n);
    CHECK(n >= 1);
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY], value[8];
        int len = sizeof value;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get_string(info, key, &len, value, &flag);
        CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
        int got = split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", key);
        CHECK((got > 0) == (strcmp(value, "true") == 0));
    }
    MPI_Info_free(&info);
}

int main(void)
{
    MPI_Comm c;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(split(MPI_COMM_TYPE_SHARED, NULL, NULL) == size);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory") == size);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "no such part") == 0);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == 0);
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD") == size);
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF") == 1);
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "none") == 0);
    // One rank stays out, whatever the others ask for.
    int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED};
    for (int i = 0; i < 2; i++) {
        int got = split(rank ? types[i] : MPI_UNDEFINED, i ? "mpi_hw_resource_type" : NULL, "mpi_shared_memory");
        CHECK(got == (rank ? size - 1 : 0));
    }
    split(rank ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_UNDEFINED, NULL, NULL);
    resource_info();
    bound();
    resource_info();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, 7, 0, MPI_INFO_NULL, &c) == MPI_ERR_ARG);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL) == MPI_ERR_ARG);
    // A color that is wrong on one rank fails everywhere: no rank is left waiting.
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? -7 : 1, 0, &c) == MPI_ERR_ARG);
    MPI_Finalize();
    return 0;
}
