// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm
// A spawned process that has done its part of a collective operation, freed its communicators and left MPI does not
// break that operation for those that are still in it, though they know that it has ended. Over tcp they would learn
// that after tcp_patience seconds only.
#include <mpi_ext.h>

#include "../check.h"

// The child sends nothing there, so it ends with the child.
static void wait_for_end(MPI_Comm child)
{
    int in, class;
    MPI_Error_class(MPI_Recv(&in, 1, MPI_INT, 0, 7, child, MPI_STATUS_IGNORE), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
}

static MPI_Comm merge(MPI_Comm inter, int high)
{
    MPI_Comm all;
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    return all;
}

static void be_parent(char *self, int rank)
{
    int one = 1, sum = 0;
    MPI_Comm child, all;
    MPI_Request r;
    CHECK(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) ==
          MPI_SUCCESS);
    all = merge(child, 0);
    if (rank == 0) CHECK(MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, all, &r) == MPI_SUCCESS);
    MPI_Send(&one, 1, MPI_INT, 0, 8, child);    // that each is known to the child
    wait_for_end(child);
    MPI_Barrier(MPI_COMM_WORLD);    // rank 0 knows before rank 1 adds its part
    if (rank == 1) CHECK(MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, all, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(rank != 0 || sum == 3);
    MPI_Comm_free(&all);
    MPI_Comm_free(&child);
}

static void be_child(MPI_Comm parent)
{
    int one = 1, in;
    MPI_Comm all = merge(parent, 1);
    MPI_Request r;
    CHECK(MPI_Ireduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, all, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) CHECK(MPI_Recv(&in, 1, MPI_INT, i, 8, parent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Comm_free(&all);
    MPI_Comm_free(&parent);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        be_parent(argv[0], rank);
    else
        be_child(parent);
    MPI_Finalize();
    return 0;
}
