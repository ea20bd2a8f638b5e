// SPDX-License-Identifier: BSD-3-Clause
// A program for test_valgrind.py: `watched HOW [FILE]`, HOW one of hello, traffic, file, spawn, wrong. It uses what it
// receives, in small and large messages and collectives; file writes and reads FILE in tiles, spawn starts two more
// under valgrind and reduces with them; wrong also uses memory that nobody has set.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1 << 18)

static int rank, size;

static void expect(const int *found, const int *wanted, int n, int times)
{
    for (int i = 0; i < n; i++)
        if (found[i] != times * wanted[i]) MPI_Abort(MPI_COMM_WORLD, 7);
}

static void traffic(void)
{
    int *a = malloc(MOST * sizeof *a), *b = malloc(MOST * sizeof *b);
    for (int i = 0; i < MOST; i++) a[i] = i;
    for (int n = 1; n <= MOST; n *= 64) {
        MPI_Sendrecv(a, n, MPI_INT, (rank + 1) % size, 0, b, n, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        expect(b, a, n, 1);
        MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(b, a, n, size);
    }
    free(a);
    free(b);
}

// Rank r has the ints r, r + size, ...; written by all together and read back, by each alone.
static void file(const char *path)
{
    enum { TILES = 1000 };
    int a[TILES], b[TILES];
    MPI_File f;
    MPI_Datatype tiles;
    MPI_Request r;
    for (int i = 0; i < TILES; i++) a[i] = i * size + rank;
    MPI_Type_vector(TILES, 1, size, MPI_INT, &tiles);
    MPI_Type_commit(&tiles);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, (MPI_Offset)sizeof(int) * rank, MPI_INT, tiles, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(f, 0, a, TILES, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(f, 0, b, TILES, MPI_INT, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(b, a, TILES, 1);
    MPI_File_close(&f);
    MPI_Type_free(&tiles);
}

static void reduce_with(MPI_Comm others, int how_many)
{
    int mine = rank + 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, others);
    if (sum != how_many * (how_many + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 8);
    MPI_Comm_disconnect(&others);
}

static void spawn(char *self)
{
    char word[][32] = {"valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "hello"};
    char *argv[] = {word[1], word[2], word[3], self, word[4], NULL};
    MPI_Comm children;
    MPI_Comm_spawn(word[0], argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    reduce_with(children, 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) reduce_with(parent, 2);
    if (!strcmp(argv[1], "traffic") || !strcmp(argv[1], "wrong")) traffic();
    if (!strcmp(argv[1], "file")) file(argv[2]);
    if (!strcmp(argv[1], "spawn")) spawn(argv[0]);
    if (!strcmp(argv[1], "wrong")) {
        volatile int *never_set = malloc(sizeof *never_set);
        if (*never_set == 4711) MPI_Barrier(MPI_COMM_SELF);
        free((void *)never_set);
    }
    MPI_Finalize();
    return 0;
}
