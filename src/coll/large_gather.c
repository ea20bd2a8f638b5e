// SPDX-License-Identifier: BSD-3-Clause
// Large gather and gatherv in a host (large.h). With n ranks, m bytes of each, latency a of a phase, c of a call that
// copies across memory, time per byte b; all ranks at once:
//   2 a + c + m b                        the owners write while the root copies its own block
//   2 a + (n - 1) c + m b (n - 1) / n    in place: the root reads the start of each block, too
// gatherv: a block that fits the slot of its rank waits there for the root.
#include "coll/large.h"
#include "core/pack.h"

static void gather_own(struct uno_large *j, char *all)
{
    const struct uno_call *c = j->c;
    struct uno_block own = uno_recv_block(c, j->u->me);
    size_t bytes = uno_block_bytes(own);
    if (c->sbuf != MPI_IN_PLACE) {
        uno_block_copy(uno_packed(all + (size_t)j->u->me * bytes, bytes), uno_send_block(c, 0));
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
        size_t bytes = uno_block_bytes(first), share = c->sbuf == MPI_IN_PLACE ? uno_large_root_share(u, bytes) : 0;
        char *all = uno_large_writable(j, (struct uno_block){first.at, first.count * u->n, first.type});
        uint64_t k = uno_large_tell_share(u, all, bytes * (size_t)u->n, share);
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

// A rank posts its block if it fits the slot; else it writes where the root's table says what the root does not read.
static void gatherv_give(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    uint64_t k = uno_seg_begin(u);
    struct uno_large_entry *mine = uno_large_table(u, u->me, k);
    size_t used = sizeof *mine, share = 0;
    *mine = uno_large_describe(j, uno_send_block(j->c, 0), (char *)mine, &used);
    uno_seg_post(u, k);
    if (mine->addr) {
        uno_seg_wait(u, root, k);
        const struct uno_large_entry *there = &uno_large_table(u, root, k)[u->me];
        share = there->share ? uno_large_root_share(u, mine->bytes) : 0;
        if (there->bytes >= mine->bytes && there->addr)
            uno_large_keep(j, uno_seg_push(u, root, there->addr + share, (const char *)(uintptr_t)mine->addr + share,
                                           mine->bytes - share));
    }
    uno_seg_done(u, k);
    if (share) uno_seg_wait_done(u, root, k);
}

static void gatherv_block(struct uno_large *j, int r, uint64_t k, const struct uno_large_entry *to)
{
    struct uno_large_entry e = *uno_large_table(j->u, r, k);
    if (!e.addr || e.bytes > to->bytes) {
        uno_large_take_block(j, r, k, &e, uno_recv_block(j->c, r));
        return;
    }
    size_t share = to->share ? uno_large_root_share(j->u, e.bytes) : 0;
    if (share && to->addr) uno_large_keep(j, uno_seg_pull(j->u, r, (char *)(uintptr_t)to->addr, e.addr, share));
}

void uno_large_gatherv(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me != c->root) {
        gatherv_give(j);
        return;
    }
    uint64_t k = uno_seg_begin(u);
    struct uno_large_entry *mine = uno_large_table(u, u->me, k);
    for (int r = 0; r < u->n; r++) {
        struct uno_block to = uno_recv_block(c, r);
        bool big = r != u->me && uno_block_bytes(to) + sizeof *mine > UNO_SEG_SLOT;
        mine[r] = (struct uno_large_entry){.addr = big ? (uint64_t)(uintptr_t)uno_large_writable(j, to) : 0,
                                           .bytes = uno_block_bytes(to),
                                           .share = c->sbuf == MPI_IN_PLACE};
    }
    uno_seg_post(u, k);
    if (c->sbuf != MPI_IN_PLACE) uno_block_copy(uno_recv_block(c, u->me), uno_send_block(c, 0));
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        uno_seg_wait(u, r, k);
        gatherv_block(j, r, k, &mine[r]);
    }
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    for (int r = 0; r < u->n; r++)
        if (mine[r].addr && uno_large_table(u, r, k)->addr) uno_seg_wait_done(u, r, k);
}
