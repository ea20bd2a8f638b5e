// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4,8
// Long rows of collectives of some KiB, whose places in shared memory change from call to call: sizes around powers of
// two and between, every root, blocks of different lengths, in place; what each rank gets is right every time. Some
// calls come alone, some in rows of the same, in which a root may run far ahead of its readers.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

#define MOST (256 * 1024 + 64)
#define TURNS 2500

static int me, n;
static unsigned char *in, *out;
static uint32_t state = 1;

static uint32_t draw(uint32_t below)    // the same on all ranks
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static int draw_bytes(int most)
{
    int power = 8192 << draw(6), bytes = draw(2) ? power - 9 + (int)draw(18) : (int)draw((uint32_t)power);
    return bytes > most ? most : bytes;
}

static unsigned char byte_of(int turn, int rank, int i)
{
    return (unsigned char)(turn * 31 + rank * 7 + i % 251);
}

static void fill(unsigned char *at, int turn, int rank, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = byte_of(turn, rank, i);
}

static void compare(const unsigned char *at, int turn, int rank, int bytes)
{
    int i = 0;
    while (i < bytes && at[i] == byte_of(turn, rank, i)) i++;
    CHECK(i == bytes);
}

static void bcast(int turn, int root, int bytes)
{
    if (me == root) fill(out, turn, root, bytes);
    CHECK(MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    compare(out, turn, root, bytes);
}

static void reductions(int turn, int root, int bytes)
{
    int count = bytes / (int)sizeof(int), *a = (int *)in, *b = (int *)out;
    for (int i = 0; i < count; i++) a[i] = turn + me * i;
    memset(b, 0, (size_t)bytes);
    if (turn % 2) {
        CHECK(MPI_Reduce(a, b, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (turn % 4) {
        CHECK(MPI_Allreduce(a, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        memcpy(b, a, (size_t)bytes);
        CHECK(MPI_Allreduce(MPI_IN_PLACE, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    int i = 0;
    bool mine = me == root || turn % 2 == 0;
    while (i < count && b[i] == (mine ? n * turn + n * (n - 1) / 2 * i : 0)) i++;
    CHECK(i == count);
}

static void exchange(int turn, int bytes)
{
    fill(in, turn, me, bytes);
    CHECK(MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) compare(out + r * bytes, turn, r, bytes);
    for (int r = 0; r < n; r++) fill(in + r * bytes, turn, me * n + r, bytes);
    CHECK(MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) compare(out + r * bytes, turn, r * n + me, bytes);
}

static void gather(int turn, int root, int bytes)
{
    fill(in, turn, me, bytes);
    CHECK(MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n && me == root; r++) compare(out + r * bytes, turn, r, bytes);
    for (int r = 0; r < n && me == root; r++) fill(in + r * bytes, turn, r, bytes);
    CHECK(MPI_Scatter(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    compare(out, turn, me, bytes);
}

// Rank r's blocks have 1 / (1 + r) of the bytes.
static void lengths_differ(int turn, int root, int bytes)
{
    int counts[8], displs[8], same[8], at[8], own = bytes / (1 + me);
    for (int r = 0; r < n; r++) {
        counts[r] = bytes / (1 + r), displs[r] = r * bytes;
        same[r] = own, at[r] = r * own;
        fill(in + at[r], turn, me * n + r, own);
    }
    CHECK(MPI_Alltoallv(in, same, at, MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) compare(out + displs[r], turn, r * n + me, counts[r]);
    fill(in, turn, me, own);
    CHECK(MPI_Allgatherv(in, own, MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) compare(out + displs[r], turn, r, counts[r]);
    memset(out, 0, (size_t)bytes * (size_t)n);
    CHECK(MPI_Gatherv(in, own, MPI_BYTE, out, counts, displs, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n && me == root; r++) compare(out + displs[r], turn, r, counts[r]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    in = malloc((size_t)n * MOST), out = malloc((size_t)n * MOST);
    CHECK(in && out && n <= 8);
    for (int turn = 0; turn < TURNS; turn++) {
        static int root, bytes, block, row;
        static uint32_t kind;
        if (row-- == 0) {
            root = (int)draw((uint32_t)n), bytes = draw_bytes(MOST), block = draw_bytes(MOST / n);
            kind = draw(5);
            row = draw(4) ? 0 : (int)draw(80);
        }
        switch (kind) {
        case 0: bcast(turn, root, bytes); break;
        case 1: reductions(turn, root, bytes); break;
        case 2: exchange(turn, block); break;
        case 3: gather(turn, root, block); break;
        default: lengths_differ(turn, root, block);
        }
    }
    free(in), free(out);
    MPI_Finalize();
    return 0;
}
