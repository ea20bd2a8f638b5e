// SPDX-License-Identifier: BSD-3-Clause
// The short way of operations on plain bytes of mapped memory: what the entry points try before they look at
// everything. Whatever is unusual, wrong arguments too, takes the long way (rma.h), which says what is wrong.
#pragma once
#include "base/copy.h"
#include "core/type.h"
#include "rma/win.h"

// Copies of the same memory again and again find more of it in the caches when every second one goes backward: it meets
// first what the last one left. From here on, in bytes (bench: put-lat --sizes 64K:4M).
#define UNO_RMA_TURN ((size_t)256 << 10)

bool uno_rma_turn(size_t n);    // whether the next one of n bytes is to go backward
void uno_rma_copy_large(char *to, const char *from, size_t n);

static inline void uno_rma_copy(void *to, const void *from, size_t n)
{
    if (n <= 64)
        uno_copy_small(to, from, n);
    else
        uno_rma_copy_large(to, from, n);
}

// Stores of this process that later loads may still overtake in the processor; a get puts a fence between (see
// docs/design/one-sided.md). All windows together: the order holds across them.
extern bool uno_rma_unordered;

static inline void uno_rma_order(void)
{
    if (!uno_rma_unordered) return;
    // Seq_cst: what was stored before comes before what is loaded after; pairs with the same fence of the others.
    atomic_thread_fence(memory_order_seq_cst);
    uno_rma_unordered = false;
}

// n elements of a type that is the same on both sides, as bytes; SIZE_MAX when it is not plain.
static inline size_t uno_rma_plain(const void *buf, MPI_Count n, MPI_Datatype here, MPI_Count m, MPI_Datatype there)
{
    if ((uintptr_t)buf < UNO_HANDLE_FIRST || here != there || n != m) return SIZE_MAX;
    const struct MPI_ABI_Datatype *t = uno_type(here);
    size_t bytes;
    if ((t->flags & UNO_TYPE_READY) != UNO_TYPE_READY || (uintptr_t)here >= UNO_TYPE_END) return SIZE_MAX;
    return __builtin_mul_overflow((size_t)n, (size_t)t->size, &bytes) ? SIZE_MAX : bytes;
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
    return p->immediate && (p->held || h->all_locked);
}

static inline bool uno_rma_put(MPI_Win h, int rank, MPI_Aint disp, const void *from, size_t n)
{
    struct uno_rma_part *p = uno_rma_direct(h, rank);
    char *at = p ? uno_rma_place(p, disp, n) : NULL;
    if (!at) return false;
    uno_rma_unordered = true;
    uno_rma_copy(at, from, n);
    return true;
}

static inline bool uno_rma_get(MPI_Win h, int rank, MPI_Aint disp, void *to, size_t n)
{
    struct uno_rma_part *p = uno_rma_direct(h, rank);
    char *at = p ? uno_rma_place(p, disp, n) : NULL;
    if (!at) return false;
    uno_rma_order();
    uno_rma_copy(to, at, n);
    return true;
}
