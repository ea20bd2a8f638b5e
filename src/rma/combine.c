// SPDX-License-Identifier: BSD-3-Clause
// Accumulates (combine.h). One mechanism for all types, sizes and paths, because atomicity holds between any two of
// them: a lock per part, held for one block at a time. Called by op.c at the origin and by remote.c at the target.
//
// Always holds: an element is read, combined and written under one hold of the lock; an uncontended hold costs one
// atomic exchange.
#include "rma/combine.h"

#include <string.h>

#include "base/patience.h"
#include "rma/words.h"

#define BLOCK 8192    // bytes of elements per hold: others wait for at most so much

static void hold(struct uno_rma_part *p)
{
    // Acquire: pairs with the release in let_go.
    for (struct uno_patience w = {0}; atomic_exchange_explicit(&p->words->busy, 1, memory_order_acquire) != 0;)
        while (atomic_load_explicit(&p->words->busy, memory_order_relaxed) != 0) uno_patience_copy(&w);
}

static void let_go(struct uno_rma_part *p)
{
    // Release: pairs with the acquire in hold.
    atomic_store_explicit(&p->words->busy, 0, memory_order_release);
}

static bool has_gaps(const struct MPI_ABI_Datatype *e)
{
    return e->extent != e->size;
}

// Elements with gaps (pairs of double and int) travel packed and are combined as the compiler lays them out.
static void spread(const struct MPI_ABI_Datatype *e, void *typed, const void *packed, size_t n)
{
    struct uno_packer p;
    uno_packer_init(&p, typed, (MPI_Count)n, e);
    uno_unpack(&p, packed, n * (size_t)e->size);
}

static void press(const struct MPI_ABI_Datatype *e, const void *typed, void *packed, size_t n)
{
    struct uno_packer p;
    uno_packer_init(&p, typed, (MPI_Count)n, e);
    uno_pack(&p, packed, n * (size_t)e->size);
}

struct block {
    _Alignas(64) char in[BLOCK], old[BLOCK], typed_in[BLOCK], typed[BLOCK];
};

// old: n packed elements of the part, combined with b->in in place.
static void apply(const struct uno_rma_combination *c, struct block *b, void *old, size_t n)
{
    if (!has_gaps(c->element)) {
        uno_op_apply(c->op, b->in, old, (MPI_Count)n, c->element);
        return;
    }
    spread(c->element, b->typed_in, b->in, n);
    spread(c->element, b->typed, old, n);
    uno_op_apply(c->op, b->typed_in, b->typed, (MPI_Count)n, c->element);
    press(c->element, b->typed, old, n);
}

// Where a block can be combined where it lies, else NULL.
static char *in_place(const struct uno_rma_part *p, const struct uno_rma_layout *l, const struct MPI_ABI_Datatype *e)
{
    return p->path == UNO_RMA_MAPPED && l->runs == 1 && !has_gaps(e) ? l->run[0].at + l->done : NULL;
}

static int one_block(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c,
                     struct block *b, size_t n)
{
    size_t bytes = n * (size_t)c->element->size, from = l->done;
    char *here = in_place(p, l, c->element), *old = here ? here : b->old;
    int err = MPI_SUCCESS;
    if (c->in) uno_rma_read(c->in, b->in, bytes);
    hold(p);
    if (here)
        l->done += bytes;
    else
        err = uno_rma_move(p, l, old, bytes, true);
    if (!err && c->out) uno_rma_write(c->out, old, bytes);
    if (!err && c->in) {
        apply(c, b, old, n);
        if (!here) {
            uno_rma_rewind(l, from);
            err = uno_rma_move(p, l, old, bytes, false);
        }
    }
    let_go(p);
    return err;
}

int uno_rma_combine(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c)
{
    struct block b;
    size_t each = (size_t)(has_gaps(c->element) ? c->element->extent : c->element->size);
    size_t left = l->bytes / (size_t)c->element->size;
    int err = MPI_SUCCESS;
    for (size_t n; left > 0 && !err; left -= n) {
        n = left < BLOCK / each ? left : BLOCK / each;
        err = one_block(p, l, c, &b, n);
    }
    return err;
}

int uno_rma_swap(struct uno_rma_part *p, struct uno_rma_layout *l, const void *compare, const void *value, void *old)
{
    size_t n = l->bytes;
    hold(p);
    int err = uno_rma_move(p, l, old, n, true);
    if (!err && memcmp(old, compare, n) == 0) {
        uno_rma_rewind(l, 0);
        err = uno_rma_move(p, l, (void *)(uintptr_t)value, n, false);
    }
    let_go(p);
    return err;
}
