// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host: ranks exchange addresses in one phase of the segment and then copy straight
// between their buffers, all at once (cross-memory attach). Called by shm.c when every rank may.
//
// Always holds: a buffer whose address was told is left alone until every rank that uses it has said done; what is not
// plain travels as a packed copy. An error is kept and the protocol goes on, so that no rank is left waiting.
#include <stdlib.h>

#include "base/fail.h"
#include "base/huge.h"
#include "coll/build.h"
#include "coll/shm.h"
#include "core/pack.h"

#define LARGE_BLOCK (256 << 10)    // several of these fill a second-level cache (bench: alltoall --sizes 64K:4M)
#define CALL_WORTH (11 << 10)
#define SHARE_MIN 4096
#define SHARE_UNIT 64

// Packed copies of blocks that are not plain, given back at the end.
struct copy {
    struct copy *next;
    struct uno_block unpack_to;
    char data[];
};

struct job {
    struct uno_coll *u;
    const struct uno_call *c;
    struct copy *copies;
    int error;
};

static void keep(struct job *j, int err)
{
    if (err && !j->error) j->error = err;
}

static char *new_copy(struct job *j, size_t bytes, struct uno_block unpack_to)
{
    struct copy *p = malloc(sizeof *p + bytes);
    if (!p) {
        keep(j, uno_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of packed data", bytes));
        return NULL;
    }
    p->unpack_to = unpack_to;
    p->next = j->copies;
    j->copies = p;
    return p->data;
}

static bool is_plain(struct uno_block b)
{
    return b.count == 0 || b.type->flags & UNO_TYPE_PLAIN;
}

// An address with the bytes of b, plain: its own or that of a packed copy.
static const char *readable(struct job *j, struct uno_block b)
{
    if (is_plain(b)) return b.at;
    char *p = new_copy(j, uno_block_bytes(b), (struct uno_block){NULL, 0, NULL});
    struct uno_packer from;
    uno_packer_init(&from, b.at, b.count, b.type);
    if (p) uno_pack(&from, p, from.total);
    return p;
}

// An address to fill with the bytes of b; finish() unpacks what is not plain.
static char *writable(struct job *j, struct uno_block b)
{
    return is_plain(b) ? b.at : new_copy(j, uno_block_bytes(b), b);
}

static int finish(struct job *j)
{
    for (struct copy *p = j->copies, *next; p; p = next) {
        next = p->next;
        if (p->unpack_to.count) {
            struct uno_packer to;
            uno_packer_init(&to, p->unpack_to.at, p->unpack_to.count, p->unpack_to.type);
            uno_unpack(&to, p->data, to.total);
        }
        free(p);
    }
    return j->error;
}

static void wait_done_all(struct uno_coll *u, uint64_t k)
{
    for (int i = 1; i < u->n; i++) uno_seg_wait_done(u, (u->me + i) % u->n, k);
    u->safe = k > u->safe ? k : u->safe;
}

// The root's part, from the start, of each copy between it and another rank: so much that all ranks are busy equally
// long. It makes n - 1 calls where the others make one; a call costs about as much as CALL_WORTH bytes.
static size_t root_share(const struct uno_coll *u, size_t bytes)
{
    size_t n = (size_t)u->n, calls = (n - 2) * CALL_WORTH,
           share = bytes > calls ? (bytes - calls) / n / SHARE_UNIT * SHARE_UNIT : 0;
    return share < SHARE_MIN ? 0 : share;
}

// ---- one address per rank: blocks of one size, or allgatherv ----

// share: what the root moves itself of each copy.
struct place {
    uint64_t addr, share;
};

static uint64_t tell_share(struct uno_coll *u, const void *at, size_t bytes, size_t share)
{
    uno_huge_use(at, bytes);
    struct place mine = {(uint64_t)(uintptr_t)at, share};
    uint64_t k = uno_seg_begin(u);
    memcpy(uno_seg_slot(u, u->me, k, sizeof mine), &mine, sizeof mine);
    uno_seg_post(u, k);
    return k;
}

static uint64_t tell(struct uno_coll *u, const void *at, size_t bytes)
{
    return tell_share(u, at, bytes, 0);
}

static struct place told(struct uno_coll *u, int r, uint64_t k)
{
    struct place p;
    uno_seg_wait(u, r, k);
    memcpy(&p, uno_seg_slot(u, r, k, sizeof p), sizeof p);
    return p;
}

static void pull_block(struct job *j, int r, uint64_t from, struct uno_block to)
{
    char *at = writable(j, to);
    if (at && from) keep(j, uno_seg_pull(j->u, r, at, from, uno_block_bytes(to)));
}

// Blocks that fill a cache are walked to and fro: the own one first in one call, last in the next, so that what is
// still there from the last call is used first.
static bool own_last(uint64_t k, size_t bytes)
{
    return bytes >= LARGE_BLOCK && k & 1;
}

static void allgather(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    struct uno_block own = in_place ? uno_recv_block(c, u->me) : uno_send_block(c, 0);
    uint64_t k = tell(u, readable(j, own), uno_block_bytes(own));
    bool last = own_last(k, uno_block_bytes(own));
    if (!in_place && !last) uno_block_copy(uno_recv_block(c, u->me), own);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        pull_block(j, r, told(u, r, k).addr, uno_recv_block(c, r));
    }
    if (!in_place && last) uno_block_copy(uno_recv_block(c, u->me), own);
    uno_seg_done(u, k);
    wait_done_all(u, k);
}

static size_t all_bytes(const struct uno_coll *u, struct uno_block one)
{
    return (size_t)u->n * uno_block_bytes(one);
}

// All blocks side by side, packed if need be.
static const char *readable_all(struct job *j)
{
    struct uno_block first = uno_send_block(j->c, 0);
    return readable(j, (struct uno_block){first.at, first.count * j->u->n, first.type});
}

static void alltoall(struct job *j)
{
    struct uno_coll *u = j->u;
    struct uno_block from = uno_send_block(j->c, u->me), to = uno_recv_block(j->c, u->me);
    size_t bytes = uno_block_bytes(to);
    uint64_t k = tell(u, readable_all(j), bytes * (size_t)u->n);
    bool last = own_last(k, bytes);
    if (!last) uno_block_copy(to, from);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uint64_t there = told(u, r, k).addr;
        pull_block(j, r, there ? there + (uint64_t)u->me * bytes : 0, uno_recv_block(j->c, r));
    }
    if (last) uno_block_copy(to, from);
    uno_seg_done(u, k);
    wait_done_all(u, k);
}

// Every rank posts where its block is. The owners read theirs; the root copies its own or, in place, takes a share.
static void scatter(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me == c->root) {
        struct uno_block own = uno_send_block(c, u->me);
        size_t bytes = uno_block_bytes(own), share = c->rbuf == MPI_IN_PLACE ? root_share(u, bytes) : 0;
        const char *all = readable_all(j);
        uint64_t k = tell_share(u, all, all_bytes(u, own), share);
        if (c->rbuf != MPI_IN_PLACE) uno_block_copy(uno_recv_block(c, 0), own);
        for (int i = 1; i < u->n && share; i++) {
            int r = (u->me + i) % u->n;
            uint64_t to = told(u, r, k).addr;
            if (all && to) keep(j, uno_seg_push(u, r, to, all + (size_t)r * bytes, share));
        }
        uno_seg_done(u, k);
        wait_done_all(u, k);
        return;
    }
    struct uno_block to = uno_recv_block(c, 0);
    size_t bytes = uno_block_bytes(to);
    char *at = writable(j, to);
    uint64_t k = tell(u, at, bytes);
    struct place p = told(u, c->root, k);
    uint64_t from = p.addr + (uint64_t)u->me * bytes + p.share;
    if (at && p.addr) keep(j, uno_seg_pull(u, c->root, at + p.share, from, bytes - p.share));
    uno_seg_done(u, k);
    if (p.share) uno_seg_wait_done(u, c->root, k);
}

static void gather_own(struct job *j, char *all)
{
    const struct uno_call *c = j->c;
    struct uno_block own = uno_recv_block(c, j->u->me);
    size_t bytes = uno_block_bytes(own);
    if (c->sbuf != MPI_IN_PLACE) {
        uno_block_copy(uno_packed(all + (size_t)j->u->me * bytes, bytes), uno_send_block(c, 0));
    } else if (!is_plain(own)) {    // the root's own data must survive the unpacking
        struct uno_packer p;
        uno_packer_init(&p, own.at, own.count, own.type);
        uno_pack(&p, all + (size_t)j->u->me * bytes, bytes);
    }
}

// The other way round: the owners write, and a root in place reads a share.
static void gather(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me == c->root) {
        struct uno_block first = uno_recv_block(c, 0);
        size_t bytes = uno_block_bytes(first), share = c->sbuf == MPI_IN_PLACE ? root_share(u, bytes) : 0;
        char *all = writable(j, (struct uno_block){first.at, first.count * u->n, first.type});
        uint64_t k = tell_share(u, all, all_bytes(u, first), share);
        if (all) gather_own(j, all);
        for (int i = 1; i < u->n && share; i++) {
            int r = (u->me + i) % u->n;
            uint64_t from = told(u, r, k).addr;
            if (all && from) keep(j, uno_seg_pull(u, r, all + (size_t)r * bytes, from, share));
        }
        uno_seg_done(u, k);
        wait_done_all(u, k);
        return;
    }
    struct uno_block own = uno_send_block(c, 0);
    size_t bytes = uno_block_bytes(own);
    const char *from = readable(j, own);
    uint64_t k = tell(u, from, bytes);
    struct place p = told(u, c->root, k);
    uint64_t to = p.addr + (uint64_t)u->me * bytes + p.share;
    if (from && p.addr) keep(j, uno_seg_push(u, c->root, to, from + p.share, bytes - p.share));
    uno_seg_done(u, k);
    if (p.share) uno_seg_wait_done(u, c->root, k);
}

// ---- a table of blocks per rank: alltoallv, alltoallw, gatherv, scatterv. Small blocks travel in the slot ----

struct entry {
    uint64_t addr, bytes;
    uint32_t at, share;
};    // at: place in the slot, 0 when addr says where; share: of the root, in SHARE_UNIT (gatherv: whether it takes
      // one)

static struct entry *table_of(struct uno_coll *u, int r, uint64_t k)
{
    return (struct entry *)(void *)uno_seg_slot(u, r, k, UNO_SEG_SLOT);
}

// *used: bytes of the slot taken so far.
static struct entry describe(struct job *j, struct uno_block b, char *slot, size_t *used)
{
    struct entry e = {.bytes = uno_block_bytes(b)};
    if (e.bytes == 0) return e;
    if (*used + e.bytes > UNO_SEG_SLOT) {
        e.addr = (uint64_t)(uintptr_t)readable(j, b);
        return e;
    }
    struct uno_packer p;
    uno_packer_init(&p, b.at, b.count, b.type);
    uno_pack(&p, slot + *used, p.total);
    e.at = (uint32_t)*used;
    *used += (e.bytes + 7) / 8 * 8;
    return e;
}

// at: where the bytes go, NULL when there was no memory for them; the sender writes the first e->share itself.
static void take_entry(struct job *j, int r, uint64_t k, const struct entry *e, char *at)
{
    size_t share = (size_t)e->share * SHARE_UNIT;
    if (e->bytes == 0 || !at) return;
    if (e->at)
        memcpy(at, uno_seg_slot(j->u, r, k, UNO_SEG_SLOT) + e->at, e->bytes);
    else if (e->addr)
        keep(j, uno_seg_pull(j->u, r, at + share, e->addr + share, e->bytes - share));
}

static bool fits(struct job *j, int r, const struct entry *e, struct uno_block to)
{
    size_t room = uno_block_bytes(to);
    if (e->bytes <= room) return true;
    keep(j, uno_fail(MPI_ERR_TRUNCATE, "rank %d sends %llu bytes, recvcounts leave room for %zu", r,
                     (unsigned long long)e->bytes, room));
    return false;
}

static void take_block(struct job *j, int r, uint64_t k, const struct entry *e, struct uno_block to)
{
    if (fits(j, r, e, to) && e->bytes) take_entry(j, r, k, e, writable(j, to));
}

static void alltoallv(struct job *j)
{
    struct uno_coll *u = j->u;
    uint64_t k = uno_seg_begin(u);
    struct entry *mine = table_of(u, u->me, k);
    size_t used = (size_t)u->n * sizeof *mine;
    bool lent = false;
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        mine[r] = describe(j, uno_send_block(j->c, r), (char *)mine, &used);
        lent |= mine[r].addr != 0;
    }
    uno_seg_post(u, k);
    uno_block_copy(uno_recv_block(j->c, u->me), uno_send_block(j->c, u->me));
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        uno_seg_wait(u, r, k);
        take_block(j, r, k, &table_of(u, r, k)[u->me], uno_recv_block(j->c, r));
    }
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    if (lent) wait_done_all(u, k);
}

// What is too large for the slot goes as in scatter: the others post where.
static void scatterv_take(struct job *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    struct uno_block to = uno_recv_block(j->c, 0);
    char *at = writable(j, to);
    uint64_t k = uno_seg_begin(u);
    *table_of(u, u->me, k) = (struct entry){.addr = (uint64_t)(uintptr_t)at, .bytes = uno_block_bytes(to)};
    uno_seg_post(u, k);
    uno_seg_wait(u, root, k);
    struct entry e = table_of(u, root, k)[u->me];
    if (fits(j, root, &e, to)) take_entry(j, root, k, &e, at);
    uno_seg_done(u, k);
    if (e.share) uno_seg_wait_done(u, root, k);
}

static void scatterv(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me != c->root) {
        scatterv_take(j);
        return;
    }
    uint64_t k = uno_seg_begin(u);
    struct entry *mine = table_of(u, u->me, k);
    size_t used = (size_t)u->n * sizeof *mine;
    bool lent = false;
    for (int r = 0; r < u->n; r++) {
        if (r == u->me) continue;
        mine[r] = describe(j, uno_send_block(c, r), (char *)mine, &used);
        lent |= mine[r].addr != 0;
        if (c->rbuf == MPI_IN_PLACE && mine[r].addr)
            mine[r].share = (uint32_t)(root_share(u, mine[r].bytes) / SHARE_UNIT);
    }
    uno_seg_post(u, k);
    if (c->rbuf != MPI_IN_PLACE) uno_block_copy(uno_recv_block(c, 0), uno_send_block(c, u->me));
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        size_t share = (size_t)mine[r].share * SHARE_UNIT;
        if (!share) continue;
        uno_seg_wait(u, r, k);
        const struct entry *there = table_of(u, r, k);
        if (there->addr && there->bytes >= mine[r].bytes)
            keep(j, uno_seg_push(u, r, there->addr, (const void *)(uintptr_t)mine[r].addr, share));
    }
    uno_seg_done(u, k);
    if (lent) wait_done_all(u, k);
}

// A rank posts its block if it fits the slot; else it writes where the root's table says what the root does not read.
static void gatherv_give(struct job *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    uint64_t k = uno_seg_begin(u);
    struct entry *mine = table_of(u, u->me, k);
    size_t used = sizeof *mine, share = 0;
    *mine = describe(j, uno_send_block(j->c, 0), (char *)mine, &used);
    uno_seg_post(u, k);
    if (mine->addr) {
        uno_seg_wait(u, root, k);
        const struct entry *there = &table_of(u, root, k)[u->me];
        share = there->share ? root_share(u, mine->bytes) : 0;
        if (there->bytes >= mine->bytes && there->addr)
            keep(j, uno_seg_push(u, root, there->addr + share, (const char *)(uintptr_t)mine->addr + share,
                                 mine->bytes - share));
    }
    uno_seg_done(u, k);
    if (share) uno_seg_wait_done(u, root, k);
}

static void gatherv_block(struct job *j, int r, uint64_t k, const struct entry *to)
{
    struct entry e = *table_of(j->u, r, k);
    if (!e.addr || e.bytes > to->bytes) {
        take_block(j, r, k, &e, uno_recv_block(j->c, r));
        return;
    }
    size_t share = to->share ? root_share(j->u, e.bytes) : 0;
    if (share && to->addr) keep(j, uno_seg_pull(j->u, r, (char *)(uintptr_t)to->addr, e.addr, share));
}

static void gatherv(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me != c->root) {
        gatherv_give(j);
        return;
    }
    uint64_t k = uno_seg_begin(u);
    struct entry *mine = table_of(u, u->me, k);
    for (int r = 0; r < u->n; r++) {
        struct uno_block to = uno_recv_block(c, r);
        bool big = r != u->me && uno_block_bytes(to) + sizeof *mine > UNO_SEG_SLOT;
        mine[r] = (struct entry){.addr = big ? (uint64_t)(uintptr_t)writable(j, to) : 0,
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
        if (mine[r].addr && table_of(u, r, k)->addr) uno_seg_wait_done(u, r, k);
}

int uno_large_move(struct uno_coll *u, const struct uno_call *c)
{
    struct job j = {.u = u, .c = c};
    switch (c->kind) {
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: allgather(&j); break;
    case UNO_ALLTOALL: alltoall(&j); break;
    case UNO_SCATTER: scatter(&j); break;
    case UNO_GATHER: gather(&j); break;
    case UNO_SCATTERV: scatterv(&j); break;
    case UNO_GATHERV: gatherv(&j); break;
    default: alltoallv(&j); break;
    }
    return finish(&j);
}

// Every rank posts where its copy is. The root writes a share of each, the owners read the rest.
int uno_large_bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct job j = {.u = u, .c = c};
    struct uno_block b = uno_recv_block(c, 0);
    size_t share = root_share(u, bytes);
    bool root = u->me == c->root;
    const char *at = root ? readable(&j, b) : writable(&j, b);
    uint64_t k = tell(u, at, bytes);
    for (int i = 1; i < u->n && root && share; i++) {
        int r = (u->me + i) % u->n;
        uint64_t to = told(u, r, k).addr;
        if (at && to) keep(&j, uno_seg_push(u, r, to, at, share));
    }
    if (!root) {
        uint64_t from = told(u, c->root, k).addr;
        if (at && from) keep(&j, uno_seg_pull(u, c->root, (char *)(uintptr_t)at + share, from + share, bytes - share));
    }
    uno_seg_done(u, k);
    if (root)
        wait_done_all(u, k);
    else if (share)
        uno_seg_wait_done(u, c->root, k);
    return finish(&j);
}
