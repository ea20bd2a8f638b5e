// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5 chan=shm,tcp
// run: np=1,2,3 env=TEST_SPAWN=2 chan=shm,tcp
// run: np=0 env=TEST_SPAWN=2
// The functions of process failure where nobody fails: revoking, agreeing, shrinking, on MPI_COMM_SELF, a duplicate of
// MPI_COMM_WORLD and an intercommunicator, blocking and not, inside a job and over two; wrong arguments.
#include <mpi_ext.h>

#include "../grown.h"

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

static void nobody_failed(MPI_Comm c)
{
    MPI_Group g;
    int size, n = -1;
    CHECK(MPIX_Comm_get_failed(c, &g) == MPI_SUCCESS);
    MPI_Group_size(g, &size);
    CHECK(size == 0);
    MPI_Group_free(&g);
    CHECK(MPIX_Comm_ack_failed(c, 5, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPIX_Comm_failure_ack(c) == MPI_SUCCESS);
    CHECK(MPIX_Comm_failure_get_acked(c, &g) == MPI_SUCCESS);
    MPI_Group_size(g, &size);
    CHECK(size == 0);
    MPI_Group_free(&g);
}

static void agree(MPI_Comm c)
{
    int me, n, inter;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    MPI_Comm_test_inter(c, &inter);
    for (int i = 0; i < 5; i++) {
        int flag = i;
        CHECK(MPIX_Comm_agree(c, &flag) == MPI_SUCCESS && flag == i);
    }
    for (int root = 0; root < n && !inter && n > 1; root++) {
        int flag = me == root ? 11 : 13, over = 1;
        MPI_Request r;
        MPI_Barrier(c);
        if (me != root) MPI_Barrier(c);    // the others vote after root has looked
        CHECK(MPIX_Comm_iagree(c, &flag, &r) == MPI_SUCCESS);
        if (me == root) {
            MPI_Test(&r, &over, MPI_STATUS_IGNORE);
            CHECK(!over && flag == 11);
            MPI_Barrier(c);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(flag == 9);
    }
}

static void check_shrunk(MPI_Comm c, MPI_Comm made)
{
    int a[2], b[2], inter;
    MPI_Comm_size(c, &a[0]);
    MPI_Comm_rank(c, &a[1]);
    MPI_Comm_size(made, &b[0]);
    MPI_Comm_rank(made, &b[1]);
    CHECK(a[0] == b[0] && a[1] == b[1]);
    MPI_Comm_test_inter(made, &inter);
    if (inter) {
        MPI_Comm_remote_size(c, &a[0]);
        MPI_Comm_remote_size(made, &b[0]);
        CHECK(a[0] == b[0]);
    }
    CHECK(MPI_Barrier(made) == MPI_SUCCESS);
    MPI_Comm_free(&made);
}

static void shrink(MPI_Comm c)
{
    MPI_Comm made;
    MPI_Request r;
    CHECK(MPIX_Comm_shrink(c, &made) == MPI_SUCCESS);
    check_shrunk(c, made);
    CHECK(MPIX_Comm_ishrink(c, &made, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_shrunk(c, made);
}

static void wrong_arguments(MPI_Comm c)
{
    MPI_Request r;
    int flag = 0;
    CHECK(class_of(MPIX_Comm_agree(c, NULL)) == MPI_ERR_ARG &&
          class_of(MPIX_Comm_iagree(c, &flag, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Comm_shrink(c, NULL)) == MPI_ERR_ARG &&
          class_of(MPIX_Comm_ishrink(c, NULL, &r)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Comm_get_failed(c, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Comm_ack_failed(c, 1, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Comm_failure_get_acked(c, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Comm_is_revoked(c, NULL)) == MPI_ERR_ARG);
}

// One of all members, `first`, does it.
static void revoke(MPI_Comm c, int first)
{
    int flag = 1;
    MPI_Request r;
    MPI_Comm made;
    CHECK(MPIX_Comm_is_revoked(c, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Irecv(&flag, 1, MPI_INT, 0, 4, c, &r) == MPI_SUCCESS);    // from a rank that sends nothing
    CHECK(MPI_Barrier(c) == MPI_SUCCESS || !first);                     // which the first may have done meanwhile
    if (first) CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);    // by one rank, on all
    CHECK(MPIX_Comm_is_revoked(c, &flag) == MPI_SUCCESS && flag);
    CHECK(class_of(MPI_Barrier(c)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Send(&flag, 0, MPI_INT, MPI_PROC_NULL, 1, c)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Recv(&flag, 0, MPI_INT, MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Probe(MPI_ANY_SOURCE, 1, c, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    flag = 6;
    CHECK(MPIX_Comm_agree(c, &flag) == MPI_SUCCESS && flag == 6);
    CHECK(MPIX_Comm_shrink(c, &made) == MPI_SUCCESS);
    check_shrunk(c, made);
}

static void all_of(MPI_Comm base, int first)
{
    MPI_Comm c;
    CHECK(MPI_Comm_dup(base, &c) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    nobody_failed(c);
    agree(c);
    shrink(c);
    wrong_arguments(c);
    revoke(c, first);
    MPI_Comm_free(&c);
}

// In every part that it can be parted into: some of them over both jobs.
static void all_of_halves(int rank, int size)
{
    for (int cut = 1; cut < size; cut++) {
        MPI_Comm half, both;
        int low = rank < cut;
        MPI_Comm_split(world, low, 0, &half);
        MPI_Intercomm_create(half, 0, world, low ? cut : 0, 1, &both);
        all_of(both, rank == 0);
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    grow_world(argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    all_of(MPI_COMM_SELF, 1);
    all_of(world, rank == 0);
    all_of_halves(rank, size);
    leave_world();
    MPI_Finalize();
    return 0;
}
