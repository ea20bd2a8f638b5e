// SPDX-License-Identifier: BSD-3-Clause
// Collective calls of Comm. They wait for other ranks by nature, so the GIL is released around each. Counts follow from
// the buffers: equal shares for gather, scatter, allgather and alltoall.
#include "fast.h"

enum kind { BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL };

struct collective {
    struct part out, in;    // send and receive side; bcast has `in` alone
    int root;
    MPI_Op op;
};

static int call(const struct comm *c, enum kind kind, const struct collective *k)
{
    const struct part *s = &k->out, *d = &k->in;
    int n = c->size;
    switch (kind) {
    case BARRIER: return MPI_Barrier(c->comm);
    case BCAST: return MPI_Bcast(d->at, d->count, d->type, k->root, c->comm);
    case REDUCE: return MPI_Reduce(s->at, d->at, s->count, s->type, k->op, k->root, c->comm);
    case ALLREDUCE: return MPI_Allreduce(s->at, d->at, d->count, d->type, k->op, c->comm);
    case SCAN: return MPI_Scan(s->at, d->at, d->count, d->type, k->op, c->comm);
    case EXSCAN: return MPI_Exscan(s->at, d->at, d->count, d->type, k->op, c->comm);
    case GATHER: return MPI_Gather(s->at, s->count, s->type, d->at, d->count / n, d->type, k->root, c->comm);
    case SCATTER: return MPI_Scatter(s->at, s->count / n, s->type, d->at, d->count, d->type, k->root, c->comm);
    case ALLGATHER: return MPI_Allgather(s->at, s->count, s->type, d->at, d->count / n, d->type, c->comm);
    default: return MPI_Alltoall(s->at, s->count / n, s->type, d->at, d->count / n, d->type, c->comm);
    }
}

static const char *misfit(const struct comm *c, enum kind kind, const struct collective *k)
{
    const struct part *s = &k->out, *d = &k->in;
    int reduces = kind >= REDUCE && kind <= EXSCAN, root = c->rank == k->root;
    if (reduces && (!s->width || !d->width)) return "elements of a type that MPI does not combine";
    if (reduces && s->at != MPI_IN_PLACE && (kind != REDUCE || root) && (s->count != d->count || s->type != d->type))
        return "send and receive buffer differ in type or length";
    if ((kind == ALLGATHER || kind == ALLTOALL || (kind == GATHER && root)) && d->count % c->size)
        return "the receive buffer has no equal share for each rank";
    if ((kind == ALLTOALL || (kind == SCATTER && root)) && s->count % c->size)
        return "the send buffer has no equal share for each rank";
    return NULL;
}

static PyObject *run(struct comm *c, enum kind kind, const char *name, struct collective *k)
{
    const char *wrong = kind == BARRIER ? NULL : misfit(c, kind, k);
    int code = MPI_SUCCESS;
    if (kind == REDUCE && k->out.at == MPI_IN_PLACE) k->out.count = k->in.count, k->out.type = k->in.type;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS;
        code = call(c, kind, k);
        Py_END_ALLOW_THREADS;
    }
    fast_part_give(&k->out);
    fast_part_give(&k->in);
    if (wrong) return PyErr_Format(PyExc_ValueError, "%s: %s", name, wrong);
    if (code != MPI_SUCCESS) return fast_raise(name, code);
    Py_RETURN_NONE;
}

// Both buffers by place; either may be None where the call ignores it.
static int pair(struct comm *c, PyObject *const *v, struct collective *k)
{
    if (fast_part(c->state, v[0], 0, &k->out)) return -1;
    if (fast_part(c->state, v[1], 1, &k->in) == 0) return 0;
    fast_part_give(&k->out);
    return -1;
}

static PyObject *barrier(struct comm *c, PyObject *none)
{
    (void)none;
    struct collective k = {.root = 0};
    return run(c, BARRIER, "Barrier", &k);
}

static PyObject *bcast(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Bcast", 1, 2, {"buf", "root"}};
    PyObject *v[2];
    struct collective k;
    k.out.held = 0;
    if (fast_arguments(&names, args, n, words, v) || fast_int(v[1], 0, &k.root)) return NULL;
    if (fast_part(c->state, v[0], k.root != c->rank, &k.in)) return NULL;
    return run(c, BCAST, "Bcast", &k);
}

static PyObject *reduce(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Reduce", 2, 4, {"sendbuf", "recvbuf", "op", "root"}};
    PyObject *v[4];
    struct collective k;
    if (fast_arguments(&names, args, n, words, v) || fast_op(c->state, v[2], &k.op) || fast_int(v[3], 0, &k.root) ||
        pair(c, v, &k))
        return NULL;
    return run(c, REDUCE, "Reduce", &k);
}

static PyObject *combine(struct comm *c, PyObject *const *v, enum kind kind, const char *name)
{
    struct collective k = {.root = 0};
    if (fast_op(c->state, v[2], &k.op) || pair(c, v, &k)) return NULL;
    return run(c, kind, name, &k);
}

static PyObject *allreduce(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Allreduce", 2, 3, {"sendbuf", "recvbuf", "op"}};
    PyObject *v[3];
    return fast_arguments(&names, args, n, words, v) ? NULL : combine(c, v, ALLREDUCE, names.method);
}

static PyObject *scan(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Scan", 2, 3, {"sendbuf", "recvbuf", "op"}};
    PyObject *v[3];
    return fast_arguments(&names, args, n, words, v) ? NULL : combine(c, v, SCAN, names.method);
}

static PyObject *exscan(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Exscan", 2, 3, {"sendbuf", "recvbuf", "op"}};
    PyObject *v[3];
    return fast_arguments(&names, args, n, words, v) ? NULL : combine(c, v, EXSCAN, names.method);
}

static PyObject *move(struct comm *c, PyObject *const *v, enum kind kind, const char *name)
{
    struct collective k = {.root = 0};
    if (fast_int(v[2], 0, &k.root) || pair(c, v, &k)) return NULL;
    return run(c, kind, name, &k);
}

static PyObject *gather(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Gather", 2, 3, {"sendbuf", "recvbuf", "root"}};
    PyObject *v[3];
    return fast_arguments(&names, args, n, words, v) ? NULL : move(c, v, GATHER, names.method);
}

static PyObject *scatter(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Scatter", 2, 3, {"sendbuf", "recvbuf", "root"}};
    PyObject *v[3];
    return fast_arguments(&names, args, n, words, v) ? NULL : move(c, v, SCATTER, names.method);
}

static PyObject *allgather(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Allgather", 2, 2, {"sendbuf", "recvbuf"}};
    PyObject *v[3] = {0};
    return fast_arguments(&names, args, n, words, v) ? NULL : move(c, v, ALLGATHER, names.method);
}

static PyObject *alltoall(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {"Alltoall", 2, 2, {"sendbuf", "recvbuf"}};
    PyObject *v[3] = {0};
    return fast_arguments(&names, args, n, words, v) ? NULL : move(c, v, ALLTOALL, names.method);
}

#define CALL(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL | METH_KEYWORDS
PyMethodDef fast_coll_methods[] = {
    {"Barrier", (PyCFunction)barrier, METH_NOARGS, "Barrier()\n--\n\nWaits until all ranks are here."},
    {"Bcast", CALL(bcast), "Bcast(buf, root=0)\n--\n\nBroadcast from the root."},
    {"Reduce", CALL(reduce), "Reduce(sendbuf, recvbuf, op=SUM, root=0)\n--\n\nReduction to the root."},
    {"Allreduce", CALL(allreduce), "Allreduce(sendbuf, recvbuf, op=SUM)\n--\n\nReduction to all."},
    {"Scan", CALL(scan), "Scan(sendbuf, recvbuf, op=SUM)\n--\n\nInclusive prefix reduction."},
    {"Exscan", CALL(exscan), "Exscan(sendbuf, recvbuf, op=SUM)\n--\n\nExclusive prefix reduction."},
    {"Gather", CALL(gather), "Gather(sendbuf, recvbuf, root=0)\n--\n\nEqual shares to the root."},
    {"Scatter", CALL(scatter), "Scatter(sendbuf, recvbuf, root=0)\n--\n\nEqual shares from the root."},
    {"Allgather", CALL(allgather), "Allgather(sendbuf, recvbuf)\n--\n\nEqual shares to all."},
    {"Alltoall", CALL(alltoall), "Alltoall(sendbuf, recvbuf)\n--\n\nA block to every rank."},
    {0},
};
