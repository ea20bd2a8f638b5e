// run: np=2 chan=shm,tcp set=direct_run=64
// SPDX-License-Identifier: BSD-3-Clause
// Large messages from layout to layout: random lists of long runs on either side, consecutive memory on the other, less
// room than was sent, requests that are started again, more of them at once than there are descriptors.
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { INTS = 30000, SPAN = 4 * INTS, MANY = 80 };

static unsigned state = 12345;

static int draw(int below)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 8) % below;
}

// A random layout of n ints, in one or two levels; kind 0 is consecutive.
static MPI_Datatype layout(int kind, int n)
{
    static int lengths[INTS], at[INTS];
    MPI_Datatype t, row;
    int blocks = 0, place = 0, left = n;
    if (kind == 0) {
        MPI_Type_contiguous(n, MPI_INT, &t);
    } else if (kind == 1) {    // rows of a matrix, and what is left
        int length = 100 + draw(900), rows = n / length;
        MPI_Type_vector(rows, length, length + 30, MPI_INT, &row);
        MPI_Type_create_struct(2, (int[]){1, n - rows * length}, (MPI_Aint[]){0, 4L * rows * (length + 30)},
                               (MPI_Datatype[]){row, MPI_INT}, &t);
        MPI_Type_free(&row);
    } else {    // blocks of random lengths, backwards or forwards
        for (; left > 0; blocks++) {
            lengths[blocks] = 1 + draw(1500) < left ? 1 + draw(1500) : left;
            if (lengths[blocks] > left) lengths[blocks] = left;
            left -= lengths[blocks];
            at[blocks] = place;
            place += lengths[blocks] + draw(3) * 5;
        }
        for (int i = 0; kind == 3 && i < blocks; i++) at[i] = place - at[i] - lengths[i];
        MPI_Type_indexed(blocks, lengths, at, MPI_INT, &t);
    }
    MPI_Type_commit(&t);
    return t;
}

// The ints of the layout in their order are first, first + 1, ...
static void fill(int *buf, MPI_Datatype t, int n, int first)
{
    static int packed[INTS];
    int place = 0;
    for (int i = 0; i < n; i++) packed[i] = first + i;
    MPI_Unpack(packed, 4 * n, &place, buf, 1, t, MPI_COMM_SELF);
}

static void check(int *buf, MPI_Datatype t, int n, int first)
{
    static int packed[INTS];
    int place = 0, size;
    MPI_Type_size(t, &size);
    MPI_Pack(buf, 1, t, packed, sizeof packed, &place, MPI_COMM_SELF);
    for (int i = 0; i < size / 4; i++) CHECK(packed[i] == (i < n ? first + i : -1));
}

static void pairs(int rank)
{
    static int buf[SPAN];
    for (int round = 0; round < 60; round++) {
        int n = INTS / 2 + draw(INTS / 2), ways = draw(4), other = draw(4), less = round % 7 == 6 ? draw(n / 2) : 0;
        MPI_Datatype sent = layout(ways, n), taken = layout(other, n - less);
        memset(buf, -1, sizeof buf);
        if (rank == 0) {
            MPI_Request r;
            fill(buf, sent, n, round);
            if (round % 3 == 0) MPI_Send(buf, 1, sent, 1, round, MPI_COMM_WORLD);
            if (round % 3 == 1) MPI_Ssend(buf, 1, sent, 1, round, MPI_COMM_WORLD);
            if (round % 3 == 2) {
                MPI_Send_init(buf, 1, sent, 1, round, MPI_COMM_WORLD, &r);
                for (int k = 0; k < 3; k++) {
                    MPI_Start(&r);
                    MPI_Wait(&r, MPI_STATUS_IGNORE);
                    fill(buf, sent, n, round + k + 1);
                }
                MPI_Request_free(&r);
            }
        }
        for (int k = 0; rank == 1 && k < (round % 3 == 2 ? 3 : 1); k++) {
            int err = MPI_Recv(buf, 1, taken, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(err == (less ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
            check(buf, taken, n, round + k);
        }
        MPI_Type_free(&sent);
        MPI_Type_free(&taken);
    }
}

// Both ways, more than there are descriptors, the types freed while the messages are under way.
static void crowd(int rank)
{
    static int out[MANY][SPAN / 8], in[MANY][SPAN / 8];
    MPI_Request r[2 * MANY];
    MPI_Datatype kept[MANY];
    int n = INTS / 8;
    memset(in, -1, sizeof in);
    for (int k = 0; k < MANY; k++) {
        MPI_Datatype to = layout(1 + k % 3, n), from = layout((k / 3) % 4, n);
        MPI_Type_dup(from, &kept[k]);
        fill(out[k], to, n, 1000 * k + rank);
        MPI_Irecv(in[k], 1, from, 1 - rank, k, MPI_COMM_WORLD, &r[2 * k]);
        MPI_Isend(out[k], 1, to, 1 - rank, k, MPI_COMM_WORLD, &r[2 * k + 1]);
        MPI_Type_free(&to);
        MPI_Type_free(&from);
    }
    MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < MANY; k++) {
        check(in[k], kept[k], n, 1000 * k + 1 - rank);
        MPI_Type_free(&kept[k]);
    }
}

int main(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    pairs(rank);
    crowd(rank);
    MPI_Finalize();
    return 0;
}
