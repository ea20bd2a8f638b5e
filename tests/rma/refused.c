// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// run: np=2 set=rma_path=2
// Operations on memory that is not attached are errors at the origin: of the call where it can know, else of the next
// flush or of the request. Nothing is written, what was right is done, and the window stays usable.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int me, n;

static int class_of(int code)
{
    int class_ = MPI_SUCCESS;
    MPI_Error_class(code, &class_);
    return class_;
}

// The class of a call or, when that went well, of the flush after it.
static int outcome(int code, int rank, MPI_Win win)
{
    int flushed = MPI_Win_flush(rank, win);
    return class_of(code ? code : flushed);
}

static int outcome_of_request(int code, MPI_Request *q)
{
    return class_of(code ? code : MPI_Wait(q, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    int *mem, v[3] = {5, 6, 7}, got[2] = {-1, -1};
    MPI_Aint at, all[8];
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    mem = calloc(8, sizeof *mem);
    CHECK(MPI_Win_attach(win, mem, 2 * (MPI_Aint)sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, mem + 2, 2 * (MPI_Aint)sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, mem + 5, 3 * (MPI_Aint)sizeof(int)) == MPI_SUCCESS);
    MPI_Get_address(mem, &at);
    MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < n; r++) {
        MPI_Aint good = all[r] + 4, bad = all[r] + 16, half = all[r] + 12;
        MPI_Request q = MPI_REQUEST_NULL;
        CHECK(outcome(MPI_Put(v, 1, MPI_INT, r, bad, 1, MPI_INT, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Put(v, 2, MPI_INT, r, half, 2, MPI_INT, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Put(v, 3, MPI_INT, r, half, 3, MPI_INT, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Get(got, 1, MPI_INT, r, bad, 1, MPI_INT, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Accumulate(v, 1, MPI_INT, r, bad, 1, MPI_INT, MPI_SUM, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Fetch_and_op(v, got, MPI_INT, r, bad, MPI_SUM, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome(MPI_Compare_and_swap(v, v, got, MPI_INT, r, bad, win), r, win) == MPI_ERR_RMA_RANGE);
        CHECK(outcome_of_request(MPI_Rget(got, 2, MPI_INT, r, half, 2, MPI_INT, win, &q), &q) == MPI_ERR_RMA_RANGE);
        MPI_Win_flush(r, win);
        CHECK(got[0] == -1 && got[1] == -1);
        CHECK(MPI_Accumulate(v, 2, MPI_INT, r, good, 2, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(r, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
    int code = MPI_Put(v, 1, MPI_INT, n - 1, all[n - 1] + 16, 1, MPI_INT, win), fenced = MPI_Win_fence(0, win);
    CHECK(class_of(code ? code : fenced) == MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mem[0] == 0 && mem[1] == 5 * n && mem[2] == 6 * n && mem[3] == 0 && mem[4] == 0);
    CHECK(mem[5] == 0);
    CHECK(MPI_Win_detach(win, mem) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    free(mem);
    MPI_Finalize();
    return 0;
}
