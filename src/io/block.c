// SPDX-License-Identifier: BSD-3-Clause
// Blocks (block.h). Called by merge.c.
// Always holds: what a block writes is what its moves brought, or lies in this process's own data.
#include "io/block.h"

#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "chan/peer_memory.h"
#include "io/file.h"
#include "io/posix.h"

struct uno_block *uno_block_make(const struct MPI_ABI_File *f, bool write, size_t room)
{
    struct uno_block *b = malloc(sizeof *b);
    if (!b) return NULL;
    memset(b, 0, offsetof(struct uno_block, part));
    b->parts = b->moves = 0;
    b->eof = INT64_MAX;
    b->file = f;
    b->write = write;
    b->room = room;
    b->data = malloc(room);
    if (b->data) return b;
    free(b);
    return NULL;
}

void uno_block_free(struct uno_block *b)
{
    if (b) free(b->data);
    free(b);
}

static size_t clipped(const struct uno_block *b, const struct uno_block_move *m)
{
    if (m->at >= b->eof) return 0;
    return (uint64_t)(b->eof - m->at) < m->bytes ? (size_t)(b->eof - m->at) : m->bytes;
}

static void move_here(const struct uno_block *b, const struct uno_block_move *m)
{
    char *there = (char *)(uintptr_t)m->there;
    memcpy(b->write ? m->here : there, b->write ? there : m->here, clipped(b, m));
}

// All moves of the source of the first one from i on, which are marked as made.
static int move_across(struct uno_block *b, size_t i)
{
    struct uno_run *here = malloc((b->moves - i) * sizeof *here), *there = malloc((b->moves - i) * sizeof *there);
    int err = here && there ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for %zu moves", b->moves - i);
    size_t n = 0, bytes = 0;
    int pid = b->move[i].pid;
    uint32_t source = b->move[i].source;
    for (; !err && i < b->moves; i++) {
        struct uno_block_move *m = &b->move[i];
        size_t k = m->source == source ? clipped(b, m) : 0;
        if (m->source == source) m->bytes = 0;
        if (k == 0) continue;
        bytes += k;
        here[n] = (struct uno_run){m->here, bytes};
        there[n++] = (struct uno_run){(char *)(uintptr_t)m->there, bytes};
    }
    struct uno_mem mine = {here, n}, theirs = {there, n};
    struct uno_crossing c = {.pid = pid, .reading = b->write, .mine = &mine, .theirs = &theirs};
    if (!err && n) err = uno_peer_memory_copy(&c, bytes);
    free(here);
    free(there);
    return err;
}

int uno_block_meet(struct uno_block *b)
{
    int err = MPI_SUCCESS;
    for (size_t i = 0; i < b->moves && !err; i++) {
        if (b->move[i].bytes == 0) continue;
        if (b->move[i].pid)
            err = move_across(b, i);
        else
            move_here(b, &b->move[i]);
    }
    b->moves = 0;
    return err;
}

// Parts that follow each other in the file, from *i on, with one call.
static int write_parts(struct uno_block *b, size_t *i)
{
    struct iovec list[UNO_POSIX_RUNS];
    int64_t at = b->part[*i].at, end = at;
    size_t n = 0, moved;
    for (; *i < b->parts && n < UNO_POSIX_RUNS && b->part[*i].at == end; (*i)++, n++) {
        list[n] = (struct iovec){b->part[*i].mem, b->part[*i].bytes};
        end += (int64_t)b->part[*i].bytes;
    }
    return uno_posix_writev(b->file->fd, b->file->path, list, (int)n, at, &moved);
}

static int read_part(struct uno_block *b, const struct uno_block_part *p)
{
    size_t moved;
    int err = uno_posix_read(b->file->fd, b->file->path, p->mem, p->bytes, p->at, &moved);
    if (!err && moved < p->bytes && p->at + (int64_t)moved < b->eof) b->eof = p->at + (int64_t)moved;
    return err;
}

int uno_block_pass(struct uno_block *b)
{
    int err = b->write ? uno_block_meet(b) : MPI_SUCCESS;
    for (size_t i = 0; i < b->parts && !err;) err = b->write ? write_parts(b, &i) : read_part(b, &b->part[i++]);
    if (!b->write && !err) err = uno_block_meet(b);
    b->moves = b->parts = b->used = 0;
    return err;
}
