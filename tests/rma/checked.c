// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp set=check_windows=1
// run: np=2 set=check_windows=1 set=rma_path=2
// The checking mode of windows tells of operations that conflict, of one origin and of two on a host, and of wrong
// epochs; the window stays usable, and what is right is not complained of.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { INTS = 64 };
static int me, n;
static char said[MPI_MAX_ERROR_STRING];

static int class_of(int code)
{
    int class_ = MPI_SUCCESS, length;
    MPI_Error_class(code, &class_);
    MPI_Error_string(code, said, &length);
    return class_;
}

#define WRONG(class_, call) CHECK(class_of(call) == (class_))
#define RIGHT(call) CHECK(class_of(call) == MPI_SUCCESS)
#define CONFLICT(call) WRONG(MPI_ERR_RMA_CONFLICT, call)

static int put(int *v, int at, MPI_Win win)
{
    return MPI_Put(v, 1, MPI_INT, 0, at, 1, MPI_INT, win);
}

static int add(const void *v, MPI_Datatype type, MPI_Op op, MPI_Win win)
{
    return MPI_Accumulate(v, 1, type, 0, 8, 1, type, op, win);
}

// Of one origin, at the target. Each rank has elements of its own.
static void one_origin(MPI_Win win)
{
    int v[8] = {0}, x[8], at = 16 + 12 * me;
    MPI_Datatype two;
    MPI_Type_vector(4, 1, 2, MPI_INT, &two);
    MPI_Type_commit(&two);
    RIGHT(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    RIGHT(put(v, at, win));
    CONFLICT(put(v, at, win));
    CHECK(strstr(said, "MPI_Put: a put conflicts with a put") && strstr(said, "of rank 0") && strstr(said, "numbers"));
    CONFLICT(MPI_Get(x, 1, MPI_INT, 0, at, 1, MPI_INT, win));
    RIGHT(MPI_Win_flush_local(0, win));
    CONFLICT(put(v, at, win));
    RIGHT(MPI_Win_flush(0, win));
    RIGHT(put(v, at, win));
    RIGHT(MPI_Win_flush_all(win));
    // Elements between each other.
    RIGHT(MPI_Put(v, 4, MPI_INT, 0, at, 1, two, win));
    RIGHT(MPI_Put(v, 4, MPI_INT, 0, at + 1, 1, two, win));
    CONFLICT(MPI_Put(v, 1, MPI_INT, 0, at + 3, 1, MPI_INT, win));
    RIGHT(MPI_Win_unlock(0, win));
    RIGHT(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    RIGHT(MPI_Get(x, 1, MPI_INT, 0, at, 1, MPI_INT, win));
    RIGHT(MPI_Get(x + 1, 1, MPI_INT, 0, at, 1, MPI_INT, win));
    CONFLICT(put(v, at, win));
    RIGHT(MPI_Win_flush_local(0, win));
    RIGHT(put(v, at, win));
    RIGHT(MPI_Win_unlock(0, win));
    MPI_Type_free(&two);
}

// Buffers at the origin.
static void buffers(MPI_Win win)
{
    int v[4] = {0}, x[4] = {0}, at = 16 + 12 * me;
    MPI_Request q;
    RIGHT(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    RIGHT(MPI_Get(x, 2, MPI_INT, 0, at, 2, MPI_INT, win));
    CONFLICT(MPI_Get(x + 1, 1, MPI_INT, 0, at + 5, 1, MPI_INT, win));
    CONFLICT(put(x, at + 5, win));
    RIGHT(put(v, at + 6, win));
    RIGHT(put(v, at + 7, win));
    CONFLICT(MPI_Get(v, 1, MPI_INT, 0, at + 8, 1, MPI_INT, win));
    RIGHT(MPI_Win_flush_local_all(win));
    RIGHT(MPI_Get(v, 1, MPI_INT, 0, at + 9, 1, MPI_INT, win));
    CONFLICT(MPI_Get_accumulate(v + 2, 2, MPI_INT, v + 3, 2, MPI_INT, 0, at + 10, 2, MPI_INT, MPI_SUM, win));
    RIGHT(MPI_Win_unlock(0, win));
    RIGHT(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    for (int i = 0; i < 3; i++) {    // a request that is complete has read
        RIGHT(MPI_Rget(x, 2, MPI_INT, 0, at, 2, MPI_INT, win, &q));
        RIGHT(MPI_Wait(&q, MPI_STATUS_IGNORE));
    }
    RIGHT(put(v + 1, at, win));
    RIGHT(MPI_Win_unlock(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pass_turn(int from, int to)
{
    if (me == from) MPI_Send(NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    if (me == to) MPI_Recv(NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Rank 1 does what rank 0 has not completed.
static void two_origins(MPI_Win win)
{
    int v[2] = {0};
    double d = 0;
    RIGHT(MPI_Win_lock_all(0, win));
    if (me == 0) RIGHT(put(v, 3, win));
    if (me == 0) RIGHT(add(v, MPI_INT, MPI_SUM, win));
    pass_turn(0, 1);
    if (me == 1) {
        CONFLICT(put(v, 3, win));
        CHECK(strstr(said, "by rank 0 at bytes 12 .. 16 of rank 0") && strstr(said, "on window numbers, rank 1"));
        RIGHT(put(v, 4, win));
        RIGHT(add(v, MPI_INT, MPI_SUM, win));
        RIGHT(add(v, MPI_INT, MPI_REPLACE, win));
        CONFLICT(add(&d, MPI_DOUBLE, MPI_SUM, win));
    }
    pass_turn(1, 0);
    if (me == 0) RIGHT(MPI_Win_flush(0, win));
    pass_turn(0, 1);
    if (me == 1) RIGHT(put(v, 3, win));
    RIGHT(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void hinted(void)
{
    int *mem, v = 0;
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ops", "same_op_no_op");
    MPI_Win_allocate(INTS * (MPI_Aint)sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &mem, &win);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    RIGHT(MPI_Win_lock_all(0, win));
    if (me == 0) RIGHT(add(&v, MPI_INT, MPI_SUM, win));
    if (me == 0) RIGHT(add(&v, MPI_INT, MPI_MAX, win));    // one origin's are ordered
    if (me == 0) RIGHT(MPI_Win_flush(0, win));
    if (me == 0) RIGHT(add(&v, MPI_INT, MPI_SUM, win));
    pass_turn(0, 1);
    if (me == 1) RIGHT(add(&v, MPI_INT, MPI_SUM, win));
    if (me == 1) CONFLICT(add(&v, MPI_INT, MPI_MAX, win));
    pass_turn(1, 0);
    RIGHT(MPI_Win_unlock_all(win));
    RIGHT(MPI_Win_free(&win));
}

static void fences(MPI_Win win)
{
    int v[2] = {0};
    MPI_Win copy = win;
    RIGHT(MPI_Win_fence(me ? 0 : MPI_MODE_NOPUT, win));
    if (me == 0) WRONG(MPI_ERR_RMA_SYNC, put(v, 3, win));
    if (me == 1) WRONG(MPI_ERR_RMA_SYNC, put(v, 3, win));
    if (me == 1) CHECK(strstr(said, "rank 0 said MPI_MODE_NOPUT") != NULL);
    RIGHT(MPI_Win_fence(0, win));
    if (me == 0) RIGHT(put(v, 3, win));
    pass_turn(0, 1);
    if (me == 1) CONFLICT(put(v, 3, win));
    if (me == 0) {
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
        CHECK(strstr(said, "operations since the last MPI_Win_fence") != NULL);
    }
    RIGHT(MPI_Win_fence(0, win));
    if (me == 1) RIGHT(put(v, 3, win));
    RIGHT(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void starting(MPI_Win win)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, v = 0;
    MPI_Group all, to, from;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_start(to, MPI_MODE_NOCHECK, win));
    CHECK(strstr(said, "has not called MPI_Win_post") != NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    RIGHT(MPI_Win_post(from, MPI_MODE_NOCHECK, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        RIGHT(MPI_Win_start(to, i ? 0 : MPI_MODE_NOCHECK, win));
        RIGHT(MPI_Put(&v, 1, MPI_INT, next, 1, 1, MPI_INT, win));
        if (n > 2) WRONG(MPI_ERR_RMA_SYNC, MPI_Put(&v, 1, MPI_INT, before, 1, 1, MPI_INT, win));
        RIGHT(MPI_Win_complete(win));
        RIGHT(MPI_Win_wait(win));
        if (i < 2) RIGHT(MPI_Win_post(from, 0, win));
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

int main(int argc, char **argv)
{
    int *mem;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win_allocate(INTS * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_name(win, "numbers");
    one_origin(win);
    buffers(win);
    two_origins(win);
    hinted();
    fences(win);
    starting(win);
    RIGHT(MPI_Win_free(&win));
    MPI_Finalize();
    return 0;
}
