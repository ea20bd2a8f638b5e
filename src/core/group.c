// SPDX-License-Identifier: BSD-3-Clause
// Group objects: ordered sets of processes, immutable once made and shared by reference.
// Called by src/api/group.c and wherever communicators are made. With the library lock held.
// Always holds: refs >= handles; a handle that the user freed as often as it was given is not live any more.
#include "base/invariant.h"
#include "core/comm.h"

#include <stdlib.h>
#include <string.h>

#include "chan/proc.h"
#include "core/world.h"

static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Group), .magic = UNO_GROUP_MAGIC};
static size_t live;

struct MPI_ABI_Group uno_group_empty = {
    .head = {.magic = UNO_GROUP_MAGIC, .refs = 1},
    .rank = MPI_UNDEFINED,
    .handles = 1,
    .handle = MPI_GROUP_EMPTY,
    .session = MPI_SESSION_NULL,
};

struct MPI_ABI_Group *uno_group(MPI_Group h)
{
    if (h == MPI_GROUP_EMPTY) return &uno_group_empty;
    return uno_head_is(h, UNO_GROUP_MAGIC) && h->handles > 0 ? h : NULL;
}

struct MPI_ABI_Group *uno_group_make(int size, const int *proc)
{
    struct MPI_ABI_Group *g = uno_pool_get(&pool);
    if (!g) return NULL;
    g->proc = malloc((size_t)(size ? size : 1) * sizeof *g->proc);
    if (!g->proc) {
        uno_pool_put(&pool, g);
        return NULL;
    }
    if (size) memcpy(g->proc, proc, (size_t)size * sizeof *proc);
    g->size = size;
    g->mixed = false;
    for (int i = 0; i < size; i++) {
        uno_proc_hold(proc[i]);
        g->mixed |= uno_proc_is_guest(proc[i]);
    }
    g->rank = uno_group_find(g, uno_world.rank);
    g->handle = g;
    g->session = MPI_SESSION_NULL;
    return g;
}

int uno_group_meet(int size, const struct uno_card *cards, struct MPI_ABI_Group **out)
{
    int err = MPI_SUCCESS, n = 0, *proc = calloc((size_t)(size ? size : 1), sizeof *proc);
    if (!proc) return uno_fail(MPI_ERR_NO_MEM, "no memory for a group of %d processes", size);
    for (; n < size && !err; n++) {
        proc[n] = uno_proc_meet(&cards[n]);
        if (proc[n] < 0) err = MPI_ERR_OTHER;
    }
    *out = err ? NULL : uno_group_make(size, proc);
    for (int i = 0; i < n; i++)
        if (proc[i] >= 0) uno_proc_drop(proc[i]);    // the group holds them now
    free(proc);
    if (err || *out) return err;
    return uno_fail(MPI_ERR_NO_MEM, "no memory for a group of %d processes", size);
}

bool uno_group_is_spread(const struct MPI_ABI_Group *g)
{
    for (int i = 0; i < g->size; i++)
        if (!uno_proc_is_near(g->proc[i])) return true;
    return false;
}

void uno_group_hold(struct MPI_ABI_Group *g)
{
    uno_assert(g->head.magic == UNO_GROUP_MAGIC && g->head.refs > 0);
    g->head.refs++;
}

void uno_group_drop(struct MPI_ABI_Group *g)
{
    uno_assert(g->head.magic == UNO_GROUP_MAGIC && g->head.refs > 0);
    if (--g->head.refs > 0) return;
    for (int i = 0; i < g->size && g->mixed; i++) uno_proc_drop(g->proc[i]);
    free(g->proc);
    uno_pool_put(&pool, g);
}

int uno_group_find(const struct MPI_ABI_Group *g, int proc)
{
    if (proc >= 0 && proc < g->size && g->proc[proc] == proc) return proc;
    for (int i = 0; i < g->size; i++) {
        if (g->proc[i] == proc) return i;
    }
    return MPI_UNDEFINED;
}

MPI_Group uno_group_give(struct MPI_ABI_Group *g)
{
    if (g == &uno_group_empty) return MPI_GROUP_EMPTY;
    g->handles++;
    live++;
    return g->handle;
}

void uno_group_take_back(struct MPI_ABI_Group *g)
{
    if (g == &uno_group_empty) return;
    g->handles--;
    live--;
    uno_group_drop(g);
}

size_t uno_groups_live(void)
{
    return live;
}
