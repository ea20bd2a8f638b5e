// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,5 chan=shm,tcp
// Groups: every set operation against plain arrays, ranges, translation, comparison, and what is wrong input.
#include "../check.h"

#include <string.h>

enum { N = 5 };
static int rank, size;
static MPI_Group world;

// The ranks in MPI_COMM_WORLD of a group's processes.
static int members(MPI_Group g, int *out)
{
    int n, all[N];
    CHECK(MPI_Group_size(g, &n) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) all[i] = i;
    CHECK(MPI_Group_translate_ranks(g, n, all, world, out) == MPI_SUCCESS);
    return n;
}

static void expect(MPI_Group g, int n, const int *want)
{
    int got[N], r, mine = MPI_UNDEFINED;
    CHECK(members(g, got) == n);
    for (int i = 0; i < n; i++) {
        CHECK(got[i] == want[i]);
        if (want[i] == rank) mine = i;
    }
    MPI_Group_rank(g, &r);
    CHECK(r == mine);
    CHECK((g == MPI_GROUP_EMPTY) == (n == 0));
}

// All pairs of subsets (as bit masks), with one of them in reversed order.
static void set_operations(void)
{
    for (int a = 0; a < 1 << size; a++) {
        for (int b = 0; b < 1 << size; b++) {
            int la[N], lb[N], na = 0, nb = 0, want[N], n;
            for (int i = 0; i < size; i++) {
                if (a >> i & 1) la[na++] = i;
                if (b >> (size - 1 - i) & 1) lb[nb++] = size - 1 - i;
            }
            MPI_Group ga, gb, g;
            MPI_Group_incl(world, na, la, &ga);
            MPI_Group_incl(world, nb, lb, &gb);
            expect(gb, nb, lb);
            MPI_Group_union(ga, gb, &g);
            n = 0;
            for (int i = 0; i < na; i++) want[n++] = la[i];
            for (int i = 0; i < nb; i++)
                if (!(a >> lb[i] & 1)) want[n++] = lb[i];
            expect(g, n, want);
            MPI_Group_free(&g);
            MPI_Group_intersection(ga, gb, &g);
            n = 0;
            for (int i = 0; i < na; i++)
                if (b >> la[i] & 1) want[n++] = la[i];
            expect(g, n, want);
            MPI_Group_free(&g);
            MPI_Group_difference(ga, gb, &g);
            n = 0;
            for (int i = 0; i < na; i++)
                if (!(b >> la[i] & 1)) want[n++] = la[i];
            expect(g, n, want);
            MPI_Group_free(&g);
            MPI_Group_excl(world, nb, lb, &g);
            n = 0;
            for (int i = 0; i < size; i++)
                if (!(b >> i & 1)) want[n++] = i;
            expect(g, n, want);
            MPI_Group_free(&g);
            int result;
            MPI_Group_compare(ga, gb, &result);
            CHECK(result == (a != b ? MPI_UNEQUAL : na < 2 ? MPI_IDENT : MPI_SIMILAR));
            MPI_Group_free(&ga);
            MPI_Group_free(&gb);
        }
    }
}

static void ranges(void)
{
    MPI_Group g, h;
    int down[1][3] = {{size - 1, 0, -1}}, result, even[2][3] = {{0, size - 1, 2}, {0, 0, 1}};
    MPI_Group_range_incl(world, 1, down, &g);
    int got[N], n = members(g, got);
    CHECK(n == size);
    for (int i = 0; i < n; i++) CHECK(got[i] == size - 1 - i);
    MPI_Group_compare(g, world, &result);
    CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    MPI_Group_range_excl(world, 1, even, &h);
    n = members(h, got);
    CHECK(n == size / 2);
    for (int i = 0; i < n; i++) CHECK(got[i] == 2 * i + 1);
    if (h != MPI_GROUP_EMPTY) MPI_Group_free(&h);
    CHECK(MPI_Group_range_incl(world, 2, even, &h) == MPI_ERR_RANK);    // rank 0 twice
    even[0][2] = 0;
    CHECK(MPI_Group_range_incl(world, 1, even, &h) == MPI_ERR_ARG);
    down[0][0] = size;
    CHECK(MPI_Group_range_excl(world, 1, down, &h) == MPI_ERR_RANK);
    MPI_Group_free(&g);
    MPI_Group_range_incl(world, 0, NULL, &g);
    CHECK(g == MPI_GROUP_EMPTY);
}

static void translation(void)
{
    MPI_Group self;
    int in[3] = {0, MPI_PROC_NULL, size - 1}, out[3] = {99, 99, 99};
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Group_translate_ranks(world, 3, in, self, out);
    CHECK(out[0] == (rank == 0 ? 0 : MPI_UNDEFINED) && out[1] == MPI_PROC_NULL);
    CHECK(out[2] == (rank == size - 1 ? 0 : MPI_UNDEFINED));
    MPI_Group_translate_ranks(self, 1, in, MPI_GROUP_EMPTY, out);
    CHECK(out[0] == MPI_UNDEFINED);
    MPI_Group_free(&self);
    CHECK(self == MPI_GROUP_NULL);
}

static void wrong_input(void)
{
    MPI_Group g = MPI_GROUP_NULL, freed;
    int n, two[2] = {0, 0}, bad = size, out;
    CHECK(MPI_Group_size(MPI_GROUP_NULL, &n) == MPI_ERR_GROUP);
    CHECK(MPI_Group_size(world, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_free(&g) == MPI_ERR_GROUP);
    CHECK(MPI_Group_incl(world, 2, two, &g) == MPI_ERR_RANK);
    CHECK(MPI_Group_incl(world, 1, &bad, &g) == MPI_ERR_RANK);
    CHECK(MPI_Group_excl(world, -1, two, &g) == MPI_ERR_ARG);
    CHECK(MPI_Group_translate_ranks(world, 1, &bad, world, &out) == MPI_ERR_RANK);
    CHECK(MPI_Group_translate_ranks(world, -1, &bad, world, &out) == MPI_ERR_ARG);
    CHECK(MPI_Group_union(world, MPI_GROUP_NULL, &g) == MPI_ERR_GROUP);
    CHECK(MPI_Group_compare(world, world, NULL) == MPI_ERR_ARG);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Group_incl(g, 1, two, &freed);
    MPI_Group copy = freed;
    MPI_Group_free(&freed);
    CHECK(MPI_Group_size(copy, &n) == MPI_ERR_GROUP);    // a freed handle is noticed
    CHECK(g != MPI_GROUP_NULL);
    MPI_Group_free(&g);
    // The group of MPI_COMM_WORLD lives on in `world`; freed as often as it was given, the handle is no group any more.
    copy = world;
    MPI_Group_free(&world);
    CHECK(MPI_Group_free(&copy) == MPI_ERR_GROUP);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(n == size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    set_operations();
    ranges();
    translation();
    wrong_input();
    MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
