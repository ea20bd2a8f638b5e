// SPDX-License-Identifier: BSD-3-Clause
// run: np=8 args=10000
// run: np=4 chan=tcp args=2000
// run: np=4 set=rma_path=2 args=2000
// The lock is fair: no rank gets less than half its share of many exclusive locks. Usage: fair LOCKS
//
// How the system shares out processors must not count. So a rank says that it comes right before it asks for the lock,
// and whoever holds it keeps it until all have said so: all compete for each turn. The count of turns lies under the
// lock.
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

static int me, n, turns;
static _Atomic int *coming;    // per rank, seen by all

static void wait_for_all(void)
{
    for (int r = 0; r < n; r++)
        while (!atomic_load(&coming[r])) sched_yield();
}

// Turns that this rank got.
static int compete(MPI_Win lock)
{
    int mine = 0;
    for (int now = 0, next; now < turns;) {
        atomic_store(&coming[me], 1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, lock);
        MPI_Get(&now, 1, MPI_INT, 0, 0, 1, MPI_INT, lock);
        MPI_Win_flush(0, lock);
        if (now < turns) {
            wait_for_all();
            mine++;
            next = now + 1;
            MPI_Put(&next, 1, MPI_INT, 0, 0, 1, MPI_INT, lock);
            MPI_Win_flush(0, lock);
            // Those that come when all turns are taken still find everybody there.
            if (next < turns) atomic_store(&coming[me], 0);
        }
        MPI_Win_unlock(0, lock);
    }
    return mine;
}

int main(int argc, char **argv)
{
    int turn = 0, got[64], unit;
    MPI_Aint bytes;
    MPI_Win lock, words;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(n <= 64 && argc > 1);
    turns = atoi(argv[1]);
    MPI_Win_allocate_shared(me ? 0 : 64 * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &coming,
                            &words);
    MPI_Win_shared_query(words, 0, &bytes, &unit, &coming);
    MPI_Win_create(&turn, me ? 0 : sizeof turn, sizeof turn, MPI_INFO_NULL, MPI_COMM_WORLD, &lock);
    atomic_store(&coming[me], 0);
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = compete(lock);
    MPI_Gather(&mine, 1, MPI_INT, got, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; me == 0 && r < n; r++) printf("rank %d: %d of %d turns\n", r, got[r], turns);
    fflush(stdout);
    for (int r = 0; me == 0 && r < n; r++) CHECK(got[r] >= turns / n / 2);
    MPI_Win_free(&lock);
    MPI_Win_free(&words);
    MPI_Finalize();
    return 0;
}
