// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host: ranks exchange addresses in one phase of the segment and then copy straight
// between their buffers, all at once (cross-memory attach). One collective, and its form with counts, per file
// (large_bcast.c and so on); the reductions (large_reduce.c) share the waiting alone. Called by shm.c where every
// rank may.
#pragma once
#include "base/fail.h"
#include "coll/build.h"
#include "coll/segment.h"
#include "coll/windows.h"

#define UNO_SHARE_UNIT 64

// One call under way. copies: packed blocks, given back by uno_large_finish().
struct uno_large {
    struct uno_coll *u;
    const struct uno_call *c;
    size_t most;                 // bytes of a block that may lie in a slot
    size_t cold;                 // longer blocks have left the caches, and are not said to be in use (0: all are)
    enum uno_windows_way way;    // of the root of a gather
    size_t along, wide;          // of this rank's wide slot: where its use begins, bytes in use
    char *free, *end;            // what is left of this rank's slot
    struct uno_large_copy *copies;
    int error;
};

static inline bool uno_large_is_plain(struct uno_block b)
{
    return b.count == 0 || b.type->flags & UNO_TYPE_PLAIN;
}

void uno_large_keep(struct uno_large *j, int err);         // the first error stays
int uno_large_finish(struct uno_large *j) UNO_MUST_USE;    // unpacks what is not plain, frees; the error kept
void uno_large_drop_copies(struct uno_large *j);           // nothing is to be unpacked

// Plain addresses: the block's own or that of a packed copy, NULL (and the error is kept) when memory is out. to read
// the bytes of b; all blocks of the send buffer side by side; to fill, and uno_large_finish() unpacks.
const char *uno_large_readable(struct uno_large *j, struct uno_block b);
const char *uno_large_all_readable(struct uno_large *j);
char *uno_large_writable(struct uno_large *j, struct uno_block b);

// The part that a root moves, from the start, of each copy of `bytes` between it and another rank.
size_t uno_large_root_share(const struct uno_coll *u, size_t bytes);

// The same of a root that copies a block of its own first. gathered: where the others' go are huge pages (base/huge.h).
size_t uno_large_late_share(const struct uno_coll *u, size_t bytes, bool gathered);

// ---- one address per rank: blocks of one size, or allgatherv ----

// share: what the root moves itself of each copy. way: of a gather, by which its share comes. packed: it was no plain
// block. in_slot: it lies in the rank's slot of the phase, `addr` bytes.
struct uno_large_place {
    uint64_t addr, share;
    enum uno_windows_way way;
    bool packed, in_slot;
};

// Begins the phase, which it returns, and posts a place in it; told() waits for that of rank r.
uint64_t uno_large_tell_place(struct uno_coll *u, struct uno_large_place mine);      // in a buffer said to be in use
void uno_large_post(struct uno_coll *u, uint64_t k, struct uno_large_place mine);    // in a phase that has begun
uint64_t uno_large_tell(struct uno_coll *u, const void *at, size_t bytes);
struct uno_large_place uno_large_told(struct uno_coll *u, int r, uint64_t k);
// Begins the phase and posts a block that all others read, but for hole_bytes from byte `hole` on: one to be packed
// goes into the slot if that is wide enough. It is made so once all ranks have seen such a block (u->packs): all widen
// it in the next call.
uint64_t uno_large_lend(struct uno_large *j, struct uno_block b, size_t hole, size_t hole_bytes);
// Fills a block from byte `skip` on of what rank r has lent in phase k.
void uno_large_take_lent(struct uno_large *j, int r, uint64_t k, size_t skip, struct uno_block to);
void uno_large_take_packed(struct uno_large *j, int r, uint64_t k, struct uno_large_place there, size_t skip,
                           struct uno_block to);
bool uno_large_own_last(struct uno_coll *u, size_t bytes);

// ---- a table of blocks per rank: alltoallv, alltoallw, gatherv, scatterv. Small blocks travel in the slot ----

// at: from the entry to the block's place in a slot, 0 when addr says where; of a gatherv's root, enum uno_windows_way.
// share: of the root, in units.
struct uno_large_entry {
    uint64_t addr, bytes;
    int32_t at;
    uint32_t share;
};

// Of two ranks, each has one entry, beside its stamp.
static inline bool uno_large_is_lone(const struct uno_large *j)
{
    return j->u->n == 2;
}

// Bytes from which on even blocks of a kind go by copies or messages, and no longer through slots.
static inline size_t uno_large_slots_end(const struct uno_coll *u, enum uno_coll_kind even)
{
    return u->copies[even] < u->messages[even] ? u->copies[even] : u->messages[even];
}

// Rank r's entry for rank i, in its slot. Of few ranks each has a line of its own, which the smallest blocks share.
static inline size_t uno_large_stride(const struct uno_coll *u)
{
    return u->n <= UNO_SEG_SLOT / 128 ? 64 : sizeof(struct uno_large_entry);
}

// In a broken communicator what others have there may be anything: this is looked at instead, and says nothing.
extern struct uno_large_entry uno_large_no_entry;

// The stamp's line tells, in more than two ranks, how large the slot is that begins with the table.
static inline struct uno_large_entry *uno_large_entry_of(const struct uno_large *j, int r, uint64_t k, int i)
{
    bool lone = uno_large_is_lone(j);
    if (__builtin_expect(j->u->comm->broken, 0) && r != j->u->me) return &uno_large_no_entry;
    char *line = uno_seg_slot(j->u, r, k, sizeof(struct uno_large_entry));
    char *table = lone ? line : uno_seg_slot(j->u, r, k, *(size_t *)(void *)line);
    return (struct uno_large_entry *)(void *)(table + (lone ? 0 : (size_t)i * uno_large_stride(j->u)));
}

// The bytes of an entry's line that the entry and its block share.
static inline size_t uno_large_line(const struct uno_large *j)
{
    return uno_large_is_lone(j) ? UNO_SEG_INLINE : uno_large_stride(j->u);
}

// Whether a block shares the stamp's line with its entry.
static inline bool uno_large_is_beside(size_t bytes)
{
    return sizeof(struct uno_large_entry) + bytes <= UNO_SEG_INLINE;
}

// The bytes of a block in a slot.
static inline size_t uno_large_padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

// Claims the slot that holds a table and so many bytes of blocks; of more than a slot has, some go elsewhere.
void uno_large_lay_table(struct uno_large *j, uint64_t k, size_t blocks);
// The same without a table: the entry lies beside the stamp.
void uno_large_lay_block(struct uno_large *j, uint64_t k, size_t bytes);

// Until rank r has posted such an entry; a short block, if it is as long as it may be, comes with it.
void uno_large_wait_beside(const struct uno_large *j, int r, uint64_t k);

// Fills an entry for what rank i gets, and a place for its bytes: right behind the entry, of whose line `line` bytes
// are the entry's, or in what is left of the slot, or in the wide slot. (No blocks are passed here nor to take: one
// written in words and read wider would wait for the stores to the entries before it, whose lines others hold.)
void uno_large_describe(struct uno_large *j, int i, struct uno_large_entry *e, size_t line);
// e: in rank r's slot. room: bytes that there are for it. Nothing fits in a broken communicator.
int uno_large_truncated(int r, size_t bytes, size_t room);    // the error of a block that does not fit
bool uno_large_fits(struct uno_large *j, int r, const struct uno_large_entry *e, size_t room);
// at: where the bytes go, NULL when there was no memory for them; the sender writes its share of them itself.
void uno_large_take_bytes(struct uno_large *j, int r, const struct uno_large_entry *e, char *at);
void uno_large_take_block(struct uno_large *j, int r, const struct uno_large_entry *e);

// ---- how ranks share a reduction ----

// Whether the root of a reduce had better combine all: its n - 1 calls copy all bytes then, instead of a part of 1 / n,
// and nobody needs another call to hand a part to it. That is worth it up to n / (n - 1)^2 calls' worth of bytes, where
// they are not in slots already.
bool uno_large_by_root(const struct uno_coll *u, const struct uno_call *c);

// Where part i of the vector begins, which rank i combines (of n: the end): whole cache lines, so that ranks do not
// write the same one. To read and combine an element costs about 3 for each other rank, to hand it out 2: the root of a
// reduce need not, and takes so much more.
MPI_Count uno_large_part(const struct uno_coll *u, const struct uno_call *c, int i);

// ---- the collectives ----

void uno_large_allgather(struct uno_large *j);
void uno_large_alltoall(struct uno_large *j);
void uno_large_alltoallv(struct uno_large *j);
void uno_large_gather(struct uno_large *j);
void uno_large_gatherv(struct uno_large *j);
void uno_large_scatter(struct uno_large *j);
void uno_large_scatterv(struct uno_large *j);
