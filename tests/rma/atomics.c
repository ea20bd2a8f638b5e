// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,4,8 chan=shm,tcp threads
// run: np=4 set=rma_path=2
// run: np=4 set=check_windows=1
// run: np=4 set=shm_cma=0
// Atomics under contention, counted exactly: several threads of each rank draw tickets (fetch and op: each number comes
// once), count by compare and swap, and add to elements by single operations and by bulk ones that overlap them, in
// memory of every kind.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { THREADS = 3, TURNS = 60, BULK = 700 };

// Of rank 0. The bulk crosses what the library locks at once.
struct memory {
    int64_t ticket, swapped;
    double sum;
    char odd[7];
    char count[sizeof(int32_t)];    // misaligned
    int32_t bulk[BULK];
    struct {
        double v;
        int i;
    } least;
    long double wide;
};

static MPI_Win win;
static MPI_Aint base;
static int me, n;
static _Atomic char drawn[8 * THREADS * TURNS];    // of this rank: the tickets that it got

#define AT(member) (base + (MPI_Aint)offsetof(struct memory, member))

static void draw(void)
{
    int64_t one = 1, got = -1;
    MPI_Fetch_and_op(&one, &got, MPI_INT64_T, 0, AT(ticket), MPI_SUM, win);
    MPI_Win_flush(0, win);
    CHECK(got >= 0 && got < (int64_t)n * THREADS * TURNS);
    CHECK(++drawn[got] == 1);
}

static void swap(void)
{
    int64_t seen = 0, next, old = -1;
    MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, AT(swapped), MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    for (;; seen = old) {
        next = seen + 1;
        MPI_Compare_and_swap(&next, &seen, &old, MPI_INT64_T, 0, AT(swapped), win);
        MPI_Win_flush(0, win);
        if (old == seen) return;
    }
}

static void *work(void *arg)
{
    int thread = (int)(size_t)arg;
    int32_t ones[BULK], one = 1;
    double half = 0.5;
    long double wide = 2;
    struct {
        double v;
        int i;
    } mine = {.v = 100 - me * THREADS - thread, .i = me * THREADS + thread};
    for (int i = 0; i < BULK; i++) ones[i] = 1;
    for (int t = 0; t < TURNS; t++) {
        draw();
        swap();
        MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, AT(sum), 1, MPI_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_INT32_T, 0, AT(count), 1, MPI_INT32_T, MPI_SUM, win);
        if (t % 4 == 0) MPI_Accumulate(ones, BULK, MPI_INT32_T, 0, AT(bulk), BULK, MPI_INT32_T, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_INT32_T, 0, AT(bulk[t * 11]), 1, MPI_INT32_T, MPI_SUM, win);
        MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, 0, AT(wide), 1, MPI_LONG_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, AT(least), 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
        MPI_Win_flush_local(0, win);    // the buffers are on this stack
    }
    MPI_Win_flush_all(win);
    return NULL;
}

static void compete(struct memory *m)
{
    pthread_t thread[THREADS];
    memset((char *)drawn, 0, sizeof drawn);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
    memset(m, 0, sizeof *m);
    m->least.v = 1000;
    MPI_Win_unlock(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int t = 1; t < THREADS; t++) CHECK(pthread_create(&thread[t], NULL, work, (void *)(size_t)t) == 0);
    work(NULL);
    for (int t = 1; t < THREADS; t++) CHECK(pthread_join(thread[t], NULL) == 0);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    char all[sizeof drawn];
    MPI_Allreduce((char *)drawn, all, sizeof drawn, MPI_INT8_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n * THREADS * TURNS; i++) CHECK(all[i] == 1);
    if (me > 0) return;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    int32_t turns = n * THREADS * TURNS, count;
    memcpy(&count, m->count, sizeof count);
    CHECK(m->ticket == turns && m->swapped == turns && count == turns);
    CHECK(m->sum == turns * 0.5 && m->wide == turns * 2.0L);
    for (int i = 0; i < BULK; i++) CHECK(m->bulk[i] == turns / 4 + (i % 11 || i / 11 >= TURNS ? 0 : n * THREADS));
    CHECK(m->least.v == 100 - (n * THREADS - 1) && m->least.i == n * THREADS - 1);
    MPI_Win_unlock(0, win);
}

int main(int argc, char **argv)
{
    struct memory *m;
    int level;
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win_allocate(sizeof *m, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &m, &win);
    compete(m);
    MPI_Win_free(&win);
    CHECK(MPI_Alloc_mem(sizeof *m, MPI_INFO_NULL, &m) == MPI_SUCCESS);
    MPI_Win_create(m, sizeof *m, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    compete(m);
    MPI_Win_free(&win);
    CHECK(MPI_Free_mem(m) == MPI_SUCCESS);
    CHECK(posix_memalign((void **)&m, 16, sizeof *m) == 0);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, m, sizeof *m);
    MPI_Get_address(m, &base);
    MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    compete(m);
    MPI_Win_detach(win, m);
    MPI_Win_free(&win);
    free(m);
    MPI_Finalize();
    return 0;
}
