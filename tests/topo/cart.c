// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3,4,5,6 chan=shm,tcp
// Cartesian topologies: every rank, coordinate and shift against plain arithmetic, subgrids, MPI_Dims_create, and wrong
// input.
#include "../check.h"

#include <string.h>

static int rank, size;

// All shifts of one grid against the definition.
static void shifts(MPI_Comm c, int nd, const int *dims, const int *periods)
{
    int n, me, at[6], to[6];
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    MPI_Cart_coords(c, me, nd, at);
    for (int d = 0; d < nd; d++) {
        for (int disp = -7; disp <= 7; disp++) {
            int source = -99, dest = -99;
            CHECK(MPI_Cart_shift(c, d, disp, &source, &dest) == MPI_SUCCESS);
            for (int side = -1; side <= 1; side += 2) {
                memcpy(to, at, sizeof to);
                to[d] += side * disp;
                int want = MPI_PROC_NULL;
                if (periods[d] || (to[d] >= 0 && to[d] < dims[d])) MPI_Cart_rank(c, to, &want);
                CHECK((side < 0 ? source : dest) == want);
            }
        }
    }
}

static void grid(int nd, const int *dims, const int *periods)
{
    MPI_Comm c;
    int places = 1, got_dims[6], got_periods[6], at[6], n, kind, mapped;
    for (int d = 0; d < nd; d++) places *= dims[d];
    if (places > size) return;
    MPI_Cart_map(MPI_COMM_WORLD, nd, dims, periods, &mapped);
    CHECK(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < places));
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, nd, dims, periods, 1, &c) == MPI_SUCCESS);
    if (c == MPI_COMM_NULL) return;
    int me, count;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &count);
    CHECK(count == places);
    MPI_Topo_test(c, &kind);
    MPI_Cartdim_get(c, &n);
    CHECK(kind == MPI_CART && n == nd);
    CHECK(MPI_Cart_get(c, nd, got_dims, got_periods, at) == MPI_SUCCESS);
    for (int r = 0; r < places; r++) {
        int xyz[6], back, rest = r;
        MPI_Cart_coords(c, r, nd, xyz);
        for (int d = nd - 1; d >= 0; d--) {    // row-major
            CHECK(xyz[d] == rest % dims[d]);
            rest /= dims[d];
        }
        MPI_Cart_rank(c, xyz, &back);
        CHECK(back == r);
        if (r == me) CHECK(memcmp(xyz, at, (size_t)nd * sizeof *at) == 0);
        for (int d = 0; d < nd; d++) {
            CHECK(got_dims[d] == dims[d] && got_periods[d] == periods[d]);
            if (!periods[d]) continue;
            xyz[d] -= 3 * dims[d];    // wraps
            MPI_Cart_rank(c, xyz, &back);
            CHECK(back == r);
        }
    }
    shifts(c, nd, dims, periods);
    MPI_Comm d;
    MPI_Comm_dup(c, &d);    // with its topology
    MPI_Topo_test(d, &kind);
    CHECK(kind == MPI_CART);
    shifts(d, nd, dims, periods);
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
}

static void subgrids(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, at[2];
    MPI_Comm c;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
    MPI_Cart_coords(c, rank, 2, at);
    for (int keep = 0; keep < 4; keep++) {
        int remain[2] = {keep & 1, keep >> 1}, nd, n, r, sub[2], sub_periods[2], sub_at[2] = {-1, -1}, want = 1, k = 0;
        MPI_Comm s;
        CHECK(MPI_Cart_sub(c, remain, &s) == MPI_SUCCESS);
        MPI_Cartdim_get(s, &nd);
        MPI_Comm_size(s, &n);
        MPI_Comm_rank(s, &r);
        MPI_Cart_get(s, nd, sub, sub_periods, sub_at);
        for (int d = 0; d < 2; d++) {
            if (!remain[d]) continue;
            want *= dims[d];
            CHECK(sub[k] == dims[d] && sub_periods[k] == periods[d] && sub_at[k] == at[d]);
            k++;
        }
        CHECK(n == want && nd == k);
        int sum = 0, in = -1;    // the members of a row know each other's coordinates
        MPI_Sendrecv(at, 1, MPI_INT, (r + 1) % n, 0, &in, 1, MPI_INT, (r + n - 1) % n, 0, s, MPI_STATUS_IGNORE);
        sum = remain[0] ? in : at[0];
        CHECK(sum == in);
        MPI_Comm_free(&s);
    }
    MPI_Comm_free(&c);
}

static void dims_create(void)
{
    static const struct {
        int n, nd, in[4], out[4];
    } t[] = {
        {6, 2, {0, 0}, {3, 2}},
        {7, 2, {0, 0}, {7, 1}},
        {6, 3, {0, 3, 0}, {2, 3, 1}},
        {12, 2, {0, 0}, {4, 3}},
        {16, 2, {0, 0}, {4, 4}},
        {16, 3, {0, 0, 0}, {4, 2, 2}},
        {24, 3, {0, 0, 0}, {4, 3, 2}},
        {36, 2, {0, 0}, {6, 6}},
        {1, 3, {0, 0, 0}, {1, 1, 1}},
        {60, 3, {0, 0, 0}, {5, 4, 3}},
        {64, 4, {0, 0, 2, 0}, {4, 4, 2, 2}},
        {1000000, 3, {0, 0, 0}, {100, 100, 100}},
        {2147483647, 2, {0, 0}, {2147483647, 1}},
        {8, 3, {2, 2, 2}, {2, 2, 2}},
        {72, 2, {0, 0}, {9, 8}},
        {1073741824, 4, {0, 0, 0, 0}, {256, 256, 128, 128}},
        {5, 1, {0}, {5}},
        {999999000, 4, {0, 0, 0, 0}, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int d[4];
        long product = 1;
        memcpy(d, t[i].in, sizeof d);
        CHECK(MPI_Dims_create(t[i].n, t[i].nd, d) == MPI_SUCCESS);
        for (int k = 0; k < t[i].nd; k++) {
            product *= d[k];
            if (t[i].out[0]) CHECK(d[k] == t[i].out[k]);
        }
        CHECK(product == t[i].n);
    }
    int bad[2] = {4, 0}, negative[2] = {-1, 0}, full[1] = {3};
    CHECK(MPI_Dims_create(6, 2, bad) == MPI_ERR_DIMS && bad[0] == 4 && bad[1] == 0);
    CHECK(MPI_Dims_create(6, 2, negative) == MPI_ERR_DIMS);
    CHECK(MPI_Dims_create(6, 1, full) == MPI_ERR_DIMS);
    CHECK(MPI_Dims_create(0, 1, full) == MPI_ERR_ARG);
    CHECK(MPI_Dims_create(6, -1, full) == MPI_ERR_DIMS);
}

static void wrong_input(void)
{
    MPI_Comm c, d;
    int one[1] = {1}, zero[1] = {0}, many[1] = {size + 1}, v[2], w;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, many, zero, 0, &c) == MPI_ERR_DIMS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, zero, zero, 0, &c) == MPI_ERR_DIMS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, -1, one, zero, 0, &c) == MPI_ERR_DIMS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, zero, 0, &c) == MPI_ERR_ARG);
    CHECK(MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, v) == MPI_ERR_TOPOLOGY);
    CHECK(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, v) == MPI_ERR_TOPOLOGY);
    MPI_Cart_create(MPI_COMM_SELF, 1, one, zero, 0, &c);
    CHECK(MPI_Cart_coords(c, 1, 1, v) == MPI_ERR_RANK);
    CHECK(MPI_Cart_coords(c, 0, 0, v) == MPI_ERR_ARG);
    CHECK(MPI_Cart_rank(c, one, v) == MPI_ERR_ARG);
    CHECK(MPI_Cart_shift(c, 1, 1, v, &w) == MPI_ERR_ARG);
    CHECK(MPI_Cart_get(c, 0, v, v, v) == MPI_ERR_ARG);
    CHECK(MPI_Cart_sub(c, NULL, &d) == MPI_ERR_ARG);
    CHECK(MPI_Cart_shift(c, 0, 1, NULL, &w) == MPI_ERR_ARG);
    MPI_Comm_free(&c);
    int kind;
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    CHECK(kind == MPI_UNDEFINED);
}

static void all_grids(const int *periods)
{
    for (int x = 1; x <= size; x++) {
        for (int y = 1; x * y <= size; y++) {
            for (int z = 1; x * y * z <= size; z++) grid(3, (int[]){x, y, z}, periods);
        }
    }
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int mask = 0; mask < 8; mask++) all_grids((int[]){mask & 1, mask >> 1 & 1, mask >> 2});
    grid(0, NULL, NULL);
    grid(1, &size, (int[]){1});
    subgrids();
    dims_create();
    wrong_input();
    MPI_Finalize();
    return 0;
}
