// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,4,5,8 chan=shm,tcp
// run: np=3,5,8 set=coll_crowded=0
// run: np=2,3,5 set=coll_force=reduce=copies+allreduce=copies+reduce_scatter=copies+scan=copies
//      combined out of the ranks' buffers whatever the size
// run: np=2,3,5 set=coll_force=reduce=slots+allreduce=slots+reduce_scatter=slots+scan=slots
//      through slots, wide ones too, as far as they reach
// run: np=2,3,5,8 set=coll_force=reduce=windows+allreduce=windows+reduce_scatter=windows set=coll_window=4096
//      from rank to rank in small windows, whatever the size
// run: np=8 set=coll_force=reduce=windows+allreduce=windows set=coll_window=4096 set=coll_wide=67108864
//      likewise where there is no room for wide slots, in which windows lie
// run: np=3 set=coll_force=reduce=windows+allreduce=windows+reduce_scatter=windows set=shm_cma=0
//      likewise in large ones, without permission to copy between processes
// run: np=3,5 set=coll_wide=0
//      without wide slots
// run: np=2,3,4,5 set=coll_shm=0 set=coll_force=allreduce=direct+reduce_scatter=direct+scan=direct
//      over messages, each rank combining its own block
// run: np=2,3,5 set=coll_shm=0 set=coll_force=reduce=linear+allreduce=linear
//      over messages, to and from one rank
// run: np=2,3,5 set=coll_direct_min=1
//      nonblocking and persistent forms copying straight between buffers at any size
// run: np=2,3,5,10 set=coll_flat=1
//      what fits a line over the tree that many ranks use
// run: np=2,3,5 set=coll_piece=4096
//      in small pieces
// run: np=2,3,5 set=coll_shm=0 set=coll_force=reduce=ring+allreduce=ring+reduce_scatter=ring+scan=chain
//      over messages, by rings and chains whatever the size
// run: np=2,3,5 set=shm_cma=0 set=coll_split=0
//      without permission to copy between processes, all small allreduces shared out
// run: np=2,3,5 set=coll_shm=0 set=coll_force=reduce=binomial+allreduce=doubling+reduce_scatter=reduce+scan=doubling
//      over messages, by trees whatever the size
// Reduce, allreduce, reduce_scatter(_block), scan, exscan with MPI_SUM and with an operation that does not commute
// (permutations of three things), on a predefined and on a strided type: sizes up to beyond every protocol's border,
// all roots, in place, blocking, nonblocking and persistent. The reference is the fold over the ranks.
#include <string.h>

#include "coll.h"

static int me, n;
static MPI_Op compose, sum_gapped;
static int table[6][6];    // composition of permutations

static void make_table(void)
{
    static const int perm[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int c = 0; c < 6; c++)
                if (perm[c][0] == perm[b][perm[a][0]] && perm[c][1] == perm[b][perm[a][1]]) table[a][b] = c;
}

static void compose_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout, step = *type == MPI_INT ? 1 : 2;
    for (int i = 0; i < *len; i++) b[i * step] = table[a[i * step]][b[i * step]];
}

static void add_gapped(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    CHECK(*type == gapped);
    for (int i = 0; i < *len; i++) b[2 * i] += a[2 * i];
}

static int contribution(int rank, int i, int ordered)
{
    return ordered ? (rank * 5 + i * 3 + i / 7) % 6 : rank * 1000 + i;
}

// Elements of ranks first .. last combined.
static int expected(int first, int last, int i, int ordered)
{
    int x = contribution(first, i, ordered);
    for (int r = first + 1; r <= last; r++) {
        int y = contribution(r, i, ordered);
        x = ordered ? table[x][y] : x + y;
    }
    return x;
}

struct how {
    enum mode mode;
    int count, strided, ordered, in_place;
    MPI_Op op;
};

static struct ints filled(struct how h)
{
    struct ints b = ints_new(h.count, h.strided);
    for (int i = 0; i < h.count; i++) b.p[i * b.stride] = contribution(me, i, h.ordered);
    return b;
}

static void check_range(struct ints b, int at, int count, int last, struct how h)
{
    for (int i = 0; i < count; i++) CHECK(b.p[i * b.stride] == expected(0, last, at + i, h.ordered));
    CHECK(ints_gaps_hold(b));
}

static void reduce(struct how h, int root)
{
    struct ints s = filled(h), r = h.in_place && me == root ? filled(h) : ints_new(h.count, h.strided);
    int times = h.in_place ? 1 : 2;
    const void *send = h.in_place && me == root ? MPI_IN_PLACE : s.p;
    CALL(h.mode, times, Reduce, Ireduce, send, me == root ? r.p : NULL, h.count, s.type, h.op, root, MPI_COMM_WORLD);
    if (me == root) check_range(r, 0, h.count, n - 1, h);
    check_range(s, 0, 0, 0, h);
    for (int i = 0; i < h.count; i++) CHECK(s.p[i * s.stride] == contribution(me, i, h.ordered));
    ints_free(s);
    ints_free(r);
}

static void allreduce(struct how h)
{
    struct ints s = filled(h), r = h.in_place ? filled(h) : ints_new(h.count, h.strided);
    int times = h.in_place ? 1 : 2;
    CALL(h.mode, times, Allreduce, Iallreduce, h.in_place ? MPI_IN_PLACE : s.p, r.p, h.count, s.type, h.op,
         MPI_COMM_WORLD);
    check_range(r, 0, h.count, n - 1, h);
    ints_free(s);
    ints_free(r);
}

static void scan(struct how h)
{
    int times = h.in_place ? 1 : 2;
    struct ints s = filled(h), r = h.in_place ? filled(h) : ints_new(h.count, h.strided);
    CALL(h.mode, times, Scan, Iscan, h.in_place ? MPI_IN_PLACE : s.p, r.p, h.count, s.type, h.op, MPI_COMM_WORLD);
    check_range(r, 0, h.count, me, h);
    struct ints e = h.in_place ? filled(h) : ints_new(h.count, h.strided);
    CALL(h.mode, times, Exscan, Iexscan, h.in_place ? MPI_IN_PLACE : s.p, e.p, h.count, s.type, h.op, MPI_COMM_WORLD);
    if (me) check_range(e, 0, h.count, me - 1, h);
    ints_free(s);
    ints_free(r);
    ints_free(e);
}

// Blocks of count / n elements each, or uneven ones with an empty one among them.
static void reduce_scatter(struct how h, int even)
{
    int *counts = malloc(sizeof(int) * (size_t)n), at = 0, left = h.count;
    for (int i = 0; i < n; i++) {
        counts[i] = even ? h.count / n : i == 1 ? 0 : i == n - 1 ? left : left / 2;
        left -= counts[i];
        if (i < me) at += counts[i];
    }
    if (even) h.count = h.count / n * n;
    struct ints s = filled(h), r = h.in_place ? filled(h) : ints_new(counts[me], h.strided);
    int times = h.in_place ? 1 : 2;
    const void *send = h.in_place ? MPI_IN_PLACE : s.p;
    if (even)
        CALL(h.mode, times, Reduce_scatter_block, Ireduce_scatter_block, send, r.p, counts[0], s.type, h.op,
             MPI_COMM_WORLD);
    else
        CALL(h.mode, times, Reduce_scatter, Ireduce_scatter, send, r.p, counts, s.type, h.op, MPI_COMM_WORLD);
    for (int i = 0; i < counts[me]; i++) CHECK(r.p[i * r.stride] == expected(0, n - 1, at + i, h.ordered));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
    free(counts);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 5, 14, 400, 2050, 5000, 70001};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_types();
    make_table();
    CHECK(MPI_Op_create(compose_all, 0, &compose) == MPI_SUCCESS);
    CHECK(MPI_Op_create(add_gapped, 1, &sum_gapped) == MPI_SUCCESS);
    for (int k = 0; k < 8 * MODES; k++) {
        struct how h = {
            .mode = (enum mode)(k % MODES), .strided = k & 1, .ordered = k >> 1 & 1, .in_place = k >> 2 & 1};
        h.op = h.ordered ? compose : h.strided ? sum_gapped : MPI_SUM;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            h.count = counts[c];
            for (int root = 0; root < (h.count > 5000 ? 1 : n); root++) reduce(h, root);
            reduce(h, n - 1);
            allreduce(h);
            scan(h);
            reduce_scatter(h, 0);
            reduce_scatter(h, 1);
        }
    }
    CHECK(MPI_Op_free(&compose) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&sum_gapped) == MPI_SUCCESS);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
