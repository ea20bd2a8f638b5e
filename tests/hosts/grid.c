// SPDX-License-Identifier: BSD-3-Clause
// Four ranks on each of two hosts: MPI_COMM_TYPE_SHARED finds the hosts, and a 2 x 4 grid that may be reordered gives
// each host a square of it. Run by tests/suites/36-hosts.
#include "../check.h"

int main(void)
{
    MPI_Comm grid, host;
    int size, rank, at[2], low[2], high[2], lower = 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 8);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 4}, (int[]){0, 0}, 1, &grid);
    MPI_Comm_split_type(grid, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_rank(grid, &rank);
    CHECK(size == 4);
    MPI_Cart_coords(grid, rank, 2, at);
    MPI_Allreduce(at, low, 2, MPI_INT, MPI_MIN, host);
    MPI_Allreduce(at, high, 2, MPI_INT, MPI_MAX, host);
    CHECK(low[0] == 0 && high[0] == 1 && low[1] % 2 == 0 && high[1] == low[1] + 1);
    MPI_Allreduce(&lower, &size, 1, MPI_INT, MPI_SUM, grid);
    CHECK(size == 8);
    MPI_Comm_free(&host);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
