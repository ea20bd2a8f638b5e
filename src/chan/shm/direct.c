// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by cross-memory attach in which both ranks copy. The sender offers a descriptor (ring.h); the receiver
// names the destination and says GO; from then on whichever of the two is inside MPI claims pieces, the receiver
// reading, the sender writing. The rank that ends the last piece wakes the other. Without permission for such copies,
// offer declines, and p2p streams instead.
#include <mpi.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/huge.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/thresholds.h"
#include "base/wait.h"
#include "chan/door.h"
#include "chan/peer_memory.h"
#include "chan/self.h"
#include "chan/shm/ring.h"

static struct uno_param piece_max = UNO_PARAM_INT(
    "shm_piece", 1 << 20, 4096, 1 << 30, "most bytes that one rank claims at a time when both copy a large message");
UNO_PARAM_DECLARE(piece_max);

#define PIECES_PER_POLL 4
#define UNTIMED 3                       // copies after one that was cheap
#define GATHERED (UINT32_C(1) << 31)    // in uno_rts.direct: the one run of the sender lies in huge pages

static int free_desc(struct shm_link *l)
{
    if (l->desc_used != UINT64_MAX) return __builtin_ctzll(~l->desc_used);
    return -1;
}

static bool reaches_memory(struct shm_link *l)
{
    return l->home ? l->cma : uno_peer_memory_pid((int)l->local) != 0;
}

// Whether two ranks that copy are no faster than one, for which the ring is as good: memory keeps both waiting, or they
// have one processor, where that gains anything of buffers in the caches. The ring's lines stay in the caches, and what
// is taken out of them is written past these (Xeon, windows of 1 MiB, 4 ranks on two cores 15 to 8.9 ms, both ways 31
// to 20; 2 ranks both ways 15 to 12; a message of 64 MiB 8.5 to 6.6).
static bool is_for_one(const void *at, size_t n)
{
    if (uno_patience.crowded && uno_thresholds.streamed < UNO_THRESHOLD_NEVER) return true;
    return uno_huge_is_cold(at) || (!uno_patience.crowded && n >= uno_huge_cold_after() / 2);
}

// Where streaming through the ring beats looking up a small page for every 4 KiB, buffers that are used again and again
// are gathered all the same, but not if they leave the caches meanwhile: there the ring stays ahead (bench: lat --sizes
// 256K:64M, bw --sizes 1M:4M). Whether the buffer lies in huge pages.
static bool use(const void *at, size_t n)
{
    bool streamed = n <= uno_thresholds.paged || is_for_one(at, n);
    return uno_huge_use_hot(at, n, streamed ? uno_thresholds.cached / 2 : SIZE_MAX);
}

int shm_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    struct shm_link *l = (struct shm_link *)link;
    int i = free_desc(l);
    if (i < 0 || l->lost || !reaches_memory(l)) return UNO_DECLINED;
    if (!l->tx && shm_guest_open(l) != MPI_SUCCESS) return UNO_DECLINED;
    struct shm_desc *d = &l->tx->desc[i];
    // Acquire: pairs with the release in receiver_end; a slow receiver may still look at its last copy.
    unsigned state = atomic_load_explicit(&d->state, memory_order_acquire);
    if (state != DESC_FREE && state != DESC_LEFT) return UNO_DECLINED;
    if (mem->runs > 1 && !shm_layouts_begin(l, i, mem)) return UNO_DECLINED;
    const void *from = mem->runs > 1 ? (const void *)mem->run : mem->run->at;
    bool gathered = mem->runs == 1 && use(from, rts->bytes);
    d->src = (uint64_t)(uintptr_t)from;
    d->bytes = rts->bytes;
    d->took = 0;
    l->send_token[i] = rts->token;
    atomic_store_explicit(&d->failed, 0, memory_order_relaxed);
    atomic_store_explicit(&d->next, 0, memory_order_relaxed);
    atomic_store_explicit(&d->done, 0, memory_order_relaxed);
    // Relaxed: the message with the descriptor's index, sent after, publishes it.
    atomic_store_explicit(&d->state, DESC_OFFERED, memory_order_relaxed);
    l->desc_used |= 1ULL << i;
    rts->addr = d->src;
    rts->desc = (uint32_t)i;
    rts->direct = (uint32_t)mem->runs | (gathered ? GATHERED : 0);
    return MPI_SUCCESS;
}

// Whether messages go both ways at once: each rank is busy with one of its own.
static bool is_exchange(const struct shm_link *l)
{
    return l->desc_used && !uno_patience.crowded;
}

// Whether the receiver copies all. Where ranks share processors the sender is seldom there to copy its half at once,
// and never if it is this processor that both share. In an exchange within the caches, halves of two messages are as
// much work as one message, and have more ends (bench: pingping, exchange --sizes 256K:4M; 256 KiB 13.4 to 10.0 and 28
// to 21 us), unless small pages are to be looked up (512 KiB 65 to 81).
static bool copies_alone(const struct shm_link *l, bool gathered, const void *to, size_t n)
{
    if (n <= uno_thresholds.alone || (gathered && is_exchange(l) && !is_for_one(to, n))) return true;
    return uno_patience.crowded && (n <= uno_thresholds.alone_crowded || uno_patience_beside(l->door));
}

// Half of the message each: a system call costs as much as 4 KiB of copying, so fewer pieces win (bench: lat --sizes
// 16K:4M).
static size_t piece_of(size_t bytes)
{
    size_t half = (bytes / 2 + 4095) & ~(size_t)4095;
    return half < (size_t)piece_max.num ? half : (size_t)piece_max.num;
}

// A copy failed: the message is lost, and both sides say so.
static void note_failure(struct shm_desc *d, int err)
{
    uno_log(1, "%s", uno_fail_text());
    // Relaxed: published by what says that the copies have ended.
    atomic_store_explicit(&d->failed, (uint16_t)err, memory_order_relaxed);
}

// The next piece's place; false: none is left. The receiver took its first one before it said GO (shm_accept).
static bool claim_piece(struct shm_link *l, struct shm_desc *d, size_t piece, bool reading, uint64_t *at)
{
    uint64_t first = reading ? 1ULL << (d - l->rx->desc) : 0;
    if (l->first & first) {
        l->first &= ~first;
        *at = 0;
        return true;
    }
    // Relaxed: claims only need to be distinct. The look before spares the other side's line.
    if (atomic_load_explicit(&d->next, memory_order_relaxed) >= d->bytes) return false;
    *at = atomic_fetch_add_explicit(&d->next, piece, memory_order_relaxed);
    return *at < d->bytes;
}

// A copy of a size that would go through the ring if copies were dear is timed: *took, in sixteenths of what is usual;
// each fourth one, unless the last one in that direction took longer than usual (the clock takes 2 to 5 % of a
// message).
static int move(struct shm_link *l, void *mine, uint64_t theirs, size_t n, bool reading, uint32_t *took)
{
    bool timed = n <= l->eager_dear && l->eager_dear > l->eager && l->untimed[reading]-- == 0;
    uint64_t began = timed ? uno_ticks() : 0;
    int err = uno_peer_memory_move(l->board->pid, mine, theirs, n, reading);
    if (!timed) return err;
    uint32_t now = uno_peer_memory_took(uno_ticks() - began, n);
    *took = now;
    l->untimed[reading] = now <= SHM_DEAR_CHEAP ? UNTIMED : 0;
    return err;
}

static _Atomic uint64_t dear;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("shm_dear", &dear,
                     "times that copies across processes had become so dear that messages went through the ring"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

// Sender: what a message's copies took, its own and the receiver's; 0: it was not timed.
static void note_took(struct shm_link *l, uint32_t took)
{
    if (!took || shm_dear_is(&l->dear)) return;
    shm_dear_note(&l->dear, took);
    if (!shm_dear_is(&l->dear)) return;
    uno_count_add(&dear, 1);
    shm_adapt(l);
}

enum copied { COPIED_NOTHING, COPIED_SOME, COPIED_LAST };

// Claims and copies pieces until none is left or the turn is over. COPIED_LAST: this side ended the last one.
static enum copied copy_pieces(struct shm_link *l, struct shm_desc *d, const struct shm_layouts *y, bool reading)
{
    int pid = l->board->pid;
    size_t piece = piece_of(d->bytes);
    for (int turn = 0; turn < PIECES_PER_POLL; turn++) {
        uint64_t at;
        uint32_t took = 0;
        if (!claim_piece(l, d, piece, reading, &at)) return turn ? COPIED_SOME : COPIED_NOTHING;
        size_t n = d->bytes - at < piece ? d->bytes - at : piece;
        uint64_t here = (reading ? d->dst : d->src) + at, there = (reading ? d->src : d->dst) + at;
        int err = y ? shm_copy_layouts(pid, y, at, n, reading)
                    : move(l, (void *)(uintptr_t)here, there, n, reading, reading ? &d->took : &took);
        if (err) note_failure(d, err);
        note_took(l, took);
        // Acq_rel: pairs with the acquire in ended(); a thread that sees the full count sees all copies.
        if (atomic_fetch_add_explicit(&d->done, n, memory_order_acq_rel) + n == d->bytes) return COPIED_LAST;
    }
    return COPIED_SOME;
}

static bool ended(struct shm_desc *d)
{
    // Acquire: pairs with the count in copy_pieces.
    return atomic_load_explicit(&d->done, memory_order_acquire) == d->bytes;
}

// The receiver takes the offer, unless the sender has withdrawn its memory since.
static bool take_offer(struct shm_desc *d, enum desc_state as)
{
    uint16_t was = DESC_OFFERED;
    // Release: pairs with the acquire in sender_poll and shm_offer: what was written into the descriptor is there. It
    // pairs with shm_replace too: what was read before a success was the sender's.
    // Relaxed where it fails: what was read is not used.
    return atomic_compare_exchange_strong_explicit(&d->state, &was, (uint16_t)as, memory_order_release,
                                                   memory_order_relaxed);
}

// A message that one side copies: the receiver reads it at once, from what the offer says, and touches the descriptor
// only to end it. False: the memory went away meanwhile, and what was read is nothing.
static bool copy_alone(struct shm_link *l, const struct uno_rts *rts, void *dst, size_t n, uint64_t token)
{
    struct shm_desc *d = &l->rx->desc[rts->desc];
    if (n > uno_thresholds.alone) uno_huge_use(dst, n);
    int err = move(l, dst, rts->addr, n, true, &d->took);
    if (err) note_failure(d, err);
    if (!take_offer(d, DESC_LEFT)) return false;
    if (l->polling)
        l->owes_ring = true;
    else
        uno_door_ring(l->door);
    uno_direct_done(token, n, err);
    return true;
}

static void receiver_end(struct shm_link *l, struct shm_desc *d, int i)
{
    uint64_t token = l->recv_token[i], bytes = d->bytes;
    int err = (int)atomic_load_explicit(&d->failed, memory_order_relaxed);
    l->copying &= ~(1ULL << i);
    shm_layouts_forget(l, SHM_DESCS + i);
    // Release: pairs with the acquire in shm_offer: the descriptor may be used again.
    atomic_store_explicit(&d->state, DESC_LEFT, memory_order_release);
    uno_direct_done(token, bytes, err);
}

static int receiver_poll(struct shm_link *l, int i)
{
    struct shm_desc *d = &l->rx->desc[i];
    enum copied got = copy_pieces(l, d, shm_layouts_of(l, SHM_DESCS + i), true);
    if (got == COPIED_LAST)
        uno_door_ring(l->door);
    else if (!ended(d))
        return got == COPIED_SOME;
    receiver_end(l, d, i);
    return 1;
}

// Sender: whether it can take part. When the receiver has a layout, or itself, it needs the receiver's list.
static bool knows_layouts(struct shm_link *l, const struct shm_desc *d, int i)
{
    if (shm_layouts_of(l, i)) return true;
    struct uno_run one = {(char *)(uintptr_t)d->src, d->bytes};
    if (!shm_layouts_begun(l, i)) {
        if (d->dst_runs <= 1) return true;
        if (!shm_layouts_begin(l, i, &(struct uno_mem){&one, 1})) return false;
    }
    return shm_layouts_fetch(l, i, &(struct uno_rts){.addr = d->dst, .direct = d->dst_runs, .bytes = d->bytes});
}

static int sender_poll(struct shm_link *l, int i)
{
    struct shm_desc *d = &l->tx->desc[i];
    // Acquire: pairs with the release in take_offer: dst and bytes are there.
    unsigned state = atomic_load_explicit(&d->state, memory_order_acquire);
    if (state == DESC_OFFERED || state == DESC_KEPT) return 0;
    if (state == DESC_GO) {
        enum copied got = knows_layouts(l, d, i) ? copy_pieces(l, d, shm_layouts_of(l, i), false) : COPIED_NOTHING;
        if (got == COPIED_LAST)
            uno_door_ring(l->door);
        else if (!ended(d))
            return got == COPIED_SOME;
    }
    note_took(l, d->took);
    shm_layouts_forget(l, i);
    l->desc_used &= ~(1ULL << i);
    uno_direct_done(l->send_token[i], d->bytes, (int)atomic_load_explicit(&d->failed, memory_order_relaxed));
    return 1;
}

int shm_direct_poll(struct shm_link *l)
{
    int n = 0;
    for (uint64_t bits = l->copying; bits; bits &= bits - 1) n += receiver_poll(l, __builtin_ctzll(bits));
    for (uint64_t bits = l->desc_used; bits; bits &= bits - 1) n += sender_poll(l, __builtin_ctzll(bits));
    return n;
}

void shm_direct_lose(struct shm_link *l, int err)
{
    uint64_t receives = l->copying, sends = l->desc_used;
    l->copying = l->desc_used = l->first = 0;
    for (uint64_t bits = receives; bits; bits &= bits - 1) {
        int i = __builtin_ctzll(bits);
        shm_layouts_forget(l, SHM_DESCS + i);
        uno_direct_done(l->recv_token[i], 0, err);
    }
    for (uint64_t bits = sends; bits; bits &= bits - 1) {
        int i = __builtin_ctzll(bits);
        shm_layouts_forget(l, i);
        uno_direct_done(l->send_token[i], 0, err);
    }
}

// Receiver: gets the sender's list when either side has a layout.
static bool learn_layouts(struct shm_link *l, const struct uno_rts *rts, const struct uno_mem *mem)
{
    int i = SHM_DESCS + (int)rts->desc;
    if (rts->direct <= 1 && mem->runs <= 1) return true;
    if (shm_layouts_begin(l, i, mem) && shm_layouts_fetch(l, i, rts)) return true;
    shm_layouts_forget(l, i);
    return false;
}

// Whether a message had better come through the ring: both ranks are at it, and not both buffers lie in huge pages. A
// sender that is away would keep it waiting, where a copy needs one of the two alone; and so would this rank, outside a
// wait, but where ranks share processors nothing is gained by a copy meanwhile. In an exchange the ring is ahead as
// long as its lines cost little, and of buffers that have left the caches in huge pages, too (bench: exchange, bibw
// --sizes 64K:4M).
static bool streams_better(const struct shm_link *l, bool gathered, void *dst, size_t n)
{
    bool light_exchange = is_exchange(l) && uno_copy_is_light();
    if (n > uno_thresholds.paged && !is_for_one(dst, n) && !light_exchange) return false;
    if (!l->polling && !uno_patience.crowded) return false;
    if (!uno_patience_is_there(l->door, uno_patience.crowded || n >= uno_thresholds.help)) return false;
    return (light_exchange && is_for_one(dst, n)) || !use(dst, n) || !gathered;
}

int shm_accept(struct uno_link *link, const struct uno_rts *offer, const struct uno_mem *mem, uint64_t token)
{
    struct shm_link *l = (struct shm_link *)link;
    struct uno_rts plain_rts = *offer, *rts = &plain_rts;
    rts->direct &= ~GATHERED;
    if (l->lost || rts->desc >= SHM_DESCS || l->copying & 1ULL << rts->desc)
        return UNO_DECLINED;    // p2p then asks by token
    size_t room = uno_mem_bytes(mem), n = rts->bytes < room ? rts->bytes : room;
    bool plain = rts->direct <= 1 && mem->runs <= 1, gathered = offer->direct & GATHERED;
    if (plain && streams_better(l, gathered, mem->run->at, n)) return UNO_DECLINED;
    if (plain && copies_alone(l, gathered, mem->run->at, n))
        return copy_alone(l, rts, mem->run->at, n, token) ? MPI_SUCCESS : UNO_DECLINED;
    if (!learn_layouts(l, rts, mem)) return UNO_DECLINED;
    struct shm_desc *d = &l->rx->desc[rts->desc];
    const void *to = mem->runs > 1 ? (const void *)mem->run : mem->run->at;
    d->dst = (uint64_t)(uintptr_t)to;
    d->dst_runs = (uint32_t)mem->runs;
    if (mem->runs == 1) uno_huge_use(to, n);
    l->recv_token[rts->desc] = token;
    d->bytes = n;
    // A receiver that is polling copies the first piece right after, whoever of the two is quicker to claim: each
    // side's half then stays in its core's cache (bench: lat --sizes 64K,1M). One that is not may be away for long, and
    // claims nothing. Relaxed: take_offer publishes it.
    if (l->polling) atomic_store_explicit(&d->next, piece_of(n), memory_order_relaxed);
    if (!take_offer(d, DESC_GO)) {
        shm_layouts_forget(l, SHM_DESCS + (int)rts->desc);
        return UNO_DECLINED;
    }
    l->copying |= 1ULL << rts->desc;
    if (n >= uno_thresholds.help) uno_door_ring(l->door);    // a sender that sleeps comes and takes its half
    if (l->polling) l->first |= 1ULL << rts->desc;
    return MPI_SUCCESS;
}
