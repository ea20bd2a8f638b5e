// SPDX-License-Identifier: BSD-3-Clause
// Type-stable pools for handles: memory given out is never returned to the system, so that a freed handle can still be
// looked at and recognised as freed (its magic is wiped). Not thread-safe by itself: callers hold the library lock.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The first member of every handle struct. magic says what lives here; 0 when free.
struct uno_head {
    uint32_t magic;
    int32_t refs;
    struct uno_head *next_free;
};

// Handles below this are numbers: the ABI's predefined ones, or no handles at all; no object lies in the first page.
#define UNO_HANDLE_FIRST ((uintptr_t)4096)

// Whether a handle that is not predefined leads to an object of this kind. An address where nothing is mapped cannot be
// recognised.
static inline bool uno_head_is(const void *h, uint32_t magic)
{
    uintptr_t v = (uintptr_t)h;
    return v >= UNO_HANDLE_FIRST && v % _Alignof(struct uno_head) == 0 && ((const struct uno_head *)h)->magic == magic;
}

struct uno_pool {
    size_t bytes;    // of one object
    uint32_t magic;
    struct uno_head *free;
    size_t live;    // given out now, for the report at Finalize
    char **slab;    // [slabs], owned here: all memory of the objects
    size_t slabs;
    size_t stride, per_slab;    // bytes from object to object, and their number: set with the first slab
};

// A zeroed object with refs = 1 and its magic set, or NULL when memory is out.
void *uno_pool_get(struct uno_pool *p);

// Back to the pool; the magic is wiped.
void uno_pool_put(struct uno_pool *p, void *object);

// Calls fn for every object that is given out.
void uno_pool_each(const struct uno_pool *p, void (*fn)(void *object, void *arg), void *arg);
