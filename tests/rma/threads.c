// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp threads
// run: np=2 set=rma_path=2
// Windows under MPI_THREAD_MULTIPLE: each thread makes, uses and frees windows of a communicator of its own, in each
// way to synchronise, while the others do; each rank starts its threads in another order.
#include <pthread.h>

#include "check.h"

enum { THREADS = 3, ROUNDS = 12 };
static int me, n;
static MPI_Comm comms[THREADS];

static void check_all(const int *mem, int round, int t)
{
    for (int r = 0; r < n; r++) CHECK(mem[r] == 1000 * t + 10 * round + r);
}

static void *work(void *arg)
{
    int t = (int)(size_t)arg, *mem;
    MPI_Group all;
    MPI_Comm_group(comms[t], &all);
    for (int k = 0; k < ROUNDS; k++) {
        MPI_Win win;
        int v = 1000 * t + 10 * k + me, sum = -1, one = 1;
        MPI_Win_allocate(64 * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, comms[t], &mem, &win);
        mem[n] = 0;
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        for (int r = 0; r < n; r++) MPI_Put(&v, 1, MPI_INT, r, me, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        check_all(mem, k, t);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        v += 10;
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
        for (int r = 0; r < n; r++) MPI_Put(&v, 1, MPI_INT, r, me, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        check_all(mem, k + 1, t);
        for (int i = 0; i < 5; i++) {
            MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Accumulate(&one, 1, MPI_INT, 0, n, 1, MPI_INT, MPI_SUM, win);
            MPI_Win_unlock(0, win);
        }
        MPI_Barrier(comms[t]);
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(NULL, &sum, MPI_INT, 0, n, MPI_NO_OP, win);
        MPI_Win_unlock_all(win);
        CHECK(sum == 5 * n);
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    }
    MPI_Group_free(&all);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread[THREADS];
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int t = 0; t < THREADS; t++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, (void *)(size_t)((i + me) % THREADS)) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(thread[i], NULL) == 0);
    for (int t = 0; t < THREADS; t++) CHECK(MPI_Comm_free(&comms[t]) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
