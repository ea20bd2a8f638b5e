// SPDX-License-Identifier: BSD-3-Clause
// Large gather and gatherv in a host (large.h). With n ranks, m bytes of each, latency a of a phase, c of a call that
// copies across memory, time per byte b; all ranks at once:
//   2 a + c + m b                        the owners write while the root copies its own block, or helps, too
//   2 a + (n - 1) c + m b (n - 1) / n    in place: the root reads the start of each block, too
// gatherv: a block that fits the slot of its rank waits there for the root. Of blocks that have left the caches
// the start goes in windows (windows_gather.c), unless the root's buffer lies in huge pages.
#include "base/huge.h"
#include "coll/large.h"
#include "core/pack.h"

#define WINDOWS_RANKS (UNO_SEG_SLOT / 64)    // at most

// What the root says of blocks of so many bytes, `all` in sum, that go to `at`. (Windows do as well as copies of pages
// that would be gathered first.)
static struct uno_large_place plan_blocks(struct uno_large *j, const void *at, size_t all, size_t bytes)
{
    struct uno_coll *u = j->u;
    struct uno_large_place p = {.addr = (uint64_t)(uintptr_t)at};
    bool in_place = j->c->sbuf == MPI_IN_PLACE,
         windows = u->wide && bytes >= u->windows[UNO_GATHER] && u->n <= WINDOWS_RANKS,
         gathered = windows ? uno_huge_gathered(at, all) > all / 4 * 3 : at && uno_huge_use(at, all);
    if (windows && !gathered) {
        if (!j->way) j->way = uno_windows_gather_way(u);
        p.way = j->way;
        p.share = uno_windows_gather_share(u, bytes, in_place);
    } else {
        p.share = in_place ? uno_large_root_share(u, bytes) : uno_large_late_share(u, bytes, gathered);
    }
    return p;
}

// The other ranks' part: all but the start of a block is written where it goes, and the start handed in, or read.
static void give_block(struct uno_large *j, uint64_t k, struct uno_windows_part own, struct uno_large_place there)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    if (own.at && there.addr && own.bytes > there.share)
        uno_large_keep(j,
                       uno_seg_push(u, root, there.addr + there.share, own.at + there.share, own.bytes - there.share));
    if (there.way)
        uno_windows_hand_in(u, k, root, there.way, own, there.share);
    else if (there.share && own.at)
        uno_huge_use(own.at, own.bytes);
    uno_seg_done(u, k);
    if (there.share && !there.way) uno_seg_wait_done(u, root, k);
}

static void gather_own(struct uno_large *j, char *all)
{
    const struct uno_call *c = j->c;
    struct uno_block own = uno_recv_block(c, j->u->me);
    size_t bytes = uno_block_bytes(own);
    if (c->sbuf != MPI_IN_PLACE) {
        uno_block_copy_own(j->c->kind, j->u->n, uno_packed(all + (size_t)j->u->me * bytes, bytes),
                           uno_send_block(c, 0));
    } else if (!uno_large_is_plain(own)) {    // the root's own data must survive the unpacking
        struct uno_packer p;
        uno_packer_init(&p, own.at, own.count, own.type);
        uno_pack(&p, all + (size_t)j->u->me * bytes, bytes);
    }
}

// Where ranks share cores and hand in windows, the root copies its own block last: it is done as soon, and the others
// leave earlier (4 ranks on 2 cores, 16 MiB: the root 4.1 ms, the others 3.8, or 2.8).
static bool is_own_last(const struct uno_large *j)
{
    return j->way && j->u->crowded;
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
        struct uno_large_place mine = plan_blocks(j, all, bytes * (size_t)u->n, bytes);
        uint64_t k = uno_large_tell_place(u, mine);
        bool last = is_own_last(j);
        if (all && !last) gather_own(j, all);
        struct uno_windows_part part[WINDOWS_RANKS];
        for (int r = 0; r < u->n && mine.way; r++)
            part[r] = (struct uno_windows_part){all ? all + (size_t)r * bytes : NULL, mine.share};
        if (mine.way) uno_windows_collect(u, k, mine.way, part);
        for (int i = 1; i < u->n && mine.share && !mine.way; i++) {
            int r = (u->me + i) % u->n;
            uint64_t from = uno_large_told(u, r, k).addr;
            if (all && from) uno_large_keep(j, uno_seg_pull(u, r, all + (size_t)r * bytes, from, mine.share));
        }
        if (all && last) gather_own(j, all);
        uno_seg_done(u, k);
        uno_seg_wait_all_done(u, k);
        return;
    }
    struct uno_block own = uno_send_block(c, 0);
    size_t bytes = uno_block_bytes(own);
    char *from = (char *)(uintptr_t)uno_large_readable(j, own);
    uint64_t k = uno_large_tell_place(u, (struct uno_large_place){.addr = (uint64_t)(uintptr_t)from});
    struct uno_large_place there = uno_large_told(u, c->root, k);
    if (there.addr) there.addr += (uint64_t)u->me * bytes;
    give_block(j, k, (struct uno_windows_part){from, bytes}, there);
}

// What rank r gives: beside its stamp, and the smallest blocks with it.
static struct uno_large_entry *gatherv_given(const struct uno_coll *u, int r, uint64_t k)
{
    return (struct uno_large_entry *)(void *)uno_seg_slot(u, r, k, sizeof(struct uno_large_entry));
}

// Of a block that a rank gives, what the root moves.
static size_t share_of(const struct uno_large_entry *root, const struct uno_large_entry *given)
{
    size_t share = (size_t)root->share * UNO_SHARE_UNIT;
    return share < given->bytes ? share : given->bytes;
}

// A rank posts its block if it fits the slot; else it writes where the root's table says what the root does not read.
static void gatherv_give(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    uint64_t k = ++u->phase;
    struct uno_large_entry *mine = gatherv_given(u, u->me, k);
    size_t bytes = uno_block_bytes(uno_send_block(j->c, 0));
    uno_large_lay_block(j, k, bytes);
    if (!uno_large_is_beside(bytes)) uno_seg_ask(u, k, j->free, bytes);
    uno_large_describe(j, 0, mine, UNO_SEG_INLINE);
    uno_seg_post(u, k);
    struct uno_large_place there = {0};
    if (mine->addr) {
        uno_seg_wait(u, root, k);
        const struct uno_large_entry *e = uno_large_entry_of(j, root, k, u->me);
        if (e->bytes >= mine->bytes && e->addr)
            there = (struct uno_large_place){
                .addr = e->addr, .share = share_of(e, mine), .way = (enum uno_windows_way)e->at};
    }
    if (there.addr)
        give_block(j, k, (struct uno_windows_part){(char *)(uintptr_t)mine->addr, mine->bytes}, there);
    else
        uno_seg_done(u, k);
}

// What the root has for rank r. addr: where a block that does not fit the slot goes.
static struct uno_large_entry gatherv_room(struct uno_large *j, int r)
{
    struct uno_block to = uno_recv_block(j->c, r);
    struct uno_large_entry e = {.bytes = uno_block_bytes(to)};
    if (r == j->u->me || e.bytes <= j->most) return e;
    char *at = uno_large_writable(j, to);
    struct uno_large_place p = plan_blocks(j, at, e.bytes, e.bytes);
    e.at = (int32_t)p.way;
    e.addr = p.addr;
    e.share = (uint32_t)(p.share / UNO_SHARE_UNIT);
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

// What is to be collected of rank r in windows, after all else has come.
static struct uno_windows_part gatherv_block(struct uno_large *j, int r, uint64_t k)
{
    const struct uno_large_entry *e = gatherv_given(j->u, r, k);
    struct uno_windows_part none = {NULL, 0};
    if (!e->addr) {
        uno_large_take_block(j, r, e);
        return none;
    }
    const struct uno_large_entry *to = uno_large_entry_of(j, j->u->me, k, r);
    if (!uno_large_fits(j, r, e, uno_block_bytes(uno_recv_block(j->c, r))) || !to->addr) return none;
    struct uno_windows_part start = {(char *)(uintptr_t)to->addr, share_of(to, e)};
    if (to->at) return start;
    if (start.bytes) uno_large_keep(j, uno_seg_pull(j->u, r, start.at, e->addr, start.bytes));
    return none;
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
    bool own = c->sbuf != MPI_IN_PLACE, last = is_own_last(j);
    if (own && !last) uno_block_copy_own(c->kind, u->n, uno_recv_block(c, u->me), uno_send_block(c, 0));
    struct uno_windows_part part[WINDOWS_RANKS];
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        uno_large_wait_beside(j, r, k);
        if (!told && gatherv_given(u, r, k)->addr) {
            gatherv_tell(j, k);
            told = true;
        }
        part[r] = gatherv_block(j, r, k);
    }
    if (j->way) uno_windows_collect(u, k, j->way, part);
    if (own && last) uno_block_copy_own(c->kind, u->n, uno_recv_block(c, u->me), uno_send_block(c, 0));
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    for (int r = 0; r < u->n && told; r++)
        if (r != u->me && uno_large_entry_of(j, u->me, k, r)->addr && gatherv_given(u, r, k)->addr)
            uno_seg_wait_done(u, r, k);
}
