// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4
// run: np=2,4 set=coll_force=bcast=copies+allgather=copies+alltoall=copies
// run: np=2,4 set=coll_crowded=0
// run: np=2,3 set=coll_wide=20000
// run: np=2 set=shm_cma=no
// Broadcast, allgather and alltoall of columns, which have to be packed, from sizes that fit any slot to some that fit
// none, over and over, since what ranks learn in one call changes the next ones; columns on all ranks, on the root's
// side, on every second rank, to and from rows. Everything arrives, and what lies between the elements is left alone.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../check.h"

#define MOST 65536    // elements of a block
#define GAP (-7.0)

static int me, n;
static double *in, *out;

struct form {
    int count, apart;    // elements of a block; how far they are from each other: 1 in a row
    MPI_Datatype type;
};

static struct form form_of(int count, bool column)
{
    struct form f = {count, column ? 2 : 1, MPI_DATATYPE_NULL};
    MPI_Datatype lone;
    MPI_Type_vector(count, 1, f.apart, MPI_DOUBLE, &lone);
    MPI_Type_create_resized(lone, 0, (MPI_Aint)count * f.apart * (MPI_Aint)sizeof(double), &f.type);
    MPI_Type_commit(&f.type);
    MPI_Type_free(&lone);
    return f;
}

static double value(int turn, int from, int to, int i)
{
    return turn * 1e8 + from * 1e7 + to * 1e6 + i;
}

static void fill(const struct form *f, int turn, int blocks, bool all_to_all)
{
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < f->count; i++)
            in[((size_t)b * (size_t)f->count + (size_t)i) * (size_t)f->apart] = value(turn, me, all_to_all ? b : 0, i);
}

static void clear(const struct form *f, int blocks)
{
    for (size_t i = 0; i < (size_t)f->count * (size_t)f->apart * (size_t)blocks; i++) out[i] = GAP;
}

// Block b of what has come is that of rank b, or all are the root's.
static void look(const struct form *f, int turn, int blocks, int root, bool all_to_all)
{
    size_t wrong = 0;
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < f->count; i++) {
            const double *at = out + ((size_t)b * (size_t)f->count + (size_t)i) * (size_t)f->apart;
            wrong += at[0] != value(turn, root < 0 ? b : root, all_to_all ? me : 0, i);
            if (f->apart == 2) wrong += at[1] != GAP;
        }
    }
    CHECK(wrong == 0);
}

static void turn(int t, const struct form *from, const struct form *to)
{
    int root = t % n;
    fill(from, t, 1, false);
    const struct form *mine = me == root ? from : to;
    clear(to, 1);
    CHECK(MPI_Bcast(me == root ? in : out, 1, mine->type, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me != root) look(to, t, 1, root, false);
    clear(to, n);
    CHECK(MPI_Allgather(in, 1, from->type, out, 1, to->type, MPI_COMM_WORLD) == MPI_SUCCESS);
    look(to, t, n, -1, false);
    fill(from, t, n, true);
    clear(to, n);
    CHECK(MPI_Alltoall(in, 1, from->type, out, 1, to->type, MPI_COMM_WORLD) == MPI_SUCCESS);
    look(to, t, n, -1, true);
}

int main(int argc, char **argv)
{
    const int counts[] = {3, 500, 1000, 1100, 3000, 9000, 33000, MOST};
    int t = 0;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    in = calloc((size_t)n * MOST * 2, sizeof *in);
    out = calloc((size_t)n * MOST * 2, sizeof *out);
    CHECK(in && out);
    for (int lap = 0; lap < 2; lap++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            for (int who = 0; who < 5; who++) {    // all; senders; receivers; every second rank's side; none
                bool sends = who == 0 || who == 1 || (who == 3 && me % 2), receives = who == 0 || who == 2;
                struct form from = form_of(counts[k], sends),
                            to = form_of(counts[k], receives || (who == 3 && !(me % 2)));
                for (int i = 0; i < 3; i++) turn(++t, &from, &to);
                MPI_Type_free(&from.type);
                MPI_Type_free(&to.type);
            }
        }
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
