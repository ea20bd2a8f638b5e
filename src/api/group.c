// SPDX-License-Identifier: BSD-3-Clause
// Groups: accessors and set operations. Entry points of the chapter on groups; all are local.
// Always holds: an empty result is MPI_GROUP_EMPTY; outputs are written on success only.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "coll/construct.h"

static int no_memory(void)
{
    return uno_fail(MPI_ERR_NO_MEM, "no memory for a group");
}

// Hands out a group of these processes. The session is that of `like`.
static int give(int n, const int *proc, const struct MPI_ABI_Group *like, MPI_Group *out)
{
    if (n == 0) {
        *out = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    struct MPI_ABI_Group *g = uno_group_make(n, proc);
    if (!g) return no_memory();
    g->session = like->session;
    *out = uno_group_give(g);
    return MPI_SUCCESS;
}

int MPI_Group_size(MPI_Group group, int *size)
{
    static const char call[] = "MPI_Group_size";
    uno_enter(call);
    int err = uno_check_group(group, "group");
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) *size = uno_group(group)->size;
    return uno_finish_self(call, err);
}

int MPI_Group_rank(MPI_Group group, int *rank)
{
    static const char call[] = "MPI_Group_rank";
    uno_enter(call);
    int err = uno_check_group(group, "group");
    if (!err) err = uno_check_pointer(rank, "rank");
    if (!err) *rank = uno_group(group)->rank;
    return uno_finish_self(call, err);
}

static int check_rank(const struct MPI_ABI_Group *g, int rank, const char *name, int i)
{
    if (rank >= 0 && rank < g->size) return MPI_SUCCESS;
    if (g->size == 0) return uno_fail(MPI_ERR_RANK, "%s[%d] is %d, but the group is empty", name, i, rank);
    return uno_fail(MPI_ERR_RANK, "%s[%d] is %d (0 .. %d allowed)", name, i, rank, g->size - 1);
}

int MPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    static const char call[] = "MPI_Group_translate_ranks";
    uno_enter(call);
    int err = uno_check_group(group1, "group1");
    if (!err) err = uno_check_group(group2, "group2");
    if (!err && n < 0) err = uno_fail(MPI_ERR_ARG, "n %d is negative", n);
    if (!err && n > 0) err = uno_check_pointer(ranks1, "ranks1");
    if (!err && n > 0) err = uno_check_pointer(ranks2, "ranks2");
    for (int i = 0; i < n && !err; i++) {
        if (ranks1[i] != MPI_PROC_NULL) err = check_rank(uno_group(group1), ranks1[i], "ranks1", i);
    }
    if (!err && n > 0) err = uno_group_translate(uno_group(group1), n, ranks1, uno_group(group2), ranks2);
    return uno_finish_self(call, err);
}

// where[i]: rank in b of a's rank i. NULL when memory is out.
static int *ranks_in(const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b)
{
    int *where = malloc((size_t)(a->size + 1) * sizeof *where);
    if (where && uno_group_translate(a, a->size, NULL, b, where) != MPI_SUCCESS) {
        free(where);
        where = NULL;
    }
    return where;
}

int MPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    static const char call[] = "MPI_Group_compare";
    uno_enter(call);
    int err = uno_check_group(group1, "group1");
    if (!err) err = uno_check_group(group2, "group2");
    if (!err) err = uno_check_pointer(result, "result");
    if (err) return uno_raise_self(call, err);
    const struct MPI_ABI_Group *a = uno_group(group1), *b = uno_group(group2);
    int r = a->size == b->size ? MPI_IDENT : MPI_UNEQUAL;
    for (int i = 0; i < a->size && r == MPI_IDENT; i++)
        if (a->proc[i] != b->proc[i]) r = MPI_SIMILAR;
    if (r == MPI_SIMILAR) {
        int *where = ranks_in(a, b);
        if (!where) return uno_raise_self(call, no_memory());
        for (int i = 0; i < a->size && r == MPI_SIMILAR; i++)
            if (where[i] == MPI_UNDEFINED) r = MPI_UNEQUAL;
        free(where);
    }
    *result = r;
    uno_leave();
    return MPI_SUCCESS;
}

// ---- set operations: a's members chosen by whether they are in b, then (union) b's that are not in a ----

enum set_op { SET_UNION, SET_INTERSECTION, SET_DIFFERENCE };

static int combine_groups(enum set_op op, const struct MPI_ABI_Group *a, const struct MPI_ABI_Group *b, MPI_Group *out)
{
    int *in_b = ranks_in(a, b), *in_a = ranks_in(b, a);
    int *proc = malloc(((size_t)a->size + (size_t)b->size + 1) * sizeof *proc);
    int n = 0, err = in_a && in_b && proc ? MPI_SUCCESS : no_memory();
    for (int i = 0; i < a->size && !err; i++) {
        bool both = in_b[i] != MPI_UNDEFINED;
        if (op == SET_UNION || both == (op == SET_INTERSECTION)) proc[n++] = a->proc[i];
    }
    for (int i = 0; i < b->size && !err && op == SET_UNION; i++) {
        if (in_a[i] == MPI_UNDEFINED) proc[n++] = b->proc[i];
    }
    if (!err) err = give(n, proc, a->size ? a : b, out);
    free(in_a);
    free(in_b);
    free(proc);
    return err;
}

static int set_op(const char *call, enum set_op op, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    uno_enter(call);
    int err = uno_check_group(group1, "group1");
    if (!err) err = uno_check_group(group2, "group2");
    if (!err) err = uno_check_pointer(newgroup, "newgroup");
    if (!err) err = combine_groups(op, uno_group(group1), uno_group(group2), newgroup);
    return uno_finish_self(call, err);
}

int MPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return set_op("MPI_Group_union", SET_UNION, group1, group2, newgroup);
}

int MPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return set_op("MPI_Group_intersection", SET_INTERSECTION, group1, group2, newgroup);
}

int MPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return set_op("MPI_Group_difference", SET_DIFFERENCE, group1, group2, newgroup);
}

// ---- lists of ranks ----

// Marks each rank of the list; a rank out of range or named twice is an error. seen: [g->size] zeroed.
static int mark_ranks(const struct MPI_ABI_Group *g, int n, const int *ranks, char *seen)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < n && !err; i++) {
        err = check_rank(g, ranks[i], "ranks", i);
        if (err) break;
        if (seen[ranks[i]])
            err = uno_fail(MPI_ERR_RANK, "ranks[%d] is %d, which is in the list already", i, ranks[i]);
        else
            seen[ranks[i]] = 1;
    }
    return err;
}

// incl: the processes of the list in its order; else those of the group that the list leaves out.
static int select_ranks(const struct MPI_ABI_Group *g, int n, const int *ranks, bool incl, MPI_Group *out)
{
    char *seen = calloc((size_t)g->size + 1, 1);
    int *proc = malloc(((size_t)g->size + 1) * sizeof *proc);
    int m = 0, err = seen && proc ? mark_ranks(g, n, ranks, seen) : no_memory();
    for (int i = 0; i < n && !err && incl; i++) proc[m++] = g->proc[ranks[i]];
    for (int i = 0; i < g->size && !err && !incl; i++) {
        if (!seen[i]) proc[m++] = g->proc[i];
    }
    if (!err) err = give(m, proc, g, out);
    free(seen);
    free(proc);
    return err;
}

static int list_op(const char *call, MPI_Group group, int n, const int *ranks, bool incl, MPI_Group *newgroup)
{
    uno_enter(call);
    int err = uno_check_group(group, "group");
    if (!err && n < 0) err = uno_fail(MPI_ERR_ARG, "n %d is negative", n);
    if (!err && n > 0) err = uno_check_pointer(ranks, "ranks");
    if (!err) err = uno_check_pointer(newgroup, "newgroup");
    if (!err) err = select_ranks(uno_group(group), n, ranks, incl, newgroup);
    return uno_finish_self(call, err);
}

int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return list_op("MPI_Group_incl", group, n, ranks, true, newgroup);
}

int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return list_op("MPI_Group_excl", group, n, ranks, false, newgroup);
}

// ---- ranges (first, last, stride) ----

static int check_range(const struct MPI_ABI_Group *g, const int *r, int i)
{
    if (r[2] == 0) return uno_fail(MPI_ERR_ARG, "ranges[%d] has stride 0", i);
    for (int k = 0; k < 2; k++) {
        if (r[k] >= 0 && r[k] < g->size) continue;
        return uno_fail(MPI_ERR_RANK, "ranges[%d] has %s rank %d (0 .. %d allowed)", i, k ? "last" : "first", r[k],
                        g->size - 1);
    }
    return MPI_SUCCESS;
}

// The ranks that the ranges name, in order. More than the group has means that one is named twice: the list op finds
// it.
static int expand(const struct MPI_ABI_Group *g, int n, int ranges[][3], int *ranks, int *count)
{
    int m = 0;
    for (int i = 0; i < n; i++) {
        const int *r = ranges[i];
        int err = check_range(g, r, i);
        if (err) return err;
        for (long k = r[0]; r[2] > 0 ? k <= r[1] : k >= r[1]; k += r[2]) {
            if (m > g->size) return uno_fail(MPI_ERR_RANK, "ranges[%d] names rank %ld again", i, k);
            ranks[m++] = (int)k;
        }
    }
    *count = m;
    return MPI_SUCCESS;
}

static int range_op(const char *call, MPI_Group group, int n, int ranges[][3], bool incl, MPI_Group *newgroup)
{
    uno_enter(call);
    int err = uno_check_group(group, "group");
    if (!err && n < 0) err = uno_fail(MPI_ERR_ARG, "n %d is negative", n);
    if (!err && n > 0) err = uno_check_pointer(ranges, "ranges");
    if (!err) err = uno_check_pointer(newgroup, "newgroup");
    if (err) return uno_raise_self(call, err);
    const struct MPI_ABI_Group *g = uno_group(group);
    int count = 0, *ranks = malloc(((size_t)g->size + 1) * sizeof *ranks);
    err = ranks ? expand(g, n, ranges, ranks, &count) : no_memory();
    if (!err) err = select_ranks(g, count, ranks, incl, newgroup);
    free(ranks);
    return uno_finish_self(call, err);
}

int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return range_op("MPI_Group_range_incl", group, n, ranges, true, newgroup);
}

int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return range_op("MPI_Group_range_excl", group, n, ranges, false, newgroup);
}

int MPI_Group_free(MPI_Group *group)
{
    static const char call[] = "MPI_Group_free";
    uno_enter(call);
    int err = uno_check_pointer(group, "group");
    if (!err) err = uno_check_group(*group, "group");
    if (!err) {
        uno_group_take_back(uno_group(*group));
        *group = MPI_GROUP_NULL;
    }
    return uno_finish_self(call, err);
}
