// SPDX-License-Identifier: BSD-3-Clause
// One-sided programs for test_windows.py: `windows HOW`. Most wait for ever, each for something that is missing; "end"
// does what the profile must count.
#include <mpi.h>
#include <string.h>

static int rank, size, *mem;
static MPI_Win win;

static MPI_Group group_of(int r)
{
    MPI_Group all, one;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &r, &one);
    MPI_Group_free(&all);
    return one;
}

static void for_ever(int source)
{
    int x;
    MPI_Recv(&x, 1, MPI_INT, source, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The last rank keeps the lock of rank 0 and waits for rank 0, which wants it too.
static void kept_lock(int type)
{
    int keeper = size - 1;
    if (rank == keeper) MPI_Win_lock(type, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == keeper) for_ever(0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
}

static void kept_lock_all(void)
{
    if (rank == 1) MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) for_ever(0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
}

static void missing_post(void)
{
    MPI_Group to = group_of(1);
    if (rank == 0) MPI_Win_start(to, 0, win);
    if (rank == 0) MPI_Win_complete(win);
    if (rank > 0) for_ever(0);
}

static void missing_complete(void)
{
    MPI_Group to = group_of(1), from = group_of(0);
    if (rank == 1) MPI_Win_post(from, 0, win);
    if (rank == 0) MPI_Win_start(to, 0, win);
    if (rank == 1) MPI_Win_wait(win);
    for_ever(1);
}

static void counted(void)
{
    int v[100] = {0}, got[100];
    MPI_Request q;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 3; i++) MPI_Put(v, 10, MPI_INT, 0, 0, 10, MPI_INT, win);
    MPI_Put(v, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win);
    MPI_Get(got, 50, MPI_INT, 0, 0, 50, MPI_INT, win);
    MPI_Rput(v, 20, MPI_INT, 0, 0, 20, MPI_INT, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Accumulate(v, 5, MPI_INT, 0, 0, 5, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, got, 7, MPI_INT, 0, 0, 7, MPI_INT, MPI_NO_OP, win);
    MPI_Fetch_and_op(v, got, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Compare_and_swap(v, v + 1, got, MPI_INT, 0, 0, win);
    MPI_Win_unlock_all(win);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "end";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(400, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_name(win, "halo");
    if (strcmp(how, "exclusive") == 0) kept_lock(MPI_LOCK_EXCLUSIVE);
    if (strcmp(how, "shared") == 0) kept_lock(MPI_LOCK_SHARED);
    if (strcmp(how, "all") == 0) kept_lock_all();
    if (strcmp(how, "post") == 0) missing_post();
    if (strcmp(how, "complete") == 0) missing_complete();
    if (strcmp(how, "fence") == 0 && rank > 0) MPI_Win_fence(0, win);
    if (strcmp(how, "fence") == 0) for_ever(size - 1);
    counted();
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
