// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1 status=fail says="MPI_Comm_rank: called before MPI_Init"
// A call before MPI_Init ends the program with a line that says so.
#include "../check.h"

int main(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
