// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point calls of Comm. Small messages are started as nonblocking ones with the GIL held: a send that left at
// once and a receive that is soon there never touch it. Blocking MPI calls run without it, so a thread of the same
// process can always make the call that they wait for.
#include "fast.h"

static const struct names send_names = {"Send", 2, 3, {"buf", "dest", "tag"}};
static const struct names recv_names = {"Recv", 1, 3, {"buf", "source", "tag"}};

struct message {
    struct part part;
    int peer, tag;
    PyObject *object;
};

// Arguments of a send or a receive; the part is held on success.
static inline int take(struct comm *c, const struct names *k, int writable, PyObject *const *v, struct message *m)
{
    int wild = k == &recv_names;
    m->object = v[0];
    if (fast_int(v[1], wild ? MPI_ANY_SOURCE : 0, &m->peer) || fast_int(v[2], wild ? MPI_ANY_TAG : 0, &m->tag))
        return -1;
    return fast_part(c->state, v[0], writable, &m->part);
}

static PyObject *send(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    MPI_Request q;
    int code;
    if (fast_arguments(&send_names, args, n, words, v) || take(c, &send_names, 0, v, &m)) return NULL;
    if (fast_small(&m.part)) {
        code = MPI_Isend(m.part.at, m.part.count, m.part.type, m.peer, m.tag, c->comm, &q);
        if (code == MPI_SUCCESS) code = fast_complete(&q);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        code = MPI_Send(m.part.at, m.part.count, m.part.type, m.peer, m.tag, c->comm);
        Py_END_ALLOW_THREADS;
    }
    fast_part_give(&m.part);
    if (code != MPI_SUCCESS) return fast_raise("Send", code);
    Py_RETURN_NONE;
}

static PyObject *recv(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    MPI_Request q;
    int code;
    if (fast_arguments(&recv_names, args, n, words, v) || take(c, &recv_names, 1, v, &m)) return NULL;
    if (fast_small(&m.part)) {
        code = MPI_Irecv(m.part.at, m.part.count, m.part.type, m.peer, m.tag, c->comm, &q);
        if (code == MPI_SUCCESS) code = fast_complete(&q);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        code = MPI_Recv(m.part.at, m.part.count, m.part.type, m.peer, m.tag, c->comm, MPI_STATUS_IGNORE);
        Py_END_ALLOW_THREADS;
    }
    fast_part_give(&m.part);
    if (code != MPI_SUCCESS) return fast_raise("Recv", code);
    Py_RETURN_NONE;
}

enum what { ISEND, IRECV, SEND_INIT, RECV_INIT };
static const char *const titles[] = {"Isend", "Irecv", "Send_init", "Recv_init"};

static inline int start(const struct comm *c, const struct message *m, enum what what, MPI_Request *q)
{
    const struct part *p = &m->part;
    switch (what) {
    case ISEND: return MPI_Isend(p->at, p->count, p->type, m->peer, m->tag, c->comm, q);
    case IRECV: return MPI_Irecv(p->at, p->count, p->type, m->peer, m->tag, c->comm, q);
    case SEND_INIT: return MPI_Send_init(p->at, p->count, p->type, m->peer, m->tag, c->comm, q);
    default: return MPI_Recv_init(p->at, p->count, p->type, m->peer, m->tag, c->comm, q);
    }
}

// A request with its operation started, or made ready.
static inline PyObject *begin(struct comm *c, struct message *m, enum what what)
{
    struct request *r = (struct request *)fast_request(c, m->object, &m->part);
    if (!r) return NULL;
    int code = start(c, m, what, &r->q);
    if (code != MPI_SUCCESS) {
        r->q = MPI_REQUEST_NULL;
        Py_DECREF(r);
        return fast_raise(titles[what], code);
    }
    r->active = what <= IRECV;
    r->persistent = !r->active;
    return (PyObject *)r;
}

static PyObject *isend(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    if (fast_arguments(&send_names, args, n, words, v) || take(c, &send_names, 0, v, &m)) return NULL;
    return begin(c, &m, ISEND);
}

static PyObject *irecv(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    if (fast_arguments(&recv_names, args, n, words, v) || take(c, &recv_names, 1, v, &m)) return NULL;
    return begin(c, &m, IRECV);
}

static PyObject *send_init(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    if (fast_arguments(&send_names, args, n, words, v) || take(c, &send_names, 0, v, &m)) return NULL;
    return begin(c, &m, SEND_INIT);
}

static PyObject *recv_init(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    PyObject *v[3];
    struct message m;
    if (fast_arguments(&recv_names, args, n, words, v) || take(c, &recv_names, 1, v, &m)) return NULL;
    return begin(c, &m, RECV_INIT);
}

// Both halves in flight at once, then both complete: the same as MPI_Sendrecv, and it may hold the GIL for a while.
static int both_small(struct comm *c, struct message *out, struct message *in)
{
    MPI_Request q[2];
    int code = MPI_Irecv(in->part.at, in->part.count, in->part.type, in->peer, in->tag, c->comm, &q[0]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Isend(out->part.at, out->part.count, out->part.type, out->peer, out->tag, c->comm, &q[1]);
    if (code != MPI_SUCCESS) {
        MPI_Cancel(&q[0]);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        return code;
    }
    code = fast_complete(&q[1]);
    int other = fast_complete(&q[0]);
    return code != MPI_SUCCESS ? code : other;
}

static PyObject *sendrecv(struct comm *c, PyObject *const *args, Py_ssize_t n, PyObject *words)
{
    static const struct names names = {
        "Sendrecv", 2, 6, {"sendbuf", "dest", "sendtag", "recvbuf", "source", "recvtag"}};
    PyObject *v[6];
    struct message out, in;
    if (fast_arguments(&names, args, n, words, v) || take(c, &send_names, 0, v, &out)) return NULL;
    if (take(c, &recv_names, 1, v + 3, &in)) return fast_part_give(&out.part), NULL;
    int code;
    if (fast_small(&out.part) && fast_small(&in.part)) {
        code = both_small(c, &out, &in);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        code = MPI_Sendrecv(out.part.at, out.part.count, out.part.type, out.peer, out.tag, in.part.at, in.part.count,
                            in.part.type, in.peer, in.tag, c->comm, MPI_STATUS_IGNORE);
        Py_END_ALLOW_THREADS;
    }
    fast_part_give(&out.part);
    fast_part_give(&in.part);
    if (code != MPI_SUCCESS) return fast_raise("Sendrecv", code);
    Py_RETURN_NONE;
}

#define CALL(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL | METH_KEYWORDS
PyMethodDef fast_p2p_methods[] = {
    {"Send", CALL(send), "Send(buf, dest, tag=0)\n--\n\nBlocking standard send."},
    {"Recv", CALL(recv), "Recv(buf, source=ANY_SOURCE, tag=ANY_TAG)\n--\n\nBlocking receive."},
    {"Isend", CALL(isend), "Isend(buf, dest, tag=0)\n--\n\nNonblocking send; a Request."},
    {"Irecv", CALL(irecv), "Irecv(buf, source=ANY_SOURCE, tag=ANY_TAG)\n--\n\nNonblocking receive; a Request."},
    {"Send_init", CALL(send_init), "Send_init(buf, dest, tag=0)\n--\n\nPersistent send; a Request to Start."},
    {"Recv_init", CALL(recv_init), "Recv_init(buf, source, tag)\n--\n\nPersistent receive; a Request to Start."},
    {"Sendrecv", CALL(sendrecv),
     "Sendrecv(sendbuf, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG)\n--\n\nBoth at once."},
    {0},
};
