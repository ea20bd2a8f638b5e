// SPDX-License-Identifier: BSD-3-Clause
// run: np=3 chan=shm,tcp
// A rank that holds one lock and asks for a second one goes before those that wait for the first.
//
// Per turn, rank 0 has part 0 shared and asks for part 1, rank 1 has part 1 and asks for part 0 shared, and rank 2 asks
// for part 0 exclusively, or for all parts: whenever it comes, rank 1 can have what it asks for.
#include "check.h"

#define TURNS 300

int main(int argc, char **argv)
{
    int rank, *mine;
    MPI_Win w;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Win_allocate(sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w) == MPI_SUCCESS);
    *mine = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
        if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w);
        if (rank == 1) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
        if (rank < 2) {
            MPI_Accumulate(&(int){1}, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, w);
            MPI_Win_unlock(0, w);
            MPI_Win_unlock(1, w);
        } else if (turn % 2) {
            MPI_Win_lock_all(0, w);
            MPI_Win_unlock_all(w);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
            MPI_Win_unlock(0, w);
        }
        MPI_Barrier(MPI_COMM_WORLD);    // else the next turn's locks come first, and wait for this one's
    }
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w);
    CHECK(*mine == (rank == 1 ? 2 * TURNS : 0));
    MPI_Win_unlock(rank, w);
    MPI_Win_free(&w);
    MPI_Finalize();
    return 0;
}
