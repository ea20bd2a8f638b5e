// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// run: np=2 set=rma_path=2
// What a user does wrong with windows gives the standard's class, and the window stays usable.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WRONG(class_, call) CHECK(class_of(call) == (class_))

static int class_of(int code)
{
    int class_ = MPI_SUCCESS;
    MPI_Error_class(code, &class_);
    return class_;
}

static void epochs(MPI_Win win, int *v)
{
    WRONG(MPI_ERR_RMA_SYNC, MPI_Put(v, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    WRONG(MPI_ERR_LOCKTYPE, MPI_Win_lock(5, 0, 0, win));
    WRONG(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_fence(1, win));
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win) == MPI_SUCCESS);
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Put(v, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    MPI_Win again = win;
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_free(&again));
    CHECK(MPI_Win_unlock(1, win) == MPI_SUCCESS);
}

static void operations(MPI_Win win, int *v)
{
    MPI_Op mine;
    MPI_Op_create((MPI_User_function *)abort, 1, &mine);
    MPI_Win_lock_all(0, win);
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(v, 1, MPI_INT, 1, 10, 1, MPI_INT, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get(v, 4, MPI_INT, 1, 7, 4, MPI_INT, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(v, v, MPI_INT, 1, 10, MPI_SUM, win));
    WRONG(MPI_ERR_DISP, MPI_Put(v, 1, MPI_INT, 1, -1, 1, MPI_INT, win));
    WRONG(MPI_ERR_RANK, MPI_Put(v, 1, MPI_INT, 7, 0, 1, MPI_INT, win));
    WRONG(MPI_ERR_COUNT, MPI_Put(v, -1, MPI_INT, 1, 0, 1, MPI_INT, win));
    WRONG(MPI_ERR_COUNT, MPI_Put(v, 2, MPI_INT, 1, 0, 1, MPI_INT, win));
    WRONG(MPI_ERR_TYPE, MPI_Put(v, 1, MPI_DATATYPE_NULL, 1, 0, 1, MPI_INT, win));
    WRONG(MPI_ERR_OP, MPI_Accumulate(v, 1, MPI_INT, 1, 0, 1, MPI_INT, mine, win));
    WRONG(MPI_ERR_OP, MPI_Accumulate(v, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_BAND, win));
    WRONG(MPI_ERR_TYPE, MPI_Accumulate(v, 1, MPI_FLOAT, 1, 0, 1, MPI_INT, MPI_SUM, win));
    WRONG(MPI_ERR_TYPE, MPI_Compare_and_swap(v, v, v, MPI_DOUBLE, 1, 0, win));
    CHECK(MPI_Put(v, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    v[0] = 77;
    CHECK(MPI_Put(v, 1, MPI_INT, 1, 9, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_unlock_all(win);
    MPI_Op_free(&mine);
}

// Each rank knows what the others have attached, also while they attach more, and what no more; a layout may lie in
// several regions. A number of them that has no common divisor with 37 and 11.
static void regions(MPI_Win win, int many)
{
    enum { STEP = 3 };
    int me, n, v[2] = {7, 8};
    int *mem = calloc((size_t)many * STEP, sizeof *mem);
    MPI_Aint at, all[8], far;
    MPI_Datatype two;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(MPI_Win_attach(win, mem, 2 * (MPI_Aint)sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Get_address(mem, &at) == MPI_SUCCESS);
    MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    far = all[(me + 1) % n];
    MPI_Win_lock_all(0, win);
    for (int i = 1; i < many; i++) {
        CHECK(MPI_Win_attach(win, mem + (i * 37 % many) * STEP, 2 * (MPI_Aint)sizeof(int)) == MPI_SUCCESS);
        if (i % 8 == 0) CHECK(MPI_Put(v, 1, MPI_INT, (me + 1) % n, far, 1, MPI_INT, win) == MPI_SUCCESS);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, mem + STEP + 1, sizeof(int)));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, mem + STEP - 1, 2 * (MPI_Aint)sizeof(int)));
    CHECK(MPI_Win_attach(win, mem + STEP - 1, 0) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(win, mem + STEP - 1) == MPI_SUCCESS);
    MPI_Type_create_hindexed_block(2, 1, (MPI_Aint[]){4, (many - 1) * STEP * 4}, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Win_lock_all(0, win);
    CHECK(MPI_Put(v, 2, MPI_INT, (me + 1) % n, far, 1, two, win) == MPI_SUCCESS);
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(v, 1, MPI_INT, (me + 1) % n, far + 8, 1, MPI_INT, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(v, 2, MPI_INT, (me + 1) % n, far + 8, 1, two, win));
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mem[0] == 7 && mem[1] == 7 && mem[(many - 1) * STEP] == 8 && mem[2] == 0);
    for (int i = 0; i < many; i++) CHECK(MPI_Win_detach(win, mem + (i * 11 % many) * STEP) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(v, 1, MPI_INT, (me + 1) % n, far, 1, MPI_INT, win));
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&two);
    free(mem);
}

static void making(void)
{
    MPI_Win win;
    int v;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);    // of what names no object
    WRONG(MPI_ERR_SIZE, MPI_Win_create(&v, -4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    WRONG(MPI_ERR_DISP, MPI_Win_create(&v, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    WRONG(MPI_ERR_COMM, MPI_Win_create(&v, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    WRONG(MPI_ERR_ARG, MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL, &win));
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(win, &v, sizeof v) == MPI_SUCCESS);
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, &v, sizeof v));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, &win));
    CHECK(MPI_Win_detach(win, &v) == MPI_SUCCESS);
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, &v));
    regions(win, 100);
    regions(win, 9000);
    MPI_Win gone = win;
    MPI_Win_free(&win);
    WRONG(MPI_ERR_WIN, MPI_Win_fence(0, gone));
    WRONG(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
}

int main(int argc, char **argv)
{
    int *mem, v[4] = {0}, me, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Win_allocate(10 * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_name(win, "numbers");
    epochs(win, v);
    int code = MPI_Put(v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "MPI_Put: no epoch for rank 0") && strstr(text, "on window numbers, rank"));
    operations(win, v);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(me == 0 || mem[9] == 77);
    MPI_Win_free(&win);
    making();
    MPI_Finalize();
    return 0;
}
