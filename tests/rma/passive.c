// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 chan=shm,tcp
// run: np=2,4 set=rma_path=2
// run: np=4 set=check_windows=1
// run: np=2,4 set=shm_cma=0
// Passive targets: a target that makes no MPI call is served all the same; exclusive locks exclude, shared ones do not;
// everybody gets the lock.
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"

static int me, n;

// Rank 0 looks at its memory alone until all others have written there.
static void served_while_computing(MPI_Win win, _Atomic int *mem)
{
    int value = 41 + me, got = 0;
    if (me > 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, me, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        MPI_Get(&got, 1, MPI_INT, 0, me, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        CHECK(got == value);
    }
    for (int r = 1; me == 0 && r < n; r++)
        while (atomic_load(&mem[r]) != 41 + r) sched_yield();
    MPI_Barrier(MPI_COMM_WORLD);
}

// Get, add one, put under an exclusive lock: nothing is lost.
static void exclusive(MPI_Win win)
{
    enum { TURNS = 300 };
    for (int i = 0, got; i < TURNS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        got++;
        MPI_Put(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int sum;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK(sum == n * TURNS);
    MPI_Barrier(MPI_COMM_WORLD);
}

// All hold the shared lock at once: each waits, inside, for all others to be inside.
static void shared(MPI_Win win)
{
    int one = 1, seen = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, n, 1, MPI_INT, MPI_SUM, win);
    while (seen < n) {
        MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, n, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win win;
    int *mem;
    MPI_Win_allocate(64 * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    for (int i = 0; i < 64; i++) mem[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    served_while_computing(win, (_Atomic int *)mem);
    exclusive(win);
    shared(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
