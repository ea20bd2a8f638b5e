// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 chan=shm,tcp
// run: np=4 set=rma_path=2
// Many windows at once, windows on subcommunicators whose ranks are reversed, windows of a session; an
// intercommunicator is refused.
#include "check.h"

static int me, n;

// A ring of puts on the communicator.
static void use(MPI_Comm comm, MPI_Win win, const int *mem)
{
    int rank, size, v;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    v = 100 + rank;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&v, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(*mem == 100 + (rank + size - 1) % size);
}

static void on(MPI_Comm comm)
{
    int *mem, own = 0;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &mem, &win);
    use(comm, win, mem);
    MPI_Win_free(&win);
    MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, comm, &win);
    use(comm, win, &own);
    MPI_Win_free(&win);
}

static void many(void)
{
    enum { MANY = 60 };
    MPI_Win win[MANY];
    int *mem[MANY];
    for (int i = 0; i < MANY; i++)
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem[i], &win[i]);
    for (int i = 0; i < MANY; i++) MPI_Win_lock_all(0, win[i]);
    for (int i = 0; i < MANY; i++) MPI_Put(&i, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win[i]);
    for (int i = 0; i < MANY; i++) MPI_Win_unlock_all(win[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) CHECK(*mem[i] == i);
    for (int i = 0; i < MANY; i++) CHECK(MPI_Win_free(&win[i * 7 % MANY]) == MPI_SUCCESS);
}

static void in_session(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm comm;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(g, "windows", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    on(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&g);
    CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS);
}

static void refused(void)
{
    MPI_Comm half, inter;
    MPI_Win win = MPI_WIN_NULL;
    int *mem, class_ = MPI_SUCCESS;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (me + 1) % 2, 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Win_allocate(4, 4, MPI_INFO_NULL, inter, &mem, &win), &class_);
    CHECK(class_ == MPI_ERR_COMM);
    MPI_Error_class(MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win), &class_);
    CHECK(class_ == MPI_ERR_COMM && win == MPI_WIN_NULL);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm sub;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &sub);
    on(sub);
    on(MPI_COMM_SELF);
    MPI_Comm_free(&sub);
    many();
    in_session();
    refused();
    MPI_Finalize();
    return 0;
}
