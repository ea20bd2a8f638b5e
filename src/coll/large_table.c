// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host (large.h) whose blocks differ: each rank posts a table of them in its slot of the
// segment, and behind the table those that fit there. Called by large_alltoall.c, large_gather.c, large_scatter.c.
#include <string.h>

#include "base/fail.h"
#include "coll/large.h"
#include "core/pack.h"

struct uno_large_entry *uno_large_table(struct uno_coll *u, int r, uint64_t k)
{
    return (struct uno_large_entry *)(void *)uno_seg_slot(u, r, k, UNO_SEG_SLOT);
}

struct uno_large_entry uno_large_describe(struct uno_large *j, struct uno_block b, char *slot, size_t *used)
{
    struct uno_large_entry e = {.bytes = uno_block_bytes(b)};
    if (e.bytes == 0) return e;
    if (*used + e.bytes > UNO_SEG_SLOT) {
        e.addr = (uint64_t)(uintptr_t)uno_large_readable(j, b);
        return e;
    }
    struct uno_packer p;
    uno_packer_init(&p, b.at, b.count, b.type);
    uno_pack(&p, slot + *used, p.total);
    e.at = (uint32_t)*used;
    *used += (e.bytes + 7) / 8 * 8;
    return e;
}

void uno_large_take_bytes(struct uno_large *j, int r, uint64_t k, const struct uno_large_entry *e, char *at)
{
    size_t share = (size_t)e->share * UNO_SHARE_UNIT;
    if (e->bytes == 0 || !at) return;
    if (e->at)
        memcpy(at, uno_seg_slot(j->u, r, k, UNO_SEG_SLOT) + e->at, e->bytes);
    else if (e->addr)
        uno_large_keep(j, uno_seg_pull(j->u, r, at + share, e->addr + share, e->bytes - share));
}

bool uno_large_fits(struct uno_large *j, int r, const struct uno_large_entry *e, struct uno_block to)
{
    size_t room = uno_block_bytes(to);
    if (e->bytes <= room) return true;
    uno_large_keep(j, uno_fail(MPI_ERR_TRUNCATE, "rank %d sends %llu bytes, recvcounts leave room for %zu", r,
                               (unsigned long long)e->bytes, room));
    return false;
}

void uno_large_take_block(struct uno_large *j, int r, uint64_t k, const struct uno_large_entry *e, struct uno_block to)
{
    if (uno_large_fits(j, r, e, to) && e->bytes) uno_large_take_bytes(j, r, k, e, uno_large_writable(j, to));
}
