// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4 chan=shm,tcp
// Every rank exchanges messages of many sizes with every rank and checks each byte. `traffic ROUNDS FILE` goes on until
// FILE exists.
#include <string.h>
#include <unistd.h>

#include "../check.h"

#define MOST (3 << 20)

static unsigned char *out, *in;
static int rank, size;

static void exchange(int shift, int n, int round)
{
    int to = (rank + shift) % size, from = (rank - shift + size) % size;
    MPI_Status s;
    memset(out, rank * 7 + round, (size_t)n);
    memset(in, 0xaa, (size_t)n + 1);
    MPI_Sendrecv(out, n, MPI_BYTE, to, round, in, n + 1, MPI_BYTE, from, round, MPI_COMM_WORLD, &s);
    CHECK(s.MPI_SOURCE == from && s.MPI_TAG == round);
    unsigned char want = (unsigned char)(from * 7 + round);
    for (int i = 0; i < n; i++) CHECK(in[i] == want);
    CHECK(in[n] == 0xaa);
}

// Many messages under way at once, received in order.
static void window(int round)
{
    enum { COUNT = 100 };
    MPI_Request r[2 * COUNT];
    int got[COUNT], put[COUNT], to = (rank + 1) % size, from = (rank - 1 + size) % size;
    for (int i = 0; i < COUNT; i++) MPI_Irecv(&got[i], 1, MPI_INT, from, 5, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < COUNT; i++) {
        put[i] = rank * 100000 + round * 1000 + i;
        MPI_Isend(&put[i], 1, MPI_INT, to, 5, MPI_COMM_WORLD, &r[COUNT + i]);
    }
    MPI_Waitall(2 * COUNT, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; i++) CHECK(got[i] == from * 100000 + round * 1000 + i);
}

// Rank 0 takes messages of all sizes from whoever sends, over whatever channel: those of each rank come in order.
static void from_anybody(void)
{
    enum { COUNT = 12 };
    int next[64] = {0};
    for (int i = 0; rank > 0 && i < COUNT; i++) {
        int n = i % 3 == 0 ? i : i % 3 == 1 ? 3000 * i : 250000 * i;
        memset(out, rank + i, (size_t)n);
        MPI_Send(out, n, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
    for (int i = 0; rank == 0 && i < COUNT * (size - 1); i++) {
        MPI_Status s;
        int n;
        MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_BYTE, &n);
        CHECK(s.MPI_TAG == next[s.MPI_SOURCE]++);
        for (int k = 0; k < n; k++) CHECK(in[k] == (unsigned char)(s.MPI_SOURCE + s.MPI_TAG));
    }
}

// Rank 0 decides when all end.
static int go_on(int round, int rounds, const char *file)
{
    int more = round < rounds || (file && access(file, F_OK) != 0);
    if (rank > 0) MPI_Recv(&more, 1, MPI_INT, rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < size - 1) MPI_Send(&more, 1, MPI_INT, rank + 1, 6, MPI_COMM_WORLD);
    return more;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    out = malloc(MOST);
    in = malloc(MOST + 1);
    for (int round = 0; go_on(round, rounds, argc > 2 ? argv[2] : NULL); round++) {
        for (int shift = 0; shift < size; shift++)
            for (int n = 0; n < MOST; n = n * 9 + 1 + round % 5) exchange(shift, n, round % 1000);
        window(round % 1000);
        from_anybody();
        if (rank == 0 && argc > 2) {
            printf("flowing\n");
            fflush(stdout);
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    if (rank == 0) printf("all arrived\n");
    return 0;
}
