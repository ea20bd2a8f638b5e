// SPDX-License-Identifier: BSD-3-Clause
// Large alltoall, alltoallv and alltoallw in a host (large.h). With n ranks, m bytes from each to each, latency a of a
// phase, c of a call that copies across memory, time per byte b:
//   2 a + (n - 1) c + n m b    every rank reads its block of all others and copies its own
// The v and w forms: a table of addresses instead of one; what fits the slot of a rank beside its table is read there.
#include "coll/choose.h"
#include "coll/large.h"
#include "coll/shm.h"
#include "coll/windows.h"

void uno_large_alltoall(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    struct uno_block from = uno_send_block(j->c, u->me), to = uno_recv_block(j->c, u->me);
    struct uno_block first = uno_send_block(j->c, 0);
    size_t bytes = uno_block_bytes(first);
    if (u->packs) uno_seg_widen(u, bytes * (size_t)u->n);
    struct uno_block all = {first.at, first.count * u->n, first.type};
    uint64_t k = uno_large_lend(j, all, (size_t)u->me * bytes, bytes);
    bool last = uno_large_own_last(u, bytes);
    if (!last) uno_block_copy_own(j->c->kind, u->n, to, from);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uno_large_take_lent(j, r, k, (size_t)u->me * bytes, uno_recv_block(j->c, r));
    }
    if (last) uno_block_copy_own(j->c->kind, u->n, to, from);
    uno_seg_done(u, k);
    uno_seg_wait_all_done(u, k);
}

// ---- blocks that have left the caches, of the v and w forms: two ranks exchange them in windows or by messages ----

#define RANKS 64    // at most, and from one step to the next so many windows
#define STEP (UINT64_C(1) << 26)

// Bytes above which the blocks of two ranks do so, both. (2 ranks, 16 MiB 5.5 to 4.7 ms, but 8 MiB, twice the size from
// which all is streamed, 2.3 to 2.7; 4 ranks on two cores, 4 to 32 MiB: nothing gained.)
static size_t exchange_above(const struct uno_coll *u)
{
    if (!u->wide || u->flow.each == 0 || u->n > RANKS || u->crowded) return SIZE_MAX;
    return 2 * (u->flow.cold / uno_choose_footprint(UNO_ALLTOALL, u->n));
}

// Both have the two entries, and find the same.
static bool both_above(const struct uno_large_entry *out, const struct uno_large_entry *in, size_t above)
{
    return out->addr && in->addr && out->bytes > above && in->bytes > above;
}

static struct uno_windows_part wanted(struct uno_large *j, int r, const struct uno_large_entry *in)
{
    struct uno_block to = uno_recv_block(j->c, r);
    bool fits = uno_large_fits(j, r, in, uno_block_bytes(to));
    return (struct uno_windows_part){fits ? uno_large_writable(j, to) : NULL, in->bytes};
}

// In step s rank r meets rank (s - r) mod n.
static void swap_all(struct uno_large *j, uint64_t k, size_t above)
{
    struct uno_coll *u = j->u;
    struct uno_windows w = uno_windows_join(u, k);
    for (int s = 0; s < u->n; s++) {
        int r = (s - u->me + u->n) % u->n;
        if (r == u->me) continue;
        const struct uno_large_entry *out = uno_large_entry_of(j, u->me, k, r),
                                     *in = uno_large_entry_of(j, r, k, u->me);
        if (!both_above(out, in, above)) continue;
        struct uno_windows_part mine = {(char *)(uintptr_t)out->addr, out->bytes};
        uno_windows_swap(&w, r, (uint64_t)s * STEP, mine, wanted(j, r, in));
    }
}

// Two ranks send each other such blocks by messages where an alltoall of two ranks does.
static bool by_messages(struct uno_large *j, uint64_t k, size_t above)
{
    struct uno_coll *u = j->u;
    if (!uno_large_is_lone(j)) return false;
    const struct uno_large_entry *out = uno_large_entry_of(j, u->me, k, 1 - u->me), *in;
    if (out->bytes <= above || !uno_seg_by_messages(u, UNO_ALLTOALL, out->bytes)) return false;
    uno_seg_wait(u, 1 - u->me, k);
    in = uno_large_entry_of(j, 1 - u->me, k, u->me);
    return both_above(out, in, above) && uno_seg_by_messages(u, UNO_ALLTOALL, in->bytes);
}

static bool has_block_above(const struct uno_large *j, size_t above)
{
    for (int r = 0; r < j->u->n; r++)
        if (r != j->u->me && uno_block_bytes(uno_send_block(j->c, r)) > above) return true;
    return false;
}

// What a rank sends to others altogether, behind the size of its slot; of two ranks, their entries say it.
static uint64_t *all_sent(const struct uno_large *j, int r, uint64_t k)
{
    return (uint64_t *)(void *)uno_seg_slot(j->u, r, k, UNO_SEG_INLINE) + 1;
}

// How long blocks are, after all have posted their tables.
static void learn_mean(const struct uno_large *j, uint64_t k)
{
    struct uno_coll *u = j->u;
    uint64_t all = 0;
    for (int r = 0; r < u->n; r++)
        all += uno_large_is_lone(j) ? uno_large_entry_of(j, r, k, 1 - r)->bytes : *all_sent(j, r, k);
    uno_seg_set_mean(u, all);
}

void uno_large_alltoallv(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    struct uno_block to = uno_recv_block(j->c, u->me), from = uno_send_block(j->c, u->me);
    uint64_t k = ++u->phase;
    uno_large_lay_table(j, k, UNO_SEG_SLOT);
    size_t above = exchange_above(u);
    bool lent = false, swaps = false;
    uint64_t sent = 0;
    if (above < SIZE_MAX && has_block_above(j, above)) {
        j->wide = u->room;    // no block goes there
        j->cold = above;
    }
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        struct uno_large_entry *e = uno_large_entry_of(j, u->me, k, r);
        uno_large_describe(j, r, e, uno_large_line(j));
        lent |= e->addr != 0;
        sent += e->bytes;
    }
    if (!uno_large_is_lone(j)) *all_sent(j, u->me, k) = sent;
    uno_seg_post(u, k);
    if (by_messages(j, k, above)) {
        learn_mean(j, k);
        uno_seg_all_seen(u, k);
        uno_seg_done(u, k);
        j->error = UNO_SHM_DECLINED;
        return;
    }
    bool last = lent && uno_large_own_last(u, SIZE_MAX);
    if (!last) uno_block_copy_own(j->c->kind, u->n, to, from);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uno_seg_wait(u, r, k);
        const struct uno_large_entry *in = uno_large_entry_of(j, r, k, u->me);
        if (both_above(uno_large_entry_of(j, u->me, k, r), in, above))
            swaps = true;
        else
            uno_large_take_block(j, r, in);
    }
    if (swaps) swap_all(j, k, above);
    if (last) uno_block_copy_own(j->c->kind, u->n, to, from);
    learn_mean(j, k);
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    if (lent) uno_seg_wait_all_done(u, k);
}
