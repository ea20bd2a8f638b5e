// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host (large.h): a block that others read, from where it lies or, if it had to be packed, out
// of the slot of its rank: that takes no call of the kernel and no copy that is then unpacked, and a root leaves its
// readers behind. Called by large_allgather.c, large_alltoall.c, large_bcast.c. (4 ranks on two cores, columns of 64
// KiB: bcast 31 to 17 us, allgather 116 to 57.)
#include "base/huge.h"
#include "coll/large.h"
#include "coll/slot_copy.h"

// All but the bytes that nobody reads.
static void pack_around(char *to, const struct uno_block *b, size_t hole, size_t hole_bytes)
{
    struct uno_packer p;
    uno_packer_init(&p, b->at, b->count, b->type);
    uno_pack(&p, to, hole_bytes ? hole : p.total);
    if (!hole_bytes) return;
    uno_packer_seek(&p, hole + hole_bytes);
    uno_pack(&p, to + hole + hole_bytes, p.total - p.pos);
}

uint64_t uno_large_lend(struct uno_large *j, struct uno_block b, size_t hole, size_t hole_bytes)
{
    struct uno_coll *u = j->u;
    size_t bytes = uno_block_bytes(b);
    struct uno_large_place mine = {.addr = bytes, .packed = !uno_large_is_plain(b)};
    mine.in_slot = mine.packed && bytes > UNO_SEG_INLINE && bytes <= u->room;    // the place is beside the stamp
    uint64_t k = uno_seg_begin(u, mine.in_slot ? bytes : sizeof mine);
    if (mine.in_slot) {
        pack_around(uno_seg_slot(u, u->me, k, bytes), &b, hole, hole_bytes);
    } else {
        const char *at = uno_large_readable(j, b);
        mine.addr = (uint64_t)(uintptr_t)at;
        uno_huge_use(at, bytes);
    }
    u->packs |= mine.packed;
    uno_large_post(u, k, mine);
    return k;
}

void uno_large_take_packed(struct uno_large *j, int r, uint64_t k, struct uno_large_place there, size_t skip,
                           struct uno_block to)
{
    size_t bytes = uno_block_bytes(to), all = (size_t)there.addr;
    if (__builtin_expect(j->u->comm->broken, 0) || skip > all) return;
    if (bytes > all - skip) bytes = all - skip;
    uno_seg_take_block(to.at, to.count, to.type, uno_seg_slot(j->u, r, k, all) + skip, bytes, UNO_SEG_ONE_WAY);
}

void uno_large_take_lent(struct uno_large *j, int r, uint64_t k, size_t skip, struct uno_block to)
{
    struct uno_large_place there = uno_large_told(j->u, r, k);
    j->u->packs |= there.packed;
    if (there.in_slot) {
        uno_large_take_packed(j, r, k, there, skip, to);
        return;
    }
    char *at = uno_large_writable(j, to);
    if (at && there.addr) uno_large_keep(j, uno_seg_pull(j->u, r, at, there.addr + skip, uno_block_bytes(to)));
}
