// SPDX-License-Identifier: BSD-3-Clause
// Partitions between two processes of a host, without messages (part.h). Both sides map a block of the job's heap.
// Staged: the sender copies a chunk into its record, whose last word is the activation's number; the receiver copies it
// out. Direct: the sender publishes a chunk by its claim word (activation, next piece); then both sides claim pieces
// and copy them from memory to memory, the sender's threads from within Pready once the receiver has started, the
// receiver whenever it is inside MPI; `done` counts the pieces that are there.
//
// Always holds: both words of a chunk carry the number of the activation, so a late look of the other side at an
// earlier one claims nothing. The receiver takes pieces from the front, the sender from the back: where all is ready at
// once, each copies the same half every time, which stays in its core's cache.
#include "base/copy.h"
#include "base/fail.h"
#include "base/patience.h"
#include "base/wait.h"
#include "chan/door.h"
#include "chan/peer_memory.h"
#include "chan/self.h"
#include "p2p/part.h"

#define LOOKS_IN_ORDER 8
#define STAGES 8    // activations that may be on their way at once
#define PIECE_MAX ((size_t)512 << 10)
#define PIECES_PER_POLL 4
#define LEFT_ALONE_US 5    // after which the sender copies what the receiver could have copied

struct direct_chunk {
    _Atomic uint64_t claim;    // activation << 32 | pieces taken by the sender << 16 | by the receiver
    _Atomic uint64_t done;     // activation << 32 | pieces that are there
};

struct part_block {
    _Atomic uint32_t started, consumed;    // written by the receiver: activations begun, and copied out
    char pad1[UNO_LINE - 8];
    _Atomic uint32_t failed, users;    // failed: the error class of a copy
    char pad2[UNO_LINE - 8];
    union {
        struct direct_chunk chunk[PART_MAX_CHUNKS];
        char stage[UNO_HEAP_CHUNK - 2 * UNO_LINE];
    };
};
_Static_assert(sizeof(struct part_block) == UNO_HEAP_CHUNK, "a block is one chunk of the heap");

static size_t chunk_size(const struct part *p, int k)
{
    return k == p->chunks - 1 ? p->total - (size_t)k * p->chunk_bytes : p->chunk_bytes;
}

// Many chunks are shared out one by one; a single one is halved (bench: part-lat --parts 1,8,128 --sizes 64K:8M).
static size_t piece_of(const struct part *p, size_t bytes)
{
    size_t half = p->chunks > 1 || bytes <= p->alone ? bytes : (bytes / 2 + 4095) & ~(size_t)4095;
    size_t least = bytes / PART_MAX_CHUNKS, most = least > PIECE_MAX ? least : PIECE_MAX;
    return half < most ? half : most;
}

static uint32_t pieces_of(const struct part *p, size_t bytes)
{
    size_t piece = piece_of(p, bytes);
    return (uint32_t)((bytes + piece - 1) / piece);
}

static void lay_out_part(struct part *p)
{
    p->pieces[0] = pieces_of(p, p->chunk_bytes);
    p->pieces[1] = pieces_of(p, chunk_size(p, p->chunks - 1));
    p->block = uno_job_chunk(uno_chan_self.job, p->block_at);
    uno_dump_keep(p->block, sizeof *p->block);
    size_t piece = p->chunk_bytes < p->stage_piece ? p->chunk_bytes : p->stage_piece;
    p->record = (piece + sizeof(uint32_t) + UNO_LINE - 1) / UNO_LINE * UNO_LINE;
    p->records = (int)((p->chunk_bytes + p->stage_piece - 1) / p->stage_piece);
    size_t fit = sizeof p->block->stage / (p->record * (size_t)p->records * (size_t)p->chunks);
    p->stages = fit < STAGES ? (uint32_t)fit : STAGES;
}

enum part_mode part_shared_choose(struct part *p)
{
    enum part_mode mode = part_mode_near(p->total);
    if (mode == PART_MESSAGES || (mode == PART_DIRECT && part_are_cold())) return PART_MESSAGES;
    p->pid = uno_peer_memory_pid(uno_local_of(p->proc));
    if (p->chunks > PART_MAX_CHUNKS || (mode == PART_DIRECT && p->pid == 0)) return PART_MESSAGES;
    int64_t at = uno_job_take(uno_chan_self.job, 1);
    if (at < 0) return PART_MESSAGES;
    p->block_at = (size_t)at;
    lay_out_part(p);
    // Relaxed: the answer to the sender publishes it.
    atomic_store_explicit(&p->block->users, 2, memory_order_relaxed);
    if (mode == PART_DIRECT || p->stages > 0) return mode;
    part_shared_leave(p), part_shared_leave(p);
    return PART_MESSAGES;
}

void part_shared_join(struct part *p)
{
    p->pid = uno_peer_memory_pid(uno_local_of(p->proc));
    lay_out_part(p);
}

void part_shared_leave(struct part *p)
{
    if (!p->block) return;
    // Acq_rel: pairs with itself: the last one comes after the other's last look at the block.
    if (atomic_fetch_sub_explicit(&p->block->users, 1, memory_order_acq_rel) == 1)
        uno_job_give(uno_chan_self.job, p->block_at, 1);
}

// Wakes the other process if it sleeps. Without the lock, except for what a sleeper costs.
static void ring(const struct part *p)
{
    uint32_t local = (uint32_t)uno_local_of(p->proc);
    struct uno_door *door = uno_job_door(uno_chan_self.job, local);
    // Relaxed: as in uno_door_ring.
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&door->mode, memory_order_relaxed) == UNO_DOOR_AWAKE, 1)) return;
    uno_lock();
    uno_door_ring(door);
    uno_unlock();
}

// The first record of chunk k in this activation.
static char *record_of(const struct part *p, int k)
{
    return p->block->stage +
           ((size_t)(p->turn % p->stages) * (size_t)p->chunks + (size_t)k) * (size_t)p->records * p->record;
}

static _Atomic uint32_t *stamp_of(const struct part *p, char *record)
{
    return (_Atomic uint32_t *)(void *)(record + p->record - sizeof(uint32_t));
}

void part_shared_start(struct part *p)
{
    p->turn++;
    p->first = 0;
    if (p->mode == PART_DIRECT && p->send) atomic_store_explicit(&p->last_put, uno_ticks(), memory_order_relaxed);
    if (p->send) {
        part_count_send(p->bytes);
        return;
    }
    // Release: pairs with the acquire in part_direct_put; what the buffer held was read by now.
    atomic_store_explicit(&p->block->started, p->turn, memory_order_release);
    if (p->mode == PART_DIRECT) ring(p);
}

// ---- staged ----

bool part_stage_free(struct part *p)
{
    if (p->turn - p->consumed <= p->stages) return true;
    // Acquire: pairs with the release in stage_poll; the receiver no longer reads what we overwrite.
    p->consumed = atomic_load_explicit(&p->block->consumed, memory_order_acquire);
    return p->turn - p->consumed <= p->stages;
}

void part_stage_put(struct part *p, int k)
{
    const char *from = (const char *)p->spec.buf + (size_t)k * p->chunk_bytes;
    char *record = record_of(p, k);
    for (size_t left = chunk_size(p, k), n; left > 0; left -= n, from += n, record += p->record) {
        n = left < p->stage_piece ? left : p->stage_piece;
        uno_copy_out(record, from, n, stamp_of(p, record));
        // Release: pairs with the acquire in take_chunk.
        atomic_store_explicit(stamp_of(p, record), p->turn, memory_order_release);
    }
    ring(p);
}

// Chunk k, if it has come. The rest of one that has begun will be there, unless the sender lost its core.
static bool take_chunk(struct part *p, int k)
{
    char *to = (char *)(uintptr_t)p->spec.buf + (size_t)k * p->chunk_bytes, *record = record_of(p, k), *first = record;
    for (size_t left = chunk_size(p, k), n; left > 0; left -= n, to += n, record += p->record) {
        // Acquire: pairs with the release in part_stage_put.
        for (struct uno_patience w = {0}; atomic_load_explicit(stamp_of(p, record), memory_order_acquire) != p->turn;) {
            if (record == first || uno_local_is_dead(uno_local_of(p->proc))) return false;
            uno_patience_copy(&w);
        }
        n = left < p->stage_piece ? left : p->stage_piece;
        uno_copy_in(to, record, n);
    }
    return true;
}

// A look takes the line away from the sender: mostly at the next chunk alone, sometimes at all.
static int stage_poll(struct part *p)
{
    int n = 0;
    bool all = ++p->looks % LOOKS_IN_ORDER == 0;
    for (int k = p->first; k < p->chunks; k++) {
        // Relaxed: under the lock; the release below is for uno_part_arrived.
        if (atomic_load_explicit(&p->left[k], memory_order_relaxed)) continue;
        if (!take_chunk(p, k)) {
            if (all) continue;
            break;
        }
        // Release: pairs with the acquire in part_shared_arrived.
        atomic_store_explicit(&p->left[k], 1, memory_order_release);
        n++;
    }
    while (p->first < p->chunks && atomic_load_explicit(&p->left[p->first], memory_order_relaxed)) p->first++;
    if (p->first < p->chunks) return n;
    // Release: pairs with the acquire in part_stage_free.
    atomic_store_explicit(&p->block->consumed, p->turn, memory_order_release);
    ring(p);
    return n;
}

// ---- direct ----

// Of chunk k.
static uint32_t pieces_in(const struct part *p, int k)
{
    return p->pieces[k == p->chunks - 1];
}

static uint64_t word_of(const struct part *p, uint32_t pieces)
{
    return (uint64_t)p->turn << 32 | pieces;
}

static void copy_piece(struct part *p, size_t at, size_t n)
{
    int err = uno_peer_memory_move(p->pid, (char *)(uintptr_t)p->spec.buf + at, p->peer_buf + at, n, !p->send);
    if (!err) return;
    uno_log(1, "%s", uno_fail_text());
    // Relaxed: published by the count of pieces.
    atomic_store_explicit(&p->block->failed, (uint32_t)err, memory_order_relaxed);
}

// Claims one piece of chunk k. False: none is left.
static bool claim_piece(struct part *p, int k, uint32_t *piece)
{
    struct direct_chunk *c = &p->block->chunk[k];
    uint32_t pieces = pieces_in(p, k);
    // Acquire: pairs with the release in part_direct_put; of the exchange too. Claims only need to be distinct.
    uint64_t now = atomic_load_explicit(&c->claim, memory_order_acquire);
    for (;;) {
        uint32_t mine = (uint32_t)now & 0xffff, theirs = (uint32_t)now >> 16;
        if (now >> 32 != p->turn || mine + theirs >= pieces) return false;
        *piece = p->send ? pieces - 1 - theirs : mine;
        if (atomic_compare_exchange_weak_explicit(&c->claim, &now, now + (p->send ? 1 << 16 : 1), memory_order_acquire,
                                                  memory_order_acquire))
            return true;
    }
}

// Copies up to `most` pieces of chunk k. Returns how many.
static int copy_pieces(struct part *p, int k, int most)
{
    size_t bytes = chunk_size(p, k), piece = piece_of(p, bytes);
    uint32_t i;
    int n = 0;
    for (; n < most && claim_piece(p, k, &i); n++) {
        size_t at = i * piece;
        copy_piece(p, (size_t)k * p->chunk_bytes + at, bytes - at < piece ? bytes - at : piece);
        // Acq_rel: pairs with the acquire in has_arrived; a thread that sees the full count sees all copies.
        uint64_t done = atomic_fetch_add_explicit(&p->block->chunk[k].done, 1, memory_order_acq_rel) + 1;
        if ((uint32_t)done == pieces_in(p, k)) ring(p);
    }
    return n;
}

static bool has_arrived(const struct part *p, int k)
{
    // Acquire: pairs with the count in copy_pieces. A sender that is at its next activation has seen the end of ours.
    uint64_t done = atomic_load_explicit(&p->block->chunk[k].done, memory_order_acquire);
    return done == word_of(p, pieces_in(p, k)) || (int32_t)((uint32_t)(done >> 32) - p->turn) > 0;
}

// Sender: the receiver had time to take what was ready, if it is inside MPI.
static bool left_alone(struct part *p)
{
    // Relaxed: a hint.
    return uno_ticks() - atomic_load_explicit(&p->last_put, memory_order_relaxed) > LEFT_ALONE_US * uno_ticks_per_us();
}

// Sender: copies what is left, from the back to chunk `least`. Returns how many pieces.
static int help(struct part *p, int least, int most)
{
    int n = 0;
    for (int k = p->chunks - 1; k >= least && n < most; k--) n += copy_pieces(p, k, most - n);
    return n;
}

// The receiver, which polls, takes what becomes ready first; this thread copies the later half, and more if the
// receiver seems to be away: what was left to it some time ago is still there.
void part_direct_put(struct part *p, int k)
{
    struct direct_chunk *c = &p->block->chunk[k];
    // Acquire: pairs with the release in part_shared_start.
    bool started = atomic_load_explicit(&p->block->started, memory_order_acquire) == p->turn;
    // Release: pairs with has_arrived of a receiver that has not looked since the end of the activation before.
    atomic_store_explicit(&c->done, word_of(p, 0), memory_order_release);
    // Release: pairs with the acquire in claim_piece: the partitions are written.
    atomic_store_explicit(&c->claim, word_of(p, 0), memory_order_release);
    ring(p);
    if (!started) return;
    if (left_alone(p)) help(p, 0, INT32_MAX);    // `first` belongs to the thread that has the lock
    if (k >= (p->chunks + 1) / 2 || pieces_in(p, k) > 1) copy_pieces(p, k, INT32_MAX);
    // Relaxed: a hint.
    atomic_store_explicit(&p->last_put, uno_ticks(), memory_order_relaxed);
}

static int sender_poll(struct part *p)
{
    // Acquire: pairs with the release in part_shared_start.
    if (atomic_load_explicit(&p->block->started, memory_order_acquire) != p->turn) return 0;
    return p->pieces[1] > 1 || p->chunks > 1 || left_alone(p) ? help(p, p->first, PIECES_PER_POLL) : 0;
}

static int direct_poll(struct part *p)
{
    int n = p->send ? sender_poll(p) : 0;
    for (int k = p->first; !p->send && k < p->chunks && n < PIECES_PER_POLL; k++)
        n += copy_pieces(p, k, PIECES_PER_POLL - n);
    while (p->first < p->chunks && has_arrived(p, p->first)) p->first++;
    return n;
}

// ---- both ----

bool part_shared_arrived(struct part *p, int k)
{
    // Acquire: pairs with the release in stage_poll.
    return p->mode == PART_STAGED ? atomic_load_explicit(&p->left[k], memory_order_acquire) : has_arrived(p, k);
}

int part_shared_poll(struct part *p, bool *ended)
{
    int n = p->mode == PART_STAGED ? stage_poll(p) : direct_poll(p);
    *ended = p->first == p->chunks;
    return n;
}

int part_shared_error(struct part *p)
{
    // Relaxed: published by the count of pieces.
    int err = (int)atomic_load_explicit(&p->block->failed, memory_order_relaxed);
    return err == MPI_SUCCESS ? err : uno_fail(err, "the memory of a partition could not be read or written");
}
