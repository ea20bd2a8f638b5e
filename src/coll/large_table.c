// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host (large.h) whose blocks differ: each rank posts a table of them in its slot of the
// segment, and behind the table those that fit there. Called by large_alltoall.c, large_gather.c, large_scatter.c.
#include <string.h>

#include "base/fail.h"
#include "base/huge.h"
#include "coll/large.h"
#include "coll/slot_copy.h"

struct uno_large_entry uno_large_no_entry;

static size_t in_lines(size_t bytes)
{
    return (bytes + sizeof(struct uno_line) - 1) / sizeof(struct uno_line) * sizeof(struct uno_line);
}

// What the blocks that may lie in this rank's wide slot take there, at most.
static size_t all_blocks(const struct uno_large *j, size_t bytes)
{
    size_t all = 0;
    if (j->c->kind == UNO_GATHERV) return in_lines(bytes);
    for (int r = 0; r < j->u->n; r++) {
        size_t one = r == j->u->me ? 0 : uno_block_bytes(uno_send_block(j->c, r));
        if (one <= j->most) all += in_lines(one);
    }
    return all;
}

// A place for `bytes` in this rank's wide slot, which it may fill from the first one on; NULL: there is none.
static char *wide_place(struct uno_large *j, size_t bytes)
{
    struct uno_coll *u = j->u;
    if (u->room <= UNO_SEG_SLOT || bytes > u->room - j->wide) return NULL;
    if (j->wide == 0) {
        size_t all = u->phase < u->spread_from ? u->room : all_blocks(j, bytes);
        if (all > u->room / 2) all = u->room;
        if (all < UNO_SEG_SLOT) all = UNO_SEG_SLOT;
        uno_seg_claim(u, u->phase, all);
        j->along = uno_seg_along(u, u->phase, all);
    }
    char *at = uno_seg_wide(u, u->me, u->phase) + j->along + j->wide;
    j->wide += in_lines(bytes);
    return at;
}

// A place behind the table, or in the wide slot; NULL: the block stays where it is.
static char *slot_place(struct uno_large *j, size_t bytes)
{
    char *at = j->free;
    size_t wanted = uno_large_padded(bytes);
    if (bytes > j->most) return NULL;
    if (wanted > (size_t)(j->end - at)) return wide_place(j, bytes);
    j->free += wanted;
    return at;
}

void uno_large_lay_block(struct uno_large *j, uint64_t k, size_t bytes)
{
    size_t slot = bytes > UNO_SEG_SMALL ? j->u->narrow : bytes > UNO_SEG_TINY ? UNO_SEG_SMALL : UNO_SEG_TINY;
    uno_seg_claim(j->u, k, slot);
    j->free = uno_seg_slot(j->u, j->u->me, k, slot);
    j->end = j->free + slot;
}

void uno_large_wait_beside(const struct uno_large *j, int r, uint64_t k)
{
    size_t bytes = uno_block_bytes(uno_recv_block(j->c, r));
    uno_seg_wait_soon(j->u, r, k, uno_seg_slot(j->u, r, k, UNO_SEG_TINY), uno_large_is_beside(bytes) ? 0 : bytes);
}

void uno_large_lay_table(struct uno_large *j, uint64_t k, size_t blocks)
{
    size_t table = uno_large_is_lone(j) ? 0 : (size_t)j->u->n * uno_large_stride(j->u);
    uno_large_lay_block(j, k, table + blocks);
    if (table == 0) return;
    size_t slot = (size_t)(j->end - j->free);
    memcpy(uno_seg_slot(j->u, j->u->me, k, sizeof slot), &slot, sizeof slot);
    j->free += table;
}

void uno_large_describe(struct uno_large *j, int i, struct uno_large_entry *e, size_t line)
{
    struct uno_block b = uno_send_block(j->c, i);
    struct uno_large_entry told = {.bytes = uno_block_bytes(b)};
    bool beside = sizeof *e + told.bytes <= line;
    char *at = beside ? (char *)(e + 1) : slot_place(j, told.bytes);
    if (told.bytes > 0 && (beside || at)) {
        uno_copy_ask((char *)e, sizeof *e);
        told.at = (int32_t)(at - (char *)e);
        uno_seg_put_block(at, b.at, b.count, b.type, UNO_SEG_ONE_WAY);
    } else if (told.bytes > 0) {
        const char *lent = uno_large_readable(j, b);
        if (lent && (!j->cold || told.bytes <= j->cold)) uno_huge_use(lent, told.bytes);
        told.addr = (uint64_t)(uintptr_t)lent;
    }
    *e = told;
}

void uno_large_take_bytes(struct uno_large *j, int r, const struct uno_large_entry *e, char *at)
{
    size_t share = (size_t)e->share * UNO_SHARE_UNIT;
    if (e->bytes == 0 || !at) return;
    if (e->at)
        uno_seg_take(at, (const char *)e + e->at, e->bytes,
                     uno_coll_exchanges_varied(j->c->kind) ? UNO_SEG_EXCHANGE : UNO_SEG_ONE_WAY);
    else if (e->addr)
        uno_large_keep(j, uno_seg_pull(j->u, r, at + share, e->addr + share, e->bytes - share));
}

int uno_large_truncated(int r, size_t bytes, size_t room)
{
    return uno_fail(MPI_ERR_TRUNCATE, "rank %d sends %zu bytes, recvcounts leave room for %zu", r, bytes, room);
}

bool uno_large_fits(struct uno_large *j, int r, const struct uno_large_entry *e, size_t room)
{
    if (__builtin_expect(j->u->comm->broken, 0)) return false;
    if (e->bytes <= room) return true;
    uno_large_keep(j, uno_large_truncated(r, (size_t)e->bytes, room));
    return false;
}

void uno_large_take_block(struct uno_large *j, int r, const struct uno_large_entry *e)
{
    struct uno_block to = uno_recv_block(j->c, r);
    if (!uno_large_fits(j, r, e, uno_block_bytes(to)) || e->bytes == 0) return;
    uno_large_take_bytes(j, r, e, uno_large_is_plain(to) ? to.at : uno_large_writable(j, to));
}
