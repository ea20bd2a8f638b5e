// SPDX-License-Identifier: BSD-3-Clause
// How a partitioned message is cut into chunks, and which way they go inside a host. Called by partitioned.c,
// part_match.c and part_shared.c, with the lock held.
#include "base/huge.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "p2p/part.h"

#define SHORT_CHUNK ((size_t)256)         // of short messages: at least, and a quarter of the whole
#define LONG_CHUNK ((size_t)256 << 10)    // of others (bench: part-lat --parts 8,32,128 --sizes 64K:8M)

static size_t held;    // the buffers' bytes of all partitioned requests of this process

void part_hold(const struct part *p, bool more)
{
    held += more ? p->bytes : -p->bytes;
}

// They leave the caches from one activation to the next, and are streamed, as those of other messages (Zen 4, 8
// requests of 4 MiB in turn: 8 to 16 GB/s; one: 47 to 31).
bool part_are_cold(void)
{
    return held >= uno_thresholds.streamed;
}

void part_use(const struct part *p)
{
    if (p->mode == PART_DIRECT) uno_huge_use(p->spec.buf, p->bytes);
}

// Where lines that another core has are dear, a stage, whose lines both sides keep, costs more than the ring, which
// leaves the reader's caches (Zen 4, 8 parts, 8 to 32 KiB: 6.5 to 8.2 GB/s and 9 to 16; 4 KiB the same, 1 KiB 2.7
// and 1.7).
enum part_mode part_mode_near(size_t bytes)
{
    const struct uno_thresholds *t = &uno_thresholds;
    if (t->grows ? bytes < t->turn_piece : bytes <= t->eager) return PART_STAGED;
    return bytes <= uno_thresholds_eager(t, uno_patience.crowded) ? PART_MESSAGES : PART_DIRECT;
}

void part_cut(struct part *p, size_t bytes, int partitions, int per_chunk)
{
    size_t one = partitions ? bytes / (size_t)partitions : 0;
    p->total = bytes;
    p->stage_piece = uno_thresholds.piece;
    p->alone = uno_patience.crowded ? uno_thresholds.alone_crowded : uno_thresholds.alone;
    p->per_chunk = per_chunk;
    p->chunks = partitions && per_chunk ? (partitions + per_chunk - 1) / per_chunk : 1;
    p->chunk_bytes = one * (size_t)per_chunk;
}

// How many partitions the sender puts in a chunk: 2^marks.shift per word of marks, some words per chunk.
int part_choose_cut(struct part *p, bool near)
{
    size_t quarter = p->bytes / 4 > SHORT_CHUNK ? p->bytes / 4 : SHORT_CHUNK;
    size_t want = !near || part_mode_near(p->bytes) == PART_DIRECT ? LONG_CHUNK : quarter;
    size_t one = p->partition_bytes ? p->partition_bytes : 1, n = (size_t)p->spec.partitions;
    p->marks.shift = 0;
    while (p->marks.shift < 6 && one << (p->marks.shift + 1) <= want) p->marks.shift++;
    size_t word = (size_t)1 << p->marks.shift, all = (n + word - 1) / word;
    p->words = all ? (int)all : 1;
    size_t words = want / (one * word) > 0 ? want / (one * word) : 1, most = PART_MAX_CHUNKS;
    if ((all + words - 1) / words > most) words = (all + most - 1) / most;
    if (words > (size_t)p->words || p->bytes == 0) words = (size_t)p->words;
    return (int)(words * word);
}
