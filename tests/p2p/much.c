// SPDX-License-Identifier: BSD-3-Clause
// run: np=2
// Much goes through one pair, so that its ring grows and what goes at once changes: windows of messages of every
// size around the limits, one way and both ways, each with the right bytes and in order; a probe now and then.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../check.h"

#define WINDOW 24
#define MOST (160 * 1024)
#define TURNS 160

static unsigned char *out[WINDOW], *in[WINDOW];
static uint32_t state = 7;

static uint32_t draw(uint32_t below)    // the same on both ranks
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static unsigned char byte_of(int turn, int k, int from, int i)
{
    return (unsigned char)(turn * 13 + k * 29 + from * 101 + i % 241);
}

static void compare(int turn, int k, int from, const MPI_Status *s, int bytes)
{
    int count, i = 0;
    MPI_Get_count(s, MPI_BYTE, &count);
    CHECK(count == bytes && s->MPI_TAG == k % 3);
    while (i < bytes && in[k][i] == byte_of(turn, k, from, i)) i++;
    CHECK(i == bytes);
}

// Turns of every third are one way.
static void window(int turn, int me)
{
    MPI_Request request[2 * WINDOW];
    MPI_Status status[2 * WINDOW];
    int bytes[WINDOW], n = 0;
    bool sends = turn % 3 || me == turn % 2, takes = turn % 3 || !sends;
    for (int k = 0; k < WINDOW; k++) bytes[k] = (int)draw(turn % 5 ? MOST : 3000);
    for (int k = 0; takes && k < WINDOW; k++)
        MPI_Irecv(in[k], MOST, MPI_BYTE, 1 - me, k % 3, MPI_COMM_WORLD, &request[n++]);
    for (int k = 0; sends && k < WINDOW; k++) {
        for (int i = 0; i < bytes[k]; i++) out[k][i] = byte_of(turn, k, me, i);
        MPI_Isend(out[k], bytes[k], MPI_BYTE, 1 - me, k % 3, MPI_COMM_WORLD, &request[n++]);
    }
    CHECK(MPI_Waitall(n, request, status) == MPI_SUCCESS);
    for (int k = 0; takes && k < WINDOW; k++) compare(turn, k, 1 - me, &status[k], bytes[k]);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int k = 0; k < WINDOW; k++) {
        out[k] = malloc(MOST), in[k] = malloc(MOST);
        CHECK(out[k] && in[k]);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        window(turn, me);
        MPI_Status s;
        int token = turn, count;
        if (me == turn % 2) {
            MPI_Ssend(&token, 1, MPI_INT, 1 - me, 9, MPI_COMM_WORLD);
        } else {
            MPI_Probe(1 - me, 9, MPI_COMM_WORLD, &s);
            MPI_Get_count(&s, MPI_INT, &count);
            MPI_Recv(&token, 1, MPI_INT, 1 - me, 9, MPI_COMM_WORLD, &s);
            CHECK(count == 1 && token == turn);
        }
    }
    for (int k = 0; k < WINDOW; k++) free(out[k]), free(in[k]);
    MPI_Finalize();
    return 0;
}
