// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// Copies across memory are forbidden (seccomp, on rank 1 alone): large messages still arrive, through the ring, both
// ways.
#include "../check.h"
#include "../forbid.h"

#include <string.h>

enum { BYTES = 3 << 20 };

int main(int argc, char **argv)
{
    const char *r = getenv("UNISONO_RANK");
    int forbidden = r && atoi(r) == 1 ? forbid_copies() : 0, rank, size, worst;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&forbidden, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (worst < 0) skip("seccomp filters are not allowed here");
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    for (int turn = 0; turn < 4; turn++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        for (int i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 7 + rank + turn);
        memset(in, 0, BYTES);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, right, turn, in, BYTES, MPI_BYTE, left, turn, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++) CHECK(in[i] == (unsigned char)(i * 7 + left + turn));
    }
    free(out), free(in);
    MPI_Finalize();
    return 0;
}
