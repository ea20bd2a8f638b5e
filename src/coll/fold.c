// SPDX-License-Identifier: BSD-3-Clause
// Values combined step by step (fold.h). An operation reads two operands and writes a third place, so nothing is copied
// first. A user's operation writes over its second operand instead: that, or a copy of it, is where its result lies.
#include "coll/fold.h"

#include "coll/build.h"

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

MPI_Count *uno_even_parts(struct uno_sched *s, MPI_Count count)
{
    int n = s->view.size;
    MPI_Count *at = uno_scratch_bytes(s, (size_t)(n + 1) * sizeof *at);
    for (int i = 0; at && i <= n; i++) at[i] = uno_part_at(count, n, i);
    return at;
}

char *uno_share_out(struct uno_sched *s, const MPI_Count *at, const void *in, struct MPI_ABI_Datatype *type)
{
    if (!at) return NULL;
    int n = s->view.size, me = s->view.rank;
    MPI_Count mine = at[me + 1] - at[me];
    char *all = uno_scratch_typed(s, mine * n, type);
    if (s->error) return NULL;
    for (int i = 1; i < n; i++) {
        int from = (me - i + n) % n, to = (me + i) % n;
        uno_emit_recv(s, from, uno_offset(all, from * mine, type), mine, type);
        uno_emit_send(s, to, uno_offset(in, at[to], type), at[to + 1] - at[to], type);
    }
    uno_emit_fence(s);
    return all;
}

void uno_fold_part(struct uno_sched *s, const MPI_Count *at, const void *in, void *out, bool in_place,
                   struct MPI_ABI_Datatype *type)
{
    char *all = uno_share_out(s, at, in, type);
    if (s->error) return;
    int n = s->view.size, me = s->view.rank;
    MPI_Count mine = at[me + 1] - at[me];
    const void *own = uno_offset(in, at[me], type);
    void *sum = uno_offset(all, (n - 1) * mine, type);
    const void *acc = me == n - 1 ? own : sum;
    for (int i = n - 2; i >= 0; i--) {
        void *to = i || in_place ? sum : out;
        uno_emit_reduce(s, i == me ? own : uno_offset(all, i * mine, type), acc, to, mine, type);
        acc = to;
    }
    uno_copy_block(s, uno_block(acc, mine, type), uno_block(out, mine, type));
}
