// SPDX-License-Identifier: BSD-3-Clause
// Accumulates (combine.h). One mechanism for all types, sizes and paths, because atomicity holds between any two of
// them: the locks of stripe.h. Called by op.c at the origin and by target.c.
//
// Always holds: an element is read, combined and written under one hold of its lock; nobody holds two.
#include "rma/combine.h"

#include <string.h>

#include "base/invariant.h"
#include "core/few.h"
#include "rma/direct.h"
#include "rma/stripe.h"

#define BLOCK UNO_RMA_BLOCK

static bool has_gaps(const struct MPI_ABI_Datatype *e)
{
    return e->extent != e->size;
}

// Of the n bytes at `at` those whose elements have one lock. Elements without gaps have a power of two of bytes.
static size_t under_one(const struct uno_rma_part *p, const char *at, size_t n, size_t element)
{
    uno_assert((element & (element - 1)) == 0);
    size_t some = (BLOCK - uno_stripe_offset(p, at) % BLOCK + element - 1) & ~(element - 1);
    return some < n ? some : n;
}

// ---- where elements lie together ----

static void combine_here(const struct uno_rma_combination *c, char *at, const char *in, char *out, size_t n)
{
    if (out) uno_rma_copy(out, at, n);
    if (in) uno_op_apply(c->op, in, at, (MPI_Count)(n >> __builtin_ctzll((size_t)c->element->size)), c->element);
}

// The part of it that has one lock, `from` bytes behind its beginning; returns the bytes of it.
static size_t combine_some(const struct uno_rma_part *p, const struct uno_rma_combination *c,
                           const struct uno_rma_flat *f, size_t from)
{
    char *at = f->at + from;
    size_t n = under_one(p, at, f->n - from, (size_t)c->element->size);
    struct uno_rma_stripe *lock = uno_stripe_of(p, at);
    uno_stripe_hold(lock);
    combine_here(c, at, f->in ? f->in + from : NULL, f->out ? f->out + from : NULL, n);
    uno_stripe_let_go(lock);
    return n;
}

// Where the last elements before `end` that have one lock begin.
static size_t last_begin(const struct uno_rma_part *p, const struct uno_rma_flat *f, size_t end, size_t element)
{
    size_t last = uno_stripe_offset(p, f->at) + end - element, over = last % BLOCK & ~(element - 1);
    return end - element > over ? end - element - over : 0;
}

bool uno_rma_add_few(const struct uno_rma_part *p, const struct MPI_ABI_Datatype *t, const struct uno_rma_flat *f,
                     size_t count)
{
    if (!uno_adds_few(t->basic, count) || uno_stripe_offset(p, f->at) % BLOCK + f->n > BLOCK) return false;
    struct uno_rma_stripe *lock = uno_stripe_of(p, f->at);
    uno_stripe_hold(lock);
    if (f->out) uno_copy_small(f->out, f->at, f->n);
    uno_add_few(t->basic, f->in, f->at, f->at, count);
    uno_stripe_let_go(lock);
    return true;
}

void uno_rma_combine_flat(const struct uno_rma_part *p, const struct uno_rma_combination *c,
                          const struct uno_rma_flat *f)
{
    size_t e = (size_t)c->element->size;
    // As uno_rma_copy does. Out of memory all go forward (Zen 4, windows of 64 x 1 MiB 7.1 to 5.8 ms).
    if (!uno_rma_is_cold(f->at, f->n) && uno_rma_turn(f->n)) {
        for (size_t from = f->n; from > 0;) combine_some(p, c, f, from = last_begin(p, f, from, e));
    } else {
        for (size_t from = 0; from < f->n;) from += combine_some(p, c, f, from);
    }
}

// ---- where they lie in runs, or must be packed at the origin ----

struct block {
    _Alignas(UNO_LINE) char in[BLOCK], old[BLOCK];
};

static void combine_runs(const struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c,
                         struct block *b, size_t n)
{
    struct uno_rma_stripe *held = NULL;
    if (c->in) uno_rma_read(c->in, b->in, n);
    for (size_t k, done = 0; done < n; done += k) {
        k = under_one(p, uno_rma_next(l), n - done, (size_t)c->element->size);
        char *at;
        k = uno_rma_stretch(l, k, &at);
        struct uno_rma_stripe *lock = uno_stripe_of(p, at);
        if (lock != held) {
            if (held) uno_stripe_let_go(held);
            uno_stripe_hold(held = lock);
        }
        combine_here(c, at, c->in ? b->in + done : NULL, c->out ? b->old + done : NULL, k);
    }
    if (held) uno_stripe_let_go(held);
    if (c->out) uno_rma_write(c->out, b->old, n);
}

// ---- across processes, and elements with gaps: read, combined, written back under the first lock ----

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

#define COPIED ((size_t)8192)    // bytes of elements per hold

struct copied {
    _Alignas(UNO_LINE) char in[COPIED], old[COPIED], typed_in[COPIED], typed_old[COPIED];
};

// n packed elements of the part, combined in place.
static void apply(const struct uno_rma_combination *c, struct copied *b, size_t n)
{
    if (!has_gaps(c->element)) {
        uno_op_apply(c->op, b->in, b->old, (MPI_Count)n, c->element);
        return;
    }
    spread(c->element, b->typed_in, b->in, n);
    spread(c->element, b->typed_old, b->old, n);
    uno_op_apply(c->op, b->typed_in, b->typed_old, (MPI_Count)n, c->element);
    press(c->element, b->typed_old, b->old, n);
}

static int combine_copied(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c,
                          struct copied *b, size_t bytes)
{
    char *old = b->old;
    size_t from = l->done;
    if (c->in) uno_rma_read(c->in, b->in, bytes);
    uno_stripe_hold(p->words->stripe);
    int err = uno_rma_move(p, l, old, bytes, true);
    if (!err && c->out) uno_rma_write(c->out, old, bytes);
    if (!err && c->in) {
        apply(c, b, bytes / (size_t)c->element->size);
        uno_rma_rewind(l, from);
        err = uno_rma_move(p, l, old, bytes, false);
    }
    uno_stripe_let_go(p->words->stripe);
    return err;
}

static int combine_all_copied(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c)
{
    struct copied b;
    size_t most = COPIED / (size_t)c->element->extent * (size_t)c->element->size;
    int err = MPI_SUCCESS;
    for (size_t n, left = l->bytes; left > 0 && !err; left -= n) {
        n = left < most ? left : most;
        err = combine_copied(p, l, c, &b, n);
    }
    return err;
}

static void combine_mapped(const struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c)
{
    struct block b;
    size_t most = BLOCK / (size_t)c->element->size * (size_t)c->element->size;
    for (size_t n, left = l->bytes; left > 0; left -= n) {
        n = left < most ? left : most;
        combine_runs(p, l, c, &b, n);
    }
}

int uno_rma_combine(struct uno_rma_part *p, struct uno_rma_layout *l, const struct uno_rma_combination *c)
{
    if (p->path != UNO_RMA_MAPPED || has_gaps(c->element)) return combine_all_copied(p, l, c);
    if (l->runs == 1 && (!c->in || c->in->plain) && (!c->out || c->out->plain))
        uno_rma_combine_flat(
            p, c,
            &(struct uno_rma_flat){l->run[0].at, c->in ? c->in->plain : NULL, c->out ? c->out->plain : NULL, l->bytes});
    else
        combine_mapped(p, l, c);
    return MPI_SUCCESS;
}

int uno_rma_swap(struct uno_rma_part *p, struct uno_rma_layout *l, const void *compare, const void *value, void *old)
{
    size_t n = l->bytes;
    struct uno_rma_stripe *lock = l->runs == 1 ? uno_stripe_of(p, l->run[0].at) : p->words->stripe;
    uno_stripe_hold(lock);
    int err = uno_rma_move(p, l, old, n, true);
    if (!err && memcmp(old, compare, n) == 0) {
        uno_rma_rewind(l, 0);
        err = uno_rma_move(p, l, (void *)(uintptr_t)value, n, false);
    }
    uno_stripe_let_go(lock);
    return err;
}
