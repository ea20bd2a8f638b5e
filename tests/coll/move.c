// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,4,5,8 chan=shm,tcp
// run: np=3,5,8 set=coll_crowded=0
// run: np=3,5 set=coll_crowded=0 set=coll_force=bcast=slots+scatter=messages
// run: np=2,3,5 set=coll_force=bcast=copies+gather=copies+scatter=copies+allgather=copies+alltoall=copies
//      copied between the ranks' buffers whatever the size
// run: np=2,3,5 set=coll_force=bcast=slots+gather=slots+scatter=slots+allgather=slots+alltoall=slots
//      through slots, wide ones too, as far as they reach
// run: np=2,5 set=coll_force=bcast=slots+gather=slots+scatter=slots+allgather=slots+alltoall=slots set=coll_wide=20000
//      through slots that are not much wider
// run: np=2,3,5,8 set=coll_force=bcast=windows+gather=windows+allgather=windows+alltoall=windows set=coll_window=4096
//      handed round in small windows, whatever the size
// run: np=8 set=coll_force=bcast=windows+gather=windows set=coll_window=4096 set=coll_wide=67108864
// run: np=8 set=coll_force=allgather=windows+alltoall=windows set=coll_window=4096 set=coll_wide=67108864
//      likewise where there is no room for wide slots, in which windows lie
// run: np=3 set=coll_force=bcast=windows+gather=windows+allgather=windows+alltoall=windows set=shm_cma=0
//      likewise in large ones, without permission to copy between processes
// run: np=2,3,5 set=coll_direct_min=1
//      nonblocking and persistent forms copying straight between buffers at any size
// run: np=3,5 set=coll_shm=0 set=coll_force=barrier=linear+bcast=linear+allgather=linear+alltoall=linear
//      over messages, by plain loops whatever the size
// run: np=2,3,5,10 set=coll_flat=1
//      what fits a line over the tree that many ranks use
// run: np=2,3,8 set=coll_shm=0 set=coll_force=bcast=chain+allgather=ring+alltoall=pairwise
//      over messages, by chains and rings whatever the size
// run: np=2,3,5 set=shm_cma=0
//      without permission to copy between processes
// run: np=8 set=coll_shm=0 set=coll_force=bcast=scatter+gather=binomial+scatter=binomial+allgather=bruck+alltoall=bruck
//      over messages, by trees whatever the size
// Bcast, gather, scatter, allgather, alltoall: all roots, sizes from nothing to beyond every protocol's border, plain
// and strided types that differ between ranks, in place, blocking, nonblocking and persistent.
#include "coll.h"

static int me, n;

static void bcast(enum mode mode, int count, int root)
{
    struct ints b = ints_new(count, (me + root) & 1);
    for (int i = 0; i < count && me == root; i++) b.p[i * b.stride] = value(root, 0, i);
    CALL(mode, 2, Bcast, Ibcast, b.p, count, b.type, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) CHECK(b.p[i * b.stride] == value(root, 0, i));
    CHECK(ints_gaps_hold(b));
    ints_free(b);
}

static void gather(enum mode mode, int count, int root, int in_place)
{
    struct ints s = ints_new(count, me & 1), r = ints_new(count * n, (me + count) & 1);
    for (int i = 0; i < count; i++) s.p[i * s.stride] = value(me, root, i);
    if (in_place && me == root)
        for (int i = 0; i < count; i++) r.p[(me * count + i) * r.stride] = value(me, root, i);
    const void *send = in_place && me == root ? MPI_IN_PLACE : s.p;
    // What is not significant on other ranks is nonsense on purpose.
    if (me == root)
        CALL(mode, 2, Gather, Igather, send, count, s.type, r.p, count, r.type, root, MPI_COMM_WORLD);
    else
        CALL(mode, 2, Gather, Igather, send, count, s.type, NULL, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (int k = 0; k < n && me == root; k++)
        for (int i = 0; i < count; i++) CHECK(r.p[(k * count + i) * r.stride] == value(k, root, i));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
}

static void scatter(enum mode mode, int count, int root, int in_place)
{
    struct ints s = ints_new(count * n, (me + count) & 1), r = ints_new(count, me & 1);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < count; i++) s.p[(k * count + i) * s.stride] = value(root, k, i);
    void *recv = in_place && me == root ? MPI_IN_PLACE : r.p;
    if (me == root)
        CALL(mode, 2, Scatter, Iscatter, s.p, count, s.type, recv, count, r.type, root, MPI_COMM_WORLD);
    else
        CALL(mode, 2, Scatter, Iscatter, NULL, -1, MPI_DATATYPE_NULL, recv, count, r.type, root, MPI_COMM_WORLD);
    for (int i = 0; i < count && recv != MPI_IN_PLACE; i++) CHECK(r.p[i * r.stride] == value(root, me, i));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
}

static void allgather(enum mode mode, int count, int in_place)
{
    struct ints s = ints_new(count, me & 1), r = ints_new(count * n, (me / 2) & 1);
    for (int i = 0; i < count; i++) s.p[i * s.stride] = value(me, 0, i);
    for (int i = 0; i < count && in_place; i++) r.p[(me * count + i) * r.stride] = value(me, 0, i);
    CALL(mode, 2, Allgather, Iallgather, in_place ? MPI_IN_PLACE : s.p, in_place ? -1 : count,
         in_place ? MPI_DATATYPE_NULL : s.type, r.p, count, r.type, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < count; i++) CHECK(r.p[(k * count + i) * r.stride] == value(k, 0, i));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
}

static void alltoall(enum mode mode, int count, int in_place)
{
    struct ints s = ints_new(count * n, me & 1), r = ints_new(count * n, (me / 2) & 1);
    struct ints from = in_place ? r : s;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < count; i++) from.p[(k * count + i) * from.stride] = value(me, k, i);
    CALL(mode, in_place ? 1 : 2, Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : s.p, in_place ? -1 : count,
         in_place ? MPI_DATATYPE_NULL : s.type, r.p, count, r.type, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < count; i++) CHECK(r.p[(k * count + i) * r.stride] == value(k, me, i));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 3, 14, 100, 1023, 2049, 20000, 70001};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_types();
    for (enum mode mode = 0; mode < MODES; mode++) {
        CALL(mode, 3, Barrier, Ibarrier, MPI_COMM_WORLD);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            int count = counts[k], roots = count > 2049 ? (n < 2 ? n : 2) : n;
            for (int root = 0; root < roots; root++) {
                bcast(mode, count, root);
                gather(mode, count, root, root & 1);
                scatter(mode, count, root, root & 1);
            }
            gather(mode, count, n - 1, n & 1);
            scatter(mode, count, n - 1, n & 1);
            for (int in_place = 0; in_place < 2; in_place++) {
                allgather(mode, count, in_place);
                alltoall(mode, count > 20000 ? count / n : count, in_place);
            }
        }
    }
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
