// run: np=2,3 chan=shm,tcp
// SPDX-License-Identifier: BSD-3-Clause
// Layouts between ranks: what one side sends from a layout the other receives into another one with the same signature,
// from one element to several megabytes, contiguous on either side too; lengths, truncation, persistent and synchronous
// sends.
#include "check.h"
#include <stddef.h>
#include <string.h>

enum { ROWS = 512, COLS = 700 };

static double matrix[ROWS][COLS], turned[COLS][ROWS];

// A column of the matrix goes into a row, many columns into the transposed matrix.
static void transpose(int rank, int size)
{
    MPI_Datatype column, columns, row;
    MPI_Type_vector(ROWS, 1, COLS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_contiguous(ROWS, MPI_DOUBLE, &row);
    MPI_Type_commit(&columns);
    MPI_Type_commit(&row);
    for (int n = 1; n <= COLS; n = n * 5 + 3) {
        int many = n < COLS ? n : COLS, to = (rank + 1) % size, from = (rank + size - 1) % size;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++) matrix[i][j] = rank * 1e6 + i * COLS + j;
        memset(turned, 0, sizeof turned);
        MPI_Status s;
        MPI_Sendrecv(matrix, many, columns, to, n, turned, COLS, row, from, n, MPI_COMM_WORLD, &s);
        int got;
        MPI_Get_count(&s, row, &got);
        CHECK(got == many);
        for (int j = 0; j < COLS; j++)
            for (int i = 0; i < ROWS; i++) CHECK(turned[j][i] == (j < many ? from * 1e6 + i * COLS + j : 0));
    }
    // And back: contiguous rows into columns.
    memset(matrix, 0, sizeof matrix);
    for (int i = 0; i < ROWS * COLS; i++) (&turned[0][0])[i] = rank * 1e6 + i;
    MPI_Sendrecv(turned, COLS, row, rank, 1, matrix, COLS, columns, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) CHECK(matrix[i][j] == rank * 1e6 + (double)j * ROWS + i);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
    MPI_Type_free(&row);
}

struct particle {
    char kind;
    double x[3];
    int id;
};

// Structs with gaps; the gaps of the receiver are left alone. Every way to send.
static void particles(int rank)
{
    enum { MANY = 20000 };
    static struct particle in[MANY], out[MANY];
    MPI_Datatype t, types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Aint at[] = {offsetof(struct particle, kind), offsetof(struct particle, x), offsetof(struct particle, id)};
    MPI_Type_create_struct(3, (int[]){1, 3, 1}, at, types, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < MANY; i++) in[i] = (struct particle){(char)i, {i, i + .25, i + .5}, -i};
    for (int way = 0; way < 5 && rank < 2; way++) {
        for (int n = 0; n <= MANY; n = n * 6 + 1) {
            memset(out, 0x77, sizeof out);
            MPI_Request r;
            if (rank == 0) {
                if (way == 0) MPI_Send(in, n, t, 1, way, MPI_COMM_WORLD);
                if (way == 1) MPI_Ssend(in, n, t, 1, way, MPI_COMM_WORLD);
                if (way == 2) MPI_Isend(in, n, t, 1, way, MPI_COMM_WORLD, &r);
                if (way == 3) MPI_Send_init(in, n, t, 1, way, MPI_COMM_WORLD, &r), MPI_Start(&r);
                if (way == 4) MPI_Issend(in, n, t, 1, way, MPI_COMM_WORLD, &r);
                if (way >= 2) MPI_Wait(&r, MPI_STATUS_IGNORE);
                if (way == 3) MPI_Request_free(&r);
                continue;
            }
            MPI_Status s;
            int got;
            MPI_Probe(0, way, MPI_COMM_WORLD, &s);
            MPI_Get_elements(&s, t, &got);
            CHECK(got == 5 * n);
            MPI_Recv(out, MANY, t, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < n; i++) {
                CHECK(out[i].kind == in[i].kind && memcmp(out[i].x, in[i].x, sizeof in[i].x) == 0 &&
                      out[i].id == in[i].id);
                CHECK(((unsigned char *)&out[i])[1] == 0x77);
            }
            if (n < MANY) CHECK(out[n].kind == 0x77);
        }
    }
    MPI_Type_free(&t);
}

// A message longer than the receiver's layout: the error, and not a byte too much.
static void truncated(int rank)
{
    enum { BIG = 100000 };
    static int in[BIG], out[2 * BIG];
    MPI_Datatype t;
    MPI_Type_vector(BIG / 2, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    for (int n = 10; n <= BIG; n *= 100) {
        MPI_Datatype part;
        MPI_Type_vector(n / 2, 1, 2, MPI_INT, &part);
        MPI_Type_commit(&part);
        for (int i = 0; i < n; i++) in[i] = i + 1;
        memset(out, 0, sizeof out);
        if (rank == 0) MPI_Send(in, n, MPI_INT, 1, 9, MPI_COMM_WORLD);
        if (rank == 1) {
            CHECK(MPI_Recv(out, 1, part, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
            for (int i = 0; i < 2 * BIG; i++) CHECK(out[i] == (i < n - 1 && i % 2 == 0 ? i / 2 + 1 : 0));
        }
        MPI_Type_free(&part);
    }
    MPI_Type_free(&t);
}

// Absolute addresses, with MPI_BOTTOM as the buffer.
static void bottom(int rank)
{
    int a = rank + 1;
    double b = rank + .5;
    MPI_Aint at[2];
    MPI_Datatype t, types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Get_address(&a, &at[0]);
    MPI_Get_address(&b, &at[1]);
    CHECK(MPI_Aint_add(at[0], MPI_Aint_diff(at[1], at[0])) == at[1]);
    MPI_Type_create_struct(2, (int[]){1, 1}, at, types, &t);
    MPI_Type_commit(&t);
    if (rank == 0) MPI_Send(MPI_BOTTOM, 1, t, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(MPI_BOTTOM, 1, t, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(a == 1 && b == .5);
    }
    MPI_Type_free(&t);
}

int main(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    transpose(rank, size);
    particles(rank);
    truncated(rank);
    bottom(rank);
    MPI_Finalize();
    return 0;
}
