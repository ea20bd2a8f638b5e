// SPDX-License-Identifier: BSD-3-Clause
// Messages of all sizes around a ring, in both directions, and broadcasts and barriers of all forms; says that all is
// right. Suite 22-components runs it with components from outside, below with those that are built in.
// run: np=1,2,4 says="all right on"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int right, const char *what)
{
    if (right) return;
    printf("rank %d: %s is wrong\n", rank, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void around(size_t bytes)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    check(out && in, "memory");
    for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i * 7 + (size_t)rank);
    memset(in, 0xee, bytes + 1);
    MPI_Sendrecv(out, (int)bytes, MPI_BYTE, next, 5, in, (int)bytes, MPI_BYTE, before, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (size_t i = 0; i < bytes; i++) check(in[i] == (unsigned char)(i * 7 + (size_t)before), "a message");
    check(in[bytes] == 0xee, "what is behind a message");
    free(out);
    free(in);
}

// Every second word of the sender's.
static void layouts(void)
{
    int out[4000], in[2000], next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Datatype every;
    for (int i = 0; i < 4000; i++) out[i] = rank * 10000 + i;
    MPI_Type_vector(2000, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_Sendrecv(out, 1, every, next, 6, in, 2000, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2000; i++) check(in[i] == before * 10000 + 2 * i, "a layout");
    MPI_Type_free(&every);
}

static void collectives(int root)
{
    double v[3] = {0};
    MPI_Request r[2];
    if (rank == root)
        for (int i = 0; i < 3; i++) v[i] = root + i;
    MPI_Bcast(v, 3, MPI_DOUBLE, root, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) check(v[i] == root + i, "a broadcast");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != root) v[1] = -1;
    MPI_Ibcast(v, 3, MPI_DOUBLE, root, MPI_COMM_WORLD, &r[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    check(v[1] == root + 1, "a nonblocking broadcast");
    MPI_Bcast_init(v, 3, MPI_DOUBLE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    for (int turn = 0; turn < 3; turn++) {
        v[2] = rank == root ? turn : -1;
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        check(v[2] == turn, "a persistent broadcast");
    }
    MPI_Request_free(&r[0]);
}

// Joins with a process of this program that it starts, or that has started it: env SETTING PROGRAM.
static void family(char *setting, char *program)
{
    MPI_Comm parent, other, all;
    char *arguments[] = {setting, program, NULL};
    MPI_Comm_get_parent(&parent);
    other = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn("env", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    int word = rank == 0 ? 77 : 0;
    MPI_Bcast(&word, 1, MPI_INT, 0, all);
    check(word == 77, "a broadcast over two jobs");
    if (rank == 0) printf("a family of two\n");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (argc == 2 || parent != MPI_COMM_NULL) {
        family(argc == 2 ? argv[1] : "", argv[0]);
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static const size_t bytes[] = {0, 1, 8, 100, 4096, 16384, 16385, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) around(bytes[i]);
    layouts();
    for (int root = 0; root < size; root++) collectives(root);
    int sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == size * (size - 1) / 2, "a sum");
    if (rank == 0) printf("all right on %d ranks\n", size);
    MPI_Finalize();
    return 0;
}
