// SPDX-License-Identifier: BSD-3-Clause
// Fetch and op, and compare and swap, of one integer of mapped memory (uno_rma_fetch_now, uno_rma_swap_now): what
// counters, queues and locks of the user's are made of. Called by src/api/fetch.c.
//
// Always holds: the lock is the one that combine.c takes for the same element.
#include "rma/direct.h"
#include "rma/rma.h"
#include "rma/stripe.h"

struct found {
    struct uno_rma_stripe *lock;
    char *at;
    size_t bytes;    // 4 or 8
};

static bool find_word(const struct uno_rma_at *at, struct found *w)
{
    uintptr_t number = (uintptr_t)at->type;
    if (number < UNO_TYPE_FIRST || number >= UNO_TYPE_END) return false;
    const struct MPI_ABI_Datatype *t = uno_type(at->type);
    bool known = t->basic == UNO_BASIC_I64 || t->basic == UNO_BASIC_I32 || t->basic == UNO_BASIC_U64 ||
                 t->basic == UNO_BASIC_U32;
    const struct uno_rma_part *p = known ? uno_rma_direct(at->win, at->rank) : NULL;
    if (!p) return false;
    w->bytes = (size_t)t->size;
    w->at = uno_rma_place(p, at->disp, w->bytes);
    if (!w->at) return false;
    w->lock = uno_stripe_of(p, w->at);
    return true;
}

// Not NULL, nor a constant of MPI's.
static bool is_memory(const void *at)
{
    return (uintptr_t)at >= UNO_HANDLE_FIRST;
}

static uint64_t load(const void *from, size_t n)
{
    uint32_t four;
    uint64_t eight;
    if (n == 4) return memcpy(&four, from, 4), four;
    return memcpy(&eight, from, 8), eight;
}

static void store(void *to, uint64_t v, size_t n)
{
    uint32_t four = (uint32_t)v;
    if (n == 4)
        memcpy(to, &four, 4);
    else
        memcpy(to, &v, 8);
}

bool uno_rma_fetch_now(const struct uno_rma_at *at, MPI_Op op, const void *in, void *old)
{
    struct found w;
    bool add = op == MPI_SUM, none = op == MPI_NO_OP;
    if ((!add && !none && op != MPI_REPLACE) || !is_memory(old) || (!is_memory(in) && !none) || !find_word(at, &w))
        return false;
    uint64_t value = none ? 0 : load(in, w.bytes);
    uno_rma_order_locked();
    uno_stripe_hold(w.lock);
    uint64_t before = load(w.at, w.bytes);
    if (!none) store(w.at, add ? before + value : value, w.bytes);
    uno_stripe_let_go(w.lock);
    store(old, before, w.bytes);
    uno_rma_unordered |= none ? 0 : UNO_RMA_STORED_LOCKED;
    return true;
}

bool uno_rma_swap_now(const struct uno_rma_at *at, const void *compare, const void *in, void *old)
{
    struct found w;
    if (!is_memory(compare) || !is_memory(in) || !is_memory(old) || !find_word(at, &w)) return false;
    uint64_t wanted = load(compare, w.bytes), value = load(in, w.bytes);
    uno_rma_order_locked();
    uno_stripe_hold(w.lock);
    uint64_t before = load(w.at, w.bytes);
    if (before == wanted) store(w.at, value, w.bytes);
    uno_stripe_let_go(w.lock);
    store(old, before, w.bytes);
    uno_rma_unordered |= UNO_RMA_STORED_LOCKED;
    return true;
}
