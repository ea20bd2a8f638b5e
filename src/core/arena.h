// SPDX-License-Identifier: BSD-3-Clause
// Arena: memory that this process hands out and that other processes on the host can map when they are told where it
// is. For MPI_Alloc_mem, so that a window on such memory is loads and stores. The lock is held.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

// NULL when the arena has no room or cannot be made here (limits of this process): then memory comes from elsewhere.
// Aligned to `align`, a power of two up to 2 MiB. Costs a page when it is first touched.
void *uno_arena_take(size_t bytes, size_t align);

bool uno_arena_has(const void *p);     // whether it is an address of the arena
bool uno_arena_give(const void *p);    // false: nothing that was taken begins there

// A process is about to use windows: memory is worth sharing from now on, large blocks too.
void uno_arena_expect(void);
bool uno_arena_expected(void);

// What others need in order to map a range. pid 0: not in the arena.
struct uno_arena_place {
    int32_t pid, fd;
    uint64_t offset;
    unsigned char key[16];
};
struct uno_arena_place uno_arena_place(const void *p, size_t bytes);

// A range of another process's arena. False: not permitted, or not what the place says.
struct uno_arena_view {
    void *map;
    size_t mapped;
    char *base;    // of the range
};
bool uno_arena_map(const struct uno_arena_place *at, size_t bytes, struct uno_arena_view *view) UNO_MUST_USE;
void uno_arena_unmap(struct uno_arena_view *view);
