// SPDX-License-Identifier: BSD-3-Clause
// The locks under which accumulates are atomic per element: some per part, chosen by where in the part an element
// begins, so that all members agree whatever their path, and origins that work at different places do not meet. For
// combine.c and word.c.
#pragma once
#include "base/patience.h"
#include "chan/proc.h"
#include "rma/words.h"

#define UNO_RMA_ORPHAN (1u << 16)        // looks at a lock that nobody seems to hold any more
#define UNO_RMA_BLOCK ((size_t)16384)    // bytes of a part under one lock, and of elements per hold

// Uncontended one atomic exchange, as the processor's own atomics are.
static inline void uno_stripe_hold(struct uno_rma_stripe *s)
{
    // Acquire: pairs with the release in uno_stripe_let_go.
    for (struct uno_patience w = {0}; atomic_exchange_explicit(&s->busy, 1, memory_order_acquire) != 0;)
        for (unsigned n = 1; atomic_load_explicit(&s->busy, memory_order_relaxed) != 0; n++) {
            if (n % UNO_RMA_ORPHAN == 0 && uno_neighbour_died()) return;    // with the lock
            uno_patience_copy(&w);
        }
}

static inline void uno_stripe_let_go(struct uno_rma_stripe *s)
{
    // Release: pairs with the acquire in uno_stripe_hold.
    atomic_store_explicit(&s->busy, 0, memory_order_release);
}

static inline size_t uno_stripe_offset(const struct uno_rma_part *p, const char *at)
{
    return (size_t)((uintptr_t)at - (uintptr_t)p->base);
}

// The lock of the element at `at`. Elements with gaps, which may lie in two runs, have the first one.
static inline struct uno_rma_stripe *uno_stripe_of(const struct uno_rma_part *p, const char *at)
{
    return &p->words->stripe[uno_stripe_offset(p, at) / UNO_RMA_BLOCK & p->stripes];
}
