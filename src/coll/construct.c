// SPDX-License-Identifier: BSD-3-Clause
// Construction of intracommunicators: create, split, from a group (construct.h). Duplication is in dup.c.
// Always holds: the leader of the new communicator takes its context and the others learn it from the leader, over the
// collective context of the old one; no rank waits for members that have nothing to say.
#include "coll/construct.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "chan/proc.h"
#include "p2p/team.h"
#include "core/errh.h"
#include "core/world.h"

static int no_memory(void)
{
    return uno_fail(MPI_ERR_NO_MEM, "no memory for a new communicator");
}

int uno_group_translate(const struct MPI_ABI_Group *from, int n, const int *ranks, const struct MPI_ABI_Group *to,
                        int *out)
{
    int top = -1;
    for (int i = 0; i < to->size; i++) top = to->proc[i] > top ? to->proc[i] : top;
    int *rank_of = malloc(((size_t)top + 2) * sizeof *rank_of);
    if (!rank_of) return no_memory();
    for (int p = 0; p <= top; p++) rank_of[p] = MPI_UNDEFINED;
    for (int i = 0; i < to->size; i++) rank_of[to->proc[i]] = i;
    for (int i = 0; i < n; i++) {
        int rank = ranks ? ranks[i] : i;
        if (rank == MPI_PROC_NULL) {
            out[i] = MPI_PROC_NULL;
            continue;
        }
        int proc = from->proc[rank];
        out[i] = proc <= top ? rank_of[proc] : MPI_UNDEFINED;
    }
    free(rank_of);
    return MPI_SUCCESS;
}

// The members of g agree on a context over c with the given tag; each makes its object.
static int agree_over(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, int tag, struct MPI_ABI_Comm **out)
{
    int *member = malloc((size_t)g->size * sizeof *member);
    if (!member) return no_memory();
    int err = uno_group_translate(g, g->size, NULL, c->group, member);
    for (int i = 0; i < g->size && !err; i++) {
        if (member[i] == MPI_UNDEFINED) {
            err = uno_fail(MPI_ERR_GROUP, "rank %d of the group is not a member of the communicator", i);
        }
    }
    struct uno_team team = {.comm = c, .member = member, .n = g->size, .me = g->rank, .tag = tag};
    if (!err) err = uno_team_comm(&team, g, out);
    free(member);
    if (!err) uno_comm_inherit(*out, c);
    return err;
}

int uno_comm_create(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out)
{
    if (c->inter) return uno_intercomm_group(c, g, out);
    int tag = uno_coll_tag(c);
    *out = NULL;
    return g->rank == MPI_UNDEFINED ? MPI_SUCCESS : agree_over(c, g, tag, out);
}

int uno_comm_create_group(struct MPI_ABI_Comm *c, struct MPI_ABI_Group *g, int tag, struct MPI_ABI_Comm **out)
{
    *out = NULL;
    return g->rank == MPI_UNDEFINED ? MPI_SUCCESS : agree_over(c, g, UNO_TAG_SUBGROUP(tag), out);
}

// FNV-1a over the tag and the members' world ranks: constructions under way at once are told apart by it.
static uint32_t hash_of(const struct MPI_ABI_Group *g, const char *stringtag)
{
    uint32_t h = 2166136261u;
    for (const char *p = stringtag; *p; p++) h = (h ^ (unsigned char)*p) * 16777619u;
    for (int i = 0; i < g->size; i++) h = (h ^ (uint32_t)uno_proc_rank(g->proc[i])) * 16777619u;
    return h;
}

int uno_comm_from_group(struct MPI_ABI_Group *g, const char *stringtag, struct MPI_ABI_Comm **out)
{
    *out = NULL;
    if (g->rank == MPI_UNDEFINED) return uno_fail(MPI_ERR_GROUP, "the calling process is not a member of the group");
    int tag = UNO_TAG_NAMED((int)(hash_of(g, stringtag) & 0x0fffffff));
    int err = agree_over(&uno_comm_world, g, tag, out);
    if (err || !*out) return err;
    (*out)->session = g->session;
    uno_errh_drop((*out)->errhandler);
    (*out)->errhandler = &uno_errors_are_fatal;
    return MPI_SUCCESS;
}

int uno_comm_reorder(struct MPI_ABI_Comm *c, int n, const int *order, struct MPI_ABI_Comm **out)
{
    int *proc = malloc((size_t)(n ? n : 1) * sizeof *proc);
    if (!proc) return no_memory();
    for (int i = 0; i < n; i++) proc[i] = c->group->proc[order ? order[i] : i];
    struct MPI_ABI_Group *g = uno_group_make(n, proc);
    free(proc);
    if (!g) return no_memory();
    int err = uno_comm_create(c, g, out);
    uno_group_drop(g);
    return err;
}

// ---- split ----

struct choice {
    int color, key;
};
struct place {
    int key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

// The distinct colors of the table in increasing order, in out[n]; returns how many.
static int distinct_colors(const struct choice *table, int n, int *out)
{
    int m = 0, distinct = 0;
    for (int i = 0; i < n; i++) {
        if (table[i].color != MPI_UNDEFINED) out[m++] = table[i].color;
    }
    qsort(out, (size_t)m, sizeof *out, by_value);
    for (int i = 0; i < m; i++) {
        if (distinct == 0 || out[distinct - 1] != out[i]) out[distinct++] = out[i];
    }
    return distinct;
}

// The processes of `from` that chose color, ordered by key and rank.
static struct MPI_ABI_Group *color_group(const struct choice *table, const struct MPI_ABI_Group *from, int color)
{
    struct place *place = malloc((size_t)from->size * sizeof *place);
    int *proc = malloc((size_t)from->size * sizeof *proc);
    struct MPI_ABI_Group *g = NULL;
    int n = 0;
    if (place && proc) {
        for (int i = 0; i < from->size; i++) {
            if (table[i].color == color) place[n++] = (struct place){table[i].key, i};
        }
        qsort(place, (size_t)n, sizeof *place, by_key);
        for (int i = 0; i < n; i++) proc[i] = from->proc[place[i].rank];
        g = uno_group_make(n, proc);
    }
    free(place);
    free(proc);
    return g;
}

// The first rank whose color is not allowed makes the call fail everywhere, so that no member is left waiting.
static int check_colors(const struct choice *table, int n)
{
    for (int i = 0; i < n; i++) {
        if (table[i].color >= 0 || table[i].color == MPI_UNDEFINED) continue;
        return uno_fail(MPI_ERR_ARG, "color %d of rank %d is negative (0 .. %d or MPI_UNDEFINED allowed)",
                        table[i].color, i, INT_MAX);
    }
    return MPI_SUCCESS;
}

// table: [size] choices followed by room for the first context.
static int split_by_table(struct MPI_ABI_Comm *c, struct choice *table, struct MPI_ABI_Comm **out)
{
    int *colors = malloc((size_t)c->size * sizeof *colors);
    if (!colors) return no_memory();
    struct uno_team team = uno_team_all(c, 0);
    int err = uno_team_gather(&team, table, sizeof *table);
    uint64_t base = 0;
    if (!err && c->rank == 0) base = uno_context_take(uno_comm_is_mixed(c), distinct_colors(table, c->size, colors));
    memcpy(&table[c->size], &base, sizeof base);
    if (!err) err = uno_team_bcast(&team, table, (size_t)(c->size + 1) * sizeof *table);
    memcpy(&base, &table[c->size], sizeof base);
    if (!err) err = check_colors(table, c->size);
    int color = table[c->rank].color;
    if (!err && color != MPI_UNDEFINED) {
        int n = distinct_colors(table, c->size, colors);
        int *mine = bsearch(&color, colors, (size_t)n, sizeof *colors, by_value);
        struct MPI_ABI_Group *g = color_group(table, c->group, color);
        struct MPI_ABI_Comm *child = g ? uno_comm_make(g, NULL, base + (uint64_t)(mine - colors)) : NULL;
        if (g) uno_group_drop(g);
        if (child)
            uno_comm_inherit(child, c);
        else
            err = no_memory();
        *out = child;
    }
    free(colors);
    return err;
}

int uno_comm_split(struct MPI_ABI_Comm *c, int color, int key, struct MPI_ABI_Comm **out)
{
    *out = NULL;
    if (c->inter) return uno_intercomm_split(c, color, key, out);
    struct choice *table = malloc((size_t)(c->size + 1) * sizeof *table);
    if (!table) return no_memory();
    table[c->rank] = (struct choice){color, key};
    int err = split_by_table(c, table, out);
    free(table);
    return err;
}

// ---- the table of an intercommunicator: both groups' choices, the sides told apart by the caller ----

int uno_intercomm_colors(struct MPI_ABI_Comm *c, const void *mine, const void *theirs, struct uno_color_split *out)
{
    const struct choice *local = mine, *remote = theirs;
    int n = c->size + c->npeers;
    struct choice *both = malloc((size_t)n * sizeof *both);
    int *colors = malloc((size_t)n * sizeof *colors);
    int err = both && colors ? MPI_SUCCESS : no_memory();
    if (!err) err = check_colors(local, c->size);
    if (!err) err = check_colors(remote, c->npeers);
    if (!err) {
        memcpy(both, local, (size_t)c->size * sizeof *both);
        memcpy(both + c->size, remote, (size_t)c->npeers * sizeof *both);
        int color = local[c->rank].color, count = distinct_colors(both, n, colors);
        const int *at = bsearch(&color, colors, (size_t)count, sizeof *colors, by_value);
        *out = (struct uno_color_split){.index = at ? (int)(at - colors) : -1};
        if (at) {
            out->local = color_group(local, c->group, color);
            out->remote = color_group(remote, c->remote, color);
            if (!out->local || !out->remote) err = no_memory();
        }
    }
    free(both);
    free(colors);
    return err;
}
