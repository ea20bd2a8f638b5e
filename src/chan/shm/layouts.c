// SPDX-License-Identifier: BSD-3-Clause
// Direct copies between layouts: what each side keeps of a descriptor whose memory is a list of runs on either end, and
// the copy itself. Called by direct.c. Always holds: a list of the peer's is a copy, made
// when the transfer was agreed on; the peer changes its own only after the end.
#include <stdlib.h>

#include "chan/peer_memory.h"
#include "chan/self.h"
#include "chan/shm/ring.h"

bool shm_layouts_begin(struct shm_link *l, int i, const struct uno_mem *mem)
{
    if (!l->layouts) l->layouts = calloc(2 * SHM_DESCS, sizeof *l->layouts);
    if (!l->layouts) return false;
    struct shm_layouts *y = &l->layouts[i];
    *y = (struct shm_layouts){.one = *mem->run, .nmine = mem->runs};
    y->mine = mem->runs > 1 ? mem->run : &y->one;
    return true;
}

bool shm_layouts_begun(const struct shm_link *l, int i)
{
    return l->layouts && l->layouts[i].nmine;
}

bool shm_layouts_fetch(struct shm_link *l, int i, const struct uno_rts *from)
{
    struct shm_layouts *y = &l->layouts[i];
    size_t n = from->direct;
    struct uno_run *list = malloc(n * sizeof *list);
    if (!list) return false;
    *list = (struct uno_run){(char *)(uintptr_t)from->addr, from->bytes};
    int pid = l->board->pid;
    if (n > 1 && uno_peer_memory_move(pid, list, from->addr, n * sizeof *list, true) != 0) {
        free(list);
        return false;
    }
    y->theirs = list;
    y->ntheirs = n;
    return true;
}

const struct shm_layouts *shm_layouts_of(const struct shm_link *l, int i)
{
    return l->layouts && l->layouts[i].theirs ? &l->layouts[i] : NULL;
}

void shm_layouts_forget(struct shm_link *l, int i)
{
    if (!shm_layouts_begun(l, i)) return;
    free(l->layouts[i].theirs);
    l->layouts[i] = (struct shm_layouts){.nmine = 0};
}

int shm_copy_layouts(int pid, const struct shm_layouts *y, size_t at, size_t n, bool reading)
{
    struct uno_crossing c = {.pid = pid,
                             .reading = reading,
                             .mine = &(struct uno_mem){y->mine, y->nmine},
                             .theirs = &(struct uno_mem){y->theirs, y->ntheirs},
                             .mine_at = at,
                             .theirs_at = at};
    return uno_peer_memory_copy(&c, n);
}
