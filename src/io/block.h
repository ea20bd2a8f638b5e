// SPDX-License-Identifier: BSD-3-Clause
// A block of a file on its way between the memory of several processes and the file (merge.h): parts of the file, and
// moves between them and the processes.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define UNO_BLOCK_BYTES ((size_t)256 << 10)    // it stays in the cache, and writers of a file take turns often
#define UNO_BLOCK_PARTS 1024
#define UNO_BLOCK_MOVES 2048

struct uno_block_part {
    int64_t at;    // in the file
    char *mem;     // in the block, or in this process where its own data is written
    size_t bytes;
};

struct uno_block_move {
    int64_t at;
    char *here;        // in the block
    uint64_t there;    // address in the process
    size_t bytes;
    int pid;            // that process; 0: this one
    uint32_t source;    // its number, below 2^16: moves of one source are made together
};

struct uno_block {
    const struct MPI_ABI_File *file;
    bool write;
    size_t room, used;
    char *data;
    struct uno_block_part part[UNO_BLOCK_PARTS];
    size_t parts;
    struct uno_block_move move[UNO_BLOCK_MOVES];
    size_t moves;
    int64_t eof;    // reading: where the file turned out to end
};

struct MPI_ABI_File;

struct uno_block *uno_block_make(const struct MPI_ABI_File *f, bool write, size_t room);    // NULL: no memory
void uno_block_free(struct uno_block *b);

static inline bool uno_block_is_full(const struct uno_block *b)
{
    return b->used == b->room || b->parts == UNO_BLOCK_PARTS || b->moves == UNO_BLOCK_MOVES;
}

// Makes the moves: into the block when writing, else out of it, up to its eof. The lock is not held.
int uno_block_meet(struct uno_block *b) UNO_MUST_USE;

// Makes the moves and writes the parts, or reads the parts and makes the moves; the block is empty then.
int uno_block_pass(struct uno_block *b) UNO_MUST_USE;
