// SPDX-License-Identifier: BSD-3-Clause
// Windows that are created on memory of MPI_Alloc_mem: the members of a host map each other's parts. Called by win.c.
//
// Always holds: a part is mapped by all members of its host or by none, since atomicity asks that they take one path.
#include <stdlib.h>

#include "core/arena.h"
#include "p2p/team.h"
#include "rma/rma.h"

static bool map_part(struct MPI_ABI_Win *w, int rank, const struct uno_arena_place *place, size_t bytes)
{
    struct uno_arena_view *v = &w->borrowed[rank];
    if (rank != w->comm->rank) return uno_arena_map(place, bytes, v);
    v->base = w->base;
    return true;
}

bool uno_win_borrow(struct MPI_ABI_Win *w, int rank, const struct uno_arena_place *place, size_t bytes)
{
    if (!w->borrowed) w->borrowed = calloc((size_t)w->ranks, sizeof *w->borrowed);
    return w->borrowed && map_part(w, rank, place, bytes);
}

int uno_win_borrow_agree(struct MPI_ABI_Win *w, bool done)
{
    struct uno_team node = uno_team_all(w->node, 0);
    int64_t failed = !done;
    int err = uno_team_most(&node, &failed);
    if (err || failed) uno_win_borrow_drop(w);    // across processes, then
    return err;
}

void uno_win_borrow_drop(struct MPI_ABI_Win *w)
{
    for (int r = 0; w->borrowed && r < w->ranks; r++) uno_arena_unmap(&w->borrowed[r]);
    free(w->borrowed);
    w->borrowed = NULL;
}

char *uno_win_borrowed(const struct MPI_ABI_Win *w, int rank)
{
    return w->borrowed ? w->borrowed[rank].base : NULL;
}
