// SPDX-License-Identifier: BSD-3-Clause
// Large collectives in a host (large.h): what they share, buffers lent and borrowed, one address of each rank.
//
// Always holds: a buffer whose address was told is left alone until every rank that uses it has said done; data that
// are not plain travel as a packed copy. An error is kept and the protocol goes on, so that no rank is left waiting.
#include "coll/large.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/huge.h"
#include "base/thresholds.h"
#include "coll/shm.h"
#include "core/pack.h"

#define LARGE_BLOCK (256 << 10)    // several of these fill a second-level cache (bench: alltoall --sizes 64K:4M)
#define SHARE_MIN 4096

#define KEPT (8 << 20)    // bytes of copies that are kept for later calls
#define LEAST_COPY 4096

// Packed copies of blocks that are not plain, given back at the end. Some are kept: memory that the system gives anew
// in each call costs a fault per page (4 ranks on two cores, alltoall of 64 KiB in columns 310 to 75 us).
struct uno_large_copy {
    struct uno_large_copy *next;
    size_t room;
    struct uno_block unpack_to;
    char data[];
};

static struct uno_large_copy *kept;
static size_t kept_bytes;

static struct uno_large_copy *take_kept(size_t bytes)
{
    for (struct uno_large_copy **at = &kept, *p; (p = *at); at = &p->next) {
        if (p->room < bytes || p->room / 4 > bytes + LEAST_COPY) continue;
        *at = p->next;
        kept_bytes -= p->room;
        return p;
    }
    return NULL;
}

static void give_copy(struct uno_large_copy *p)
{
    if (kept_bytes + p->room > KEPT) {
        free(p);
        return;
    }
    kept_bytes += p->room;
    p->next = kept;
    kept = p;
}

void uno_large_keep(struct uno_large *j, int err)
{
    if (err && !j->error) j->error = err;
}

static char *new_copy(struct uno_large *j, size_t bytes, struct uno_block unpack_to)
{
    struct uno_large_copy *p = take_kept(bytes);
    if (!p) {
        size_t room = bytes + bytes / 8 < LEAST_COPY ? LEAST_COPY : bytes + bytes / 8;
        p = malloc(sizeof *p + room);
        if (!p) {
            uno_large_keep(j, uno_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of packed data", bytes));
            return NULL;
        }
        p->room = room;
    }
    p->unpack_to = unpack_to;
    p->next = j->copies;
    j->copies = p;
    return p->data;
}

const char *uno_large_readable(struct uno_large *j, struct uno_block b)
{
    if (uno_large_is_plain(b)) return b.at;
    char *p = new_copy(j, uno_block_bytes(b), (struct uno_block){NULL, 0, NULL});
    struct uno_packer from;
    uno_packer_init(&from, b.at, b.count, b.type);
    if (p) uno_pack(&from, p, from.total);
    return p;
}

char *uno_large_writable(struct uno_large *j, struct uno_block b)
{
    return uno_large_is_plain(b) ? b.at : new_copy(j, uno_block_bytes(b), b);
}

const char *uno_large_all_readable(struct uno_large *j)
{
    struct uno_block first = uno_send_block(j->c, 0);
    return uno_large_readable(j, (struct uno_block){first.at, first.count * j->u->n, first.type});
}

void uno_large_drop_copies(struct uno_large *j)
{
    for (struct uno_large_copy *p = j->copies; p; p = p->next) p->unpack_to.count = 0;
}

int uno_large_finish(struct uno_large *j)
{
    for (struct uno_large_copy *p = j->copies, *next; p; p = next) {
        next = p->next;
        if (p->unpack_to.count) {
            struct uno_packer to;
            uno_packer_init(&to, p->unpack_to.at, p->unpack_to.count, p->unpack_to.type);
            uno_unpack(&to, p->data, to.total);
        }
        give_copy(p);
    }
    return j->error;
}

// As much as keeps all ranks busy equally long. A root makes n - 1 calls where the others make one; a call costs about
// as much as call_worth bytes. Nothing up to the bytes that one rank had better copy alone, and where ranks outnumber
// cores: there the others have the root's core, too, and a share only makes them wait for the root.
size_t uno_large_root_share(const struct uno_coll *u, size_t bytes)
{
    if (u->crowded || bytes <= u->alone) return 0;
    size_t n = (size_t)u->n, calls = (n - 2) * u->call_worth,
           share = bytes > calls ? (bytes - calls) / n / UNO_SHARE_UNIT * UNO_SHARE_UNIT : 0;
    return share < SHARE_MIN ? 0 : share;
}

size_t uno_large_late_share(const struct uno_coll *u, size_t bytes, bool gathered)
{
    if (gathered) return 0;
    return uno_large_root_share(u, bytes) / UNO_SHARE_UNIT * (size_t)uno_thresholds.late / 100 * UNO_SHARE_UNIT;
}

void uno_large_post(struct uno_coll *u, uint64_t k, struct uno_large_place mine)
{
    memcpy(uno_seg_slot(u, u->me, k, sizeof mine), &mine, sizeof mine);
    uno_seg_post(u, k);
}

uint64_t uno_large_tell_place(struct uno_coll *u, struct uno_large_place mine)
{
    uint64_t k = uno_seg_begin(u, sizeof mine);
    uno_large_post(u, k, mine);
    return k;
}

uint64_t uno_large_tell(struct uno_coll *u, const void *at, size_t bytes)
{
    uno_huge_use(at, bytes);
    return uno_large_tell_place(u, (struct uno_large_place){.addr = (uint64_t)(uintptr_t)at});
}

struct uno_large_place uno_large_told(struct uno_coll *u, int r, uint64_t k)
{
    struct uno_large_place p;
    uno_seg_wait(u, r, k);
    memcpy(&p, uno_seg_slot(u, r, k, sizeof p), sizeof p);
    return p;
}

// Blocks that fill a cache are walked to and fro: the own one first in one call, last in the next, so that what is
// still there from the last call is used first. (Counted by calls: phases would be even for ever with a barrier before
// each.)
bool uno_large_own_last(struct uno_coll *u, size_t bytes)
{
    return bytes >= LARGE_BLOCK && u->walks++ & 1;
}

// Blocks of the v forms that would go through slots, wide ones too, if all were alike do so here (8 KiB of 2 ranks:
// scatterv 1.54 us through the slot, 16 KiB 1.08 by copies); those that would go by messages, which need no tables, do
// not. What fits beside a stamp never does, whatever a table says: its rank writes it there, and the root of a gatherv
// must not expect it elsewhere.
static size_t most_in_slot(struct uno_coll *u, enum uno_coll_kind kind)
{
    enum uno_coll_kind even = kind == UNO_SCATTERV ? UNO_SCATTER : kind == UNO_GATHERV ? UNO_GATHER : UNO_ALLTOALL;
    size_t from = uno_large_slots_end(u, even), room = u->room;
    if (from > UNO_SEG_SLOT + 1 && uno_seg_widen(u, UNO_SEG_SLOT + 1)) {
        // As many as there are peers: some in the slot and some not would be slower than all either way.
        room = kind == UNO_GATHERV ? u->room : u->room / ((size_t)u->n - 1);
        if (room < UNO_SEG_SLOT) room = UNO_SEG_SLOT;
    }
    if (from > room) return room;
    return from > UNO_SEG_INLINE ? from - 1 : UNO_SEG_INLINE;
}

int uno_large_move(struct uno_coll *u, const struct uno_call *c)
{
    struct uno_large j = {.u = u, .c = c, .most = most_in_slot(u, c->kind)};
    switch (c->kind) {
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: uno_large_allgather(&j); break;
    case UNO_ALLTOALL: uno_large_alltoall(&j); break;
    case UNO_SCATTER: uno_large_scatter(&j); break;
    case UNO_GATHER: uno_large_gather(&j); break;
    case UNO_SCATTERV: uno_large_scatterv(&j); break;
    case UNO_GATHERV: uno_large_gatherv(&j); break;
    default: uno_large_alltoallv(&j); break;
    }
    return uno_large_finish(&j);
}
