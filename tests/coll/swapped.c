// SPDX-License-Identifier: BSD-3-Clause
// run: np=2
// run: np=2 set=coll_window=4096
// run: np=3,4
//      suite 31-machine runs it with the costs of a machine that exchanges such blocks in windows
// Alltoallv and alltoallw of blocks that have left the caches, far or just, which differ: one side's longer than the
// other's, one too short to go the same way, of strided types, beside small ones and none, and one for which there is
// no room.
#include <stdlib.h>

#include "coll.h"

enum { LONG = 5 << 20, LESS = 9 << 18, SOME = 3 << 19, SHORT = 1000 };    // ints: 20, 9, 6 MiB, 4 kB
static int me, n, turn;

// What goes from rank to rank in a turn.
static int length(int from, int to)
{
    switch (turn) {
    case 0: return from < to ? LONG + 3 : LESS + 1;
    case 1: return from < to ? LONG : SHORT;
    case 2: return (from + to) % 3 == 0 ? 0 : (from + to) % 3 == 1 ? LESS + from : SHORT;
    case 5: return SOME + 10 * from + to;
    default: return LESS + 10 * from + to;
    }
}

struct blocks {
    int *counts, *displs, *bytes_at;
    MPI_Datatype *types;
    struct ints all;
};

static struct blocks blocks_new(int sending, int strided)
{
    struct blocks b = {malloc(sizeof(int) * (size_t)n),
                       malloc(sizeof(int) * (size_t)n),
                       malloc(sizeof(int) * (size_t)n),
                       malloc(sizeof(MPI_Datatype) * (size_t)n),
                       {0}};
    int sum = 0;
    for (int r = 0; r < n; r++) {
        b.counts[r] = sending ? length(me, r) : length(r, me);
        b.displs[r] = sum;
        sum += b.counts[r] + 1;
    }
    b.all = ints_new(sum, strided);
    for (int r = 0; r < n; r++) {
        b.types[r] = b.all.type;
        b.bytes_at[r] = b.displs[r] * b.all.stride * (int)sizeof(int);
        for (int i = 0; i < b.counts[r] && sending; i++)
            b.all.p[(b.displs[r] + i) * b.all.stride] = me * 7 + r * 3 + i + turn;
    }
    return b;
}

static void blocks_free(struct blocks b)
{
    free(b.counts);
    free(b.displs);
    free(b.bytes_at);
    free(b.types);
    free(b.all.p);
}

// The blocks from all ranks but `except`, and the gaps between them.
static void check_blocks(const struct blocks *in, int except)
{
    int s = in->all.stride;
    for (int r = 0; r < n; r++) {
        const int *block = in->all.p + (size_t)in->displs[r] * (size_t)s;
        for (int i = 0; i < in->counts[r] && r != except; i++)
            if (block[i * s] != r * 7 + me * 3 + i + turn) CHECK(!"the block as it was sent");
        CHECK(block[in->counts[r] * s] == -7);
    }
}

static void exchange(int strided)
{
    struct blocks out = blocks_new(1, strided && me % 2), in = blocks_new(0, strided && me % 2 == 0);
    CHECK(MPI_Alltoallv(out.all.p, out.counts, out.displs, out.all.type, in.all.p, in.counts, in.displs, in.all.type,
                        MPI_COMM_WORLD) == MPI_SUCCESS);
    check_blocks(&in, -1);
    blocks_free(in);
    in = blocks_new(0, strided);
    CHECK(MPI_Alltoallw(out.all.p, out.counts, out.bytes_at, out.types, in.all.p, in.counts, in.bytes_at, in.types,
                        MPI_COMM_WORLD) == MPI_SUCCESS);
    check_blocks(&in, -1);
    blocks_free(in);
    blocks_free(out);
}

static void in_place(void)
{
    turn = 3;
    int count = LESS + 5;
    struct ints all = ints_new(n * count, 0);
    int *counts = malloc(sizeof(int) * (size_t)n), *displs = malloc(sizeof(int) * (size_t)n);
    for (int r = 0; r < n; r++) {
        counts[r] = count;
        displs[r] = r * count;
        for (int i = 0; i < count; i++) all.p[r * count + i] = me * 5 + r + i;
    }
    CHECK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all.p, counts, displs, MPI_INT, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < count; i++)
            if (all.p[r * count + i] != r * 5 + me + i) CHECK(!"the block as it was sent");
    free(counts);
    free(displs);
    free(all.p);
}

// Rank 1 has less room than rank 0 sends: it alone is told so, and gets all the rest.
static void no_room(void)
{
    turn = 4;
    struct blocks out = blocks_new(1, 0), in = blocks_new(0, 0);
    if (me == 1) in.counts[0] -= 2;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int err = MPI_Alltoallv(out.all.p, out.counts, out.displs, MPI_INT, in.all.p, in.counts, in.displs, MPI_INT,
                            MPI_COMM_WORLD);
    if (err) MPI_Error_class(err, &err);
    CHECK(err == (me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    for (int i = 0; i < 2 && me == 1; i++) CHECK(in.all.p[in.displs[0] + in.counts[0] + i] == -7);
    check_blocks(&in, me == 1 ? 0 : -1);
    blocks_free(in);
    blocks_free(out);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_types();
    for (turn = 0; turn < 6; turn++) exchange(turn % 2);
    in_place();
    no_room();
    for (turn = 0; turn < 2; turn++) exchange(0);
    CHECK(MPI_Type_free(&gapped) == MPI_SUCCESS);
    MPI_Finalize();
}
