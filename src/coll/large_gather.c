// SPDX-License-Identifier: BSD-3-Clause
// Large gather and gatherv in a host (large.h). With n ranks, m bytes of each, latency a of a phase, c of a call that
// copies across memory, time per byte b; all ranks at once:
//   2 a + c + m b                        the owners write while the root copies its own block, or helps, too
//   2 a + (n - 1) c + m b (n - 1) / n    in place: the root reads the start of each block, too
// gatherv: a block that fits the slot of its rank waits there for the root.
#include "base/huge.h"
#include "coll/large.h"
#include "core/pack.h"

static void gather_own(struct uno_large *j, char *all)
{
    const struct uno_call *c = j->c;
    struct uno_block own = uno_recv_block(c, j->u->me);
    size_t bytes = uno_block_bytes(own);
    if (c->sbuf != MPI_IN_PLACE) {
        uno_block_copy_own(j->u->n, uno_packed(all + (size_t)j->u->me * bytes, bytes), uno_send_block(c, 0));
    } else if (!uno_large_is_plain(own)) {    // the root's own data must survive the unpacking
        struct uno_packer p;
        uno_packer_init(&p, own.at, own.count, own.type);
        uno_pack(&p, all + (size_t)j->u->me * bytes, bytes);
    }
}

// The other way round: the owners write, and a root in place reads a share.
void uno_large_gather(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me == c->root) {
        struct uno_block first = uno_recv_block(c, 0);
        size_t bytes = uno_block_bytes(first);
        char *all = uno_large_writable(j, (struct uno_block){first.at, first.count * u->n, first.type});
        bool gathered = uno_huge_use(all, bytes * (size_t)u->n);
        size_t share =
            c->sbuf == MPI_IN_PLACE ? uno_large_root_share(u, bytes) : uno_large_late_share(u, bytes, gathered);
        uint64_t k = uno_large_tell_share(u, all, share);
        if (all) gather_own(j, all);
        for (int i = 1; i < u->n && share; i++) {
            int r = (u->me + i) % u->n;
            uint64_t from = uno_large_told(u, r, k).addr;
            if (all && from) uno_large_keep(j, uno_seg_pull(u, r, all + (size_t)r * bytes, from, share));
        }
        uno_seg_done(u, k);
        uno_large_wait_done(u, k);
        return;
    }
    struct uno_block own = uno_send_block(c, 0);
    size_t bytes = uno_block_bytes(own);
    const char *from = uno_large_readable(j, own);
    uint64_t k = uno_large_tell(u, from, bytes);
    struct uno_large_place p = uno_large_told(u, c->root, k);
    uint64_t to = p.addr + (uint64_t)u->me * bytes + p.share;
    if (from && p.addr) uno_large_keep(j, uno_seg_push(u, c->root, to, from + p.share, bytes - p.share));
    uno_seg_done(u, k);
    if (p.share) uno_seg_wait_done(u, c->root, k);
}

// What rank r gives: beside its stamp, and the smallest blocks with it.
static struct uno_large_entry *gatherv_given(const struct uno_coll *u, int r, uint64_t k)
{
    return (struct uno_large_entry *)(void *)uno_seg_slot(u, r, k, sizeof(struct uno_large_entry));
}

// A rank posts its block if it fits the slot; else it writes where the root's table says what the root does not read.
static void gatherv_give(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    uint64_t k = ++u->phase;
    struct uno_large_entry *mine = gatherv_given(u, u->me, k);
    uno_large_lay_block(j, k, uno_block_bytes(uno_send_block(j->c, 0)));
    size_t share = 0;
    uno_large_describe(j, 0, mine, UNO_SEG_INLINE);
    uno_seg_post(u, k);
    if (mine->addr) {
        uno_seg_wait(u, root, k);
        const struct uno_large_entry *there = uno_large_entry_of(j, root, k, u->me);
        share = (size_t)there->share * UNO_SHARE_UNIT;
        if (share > mine->bytes) share = mine->bytes;
        if (there->bytes >= mine->bytes && there->addr)
            uno_large_keep(j, uno_seg_push(u, root, there->addr + share, (const char *)(uintptr_t)mine->addr + share,
                                           mine->bytes - share));
    }
    uno_seg_done(u, k);
    if (share) uno_seg_wait_done(u, root, k);
}

// What the root has for rank r. addr: where a block that does not fit the slot goes.
static struct uno_large_entry gatherv_room(struct uno_large *j, int r)
{
    struct uno_block to = uno_recv_block(j->c, r);
    struct uno_large_entry e = {.bytes = uno_block_bytes(to)};
    if (r == j->u->me || e.bytes <= j->most) return e;
    char *at = uno_large_writable(j, to);
    bool gathered = at && uno_huge_use(at, e.bytes), in_place = j->c->sbuf == MPI_IN_PLACE;
    size_t share = in_place ? uno_large_root_share(j->u, e.bytes) : uno_large_late_share(j->u, e.bytes, gathered);
    e.addr = (uint64_t)(uintptr_t)at;
    e.share = (uint32_t)(share / UNO_SHARE_UNIT);
    return e;
}

static bool gatherv_is_large(const struct uno_large *j)
{
    for (int r = 0; r < j->u->n; r++)
        if (r != j->u->me && uno_block_bytes(uno_recv_block(j->c, r)) > j->most) return true;
    return false;
}

static void gatherv_tell(struct uno_large *j, uint64_t k)
{
    struct uno_coll *u = j->u;
    uno_large_lay_table(j, k, 0);
    for (int r = 0; r < u->n; r++)
        if (r != u->me) *uno_large_entry_of(j, u->me, k, r) = gatherv_room(j, r);
    uno_seg_post(u, k);
}

static void gatherv_block(struct uno_large *j, int r, uint64_t k)
{
    const struct uno_large_entry *e = gatherv_given(j->u, r, k);
    if (!e->addr) {
        uno_large_take_block(j, r, e);
        return;
    }
    const struct uno_large_entry *to = uno_large_entry_of(j, j->u->me, k, r);
    if (!uno_large_fits(j, r, e, uno_block_bytes(uno_recv_block(j->c, r)))) return;
    size_t share = (size_t)to->share * UNO_SHARE_UNIT;
    if (share > e->bytes) share = e->bytes;
    if (share && to->addr) uno_large_keep(j, uno_seg_pull(j->u, r, (char *)(uintptr_t)to->addr, e->addr, share));
}

// The root tells where blocks go if some do not fit their slots. One that should have fitted is more than there is room
// for: its rank waits to be told so.
void uno_large_gatherv(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me != c->root) {
        gatherv_give(j);
        return;
    }
    uint64_t k = ++u->phase;
    bool told = gatherv_is_large(j);
    if (told) gatherv_tell(j, k);
    if (c->sbuf != MPI_IN_PLACE) uno_block_copy_own(u->n, uno_recv_block(c, u->me), uno_send_block(c, 0));
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        uno_seg_wait(u, r, k);
        if (!told && gatherv_given(u, r, k)->addr) {
            gatherv_tell(j, k);
            told = true;
        }
        gatherv_block(j, r, k);
    }
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    for (int r = 0; r < u->n && told; r++)
        if (r != u->me && uno_large_entry_of(j, u->me, k, r)->addr && gatherv_given(u, r, k)->addr)
            uno_seg_wait_done(u, r, k);
}
