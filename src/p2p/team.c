// SPDX-License-Identifier: BSD-3-Clause
// Binomial trees over a team (team.h), where index i receives from i without its lowest set bit, and a barrier by
// dissemination. Called by the makers of communicators, shares and barriers.
// Always holds: in a tree a member that sends has its data complete, so no two members ever wait for each other.
#include "p2p/team.h"

#include <stdlib.h>

#include "p2p/p2p.h"

struct uno_team uno_team_all(struct MPI_ABI_Comm *c, int root)
{
    struct MPI_ABI_Comm *within = c->inter ? c->local_comm : c;
    int me = (c->rank - root + c->size) % c->size;
    return (struct uno_team){.comm = within, .n = c->size, .me = me, .root = root, .tag = uno_coll_tag(c)};
}

int uno_team_rank(const struct uno_team *t, int index)
{
    return t->member ? t->member[index] : (index + t->root) % t->n;
}

static int send_to(const struct uno_team *t, int index, const void *data, size_t bytes)
{
    struct uno_where to = {.comm = t->comm, .rank = uno_team_rank(t, index), .tag = t->tag, .coll = true};
    return uno_send(data, (MPI_Count)bytes, uno_type(MPI_BYTE), &to, UNO_STANDARD);
}

static int recv_from(const struct uno_team *t, int index, void *data, size_t bytes)
{
    struct uno_where from = {.comm = t->comm, .rank = uno_team_rank(t, index), .tag = t->tag, .coll = true};
    return uno_recv(data, (MPI_Count)bytes, uno_type(MPI_BYTE), &from, MPI_STATUS_IGNORE);
}

int uno_team_bcast(const struct uno_team *t, void *data, size_t bytes)
{
    int bit = 1, err = MPI_SUCCESS;
    while (bit < t->n && !(t->me & bit)) bit <<= 1;
    if (t->me) err = recv_from(t, t->me - bit, data, bytes);
    for (bit >>= 1; bit > 0 && !err; bit >>= 1) {
        if (t->me + bit < t->n) err = send_to(t, t->me + bit, data, bytes);
    }
    return err;
}

// Of two members: both tell each other at once, instead of one after the other.
static int swap(const struct uno_team *t, const void *mine, void *theirs, size_t bytes)
{
    struct uno_where other = {t->comm, uno_team_rank(t, 1 - t->me), t->tag, true};
    struct MPI_ABI_Datatype *byte = uno_type(MPI_BYTE);
    MPI_Count n = (MPI_Count)bytes;
    return uno_sendrecv(mine, n, byte, &other, theirs, n, byte, &other, MPI_STATUS_IGNORE);
}

// Where the part of an index begins: offset NULL means parts of one size.
static size_t part_offset(const size_t *offset, size_t bytes, int index)
{
    return offset ? offset[index] : (size_t)index * bytes;
}

static int gather(const struct uno_team *t, char *all, const size_t *offset, size_t bytes)
{
    int bit = 1, err = MPI_SUCCESS;
    for (; bit < t->n && !(t->me & bit) && !err; bit <<= 1) {
        int first = t->me + bit, end = first + bit < t->n ? first + bit : t->n;
        if (first >= t->n) break;
        size_t at = part_offset(offset, bytes, first);
        err = recv_from(t, first, all + at, part_offset(offset, bytes, end) - at);
    }
    if (err || t->me == 0) return err;
    bit = t->me & -t->me;
    int end = t->me + bit < t->n ? t->me + bit : t->n;
    size_t at = part_offset(offset, bytes, t->me);
    return send_to(t, t->me - bit, all + at, part_offset(offset, bytes, end) - at);
}

int uno_team_gather(const struct uno_team *t, void *all, size_t bytes)
{
    return gather(t, all, NULL, bytes);
}

int uno_team_allgather(const struct uno_team *t, void *all, size_t bytes)
{
    char *part = all;
    if (t->n == 2) return swap(t, part + (size_t)t->me * bytes, part + (size_t)(1 - t->me) * bytes, bytes);
    int err = gather(t, all, NULL, bytes);
    return err ? err : uno_team_bcast(t, all, (size_t)t->n * bytes);
}

int uno_team_allgatherv(const struct uno_team *t, void *all, const size_t *offset)
{
    int err = gather(t, all, offset, 0);
    return err ? err : uno_team_bcast(t, all, offset[t->n]);
}

static void take_most(int64_t *value, const int64_t *theirs, int n)
{
    for (int i = 0; i < n; i++)
        if (theirs[i] > value[i]) value[i] = theirs[i];
}

int uno_team_most_of(const struct uno_team *t, int64_t *value, int n)
{
    int64_t theirs[UNO_TEAM_VALUES];
    size_t bytes = (size_t)n * sizeof *value;
    int bit = 1, err = MPI_SUCCESS;
    if (t->n == 2) {
        err = swap(t, value, theirs, bytes);
        if (!err) take_most(value, theirs, n);
        return err;
    }
    for (; bit < t->n && !(t->me & bit) && !err; bit <<= 1) {
        if (t->me + bit >= t->n) break;
        err = recv_from(t, t->me + bit, theirs, bytes);
        if (!err) take_most(value, theirs, n);
    }
    if (!err && t->me) err = send_to(t, t->me - (t->me & -t->me), value, bytes);
    return err ? err : uno_team_bcast(t, value, bytes);
}

int uno_team_most(const struct uno_team *t, int64_t *value)
{
    int64_t most = *value;
    int err = uno_team_most_of(t, &most, 1);
    if (!err) *value = most;
    return err;
}

int uno_team_barrier(const struct uno_team *t)
{
    struct MPI_ABI_Datatype *byte = uno_type(MPI_BYTE);
    int err = MPI_SUCCESS;
    for (int step = 1; step < t->n && !err; step *= 2) {    // after log2(n) steps all have heard of all
        struct uno_where to = {t->comm, uno_team_rank(t, (t->me + step) % t->n), t->tag, true};
        struct uno_where from = {t->comm, uno_team_rank(t, (t->me - step + t->n) % t->n), t->tag, true};
        err = uno_sendrecv(NULL, 0, byte, &to, NULL, 0, byte, &from, MPI_STATUS_IGNORE);
    }
    return err;
}

static struct MPI_ABI_Group *group_of(const struct uno_team *t)
{
    int *proc = malloc((size_t)t->n * sizeof *proc);
    if (!proc) return NULL;
    for (int i = 0; i < t->n; i++) proc[i] = uno_comm_proc(t->comm, uno_team_rank(t, i));
    struct MPI_ABI_Group *g = uno_group_make(t->n, proc);
    free(proc);
    return g;
}

int uno_team_comm(const struct uno_team *t, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out)
{
    uint64_t context = t->me == 0 ? uno_context_new(uno_comm_is_mixed(t->comm)) : 0;
    int err = uno_team_bcast(t, &context, sizeof context);
    if (err) return err;
    struct MPI_ABI_Group *own = g ? NULL : group_of(t);
    *out = g || own ? uno_comm_make(g ? g : own, NULL, context) : NULL;
    if (own) uno_group_drop(own);
    return *out ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for a communicator of %d ranks", t->n);
}
