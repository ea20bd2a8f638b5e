// SPDX-License-Identifier: BSD-3-Clause
// Four ranks on each of two hosts: a graph of pairs that talk over the hosts is put so that no pair does any more.
// Run by tests/suites/36-hosts.
#include "../topo/machine.h"

int main(void)
{
    MPI_Comm host;
    int first;
    MPI_Init(NULL, NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(MPI_COMM_WORLD, &first);
    MPI_Bcast(&first, 1, MPI_INT, 0, host);
    check_pairs(first);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return 0;
}
