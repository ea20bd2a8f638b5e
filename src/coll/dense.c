// SPDX-License-Identifier: BSD-3-Clause
// Short scatterv in a host: in the slot of the root all blocks lie one behind the other, and the stamp's line says how
// long each is, and has them all if they fit there: of four ranks 16 bytes each. Only the root knows whether they are
// as short as that: it says so in that line, where a table (large_scatter.c) begins with an address or a size. Or it
// says there that the blocks come by messages. Called by shm.c.
#include "base/copy.h"
#include "coll/large.h"
#include "coll/shm.h"
#include "coll/slot_copy.h"

// The line's first bytes: how long the blocks are, of the ranks in order without the root. MARK stands among them where
// no address and no size of a slot has its highest bits set.
#define MARK UINT16_MAX
#define MARK_MESSAGES (UINT16_MAX - 1)    // likewise, and no lengths
#define MARK_AT 3
#define MOST_RANKS 24

static inline int place_in(int i)
{
    return i < MARK_AT ? i : i + 1;
}

// Bytes of the line that these are.
static inline size_t head_bytes(const struct uno_coll *u)
{
    size_t places = u->n - 1 > MARK_AT ? (size_t)u->n : MARK_AT + 1;
    return uno_large_padded(places * sizeof(uint16_t));
}

static inline bool is_inline(const struct uno_coll *u, size_t all)
{
    return head_bytes(u) + all <= UNO_SEG_INLINE;
}

// The bytes to claim, and to look for, for `all` bytes of blocks.
static inline size_t slot_for(const struct uno_coll *u, size_t all)
{
    if (is_inline(u, all)) return UNO_SEG_INLINE;
    return all > UNO_SEG_INLINE ? all : UNO_SEG_INLINE + 1;
}

static inline char *place_of(const struct uno_coll *u, int root, uint64_t k, size_t all)
{
    if (is_inline(u, all)) return uno_seg_slot(u, root, k, UNO_SEG_INLINE) + head_bytes(u);
    return uno_seg_slot(u, root, k, slot_for(u, all));
}

static size_t bytes_for(const struct uno_call *c, int r)
{
    return (size_t)(uno_at(c->scounts, r) * c->stype->size);
}

// Whether all blocks may go that way: those that would in an even scatter, while a slot has room. all: their sum.
static bool measure(const struct uno_coll *u, const struct uno_call *c, uint16_t sizes[MOST_RANKS], size_t *all)
{
    size_t most = u->copies[UNO_SCATTER] > UNO_SEG_INLINE ? u->copies[UNO_SCATTER] - 1 : UNO_SEG_INLINE;
    if (most > UNO_SEG_SLOT) most = UNO_SEG_SLOT;
    *all = 0;
    for (int r = 0, i = 0; r < u->n; r++) {
        if (r == u->me) continue;
        size_t bytes = bytes_for(c, r);
        if (bytes > most) return false;
        sizes[i++] = (uint16_t)bytes;
        *all += uno_large_padded(bytes);
    }
    return *all <= UNO_SEG_SLOT;
}

// Bytes of a block, the root's own aside.
static size_t mean_of(const struct uno_coll *u, const struct uno_call *c)
{
    size_t all = 0;
    for (int r = 0; r < u->n; r++)
        if (r != u->me) all += bytes_for(c, r);
    return u->n > 1 ? all / (size_t)(u->n - 1) : 0;
}

// Messages that begin beyond the copies, of two ranks, do not count.
static bool has_messages(const struct uno_coll *u)
{
    return u->messages[UNO_SCATTER] < u->copies[UNO_SCATTER];
}

static int tell_messages(struct uno_coll *u)
{
    uint64_t k = u->phase;
    uno_seg_claim(u, k, UNO_SEG_INLINE);
    ((uint16_t *)(void *)uno_seg_slot(u, u->me, k, UNO_SEG_INLINE))[MARK_AT] = MARK_MESSAGES;
    uno_seg_post(u, k);
    uno_seg_done(u, k);
    return UNO_SHM_DECLINED;
}

// The line with the stamp comes last, as a whole: ranks that look at it take it back each time.
static void give(struct uno_coll *u, const struct uno_call *c, const uint16_t *sizes, size_t all)
{
    uint64_t k = u->phase;
    uno_seg_claim(u, k, slot_for(u, all));
    char *line = uno_seg_slot(u, u->me, k, UNO_SEG_INLINE), *to = place_of(u, u->me, k, all);
    uno_seg_ask(u, k, to, all);
    for (int r = 0, i = 0; r < u->n; r++) {
        if (r == u->me) continue;
        size_t bytes = sizes[i++];
        const char *from = (const char *)c->sbuf + uno_at(c->sdispls, r) * c->stype->extent;
        if (bytes > 0) uno_seg_put_block(to, from, uno_at(c->scounts, r), c->stype, UNO_SEG_ONE_WAY);
        to += uno_large_padded(bytes);
    }
    uint16_t *told = (uint16_t *)(void *)line;
    for (int i = 0; i < u->n - 1; i++) told[place_in(i)] = sizes[i];
    told[MARK_AT] = MARK;
    uno_seg_post(u, k);
}

static void keep_own(const struct uno_call *c, int me)
{
    const char *from = (const char *)c->sbuf + uno_at(c->sdispls, me) * c->stype->extent;
    uno_seg_keep(c->rbuf, c->rcount, c->rtype, from, uno_at(c->scounts, me), c->stype);
}

static int take(struct uno_coll *u, const struct uno_call *c, const uint16_t *told)
{
    uint64_t k = u->phase;
    int mine = u->me - (u->me > c->root), err = MPI_SUCCESS;
    size_t all = 0, before = 0, room = (size_t)(c->rcount * c->rtype->size);
    for (int i = 0; i < u->n - 1; i++) {
        if (i == mine) before = all;
        all += uno_large_padded(told[place_in(i)]);
    }
    size_t bytes = told[place_in(mine)];
    const char *from = place_of(u, c->root, k, all) + before;
    if (bytes > room)
        err = uno_large_truncated(c->root, bytes, room);
    else if (bytes > 0)
        uno_seg_take_block(c->rbuf, c->rcount, c->rtype, from, bytes, UNO_SEG_ONE_WAY);
    uno_seg_done(u, k);
    return err;
}

// Waits for the root, and asks for this rank's block where it lies if all are as long, because the line that says so
// has to come first.
static void wait_root(struct uno_coll *u, int root, size_t room)
{
    uint64_t k = u->phase;
    size_t each = uno_large_padded(room), all = each * (size_t)(u->n - 1);
    if (is_inline(u, all) || all > UNO_SEG_SLOT) {
        uno_seg_wait(u, root, k);
        return;
    }
    const char *at = place_of(u, root, k, all) + each * (size_t)(u->me - (u->me > root));
    uno_copy_soon(at, room);
    uno_seg_wait_soon(u, root, k, at, room);
}

// What is not the root learns from its line where the block is.
static int follow_root(struct uno_coll *u, const struct uno_call *c)
{
    wait_root(u, c->root, (size_t)(c->rcount * c->rtype->size));
    if (__builtin_expect(u->comm->broken, 0)) return MPI_SUCCESS;    // the line may say anything; coll.c tells
    const uint16_t *told = (const uint16_t *)(const void *)uno_seg_slot(u, c->root, u->phase, UNO_SEG_INLINE);
    if (told[MARK_AT] == MARK) return take(u, c, told);
    if (told[MARK_AT] != MARK_MESSAGES) return UNO_SHM_TABLE;
    uno_seg_done(u, u->phase);
    return UNO_SHM_DECLINED;
}

int uno_dense_scatterv(struct uno_coll *u, const struct uno_call *c)
{
    // What the table may need of all ranks comes before the phase.
    if (uno_large_slots_end(u, UNO_SCATTER) > UNO_SEG_SLOT + 1 && !u->widened) uno_seg_widen(u, UNO_SEG_SLOT + 1);
    u->phase++;
    if (u->n > MOST_RANKS) return UNO_SHM_TABLE;
    if (u->me != c->root) return follow_root(u, c);
    // Blocks go by messages where an even scatter of their mean would before it copies from memory (16 cores, 8 ranks,
    // 4 KiB: scatter by messages 3.4 us, scatterv from memory 7.1, in the slot 6.3), or if the slot has no room for
    // them: no rank waits until those of all are written.
    size_t mean = has_messages(u) ? mean_of(u, c) : SIZE_MAX, all;
    bool may = mean < u->until[UNO_SCATTER];
    if (may && mean >= u->messages[UNO_SCATTER]) return tell_messages(u);
    uint16_t sizes[MOST_RANKS] = {0};
    if (!measure(u, c, sizes, &all)) return may ? tell_messages(u) : UNO_SHM_TABLE;
    give(u, c, sizes, all);
    if (c->rbuf != MPI_IN_PLACE) keep_own(c, u->me);
    uno_seg_done(u, u->phase);
    return MPI_SUCCESS;
}
