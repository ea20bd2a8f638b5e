// SPDX-License-Identifier: BSD-3-Clause
// The checking mode (agree.h): what a rank calls, as a few words that travel ahead of the operation, and their
// comparison. Always holds: every rank has the calls of all and compares them in the same order, so all ranks come to
// the same verdict.
#include "coll/agree.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "coll/build.h"
#include "core/signature.h"

static struct uno_param check = UNO_PARAM_BOOL(
    "check_collectives", 0, "compare collective calls over the ranks before they run (slow, for debugging)");
UNO_PARAM_DECLARE(check);

// types: a hash of the basic types, 0 where they need not agree or anything fits. op: a predefined handle, 1 for any
// operation of the user, 0 for none. bytes: what all ranks must agree on, 0 where they need not.
struct signature {
    char name[32];
    uint64_t bytes, types;
    int64_t op;
    int32_t kind, form, root, pad;
};

bool uno_agree_on(void)
{
    return check.num;
}

// All calls, the same table on all ranks of an intracommunicator; of an intercommunicator the local group's, then the
// remote one's.
struct table {
    int local, remote;    // ranks of each
    bool first;           // the local group goes first in comparisons, on all ranks of both
    struct signature call[];
};

static void describe(const struct table *t, int i, char *out, size_t size)
{
    const struct signature *s = &t->call[i];
    int n = 0;
    if (t->remote && i >= t->local)
        n = snprintf(out, size, "rank %d of the remote group calls %s", i - t->local, s->name);
    else
        n = snprintf(out, size, "rank %d%s calls %s", i, t->remote ? " of the local group" : "", s->name);
    if (uno_coll_has_root(s->kind) && s->root == MPI_ROOT)
        n += snprintf(out + n, size - (size_t)n, ", root MPI_ROOT");
    else if (uno_coll_has_root(s->kind) && s->root == MPI_PROC_NULL)
        n += snprintf(out + n, size - (size_t)n, ", root MPI_PROC_NULL");
    else if (uno_coll_has_root(s->kind))
        n += snprintf(out + n, size - (size_t)n, ", root %d", s->root);
    if (s->bytes) n += snprintf(out + n, size - (size_t)n, ", %llu bytes", (unsigned long long)s->bytes);
    if (s->op) snprintf(out + n, size - (size_t)n, ", op %lld", (long long)s->op);
}

static int disagree(const struct table *t, int error, const char *what, int a, int b)
{
    char first[160], other[160];
    describe(t, a, first, sizeof first);
    describe(t, b, other, sizeof other);
    return uno_fail(error, "ranks disagree on the %s: %s; %s", what, first, other);
}

// Whether the call of entry i means something: the root's group of an intercommunicator has idle ranks.
static bool takes_part(const struct table *t, int i)
{
    return !uno_coll_has_root(t->call[i].kind) || t->call[i].root != MPI_PROC_NULL;
}

static int differ(const struct table *t, int a, int b)
{
    const struct signature *x = &t->call[a], *y = &t->call[b];
    if (x->kind != y->kind || x->form != y->form) return disagree(t, MPI_ERR_OTHER, "collective", a, b);
    if (uno_coll_has_root(x->kind) && !t->remote && x->root != y->root) return disagree(t, MPI_ERR_ROOT, "root", a, b);
    if (!takes_part(t, a) || !takes_part(t, b)) return MPI_SUCCESS;
    if (x->op != y->op) return disagree(t, MPI_ERR_OP, "op", a, b);
    if (x->bytes != y->bytes) return disagree(t, MPI_ERR_COUNT, "amount of data", a, b);
    return x->types && y->types && x->types != y->types ? disagree(t, MPI_ERR_TYPE, "types", a, b) : MPI_SUCCESS;
}

// One rank of one group is the root, the rest of its group is idle, the other group names it.
static int check_roots(const struct table *t, int first)
{
    int n = t->local + t->remote, root = -1;
    for (int k = 0; k < n; k++) {
        int i = (first + k) % n;
        if (t->call[i].root != MPI_ROOT) continue;
        if (root >= 0) return disagree(t, MPI_ERR_ROOT, "root", root, i);
        root = i;
    }
    if (root < 0) return disagree(t, MPI_ERR_ROOT, "root", first, (first + t->local) % n);
    bool local = root < t->local;
    for (int i = 0; i < n; i++) {
        bool beside = (i < t->local) == local;
        int want = beside ? MPI_PROC_NULL : local ? root : root - t->local;
        if (i != root && t->call[i].root != want) return disagree(t, MPI_ERR_ROOT, "root", root, i);
    }
    return MPI_SUCCESS;
}

// Entries in one order on all ranks; the first that takes part is what the others are held against.
static int compare(const void *data, int count)
{
    const struct table *t = data;
    int first = t->first ? 0 : t->local, ref = first, err;
    for (int k = 1; k < count; k++) {
        err = differ(t, ref, (first + k) % count);
        if (err) return err;
        if (!takes_part(t, ref)) ref = (first + k) % count;
    }
    return t->remote && uno_coll_has_root(t->call[0].kind) ? check_roots(t, first) : MPI_SUCCESS;
}

// What a rank gives or takes of the data that `bytes` counts.
static uint64_t types_of(const struct uno_call *c)
{
    bool root = c->root == c->comm->rank, own = c->sbuf != MPI_IN_PLACE;
    bool sends = (c->kind == UNO_GATHER && !root) || (c->kind == UNO_SCATTER && root) ||
                 (own && (c->kind == UNO_ALLGATHER || c->kind == UNO_ALLTOALL));
    struct MPI_ABI_Datatype *type = sends ? c->stype : c->rtype;
    struct uno_signature s = uno_signature_of(type, sends ? c->scount : c->rcount, UINT64_MAX);
    return s.any ? 0 : s.hash;
}

static struct signature signature_of(const struct uno_call *c, enum uno_form form)
{
    struct signature s = {.kind = (int32_t)c->kind, .form = (int32_t)form, .root = c->root};
    bool moves_blocks =
        c->kind >= UNO_GATHER && c->kind <= UNO_ALLTOALLW;    // sides of their own in intercommunicators
    bool idle = uno_coll_has_root(s.kind) && s.root == MPI_PROC_NULL;
    snprintf(s.name, sizeof s.name, "%s", c->name);
    if (!idle && c->kind < UNO_NEIGHBOR_ALLGATHER && !(c->comm->inter && moves_blocks)) s.bytes = uno_call_bytes(c);
    if (s.bytes && c->kind != UNO_REDUCE_SCATTER && c->kind != UNO_ALLGATHERV) s.types = types_of(c);
    if (c->op) s.op = c->op->predefined ? (int64_t)(intptr_t)c->op->handle : 1;
    return s;
}

// Everybody's signature to everybody in the view's group, but for oneself where that is one's own group.
static void swap_with(struct uno_sched *s, struct signature *mine, struct signature *theirs, bool own_group)
{
    int n = s->view.size, me = s->view.rank;
    for (int i = own_group; i < n; i++) {
        int from = ((me - i) % n + n) % n, to = (me + i) % n;
        uno_emit_recv(s, from, &theirs[from], sizeof *theirs, uno_bytes());
        uno_emit_send(s, to, mine, sizeof *mine, uno_bytes());
    }
}

void uno_build_agree(struct uno_sched *s, const struct uno_call *c, enum uno_form form)
{
    struct MPI_ABI_Comm *comm = c->comm, *local = comm->inter ? comm->local_comm : comm;
    int n = comm->size, remote = comm->inter ? comm->npeers : 0;
    if (n + remote < 2) return;
    struct table *t = uno_scratch_bytes(s, sizeof *t + (size_t)(n + remote) * sizeof *t->call);
    if (!t) return;
    *t = (struct table){.local = n, .remote = remote, .first = !comm->inter || comm->low};
    t->call[comm->rank] = signature_of(c, form);
    struct uno_view whole = s->view;
    s->view = (struct uno_view){local, local->rank, local->size, NULL};
    swap_with(s, &t->call[comm->rank], t->call, true);
    s->view = (struct uno_view){comm, comm->rank, remote, NULL};
    if (remote) swap_with(s, &t->call[comm->rank], t->call + n, false);
    uno_emit_fence(s);
    uno_emit_check(s, compare, t, n + remote);
    s->view = whole;
}
