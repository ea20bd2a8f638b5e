// SPDX-License-Identifier: BSD-3-Clause
// The argument checks of the collectives (coll_call.h), with checks on. Handles are resolved: a type is NULL on the
// side that does not matter on this rank. Called by coll_call.c.
#include <stdlib.h>

#include "api/coll_call.h"
#include "core/type_make.h"

// One side of the call as arrays: n blocks of counts at displacements.
struct side {
    const char *buf_name, *count_name, *displ_name, *type_name;
    const void *buf;
    int n;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
    struct uno_vector counts, displs;
    const MPI_Datatype *types;
    bool vector, typed;
};

static bool is_w(enum uno_coll_kind k)
{
    return k == UNO_ALLTOALLW || k == UNO_NEIGHBOR_ALLTOALLW;
}

static bool is_neighbor(enum uno_coll_kind k)
{
    return k >= UNO_NEIGHBOR_ALLGATHER;
}

static int check_one_count(MPI_Count n, const char *name, int i)
{
    if (n >= 0) return MPI_SUCCESS;
    if (i < 0) return uno_fail(MPI_ERR_COUNT, "%s %lld is negative", name, (long long)n);
    return uno_fail(MPI_ERR_COUNT, "%s[%d] is %lld, negative", name, i, (long long)n);
}

// A NULL buffer may be MPI_BOTTOM, with addresses as displacements: then no block may lie in the first pages.
static int check_bottom(const struct side *s, int i, const struct MPI_ABI_Datatype *type, MPI_Count unit)
{
    MPI_Count low = uno_at(s->displs, i) * unit + type->true_lb;
    if (s->buf || uno_at(s->counts, i) == 0 || type->size == 0 || low < 0 || low >= 65536) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_BUFFER, "%s is NULL, and block %d (see %s) starts at address %lld", s->buf_name, i,
                    s->displ_name, (long long)low);
}

static int check_w(const struct side *s)
{
    int err = s->n ? uno_check_pointer(s->types, s->type_name) : MPI_SUCCESS;
    for (int i = 0; !err && i < s->n; i++) {
        err = uno_check_type(s->types[i]);
        if (!err) err = check_bottom(s, i, uno_type(s->types[i]), 1);
    }
    return err;
}

static int check_side(const struct side *s)
{
    int err = MPI_SUCCESS;
    if (s->vector && s->n) {
        err = uno_check_pointer(s->counts.at, s->count_name);
        if (!err && s->displ_name) err = uno_check_pointer(s->displs.at, s->displ_name);
        for (int i = 0; !err && i < s->n; i++) err = check_one_count(uno_at(s->counts, i), s->count_name, i);
    } else if (!s->vector) {
        err = check_one_count(s->count, s->count_name, -1);
    }
    if (err) return err;
    if (s->typed) return check_w(s);
    if (!(s->type->flags & UNO_TYPE_COMMITTED)) err = uno_type_ask(s->type, s->type_name);
    if (err) return err;
    if (s->buf == MPI_IN_PLACE)
        return uno_fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which has no meaning here", s->buf_name);
    if (!s->vector || !s->displ_name) return uno_check_buffer(s->buf, s->count, s->type);
    for (int i = 0; !s->buf && !err && i < s->n; i++) err = check_bottom(s, i, s->type, s->type->extent);
    return err;
}

struct interval {
    MPI_Count at, end;
    int i;
};

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int overlap(const struct side *s, int i, int j)
{
    return uno_fail(MPI_ERR_BUFFER, "blocks %d and %d of %s overlap (see %s: each place may be written only once)", i,
                    j, s->buf_name, s->displ_name);
}

// What is received may not be written twice. In order of displacements it is one pass; else they are sorted first.
static int check_overlap(const struct side *s)
{
    if (!s->vector || s->typed || !s->displ_name || !s->type || !(s->type->flags & UNO_TYPE_PLAIN)) return MPI_SUCCESS;
    if (s->type->size == 0) return MPI_SUCCESS;    // nothing is written
    MPI_Count end = 0;
    int last = -1, i;
    for (i = 0; i < s->n; i++) {
        MPI_Count n = uno_at(s->counts, i), at = uno_at(s->displs, i);
        if (n == 0) continue;
        if (last >= 0 && at < end) break;
        end = at + n;
        last = i;
    }
    if (i == s->n) return MPI_SUCCESS;
    struct interval *all = malloc((size_t)s->n * sizeof *all);
    if (!all) return MPI_SUCCESS;    // a check that cannot be made does not stop the program
    int m = 0, err = MPI_SUCCESS;
    for (i = 0; i < s->n; i++) {
        MPI_Count n = uno_at(s->counts, i), at = uno_at(s->displs, i);
        if (n) all[m++] = (struct interval){at, at + n, i};
    }
    qsort(all, (size_t)m, sizeof *all, by_start);
    for (i = 1; !err && i < m; i++)
        if (all[i].at < all[i - 1].end) err = overlap(s, all[i - 1].i, all[i].i);
    free(all);
    return err;
}

// The bytes of block i of a side, empty when its layout has gaps: those are not looked at. Equal blocks without
// displacements lie one after the other and are one block here.
static struct interval bytes_of(const struct side *s, int i)
{
    const struct MPI_ABI_Datatype *t = s->typed ? uno_type(s->types[i]) : s->type;
    MPI_Count n = s->vector ? uno_at(s->counts, i) : s->count, bytes, at = (MPI_Count)(intptr_t)s->buf;
    if (s->vector) at += uno_at(s->displs, i) * (s->typed ? 1 : t->extent);
    bool absurd =
        __builtin_mul_overflow(n, t->size, &bytes) || (!s->vector && __builtin_mul_overflow(bytes, s->n, &bytes));
    return (struct interval){at, t->flags & UNO_TYPE_PLAIN && !absurd ? at + bytes : at, i};
}

// All blocks that are not empty, in order of addresses, into list; returns how many.
static int list_bytes(const struct side *s, struct interval *list)
{
    int m = 0;
    for (int i = 0; i < (s->vector ? s->n : 1); i++) {
        struct interval b = bytes_of(s, i);
        if (b.end > b.at) list[m++] = b;
    }
    qsort(list, (size_t)m, sizeof *list, by_start);
    return m;
}

// From the first byte of a side to the end of its last.
static struct interval hull_of(const struct side *s)
{
    struct interval all = {0, 0, 0};
    for (int i = 0; i < (s->vector ? s->n : 1); i++) {
        struct interval b = bytes_of(s, i);
        if (b.end == b.at) continue;
        if (all.end == all.at) all = b;
        if (b.at < all.at) all.at = b.at;
        if (b.end > all.end) all.end = b.end;
    }
    return all;
}

static bool meet(struct interval a, struct interval b)
{
    return a.at < a.end && b.at < b.end && a.at < b.end && b.at < a.end;
}

// Whether a byte is in both sides, block by block; false also when there is no memory to find out.
static bool share_bytes(const struct side *a, const struct side *b)
{
    if (!meet(hull_of(a), hull_of(b))) return false;
    if (!a->vector && !b->vector) return true;
    struct interval *list = malloc(((size_t)a->n + (size_t)b->n) * sizeof *list);
    if (!list) return false;
    int na = list_bytes(a, list), nb = list_bytes(b, list + na), i = 0, j = 0;
    struct interval *other = list + na;
    while (i < na && j < nb && !meet(list[i], other[j])) *(list[i].end <= other[j].at ? &i : &j) += 1;
    bool found = i < na && j < nb;
    free(list);
    return found;
}

// What is sent and what is received must lie apart. Told where it is certain: for bytes that lie together, and for one
// layout at one address.
static int check_apart(const struct side *from, const struct side *to, bool in_place)
{
    const char *hint = in_place ? " (say MPI_IN_PLACE for that)" : "";
    bool bytes = !from->vector && !to->vector && from->count > 0 && to->count > 0 && from->type->size > 0;
    if (bytes && from->buf && from->buf == to->buf && from->type == to->type)
        return uno_fail(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same address%s", hint);
    if (!share_bytes(from, to)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_BUFFER, "sendbuf and recvbuf overlap (%p and %p; what is sent must not be written)",
                    from->buf, to->buf);
}

static struct side send_side(const struct uno_call *c)
{
    enum uno_coll_kind k = c->kind;
    bool v = k == UNO_SCATTERV || k == UNO_ALLTOALLV || k == UNO_NEIGHBOR_ALLTOALLV || is_w(k);
    bool apart = k == UNO_SCATTER || k == UNO_ALLTOALL || k == UNO_NEIGHBOR_ALLTOALL;    // a block per receiver
    int peers = is_neighbor(k) ? c->nout : c->comm->npeers;
    return (struct side){"sendbuf",
                         v ? "sendcounts" : "sendcount",
                         k == UNO_SCATTERV ? "displs" : "sdispls",
                         is_w(k) ? "sendtypes" : "sendtype",
                         c->sbuf,
                         v || apart ? peers : 1,
                         c->scount,
                         c->stype,
                         c->scounts,
                         c->sdispls,
                         c->stypes,
                         v,
                         is_w(k)};
}

static struct side recv_side(const struct uno_call *c)
{
    enum uno_coll_kind k = c->kind;
    bool v = k == UNO_GATHERV || k == UNO_ALLGATHERV || k == UNO_ALLTOALLV || k == UNO_NEIGHBOR_ALLGATHERV ||
             k == UNO_NEIGHBOR_ALLTOALLV || is_w(k);
    bool alone = k == UNO_SCATTER || k == UNO_SCATTERV || k == UNO_BCAST;    // one block, else one per sender
    const char *displs = k == UNO_GATHERV || k == UNO_ALLGATHERV || k == UNO_NEIGHBOR_ALLGATHERV ? "displs" : "rdispls";
    return (struct side){"recvbuf",  v ? "recvcounts" : "recvcount",
                         displs,     is_w(k) ? "recvtypes" : "recvtype",
                         c->rbuf,    alone ? 1 : is_neighbor(k) ? c->nin : c->comm->npeers,
                         c->rcount,  c->rtype,
                         c->rcounts, c->rdispls,
                         c->rtypes,  v,
                         is_w(k)};
}

static int check_in_place(const struct uno_call *c)
{
    bool root = c->comm->inter ? c->root == MPI_ROOT : c->root == c->comm->rank;
    bool gather = c->kind == UNO_GATHER || c->kind == UNO_GATHERV || c->kind == UNO_REDUCE;
    bool scatter = c->kind == UNO_SCATTER || c->kind == UNO_SCATTERV;
    if (c->sbuf == MPI_IN_PLACE) {
        if (c->comm->inter)
            return uno_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE (not allowed on an intercommunicator)");
        if (is_neighbor(c->kind))
            return uno_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE (a neighbourhood collective has no such form)");
        if (gather && !root)
            return uno_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE (only the root, rank %d, may say so)", c->root);
        if (scatter && root)
            return uno_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE (scatter in place is said by recvbuf)");
    }
    if (c->rbuf != MPI_IN_PLACE) return MPI_SUCCESS;
    if (scatter && root && !c->comm->inter) return MPI_SUCCESS;
    if (gather && !root) return MPI_SUCCESS;              // not significant
    if (scatter && c->comm->inter) return MPI_SUCCESS;    // not significant at MPI_ROOT
    return uno_fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which has no meaning here",
                    c->kind == UNO_BCAST ? "buffer" : "recvbuf");
}

static int check_reduction(const struct uno_call *c)
{
    if (!c->rtype) return MPI_SUCCESS;
    struct side s = {.buf_name = "recvbuf",
                     .count_name = "count",
                     .type_name = "datatype",
                     .buf = c->rbuf,
                     .n = c->comm->size,
                     .count = c->rcount,
                     .type = c->rtype,
                     .counts = c->rcounts,
                     .vector = c->kind == UNO_REDUCE_SCATTER};
    if (s.vector && s.counts.at) s.count = uno_at(s.counts, c->comm->rank);    // what this rank receives may be nothing
    if (s.vector || c->kind == UNO_REDUCE_SCATTER_BLOCK) s.count_name = s.vector ? "recvcounts" : "recvcount";
    bool root = c->comm->inter ? c->root == MPI_ROOT : c->root == c->comm->rank;
    bool receives = c->kind != UNO_REDUCE || root;
    if (!receives) {
        s.buf = c->sbuf;
        s.buf_name = "sendbuf";
    }
    int err = check_side(&s);
    if (!err) err = uno_check_reduction(c->op, c->rtype);
    if (err || c->sbuf == MPI_IN_PLACE || (c->comm->inter && root && c->kind == UNO_REDUCE)) return err;
    MPI_Count count = c->rcount;
    for (int i = 0; s.vector && s.counts.at && i < s.n; i++) count += uno_at(s.counts, i);
    err = uno_check_buffer(c->sbuf, count, c->rtype);
    if (err || !receives || c->rbuf == MPI_IN_PLACE) return err;
    if (c->kind == UNO_REDUCE_SCATTER_BLOCK) count *= s.n;
    struct side from = {.buf_name = "sendbuf", .buf = c->sbuf, .n = 1, .count = count, .type = c->rtype};
    s.n = 1;
    s.vector = false;
    return check_apart(&from, &s, true);
}

// The part of a rank that it keeps must fit: what this rank alone can see of a mismatch.
static int check_own(const struct uno_call *c)
{
    if (c->comm->inter || !c->stype || !c->rtype || c->rbuf == MPI_IN_PLACE) return MPI_SUCCESS;
    bool same = c->kind == UNO_ALLGATHER || c->kind == UNO_ALLTOALL || c->kind == UNO_GATHER || c->kind == UNO_SCATTER;
    bool own = c->kind == UNO_ALLGATHERV;
    if (!same && !own) return MPI_SUCCESS;
    MPI_Count count = own ? uno_at(c->rcounts, c->comm->rank) : c->rcount;
    MPI_Count out = c->scount * c->stype->size, in = count * c->rtype->size;
    if (out > in) {
        return uno_fail(MPI_ERR_TRUNCATE, "sendcount and sendtype make %lld bytes per block, %s and recvtype %lld",
                        (long long)out, own ? "this rank's recvcounts" : "recvcount", (long long)in);
    }
    return MPI_SUCCESS;
}

// ---- one look for the calls that programs make most: plain types in buffers that lie apart, blocks of the v forms in
// order. What it does not call right is looked at in detail ----

#define USUAL (UNO_TYPE_PLAIN | UNO_TYPE_COMMITTED)
#define MOST ((MPI_Count)1 << 20)    // of a count, a size and the number of ranks: no product overflows

static bool usual_buffer(const void *buf, const struct MPI_ABI_Datatype *t)
{
    return t && (t->flags & USUAL) == USUAL && t->size <= MOST && buf && buf != MPI_IN_PLACE;
}

static struct interval run_of(const void *at, MPI_Count bytes)
{
    return (struct interval){(MPI_Count)(intptr_t)at, (MPI_Count)(intptr_t)at + bytes, 0};
}

static bool even_reach(struct interval *r, const void *buf, MPI_Count count, int blocks,
                       const struct MPI_ABI_Datatype *t)
{
    if (!usual_buffer(buf, t) || count < 0 || count > MOST) return false;
    *r = run_of(buf, count * t->size * blocks);
    return true;
}

// From the buffer's address on, though the first block may lie behind it.
static bool v_reach(struct interval *r, const void *buf, struct uno_vector counts, struct uno_vector displs, int blocks,
                    const struct MPI_ABI_Datatype *t)
{
    if (!usual_buffer(buf, t) || !counts.at || !displs.at) return false;
    MPI_Count end = 0;
    for (int i = 0; i < blocks; i++) {
        MPI_Count n = uno_at(counts, i), at = uno_at(displs, i);
        if (n < 0 || n > MOST || at < end || at - end > MOST) return false;
        end = at + n;
    }
    *r = run_of(buf, end * t->size);
    return true;
}

// What a reduction takes and gives; in place it takes nothing else.
static bool reduction_reach(const struct uno_call *c, struct interval *from, struct interval *to)
{
    bool receives = c->kind != UNO_REDUCE || c->root == c->comm->rank;
    int blocks = c->kind == UNO_REDUCE_SCATTER_BLOCK ? c->comm->size : 1;
    if (c->kind == UNO_REDUCE_SCATTER || (receives && !even_reach(to, c->rbuf, c->rcount, 1, c->rtype))) return false;
    return (receives && c->sbuf == MPI_IN_PLACE) || even_reach(from, c->sbuf, c->rcount, blocks, c->rtype);
}

// A side that does not matter on this rank has no type.
static bool move_reach(const struct uno_call *c, struct interval *from, struct interval *to)
{
    int n = c->comm->size;
    MPI_Count block = c->rcount;    // elements that this rank keeps of its own
    bool both = c->stype && c->rtype;
    switch (c->kind) {
    case UNO_BCAST: return even_reach(to, c->rbuf, c->rcount, 1, c->rtype);
    case UNO_ALLTOALL:
    case UNO_SCATTER:
        if (c->stype && !even_reach(from, c->sbuf, c->scount, n, c->stype)) return false;
        if (!even_reach(to, c->rbuf, c->rcount, c->kind == UNO_SCATTER ? 1 : n, c->rtype)) return false;
        break;
    case UNO_ALLGATHER:
    case UNO_GATHER:
        if (!even_reach(from, c->sbuf, c->scount, 1, c->stype)) return false;
        if (c->rtype && !even_reach(to, c->rbuf, c->rcount, n, c->rtype)) return false;
        break;
    case UNO_SCATTERV:
        if (c->stype && !v_reach(from, c->sbuf, c->scounts, c->sdispls, n, c->stype)) return false;
        return even_reach(to, c->rbuf, c->rcount, 1, c->rtype);
    case UNO_GATHERV:
        if (c->rtype && !v_reach(to, c->rbuf, c->rcounts, c->rdispls, n, c->rtype)) return false;
        return even_reach(from, c->sbuf, c->scount, 1, c->stype);
    case UNO_ALLTOALLV:
        return v_reach(from, c->sbuf, c->scounts, c->sdispls, n, c->stype) &&
               v_reach(to, c->rbuf, c->rcounts, c->rdispls, n, c->rtype);
    case UNO_ALLGATHERV:
        if (!v_reach(to, c->rbuf, c->rcounts, c->rdispls, n, c->rtype)) return false;
        if (!even_reach(from, c->sbuf, c->scount, 1, c->stype)) return false;
        block = uno_at(c->rcounts, c->comm->rank);
        break;
    default: return false;
    }
    return !both || c->scount * c->stype->size <= block * c->rtype->size;
}

static bool plainly_right(const struct uno_call *c)
{
    struct interval from = {0, 0, 0}, to = {0, 0, 0};
    if (c->comm->inter || c->comm->size > MOST) return false;
    if (!(uno_coll_reduces(c->kind) ? reduction_reach(c, &from, &to) : move_reach(c, &from, &to))) return false;
    return !meet(from, to);
}

int uno_check_call(const struct uno_call *c)
{
    if (plainly_right(c)) return c->op ? uno_check_reduction(c->op, c->rtype) : MPI_SUCCESS;
    int err = check_in_place(c);
    if (err) return err;
    if (uno_coll_reduces(c->kind)) return check_reduction(c);
    struct side s = send_side(c), r = recv_side(c);
    if (c->kind == UNO_BCAST) {
        r.buf_name = "buffer";
        r.count_name = "count";
        r.type_name = "datatype";
    }
    bool sends = c->stype || (s.typed && c->sbuf != MPI_IN_PLACE), receives = c->rtype || r.typed;
    if (sends) err = check_side(&s);
    if (!err && receives) err = check_side(&r);
    if (!err && receives) err = check_overlap(&r);
    if (!err) err = check_own(c);
    if (err || !sends || !receives || c->kind == UNO_BCAST || c->rbuf == MPI_IN_PLACE) return err;
    return check_apart(&s, &r, !is_neighbor(c->kind));
}
