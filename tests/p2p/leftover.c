// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 env=UNISONO_VERBOSE=1 says="1 requests were never completed"
// run: np=2 env=UNISONO_VERBOSE=1 says="1 buffers for buffered sends were never detached"
// Requests and buffers that a program leaves behind are told at MPI_Finalize.
#include "../check.h"

int main(void)
{
    static char buffer[4096];
    int x;
    MPI_Request r;
    MPI_Init(NULL, NULL);
    CHECK(MPI_Recv_init(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Buffer_attach(buffer, sizeof buffer) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
