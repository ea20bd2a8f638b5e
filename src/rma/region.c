// SPDX-License-Identifier: BSD-3-Clause
// Memory attached to dynamic windows: a list of this process, sorted by nothing, without a limit. Origins on this host
// reach the memory themselves; those elsewhere are checked against the list here. Called by src/api/win.c and remote.c.
#include <stdlib.h>

#include "base/fail.h"
#include "rma/rma.h"

int uno_win_attach(struct MPI_ABI_Win *w, void *base, MPI_Aint bytes)
{
    char *from = base, *end = from + bytes;
    for (size_t i = 0; i < w->regions; i++) {
        char *other = w->region[i].base;
        if (from < other + w->region[i].bytes && other < end)
            return uno_fail(MPI_ERR_RMA_ATTACH, "memory %p .. %p overlaps what is attached at %p (%zu bytes)", base,
                            (void *)end, (void *)other, w->region[i].bytes);
    }
    if (w->regions == w->room) {
        size_t room = w->room ? 2 * w->room : 16;
        struct uno_rma_region *more = realloc(w->region, room * sizeof *more);
        if (!more) return uno_fail(MPI_ERR_RMA_ATTACH, "no memory to attach a region");
        w->region = more;
        w->room = room;
    }
    w->region[w->regions++] = (struct uno_rma_region){base, (size_t)bytes};
    return MPI_SUCCESS;
}

int uno_win_detach(struct MPI_ABI_Win *w, const void *base)
{
    for (size_t i = 0; i < w->regions; i++) {
        if (w->region[i].base != base) continue;
        w->region[i] = w->region[--w->regions];
        return MPI_SUCCESS;
    }
    return uno_fail(MPI_ERR_RMA_ATTACH, "nothing is attached at %p (%zu regions are attached)", base, w->regions);
}

bool uno_win_is_attached(const struct MPI_ABI_Win *w, const char *at, size_t bytes)
{
    for (size_t i = 0; i < w->regions; i++) {
        const struct uno_rma_region *r = &w->region[i];
        if (at >= r->base && bytes <= r->bytes && (size_t)(at - r->base) <= r->bytes - bytes) return true;
    }
    return bytes == 0;
}
