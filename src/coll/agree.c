// SPDX-License-Identifier: BSD-3-Clause
// The checking mode (agree.h): what a rank calls, as a few words that travel ahead of the operation, and their
// comparison. Always holds: every rank compares all calls with that of rank 0, so all ranks come to the same verdict.
#include "coll/agree.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "coll/build.h"

static struct uno_param check = UNO_PARAM_BOOL(
    "check_collectives", 0, "compare collective calls over the ranks before they run (slow, for debugging)");
UNO_PARAM_DECLARE(check);

// op: a predefined handle, 1 for any operation of the user, 0 for none. bytes: what all ranks must agree on, 0 where
// they need not.
struct signature {
    char name[32];
    uint64_t bytes;
    int64_t op;
    int32_t kind, form, root, pad;
};

bool uno_agree_on(void)
{
    return check.num;
}

static bool has_root(int kind)
{
    return kind == UNO_BCAST || kind == UNO_REDUCE || kind == UNO_GATHER || kind == UNO_SCATTER ||
           kind == UNO_GATHERV || kind == UNO_SCATTERV;
}

static void describe(const struct signature *s, char *out, size_t size)
{
    int n = snprintf(out, size, "%s", s->name);
    if (has_root(s->kind)) n += snprintf(out + n, size - (size_t)n, ", root %d", s->root);
    if (s->bytes) n += snprintf(out + n, size - (size_t)n, ", %llu bytes", (unsigned long long)s->bytes);
    if (s->op) snprintf(out + n, size - (size_t)n, ", op %lld", (long long)s->op);
}

static int differ(const struct signature *a, const struct signature *b, const char **what)
{
    *what = "collective";
    if (a->kind != b->kind || a->form != b->form) return MPI_ERR_OTHER;
    *what = "root";
    if (has_root(a->kind) && a->root != b->root) return MPI_ERR_ROOT;
    *what = "op";
    if (a->op != b->op) return MPI_ERR_OP;
    *what = "amount of data";
    return a->bytes != b->bytes ? MPI_ERR_COUNT : MPI_SUCCESS;
}

static int compare(const void *data, int count)
{
    const struct signature *all = data;
    const char *what;
    for (int r = 1; r < count; r++) {
        int err = differ(&all[0], &all[r], &what);
        if (!err) continue;
        char first[100], other[100];
        describe(&all[0], first, sizeof first);
        describe(&all[r], other, sizeof other);
        return uno_fail(err, "ranks disagree on the %s: rank 0 calls %s; rank %d calls %s", what, first, r, other);
    }
    return MPI_SUCCESS;
}

void uno_build_agree(struct uno_sched *s, const struct uno_call *c, enum uno_form form)
{
    int n = s->view.size, me = s->view.rank;
    if (c->comm->inter || n < 2) return;
    struct signature *all = uno_scratch_bytes(s, (size_t)n * sizeof *all);
    if (!all) return;
    memset(&all[me], 0, sizeof *all);
    snprintf(all[me].name, sizeof all[me].name, "%s", c->name);
    all[me].kind = (int32_t)c->kind;
    all[me].form = (int32_t)form;
    all[me].root = c->root;
    all[me].bytes = c->kind < UNO_NEIGHBOR_ALLGATHER ? uno_call_bytes(c) : 0;
    if (c->op) all[me].op = c->op->predefined ? (int64_t)(intptr_t)c->op->handle : 1;
    for (int i = 1; i < n; i++) {
        int from = (me - i + n) % n, to = (me + i) % n;
        uno_emit_recv(s, from, &all[from], sizeof *all, uno_bytes());
        uno_emit_send(s, to, &all[me], sizeof *all, uno_bytes());
    }
    uno_emit_fence(s);
    uno_emit_check(s, compare, all, n);
}
