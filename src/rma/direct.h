// SPDX-License-Identifier: BSD-3-Clause
// What the short way of operations on mapped memory is made of (direct.c, word.c): finding the place in a few compares,
// copying, and the order of stores and loads.
#pragma once
#include "base/copy.h"
#include "core/type.h"
#include "rma/win.h"

// Copies of the same memory again and again find more of it in the caches when every second one goes backward: it meets
// first what the last one left. From here on, in bytes (bench: put-lat --sizes 64K:4M).
#define UNO_RMA_TURN ((size_t)256 << 10)

bool uno_rma_turn(size_t n);    // whether the next one of n bytes is to go backward

// Whether what is written has left the caches since it was used last. This counts as a use.
bool uno_rma_is_cold(const void *to, size_t n);

void uno_rma_copy_large(char *to, const char *from, size_t n);

static inline void uno_rma_copy(void *to, const void *from, size_t n)
{
    if (n <= 64)
        uno_copy_small(to, from, n);
    else
        uno_rma_copy_large(to, from, n);
}

// Stores of this process that later loads may still overtake in the processor; whatever reads puts a fence between (see
// docs/design/one-sided.md). All windows together: the order holds across them.
enum { UNO_RMA_STORED = 1, UNO_RMA_STORED_LOCKED = 2 };    // the latter under a lock of stripe.h
extern int uno_rma_unordered;

static inline void uno_rma_order(int stored)
{
    if (!(uno_rma_unordered & stored)) return;
    // Seq_cst: what was stored before comes before what is loaded after; pairs with the same fence of the others.
    atomic_thread_fence(memory_order_seq_cst);
    uno_rma_unordered = 0;
}

// Before a load, and before one under such a lock, whose taking is not turned round with the letting go of another one.
static inline void uno_rma_order_load(void)
{
    uno_rma_order(UNO_RMA_STORED | UNO_RMA_STORED_LOCKED);
}
static inline void uno_rma_order_locked(void)
{
    uno_rma_order(UNO_RMA_STORED);
}

// The part of a rank in an epoch whose memory is loaded from and stored to here; NULL: the long way.
static inline struct uno_rma_part *uno_rma_direct(MPI_Win h, int rank)
{
    if ((uintptr_t)h < UNO_HANDLE_FIRST || h->head.magic != UNO_WIN_MAGIC || (unsigned)rank >= (unsigned)h->ranks)
        return NULL;
    struct uno_rma_part *p = &h->part[rank];
    return p->direct && (p->held || p->begun || h->all_locked || h->fenced) ? p : NULL;
}

// Where n bytes at disp lie, NULL when they are not inside.
static inline char *uno_rma_place(const struct uno_rma_part *p, MPI_Aint disp, size_t n)
{
    MPI_Aint at;
    if (__builtin_mul_overflow(disp, p->unit, &at) || (size_t)at > p->size || n > p->size - (size_t)at) return NULL;
    return p->base + at;
}

// Whether a flush of the part has nothing to wait for.
static inline bool uno_rma_is_flushed(MPI_Win h, int rank)
{
    if ((uintptr_t)h < UNO_HANDLE_FIRST || h->head.magic != UNO_WIN_MAGIC || (unsigned)rank >= (unsigned)h->ranks)
        return false;
    const struct uno_rma_part *p = &h->part[rank];
    return p->immediate && (p->held || h->all_locked) && !uno_win_is_due(h);
}
