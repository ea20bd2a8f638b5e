// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,8
// Large collectives in a host are shared out: counts the bytes that each rank copies between processes (by standing in
// for the two system calls) and compares the ranks. A root that hands out or takes in blocks takes its share, too, or,
// where ranks outnumber cores, none.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../check.h"

#define COUNT (1 << 18)

static long moved;
static int me, n;

static ssize_t cross(long call, pid_t pid, const struct iovec *here, unsigned long nhere, const struct iovec *there,
                     unsigned long nthere, unsigned long flags)
{
    long got = syscall(call, pid, here, nhere, there, nthere, flags);
    if (got > 0) moved += got;
    return got;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long nhere, const struct iovec *there,
                         unsigned long nthere, unsigned long flags)
{
    return cross(SYS_process_vm_readv, pid, here, nhere, there, nthere, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long nhere, const struct iovec *there,
                          unsigned long nthere, unsigned long flags)
{
    return cross(SYS_process_vm_writev, pid, here, nhere, there, nthere, flags);
}

// The ranks' bytes for the collective just made: no rank moved more than half as much again as another. idle: a rank
// that may have moved none at all, or -1.
static void compare_but(const char *name, int idle)
{
    long mine = moved, least, most;
    if (me == idle && mine == 0) mine = LONG_MAX;
    MPI_Allreduce(&mine, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    if (mine == LONG_MAX) mine = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (me == 0 && most > least * 3 / 2) printf("%s: ranks copied between %ld and %ld bytes\n", name, least, most);
    CHECK(most > 0);
    CHECK(most <= least * 3 / 2);
    moved = 0;
}

static void compare(const char *name)
{
    compare_but(name, -1);
}

int main(int argc, char **argv)
{
    setenv("UNISONO_COLL_FORCE",
           "bcast=copies+reduce=copies+allreduce=copies+allgather=copies+alltoall=copies+reduce_scatter=copies+"
           "gather=copies+scatter=copies",
           1);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int *all = calloc((size_t)n * COUNT, sizeof *all), *out = calloc((size_t)n * COUNT, sizeof *out);
    int *counts = malloc((size_t)n * sizeof *counts), *displs = malloc((size_t)n * sizeof *displs), root = n - 1;
    for (int i = 0; i < n; i++) counts[i] = COUNT, displs[i] = i * COUNT;
    MPI_Allgather(all, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
    if (moved == 0) skip("the kernel does not let ranks copy each other's memory");
    compare("allgather");
    MPI_Alltoall(all, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
    compare("alltoall");
    MPI_Alltoallv(all, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
    compare("alltoallv");
    MPI_Bcast(all, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    compare_but("bcast", root);
    MPI_Reduce(all, out, COUNT, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    compare("reduce");
    MPI_Allreduce(all, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    compare("allreduce");
    MPI_Reduce_scatter_block(all, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    compare("reduce_scatter_block");
    MPI_Scan(all, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    compare("scan");
    MPI_Gather(me == root ? MPI_IN_PLACE : all, COUNT, MPI_INT, out, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    compare_but("gather", root);
    MPI_Scatter(all, COUNT, MPI_INT, me == root ? MPI_IN_PLACE : out, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    compare_but("scatter", root);
    MPI_Gatherv(me == root ? MPI_IN_PLACE : all, COUNT, MPI_INT, out, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    compare_but("gatherv", root);
    MPI_Scatterv(all, counts, displs, MPI_INT, me == root ? MPI_IN_PLACE : out, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    compare_but("scatterv", root);
    free(all);
    free(out);
    free(counts);
    free(displs);
    MPI_Finalize();
    return 0;
}
