// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 set=rma_path=2
// run: np=2 chan=tcp set=rma_path=2
// A program that puts and flushes, and so waits all the time, moves everything on itself: its progress thread is called
// once per wait at most, however long the waits lie apart, and not at their beginnings, too.
#include "../coll/counted.h"

#define TIMES 2000

static unsigned long long puts_and_flushes(MPI_Win win, int peer)
{
    unsigned long long before = counted("helper_calls");
    for (int i = 0; i < TIMES; i++) {
        MPI_Put(&i, 1, MPI_INT, peer, 0, 1, MPI_INT, win);
        MPI_Win_flush(peer, win);
    }
    return counted("helper_calls") - before;
}

int main(int argc, char **argv)
{
    int rank, *mem;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        unsigned long long calls = puts_and_flushes(win, 1);
        if (calls > TIMES + 10) printf("%llu calls in %d waits\n", calls, TIMES);
        CHECK(calls <= TIMES + 10);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 1 || *mem == TIMES - 1);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
