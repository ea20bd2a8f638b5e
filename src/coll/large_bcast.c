// SPDX-License-Identifier: BSD-3-Clause
// A large broadcast in a host (large.h). With n ranks, m bytes, latency a of a phase, c of a call that copies across
// memory, time per byte b:
//   2 a + (n - 1) c + m b (n - 1) / n    the root writes the start of every copy while the others read the rest
#include "coll/large.h"
#include "coll/shm.h"

// Every rank posts where its copy is. The root writes a share of each, the owners read the rest.
int uno_large_bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct uno_large j = {.u = u, .c = c};
    struct uno_block b = uno_recv_block(c, 0);
    size_t share = uno_large_root_share(u, bytes);
    bool root = u->me == c->root;
    const char *at = root ? uno_large_readable(&j, b) : uno_large_writable(&j, b);
    uint64_t k = uno_large_tell(u, at, bytes);
    for (int i = 1; i < u->n && root && share; i++) {
        int r = (u->me + i) % u->n;
        uint64_t to = uno_large_told(u, r, k).addr;
        if (at && to) uno_large_keep(&j, uno_seg_push(u, r, to, at, share));
    }
    if (!root) {
        uint64_t from = uno_large_told(u, c->root, k).addr;
        if (at && from)
            uno_large_keep(&j, uno_seg_pull(u, c->root, (char *)(uintptr_t)at + share, from + share, bytes - share));
    }
    uno_seg_done(u, k);
    if (root)
        uno_seg_wait_all_done(u, k);
    else if (share)
        uno_seg_wait_done(u, c->root, k);
    return uno_large_finish(&j);
}
