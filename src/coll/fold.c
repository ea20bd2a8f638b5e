// SPDX-License-Identifier: BSD-3-Clause
// Values combined step by step (fold.h). An operation reads two operands and writes a third place, so nothing is copied
// first. A user's operation writes over its second operand instead: that, or a copy of it, is where its result lies.
#include "coll/fold.h"

static void *room(struct uno_fold *f, int i)
{
    if (!f->is_there[i]) f->room[i] = uno_scratch_typed(f->s, f->count, f->type);
    f->is_there[i] = true;
    return f->room[i];
}

// An address alone does not tell: MPI_BOTTOM is one.
static bool is_room(const struct uno_fold *f, int i, const void *at)
{
    return f->is_there[i] && at == f->room[i];
}

void *uno_fold_room(struct uno_fold *f)
{
    return room(f, !is_room(f, 1, f->acc));
}

static void combine(struct uno_fold *f, const void *a, const void *b)
{
    int i = !f->s->op->predefined && (is_room(f, 1, b) || is_room(f, 0, a));
    void *to = room(f, i);
    uno_emit_reduce(f->s, a, b, to, f->count, f->type);
    f->acc = to;
}

void uno_fold_below(struct uno_fold *f, const void *other)
{
    combine(f, other, f->acc);
}

void uno_fold_above(struct uno_fold *f, const void *other)
{
    combine(f, f->acc, other);
}

void uno_fold_end(struct uno_fold *f)
{
    uno_copy_block(f->s, uno_block(f->acc, f->count, f->type), uno_block(f->room[0], f->count, f->type));
    f->acc = f->room[0];
}
