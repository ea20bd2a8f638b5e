// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5,8 chan=shm,tcp
// run: np=3,5,8 set=coll_crowded=0
// run: np=13,24,25
// run: np=2,3,5 set=coll_force=allgather=windows+gather=windows set=coll_window=4096
// run: np=2,3,5 set=coll_force=scatter=messages
// run: np=2,3 set=coll_force=alltoall=copies+gather=copies+scatter=copies
// run: np=2,3,5 set=shm_cma=0 set=coll_force=allgatherv=linear+alltoallv=pairwise+alltoallw=pairwise
//      without permission to copy between processes, by the other algorithms
// The v and w forms: counts that differ from rank to rank (some nothing, one large), blocks out of order with gaps,
// plain and strided types, in place, int and MPI_Count, blocking, nonblocking and persistent.
#include "coll.h"

static int me, n;
static int unit;    // scales the counts

static int count_of(int from, int to)
{
    return (from * 7 + to * 3) % 5 * unit;
}

struct layout {
    int *counts, *displs, total;
    MPI_Count *counts_c;
    MPI_Aint *displs_c;
};

// Blocks from the last to the first, one element of gap between.
static struct layout lay_out(int sending, int fixed, int root)
{
    struct layout l = {malloc(sizeof(int) * (size_t)n), malloc(sizeof(int) * (size_t)n), 0,
                       malloc(sizeof(MPI_Count) * (size_t)n), malloc(sizeof(MPI_Aint) * (size_t)n)};
    for (int i = n - 1; i >= 0; i--) {
        l.counts[i] = fixed ? count_of(i, root) : sending ? count_of(me, i) : count_of(i, me);
        l.displs[i] = l.total;
        l.total += l.counts[i] + 1;
        l.counts_c[i] = l.counts[i];
        l.displs_c[i] = l.displs[i];
    }
    return l;
}

static void drop(struct layout l)
{
    free(l.counts);
    free(l.displs);
    free(l.counts_c);
    free(l.displs_c);
}

static void check_blocks(struct ints r, struct layout l, int to)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < l.counts[k]; i++) CHECK(r.p[(l.displs[k] + i) * r.stride] == value(k, to, i));
        CHECK(r.p[(l.displs[k] + l.counts[k]) * r.stride] == -7);    // the gap
    }
}

static void gatherv(enum mode mode, int root, int in_place)
{
    struct layout l = lay_out(0, 1, root);
    struct ints s = ints_new(count_of(me, root), me & 1), r = ints_new(l.total, root & 1);
    for (int i = 0; i < s.n; i++) s.p[i * s.stride] = value(me, root, i);
    int here = in_place && me == root;
    for (int i = 0; i < l.counts[me] && here; i++) r.p[(l.displs[me] + i) * r.stride] = value(me, root, i);
    CALL(mode, 2, Gatherv, Igatherv, here ? MPI_IN_PLACE : s.p, s.n, s.type, r.p, l.counts, l.displs, r.type, root,
         MPI_COMM_WORLD);
    if (me == root) check_blocks(r, l, root);
    CALL_C(mode, 2, Gatherv, Igatherv, here ? MPI_IN_PLACE : s.p, s.n, s.type, r.p, l.counts_c, l.displs_c, r.type,
           root, MPI_COMM_WORLD);
    if (me == root) check_blocks(r, l, root);
    ints_free(s);
    ints_free(r);
    drop(l);
}

static void scatterv(enum mode mode, int root, int in_place)
{
    struct layout l = lay_out(0, 1, root);
    struct ints s = ints_new(l.total, root & 1), r = ints_new(count_of(me, root), me & 1);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < l.counts[k]; i++) s.p[(l.displs[k] + i) * s.stride] = value(root, k, i);
    int here = in_place && me == root;
    CALL(mode, 2, Scatterv, Iscatterv, s.p, l.counts, l.displs, s.type, here ? MPI_IN_PLACE : r.p, r.n, r.type, root,
         MPI_COMM_WORLD);
    for (int i = 0; i < r.n && !here; i++) CHECK(r.p[i * r.stride] == value(root, me, i));
    CALL_C(mode, 2, Scatterv, Iscatterv, s.p, l.counts_c, l.displs_c, s.type, here ? MPI_IN_PLACE : r.p, r.n, r.type,
           root, MPI_COMM_WORLD);
    for (int i = 0; i < r.n && !here; i++) CHECK(r.p[i * r.stride] == value(root, me, i));
    CHECK(ints_gaps_hold(r));
    ints_free(s);
    ints_free(r);
    drop(l);
}

static void allgatherv(enum mode mode, int in_place)
{
    struct layout l = lay_out(0, 1, 0);
    struct ints s = ints_new(count_of(me, 0), me & 1), r = ints_new(l.total, n & 1);
    for (int i = 0; i < s.n; i++) s.p[i * s.stride] = value(me, 0, i);
    for (int i = 0; i < s.n && in_place; i++) r.p[(l.displs[me] + i) * r.stride] = value(me, 0, i);
    CALL(mode, 2, Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : s.p, s.n, s.type, r.p, l.counts, l.displs, r.type,
         MPI_COMM_WORLD);
    check_blocks(r, l, 0);
    CALL_C(mode, 2, Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : s.p, s.n, s.type, r.p, l.counts_c, l.displs_c,
           r.type, MPI_COMM_WORLD);
    check_blocks(r, l, 0);
    ints_free(s);
    ints_free(r);
    drop(l);
}

static void fill(struct ints s, struct layout l)
{
    for (int i = 0; i < s.n * s.stride + 1; i++) s.p[i] = -7;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < l.counts[k]; i++) s.p[(l.displs[k] + i) * s.stride] = value(me, k, i);
}

static void alltoallv(enum mode mode)
{
    struct layout out = lay_out(1, 0, 0), in = lay_out(0, 0, 0);
    struct ints s = ints_new(out.total, me & 1), r = ints_new(in.total, n & 1);
    fill(s, out);
    CALL(mode, 2, Alltoallv, Ialltoallv, s.p, out.counts, out.displs, s.type, r.p, in.counts, in.displs, r.type,
         MPI_COMM_WORLD);
    check_blocks(r, in, me);
    CALL_C(mode, 2, Alltoallv, Ialltoallv, s.p, out.counts_c, out.displs_c, s.type, r.p, in.counts_c, in.displs_c,
           r.type, MPI_COMM_WORLD);
    check_blocks(r, in, me);
    MPI_Datatype *types = malloc(sizeof *types * (size_t)n);
    MPI_Datatype *rtypes = malloc(sizeof *types * (size_t)n);
    for (int i = 0; i < n; i++) {
        types[i] = s.type;
        rtypes[i] = r.type;
        out.displs[i] *= s.stride * (int)sizeof(int);
        in.displs[i] *= r.stride * (int)sizeof(int);
        out.displs_c[i] = out.displs[i];
        in.displs_c[i] = in.displs[i];
    }
    for (int i = 0; i < r.n * r.stride; i++) r.p[i] = -7;
    CALL(mode, 2, Alltoallw, Ialltoallw, s.p, out.counts, out.displs, types, r.p, in.counts, in.displs, rtypes,
         MPI_COMM_WORLD);
    CALL_C(mode, 2, Alltoallw, Ialltoallw, s.p, out.counts_c, out.displs_c, types, r.p, in.counts_c, in.displs_c,
           rtypes, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) in.displs[i] /= r.stride * (int)sizeof(int);
    check_blocks(r, in, me);
    free(types);
    free(rtypes);
    ints_free(s);
    ints_free(r);
    drop(out);
    drop(in);
}

// In place the counts to and from a rank are the same.
static void in_place_alltoallv(enum mode mode)
{
    struct layout l = lay_out(1, 0, 0);
    int total = 0;
    for (int i = n - 1; i >= 0; i--) {
        l.counts[i] = (me + i) % 4 * unit;
        l.displs[i] = total;
        total += l.counts[i] + 1;
    }
    struct ints r = ints_new(total, n & 1);
    fill(r, l);
    CALL(mode, 1, Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, r.p, l.counts, l.displs, r.type,
         MPI_COMM_WORLD);
    check_blocks(r, l, me);
    ints_free(r);
    drop(l);
}

int main(int argc, char **argv)
{
    static const int units[] = {1, 3, 700, 900, 9001};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_types();
    for (enum mode mode = 0; mode < MODES; mode++) {
        for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
            unit = units[k];
            for (int root = 0; root < n; root++) {
                gatherv(mode, root, root & 1);
                scatterv(mode, root, root & 1);
            }
            allgatherv(mode, 0);
            allgatherv(mode, 1);
            alltoallv(mode);
            in_place_alltoallv(mode);
        }
    }
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
