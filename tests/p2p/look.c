// SPDX-License-Identifier: BSD-3-Clause
// run: np=4
// Ranks that outnumber their processors: who looks again and again for a message that has not come gives the processor
// away, with each of the calls that look.
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "../coll/counted.h"

#define YIELDS 20
#define SECONDS 20

static int processors(void)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(getppid(), sizeof all, &all) == 0);    // of mpiexec
    return CPU_COUNT(&all);
}

static int look_by_test(MPI_Request *r)
{
    int flag;
    MPI_Test(r, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int look_by_testall(MPI_Request *r)
{
    int flag;
    MPI_Testall(1, r, &flag, MPI_STATUSES_IGNORE);
    return flag;
}

static int look_by_testany(MPI_Request *r)
{
    int index, flag;
    MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int look_by_testsome(MPI_Request *r)
{
    int n, index;
    MPI_Testsome(1, r, &n, &index, MPI_STATUSES_IGNORE);
    return n;
}

static int look_at_status(MPI_Request *r)
{
    int flag;
    MPI_Request_get_status(*r, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int look_by_iprobe(MPI_Request *r)
{
    (void)r;
    int flag;
    MPI_Iprobe(1, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return flag;
}

int main(int argc, char **argv)
{
    static int (*const look[])(MPI_Request *) = {look_by_test,     look_by_testall, look_by_testany,
                                                 look_by_testsome, look_at_status,  look_by_iprobe};
    int rank, size, got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size <= processors()) skip("each rank has a processor of its own");
    MPI_Request r = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Irecv(&got, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &r);
    for (size_t i = 0; i < sizeof look / sizeof *look && rank == 0; i++) {
        unsigned long long before = counted("wait_yields");
        double end = MPI_Wtime() + SECONDS;
        while (counted("wait_yields") < before + YIELDS && MPI_Wtime() < end)
            for (int k = 0; k < 2 * YIELDS; k++) CHECK(!look[i](&r));
        if (counted("wait_yields") < before + YIELDS) printf("call %zu does not give the processor away\n", i);
        CHECK(counted("wait_yields") >= before + YIELDS);
    }
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    if (rank == 0) MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(got == (rank == 0));
    MPI_Finalize();
    return 0;
}
