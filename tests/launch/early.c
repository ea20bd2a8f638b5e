// SPDX-License-Identifier: BSD-3-Clause
// `early children`: a spawned process dies as soon as it is there: all parents learn of it, also one that has nothing
// to say to it and waits for another parent in a collective operation of both jobs. `early parents`: a parent dies in
// the midst of spawning, each time later, every other time the root; neither the other parents nor the children wait
// for each other.
#include <mpi_ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../check.h"

enum { TIMES = 20 };

static void must_fail(int err)
{
    int class;
    MPI_Error_class(err, &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
}

static void die(int sig)
{
    (void)sig;
    kill(getpid(), SIGKILL);
}

static void lose_children(char *self, char **words)
{
    MPI_Comm child, left;
    for (int i = 0; i < TIMES; i++) {
        int sum = 0;
        CHECK(MPI_Comm_spawn(self, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) ==
              MPI_SUCCESS);
        MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
        must_fail(MPI_Barrier(child));
        CHECK(MPIX_Comm_shrink(child, &left) == MPI_SUCCESS);
        CHECK(left == MPI_COMM_NULL);    // a side of it is empty
        MPI_Comm_free(&child);
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == 3 * i);
    }
}

static void lose_parents(char *self, char **words)
{
    MPI_Comm world, left, child;
    int rank, size;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (int turn = 1; MPI_Comm_size(world, &size), size > 2; turn++) {
        MPI_Comm_rank(world, &rank);
        MPI_Barrier(world);
        if (rank == size - 1) {
            struct itimerval t = {.it_value = {0, turn * 4000}};
            signal(SIGALRM, die);
            setitimer(ITIMER_REAL, &t, NULL);
        }
        int root = turn % 2 ? 0 : size - 1;
        int err = MPI_Comm_spawn(self, words, 2, MPI_INFO_NULL, root, world, &child, MPI_ERRCODES_IGNORE);
        while (rank == size - 1) pause();
        if (err == MPI_SUCCESS)
            MPI_Comm_free(&child);
        else
            must_fail(err);
        CHECK(MPIX_Comm_shrink(world, &left) == MPI_SUCCESS);
        MPI_Comm_free(&world);
        world = left;
    }
    MPI_Comm_rank(world, &rank);
    if (rank == 0) puts("2 go on");
    MPI_Comm_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    CHECK(argc == 2);
    bool children_die = strcmp(argv[1], "children") == 0;
    if (parent != MPI_COMM_NULL && children_die) die(0);
    if (parent == MPI_COMM_NULL) (children_die ? lose_children : lose_parents)(argv[0], argv + 1);
    MPI_Finalize();
    return 0;
}
