// run: np=1
// SPDX-License-Identifier: BSD-3-Clause
// Every constructor, plain and _c: extents and sizes as the standard defines them, envelope and contents as they were
// given, and the data that a message to oneself carries.
#include "check.h"
#include <stddef.h>
#include <string.h>

static void bounds(MPI_Datatype t, MPI_Count size, MPI_Count lb, MPI_Count extent, MPI_Count true_lb,
                   MPI_Count true_extent)
{
    MPI_Count s, l, e;
    MPI_Aint al, ae;
    int small;
    MPI_Type_size(t, &small);
    CHECK(small == size);
    MPI_Type_size_c(t, &s);
    CHECK(s == size);
    MPI_Type_size_x(t, &s);
    CHECK(s == size);
    MPI_Type_get_extent(t, &al, &ae);
    CHECK(al == lb && ae == extent);
    MPI_Type_get_extent_c(t, &l, &e);
    CHECK(l == lb && e == extent);
    MPI_Type_get_extent_x(t, &l, &e);
    CHECK(l == lb && e == extent);
    MPI_Type_get_true_extent(t, &al, &ae);
    CHECK(al == true_lb && ae == true_extent);
    MPI_Type_get_true_extent_c(t, &l, &e);
    CHECK(l == true_lb && e == true_extent);
    MPI_Type_get_true_extent_x(t, &l, &e);
    CHECK(l == true_lb && e == true_extent);
}

// The contents must be these integers and addresses; the one type in them is the result.
static MPI_Datatype contents(MPI_Datatype t, int combiner, const int *ints, int nints, const MPI_Aint *addrs,
                             int naddrs)
{
    int ni, na, nt, c, i[32];
    MPI_Aint a[16];
    MPI_Datatype d[8];
    MPI_Type_get_envelope(t, &ni, &na, &nt, &c);
    CHECK(c == combiner && ni == nints && na == naddrs && nt == 1);
    MPI_Type_get_contents(t, 32, 16, 8, i, a, d);
    for (int k = 0; k < nints; k++) CHECK(i[k] == ints[k]);
    for (int k = 0; k < naddrs; k++) CHECK(a[k] == addrs[k]);
    return d[0];
}

static void large_contents(MPI_Datatype t, int combiner, const int *ints, int nints, const MPI_Count *counts,
                           int ncounts)
{
    MPI_Count ni, na, nc, nt, n[32];
    int c, i[32];
    MPI_Aint a[4];
    MPI_Datatype d[8];
    MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nt, &c);
    CHECK(c == combiner && ni == nints && na == 0 && nc == ncounts && nt >= 1);
    MPI_Type_get_contents_c(t, 32, 4, 32, 8, i, a, n, d);
    for (int k = 0; k < nints; k++) CHECK(i[k] == ints[k]);
    for (int k = 0; k < ncounts; k++) CHECK(n[k] == counts[k]);
    // The plain forms cannot tell large counts.
    int x, y, z;
    CHECK(MPI_Type_get_envelope(t, &x, &y, &z, &c) == MPI_ERR_TYPE);
    CHECK(MPI_Type_get_contents(t, 32, 4, 8, i, a, d) == MPI_ERR_TYPE);
}

static void vectors(void)
{
    MPI_Datatype t;
    MPI_Type_contiguous(5, MPI_INT, &t);
    bounds(t, 20, 0, 20, 0, 20);
    CHECK(contents(t, MPI_COMBINER_CONTIGUOUS, (int[]){5}, 1, NULL, 0) == MPI_INT);
    MPI_Type_free(&t);
    CHECK(t == MPI_DATATYPE_NULL);
    MPI_Type_contiguous_c(5, MPI_INT, &t);
    large_contents(t, MPI_COMBINER_CONTIGUOUS, NULL, 0, (MPI_Count[]){5}, 1);
    MPI_Type_free(&t);
    MPI_Type_vector(3, 2, 4, MPI_INT, &t);
    bounds(t, 24, 0, 40, 0, 40);
    CHECK(contents(t, MPI_COMBINER_VECTOR, (int[]){3, 2, 4}, 3, NULL, 0) == MPI_INT);
    MPI_Type_free(&t);
    MPI_Type_vector_c(3, 2, -4, MPI_INT, &t);
    bounds(t, 24, -32, 40, -32, 40);
    large_contents(t, MPI_COMBINER_VECTOR, NULL, 0, (MPI_Count[]){3, 2, -4}, 3);
    MPI_Type_free(&t);
    MPI_Type_create_hvector(3, 2, 10, MPI_SHORT, &t);
    bounds(t, 12, 0, 24, 0, 24);
    CHECK(contents(t, MPI_COMBINER_HVECTOR, (int[]){3, 2}, 2, (MPI_Aint[]){10}, 1) == MPI_SHORT);
    MPI_Type_free(&t);
    MPI_Type_create_hvector_c(3, 2, 10, MPI_SHORT, &t);
    large_contents(t, MPI_COMBINER_HVECTOR, NULL, 0, (MPI_Count[]){3, 2, 10}, 3);
    MPI_Type_free(&t);
}

static void lists(void)
{
    MPI_Datatype t;
    int lens[] = {2, 0, 1}, disp[] = {3, 100, -1};
    MPI_Aint bytes[] = {12, 400, -4};
    MPI_Count wide[] = {2, 0, 1}, at[] = {3, 100, -1};
    MPI_Type_indexed(3, lens, disp, MPI_INT, &t);
    bounds(t, 12, -4, 24, -4, 24);
    CHECK(contents(t, MPI_COMBINER_INDEXED, (int[]){3, 2, 0, 1, 3, 100, -1}, 7, NULL, 0) == MPI_INT);
    MPI_Type_free(&t);
    MPI_Type_indexed_c(3, wide, at, MPI_INT, &t);
    large_contents(t, MPI_COMBINER_INDEXED, NULL, 0, (MPI_Count[]){3, 2, 0, 1, 3, 100, -1}, 7);
    MPI_Type_free(&t);
    MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &t);
    bounds(t, 12, -4, 24, -4, 24);
    CHECK(contents(t, MPI_COMBINER_HINDEXED, (int[]){3, 2, 0, 1}, 4, bytes, 3) == MPI_INT);
    MPI_Type_free(&t);
    MPI_Type_create_hindexed_c(3, wide, at, MPI_BYTE, &t);
    large_contents(t, MPI_COMBINER_HINDEXED, NULL, 0, (MPI_Count[]){3, 2, 0, 1, 3, 100, -1}, 7);
    MPI_Type_free(&t);
    MPI_Type_create_indexed_block(2, 3, disp, MPI_SHORT, &t);
    CHECK(contents(t, MPI_COMBINER_INDEXED_BLOCK, (int[]){2, 3, 3, 100}, 4, NULL, 0) == MPI_SHORT);
    bounds(t, 12, 6, 200, 6, 200);
    MPI_Type_free(&t);
    MPI_Type_create_indexed_block_c(2, 3, at, MPI_SHORT, &t);
    large_contents(t, MPI_COMBINER_INDEXED_BLOCK, NULL, 0, (MPI_Count[]){2, 3, 3, 100}, 4);
    MPI_Type_free(&t);
    MPI_Type_create_hindexed_block(3, 1, bytes, MPI_DOUBLE, &t);
    CHECK(contents(t, MPI_COMBINER_HINDEXED_BLOCK, (int[]){3, 1}, 2, bytes, 3) == MPI_DOUBLE);
    MPI_Type_free(&t);
    MPI_Type_create_hindexed_block_c(3, 1, at, MPI_BYTE, &t);
    large_contents(t, MPI_COMBINER_HINDEXED_BLOCK, NULL, 0, (MPI_Count[]){3, 1, 3, 100, -1}, 5);
    MPI_Type_free(&t);
}

struct mixed {
    char c;
    double d[2];
    short s;
};

static void structs(void)
{
    MPI_Datatype t, wide, types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Aint at[] = {offsetof(struct mixed, c), offsetof(struct mixed, d), offsetof(struct mixed, s)};
    MPI_Count lens_c[] = {1, 2, 1}, at_c[] = {at[0], at[1], at[2]};
    MPI_Type_create_struct(3, (int[]){1, 2, 1}, at, types, &t);
    bounds(t, 19, 0, sizeof(struct mixed), 0, offsetof(struct mixed, s) + 2);
    MPI_Type_create_struct_c(3, lens_c, at_c, types, &wide);
    bounds(wide, 19, 0, sizeof(struct mixed), 0, offsetof(struct mixed, s) + 2);
    large_contents(wide, MPI_COMBINER_STRUCT, NULL, 0, (MPI_Count[]){3, 1, 2, 1, at[0], at[1], at[2]}, 7);
    MPI_Type_free(&wide);
    struct mixed in[3] = {{'a', {1, 2}, 3}, {'b', {4, 5}, 6}, {'c', {7, 8}, 9}}, out[3];
    memset(out, 0x55, sizeof out);
    MPI_Type_commit(&t);
    MPI_Sendrecv(in, 3, t, 0, 1, out, 3, t, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) {
        CHECK(out[i].c == in[i].c && out[i].d[0] == in[i].d[0] && out[i].d[1] == in[i].d[1] && out[i].s == in[i].s);
        CHECK(((unsigned char *)&out[i])[1] == 0x55);
    }
    // A struct of resized parts: marked bounds win over the others, and nothing is padded.
    MPI_Type_create_resized(MPI_INT, -3, 9, &wide);
    bounds(wide, 4, -3, 9, 0, 4);
    CHECK(contents(wide, MPI_COMBINER_RESIZED, NULL, 0, (MPI_Aint[]){-3, 9}, 2) == MPI_INT);
    MPI_Datatype pair[] = {wide, MPI_CHAR}, s;
    MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 100}, pair, &s);
    bounds(s, 9, -3, 18, 0, 101);
    MPI_Type_free(&s);
    MPI_Type_free(&wide);
    MPI_Type_create_resized_c(MPI_INT, -3, 9, &wide);
    large_contents(wide, MPI_COMBINER_RESIZED, NULL, 0, (MPI_Count[]){-3, 9}, 2);
    MPI_Type_free(&wide);
    MPI_Type_free(&t);
}

// A part of a matrix goes to the place that an independent loop says.
static void arrays(void)
{
    int m[4][5], part[4][5];
    MPI_Datatype t;
    for (int i = 0; i < 20; i++) (&m[0][0])[i] = i;
    for (int order = 0; order < 2; order++) {
        memset(part, 0, sizeof part);
        // In Fortran order the first index is the fast one: the same part has its arguments swapped.
        int sizes[] = {order ? 5 : 4, order ? 4 : 5}, subs[] = {order ? 3 : 2, order ? 2 : 3}, starts[] = {1, 1};
        MPI_Type_create_subarray(2, sizes, subs, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &t);
        bounds(t, 24, 0, 80, 24, 32);
        CHECK(contents(t, MPI_COMBINER_SUBARRAY,
                       (int[]){2, sizes[0], sizes[1], subs[0], subs[1], 1, 1, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C},
                       8, NULL, 0) == MPI_INT);
        MPI_Type_commit(&t);
        MPI_Sendrecv(m, 1, t, 0, 0, part, 1, t, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 5; j++) CHECK(part[i][j] == (i >= 1 && i < 3 && j >= 1 && j < 4 ? 5 * i + j : 0));
        MPI_Type_free(&t);
    }
    MPI_Count sizes[] = {4, 5}, subs[] = {2, 3}, starts[] = {1, 1};
    MPI_Type_create_subarray_c(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t);
    large_contents(t, MPI_COMBINER_SUBARRAY, (int[]){2, MPI_ORDER_C}, 2, (MPI_Count[]){4, 5, 2, 3, 1, 1}, 6);
    MPI_Type_free(&t);
}

// Every element of a distributed array belongs to exactly the process that the definition names.
static void distributed(void)
{
    enum { ROWS = 7, COLS = 11 };
    int all[ROWS][COLS], psizes[] = {2, 3}, dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, gsizes[] = {ROWS, COLS}, mine[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++) (&all[0][0])[i] = i;
    for (int rank = 0; rank < 6; rank++) {
        MPI_Datatype t, large;
        int pr = rank / 3, pc = rank % 3, n = 0, want = 0;
        MPI_Type_create_darray(6, rank, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &t);
        MPI_Type_create_darray_c(6, rank, 2, (MPI_Count[]){ROWS, COLS}, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT,
                                 &large);
        CHECK(contents(t, MPI_COMBINER_DARRAY,
                       (int[]){6, rank, 2, ROWS, COLS, distribs[0], distribs[1], dargs[0], dargs[1], 2, 3, MPI_ORDER_C},
                       12, NULL, 0) == MPI_INT);
        large_contents(large, MPI_COMBINER_DARRAY,
                       (int[]){6, rank, 2, distribs[0], distribs[1], dargs[0], dargs[1], 2, 3, MPI_ORDER_C}, 10,
                       (MPI_Count[]){ROWS, COLS}, 2);
        MPI_Type_free(&large);
        MPI_Aint lb, extent;
        MPI_Type_get_extent(t, &lb, &extent);
        CHECK(lb == 0 && extent == sizeof all);
        MPI_Type_size(t, &n);
        MPI_Type_commit(&t);
        MPI_Sendrecv(all, 1, t, 0, 0, mine, n / 4, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++)
                if (i / 4 == pr && j / 2 % 3 == pc) CHECK(want < n / 4 && mine[want++] == COLS * i + j);
        CHECK(want == n / 4);
        MPI_Type_free(&t);
    }
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    vectors();
    lists();
    structs();
    arrays();
    distributed();
    MPI_Finalize();
    return 0;
}
