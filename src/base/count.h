// SPDX-License-Identifier: BSD-3-Clause
// Counters of what happens, for performance variables (pvar.h) and the log.
#pragma once
#include <stdatomic.h>
#include <stdint.h>

// Relaxed: a statistic that any thread may read at any time. No read-modify-write, which would cost as much as a small
// message: where no lock is held, a little may be lost when two threads count at once.
static inline void uno_count_add(_Atomic uint64_t *count, uint64_t n)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

// Both at once: it stands on the way of every message, where each routine counts (suite 42-trace).
static inline void uno_count_message(_Atomic uint64_t *messages, _Atomic uint64_t *bytes, uint64_t n)
{
    // Relaxed: as in uno_count_add.
    atomic_store_explicit(messages, atomic_load_explicit(messages, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(bytes, atomic_load_explicit(bytes, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline uint64_t uno_count_get(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}
