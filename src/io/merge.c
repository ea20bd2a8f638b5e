// SPDX-License-Identifier: BSD-3-Clause
// Merging lists of pieces (merge.h). Called by collect.c.
// Always holds: written parts of a block ascend in the file, and each byte of them is one that a member gave.
#include "io/merge.h"

#include <stdio.h>
#include <string.h>

#include "core/world.h"
#include "io/block.h"
#include "io/file.h"

#define GAP 2048    // bytes between pieces up to which reading them too is cheaper than a call

static void keep_error(struct uno_merge *m, int err)
{
    if (!err || m->err) return;
    m->err = err;
    snprintf(m->why, sizeof m->why, "%s", uno_fail_text());
}

int uno_merge_begin(struct uno_merge *m)
{
    m->eof = INT64_MAX;
    m->block = uno_block_make(m->file, m->write, UNO_BLOCK_BYTES);
    return m->block ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a block of a file");
}

// A block is moved without the lock: that may take a while. After an error nothing is moved any more.
static void flush(struct uno_merge *m)
{
    struct uno_block *b = m->block;
    if (m->err) {
        b->parts = b->moves = b->used = 0;
        return;
    }
    int depth = uno_lock_drop();
    int err = uno_block_pass(b);
    uno_lock_retake(depth);
    keep_error(m, err);
    if (b->eof < m->eof) m->eof = b->eof;
}

// A part of the block for n bytes at `at`, or the end of the last one. *n may become less. The place of its first byte.
// What several members read may begin before the last part: a piece that the former block could not hold goes on there.
static char *part_for(struct uno_merge *m, struct uno_block *b, int64_t at, size_t *n)
{
    struct uno_block_part *last = b->parts ? &b->part[b->parts - 1] : NULL;
    int64_t end = last ? last->at + (int64_t)last->bytes : 0;
    size_t room = b->room - b->used;
    bool near = last && at >= last->at && at < end + (m->sieve ? GAP : 1);
    if (!m->write && near) {    // what is there already, and a gap
        if (at < end && (uint64_t)(end - at) >= *n) return last->mem + (at - last->at);
        size_t gap = at > end ? (size_t)(at - end) : 0, there = at < end ? (size_t)(end - at) : 0;
        if (gap < room) {
            if (*n - there > room - gap) *n = room - gap + there;
            last->bytes += gap + *n - there;
            b->used += gap + *n - there;
            return last->mem + (at - last->at);
        }
    }
    if (*n > room) *n = room;
    char *mem = b->data + b->used;
    b->used += *n;
    if (last && end == at && last->mem + last->bytes == mem)
        last->bytes += *n;
    else
        b->part[b->parts++] = (struct uno_block_part){at, mem, *n};
    return mem;
}

// Data of this process is written from where it is.
static void add_own(struct uno_block *b, int64_t at, char *mem, size_t *n)
{
    if (*n > b->room - b->used) *n = b->room - b->used;
    b->used += *n;    // no bytes of the block, but as much to write
    b->part[b->parts++] = (struct uno_block_part){at, mem, *n};
}

static void add_piece(struct uno_merge *m, struct uno_source *s, int64_t at, uint64_t mem, size_t bytes)
{
    while (bytes > 0) {
        struct uno_block *b = m->block;
        if (uno_block_is_full(b)) flush(m);
        size_t n = bytes;
        if (s->stays && m->write) {
            add_own(b, at, (char *)(uintptr_t)mem, &n);
        } else {
            char *here = part_for(m, b, at, &n);
            uint32_t number = (uint32_t)(s - m->source);
            b->move[b->moves++] = (struct uno_block_move){at, here, mem, n, s->pid, number};
        }
        at += (int64_t)n;
        mem += n;
        bytes -= n;
    }
}

static int64_t next_of(const struct uno_source *s)
{
    return s->here && s->i < s->n ? s->piece[s->i].at + (int64_t)s->skip : INT64_MAX;
}

// The pieces of a source that begin before `end`, up to there; one at least.
static void take_pieces(struct uno_merge *m, struct uno_source *s, int64_t end, int64_t limit)
{
    do {
        const struct uno_piece *p = &s->piece[s->i];
        int64_t at = p->at + (int64_t)s->skip;
        uint64_t n = p->bytes - s->skip;
        if (at + (int64_t)n > limit) n = (uint64_t)(limit - at);
        add_piece(m, s, at, p->mem + s->skip, n);
        s->skip += n;
        if (s->skip == p->bytes) {
            s->i++;
            s->skip = 0;
        }
    } while (next_of(s) < end);
}

// The end of the first list that another one will follow.
static int64_t reach(const struct uno_merge *m)
{
    int64_t limit = INT64_MAX;
    for (size_t k = 0; k < m->sources; k++) {
        const struct uno_source *s = &m->source[k];
        if (!s->more || s->n == 0) continue;
        int64_t end = s->piece[s->n - 1].at + (int64_t)s->piece[s->n - 1].bytes;
        if (end < limit) limit = end;
    }
    return limit;
}

void uno_merge_lists(struct uno_merge *m)
{
    int64_t limit = reach(m);
    for (;;) {
        struct uno_source *first = NULL;
        int64_t least = limit, second = limit;
        for (size_t k = 0; k < m->sources; k++) {
            int64_t at = next_of(&m->source[k]);
            if (at < least) {
                second = least;
                least = at;
                first = &m->source[k];
            } else if (at < second) {
                second = at;
            }
        }
        if (!first) break;
        take_pieces(m, first, second, limit);
    }
    if (!m->write) {
        flush(m);
    } else if (!m->err) {
        int depth = uno_lock_drop();
        int err = uno_block_meet(m->block);
        uno_lock_retake(depth);
        keep_error(m, err);
    }
}

int uno_merge_end(struct uno_merge *m)
{
    flush(m);
    uno_block_free(m->block);
    return m->err ? uno_fail(m->err, "%s", m->why) : MPI_SUCCESS;
}
