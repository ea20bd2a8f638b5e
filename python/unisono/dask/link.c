// SPDX-License-Identifier: BSD-3-Clause
// Links: a communicator with one other process, or with this one. Sending never waits: what has not left at once keeps
// its memory until it has.
#include "engine.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

// The frames of a message to send.
struct parcel {
    Py_ssize_t count;
    Py_buffer *view, few[16];
    Py_ssize_t held;
    uint64_t small;     // frames up to this are packed
    uint64_t packed;    // bytes of the packed part
    uint32_t bodies;
};

static void give_views(struct parcel *p)
{
    for (Py_ssize_t i = 0; i < p->held; i++)
        if (p->view[i].obj) PyBuffer_Release(&p->view[i]);
    if (p->view != p->few) PyMem_Free(p->view);
}

static int hold_views(struct parcel *p, PyObject *frames)
{
    p->count = PyList_GET_SIZE(frames);
    p->view = p->count <= 16 ? p->few : PyMem_Malloc(sizeof *p->view * (size_t)p->count);
    if (!p->view) return PyErr_NoMemory(), -1;
    for (; p->held < p->count; p->held++)
        if (PyObject_GetBuffer(PyList_GET_ITEM(frames, p->held), &p->view[p->held], PyBUF_ANY_CONTIGUOUS)) return -1;
    return 0;
}

// Which frames are packed: those up to SMALL; of very many large ones only the largest, so that the lengths of the
// others fit into the slot.
static void sort(struct parcel *p)
{
    p->small = SMALL / 2;
    do {
        p->small *= 2;
        p->bodies = 0;
        p->packed = 8 * (uint64_t)p->count;
        for (Py_ssize_t i = 0; i < p->count; i++)
            if ((uint64_t)p->view[i].len > p->small)
                p->bodies++;
            else
                p->packed += (uint64_t)p->view[i].len;
    } while (8 * (uint64_t)p->bodies > ROOM);
}

static void pack(const struct parcel *p, unsigned char *to)
{
    unsigned char *at = to + 8 * p->count;
    for (Py_ssize_t i = 0; i < p->count; i++) {
        uint64_t length = (uint64_t)p->view[i].len, said = length > p->small ? APART : length;
        memcpy(to + 8 * i, &said, 8);
        if (said == APART) continue;
        memcpy(at, p->view[i].buf, length);
        at += length;
    }
}

// Starts one message of MPI. Takes over the op; what has left at once is over at once.
static int start(struct op *op, const void *at, uint64_t bytes, int tag)
{
    MPI_Request request;
    int code, left = 0;
    struct link *l = op->link;
    op->large = bytes >= LARGE;
    engine.larges += op->large;
    CALL_MPI(code = MPI_Isend_c(at, (MPI_Count)bytes, MPI_BYTE, l->peer, tag, l->comm, &request));
    if (code == MPI_SUCCESS) code = MPI_Test(&request, &left, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !left) {
        if (op->end) op->end->sending++;
        if (engine_add(request, op) == 0) return 0;
    }
    engine.larges -= op->large;
    engine_op_free(op);
    if (code == MPI_SUCCESS) return left ? 0 : -1;
    link_fail(l);
    engine_raise("MPI_Isend", code);
    return -1;
}

static struct op *send_op(struct link *l, struct end *e, size_t memory)
{
    struct op *op = engine_op(OP_SEND, l);
    if (!op) return NULL;
    op->end = (struct end *)Py_XNewRef((PyObject *)e);
    if (memory && !(op->memory = PyMem_Malloc(memory))) {
        engine_op_free(op);
        PyErr_NoMemory();
        return NULL;
    }
    return op;
}

static int send_slot(struct link *l, struct end *e, const struct head *h, const struct parcel *p)
{
    size_t bytes = sizeof *h + 8 * (size_t)h->bodies + (h->packed_apart ? 0 : h->packed);
    struct op *op = send_op(l, e, bytes);
    if (!op) return -1;
    unsigned char *at = op->memory;
    memcpy(at, h, sizeof *h);
    at += sizeof *h;
    for (Py_ssize_t i = 0; i < p->count; i++) {
        uint64_t length = (uint64_t)p->view[i].len;
        if (length <= p->small) continue;
        memcpy(at, &length, 8);
        at += 8;
    }
    if (!h->packed_apart) pack(p, at);
    return start(op, op->memory, bytes, TAG_SLOT);
}

static int send_rest(struct link *l, struct end *e, const struct head *h, struct parcel *p)
{
    int tag = TAG_FRAMES + (int)(h->tag % TAG_TURNS);
    if (h->packed_apart) {
        struct op *op = send_op(l, e, p->packed);
        if (!op) return -1;
        pack(p, op->memory);
        if (start(op, op->memory, p->packed, tag)) return -1;
    }
    for (Py_ssize_t i = 0; i < p->count; i++) {
        if ((uint64_t)p->view[i].len <= p->small) continue;
        struct op *op = send_op(l, e, 0);
        if (!op) return -1;
        op->view = p->view[i];
        op->has_view = true;
        p->view[i].obj = NULL;    // the op's now
        if (start(op, op->view.buf, (uint64_t)op->view.len, tag)) return -1;
    }
    return 0;
}

// In this process the message is taken as soon as its slot is there, so that large frames are copied once.
static int take_own(const struct link *l)
{
    return l->self && engine_collect() < 0 ? -1 : 0;
}

static int send_parcel(struct link *l, struct end *e, struct head *h, struct parcel *p)
{
    sort(p);
    h->frames = (uint32_t)p->count;
    h->bodies = p->bodies;
    h->packed = p->packed;
    h->packed_apart = p->packed > ROOM - 8 * (uint64_t)p->bodies;
    bool more = h->bodies || h->packed_apart;
    if (more) h->tag = l->messages++ % TAG_TURNS;
    if (send_slot(l, e, h, p) || take_own(l)) return -1;
    return more && (send_rest(l, e, h, p) || take_own(l)) ? -1 : 0;
}

int link_send(struct link *l, struct end *e, struct head *h, PyObject *frames, uint64_t *bytes)
{
    if (!PyList_Check(frames)) return PyErr_SetString(PyExc_TypeError, "frames: a list is expected"), -1;
    struct parcel p = {0};
    int failed = hold_views(&p, frames);
    *bytes = 0;
    for (Py_ssize_t i = 0; i < p.held; i++) *bytes += (uint64_t)p.view[i].len;
    if (!failed) failed = send_parcel(l, e, h, &p);
    give_views(&p);
    return failed;
}

int link_tell(struct link *l, struct head *h, PyObject *text)
{
    Py_ssize_t bytes = text ? PyBytes_GET_SIZE(text) : 0;
    if (bytes > (Py_ssize_t)ROOM) return PyErr_SetString(PyExc_ValueError, "a text that exceeds a slot"), -1;
    struct op *op = send_op(l, NULL, sizeof *h + (size_t)bytes);
    if (!op) return -1;
    memcpy(op->memory, h, sizeof *h);
    if (bytes) memcpy((unsigned char *)op->memory + sizeof *h, PyBytes_AS_STRING(text), (size_t)bytes);
    return start(op, op->memory, sizeof *h + (size_t)bytes, TAG_SLOT) || take_own(l) ? -1 : 0;
}

int link_stand(struct link *l)
{
    MPI_Request request;
    struct op *op = engine_op(OP_SLOT, l);
    if (!op) return -1;
    int code = MPI_Irecv(l->slot, SLOT, MPI_BYTE, l->peer, TAG_SLOT, l->comm, &request);
    if (code != MPI_SUCCESS) {
        engine_op_free(op);
        engine_raise("MPI_Irecv", code);
        return -1;
    }
    l->standing = true;
    return engine_add(request, op);
}

void link_fail(struct link *l)
{
    if (l->dead) return;
    l->dead = true;
    for (uint32_t i = 0; i < engine.ends; i++) {
        struct end *e = engine.end[i];
        if (!e || e->link != l) continue;
        e->peer_closed = true;
        end_tell(e);
    }
    PyObject *item = Py_BuildValue("(OIKKy)", l->owner ? l->owner : Py_None, 0U, 0ULL, 0ULL, "");
    if (!item || PyList_Append(engine.news, item)) PyErr_WriteUnraisable((PyObject *)l);
    Py_XDECREF(item);
}

// Receives that stand are taken back; they end, cancelled, with the next step.
static PyObject *link_close(struct link *l, PyObject *none)
{
    (void)none;
    link_fail(l);
    for (int i = 0; i < engine.count && !engine.testing; i++)
        if (engine.op[i]->link == l && engine.op[i]->kind != OP_SEND) MPI_Cancel(&engine.request[i]);
    Py_RETURN_NONE;
}

static PyObject *link_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"handle", "peer", "self", "owner", NULL};
    Py_ssize_t handle;
    int peer, self;
    PyObject *owner;
    if (!PyArg_ParseTupleAndKeywords(args, words, "nipO:Link", names, &handle, &peer, &self, &owner)) return NULL;
    if (engine_ready()) return NULL;
    struct link *l = (struct link *)type->tp_alloc(type, 0);
    if (!l) return NULL;
    l->comm = (MPI_Comm)(intptr_t)handle;
    l->peer = peer;
    l->self = self;
    l->owner = Py_NewRef(owner);
    MPI_Comm_set_errhandler(l->comm, MPI_ERRORS_RETURN);
    if (link_stand(l)) return Py_DECREF(l), NULL;
    return (PyObject *)l;
}

static PyObject *link_tell_text(struct link *l, PyObject *args)
{
    unsigned kind;
    unsigned long long to, from;
    PyObject *text;
    if (!PyArg_ParseTuple(args, "IKKS:tell", &kind, &to, &from, &text)) return NULL;
    struct head h = {.to = to, .from = from, .kind = kind};
    if (l->dead) return PyErr_SetString(engine.closed, "the other process has gone"), NULL;
    if (link_tell(l, &h, text)) return NULL;
    Py_RETURN_NONE;
}

static void link_dealloc(struct link *l)
{
    PyTypeObject *type = Py_TYPE(l);
    if (l->comm != MPI_COMM_NULL && engine.started) MPI_Comm_free(&l->comm);
    Py_XDECREF(l->owner);
    type->tp_free(l);
    Py_DECREF(type);
}

static PyMemberDef link_members[] = {
    {"dead", T_BOOL, offsetof(struct link, dead), READONLY, "Nothing more can be sent or will come."},
    {"peer", T_INT, offsetof(struct link, peer), READONLY, "Rank of the other process in the communicator."},
    {0},
};
static PyMethodDef link_methods[] = {
    {"tell", (PyCFunction)link_tell_text, METH_VARARGS, "tell(kind, to, from, text)\n--\n\nSends a control message."},
    {"close", (PyCFunction)link_close, METH_NOARGS, "close()\n--\n\nEnds the link and all connections over it."},
    {0},
};
static PyType_Slot link_slots[] = {
    {Py_tp_doc, "Link(handle, peer, self, owner)\n--\n\nA communicator with one other process, or with this one."},
    {Py_tp_new, link_new},
    {Py_tp_dealloc, link_dealloc},
    {Py_tp_members, link_members},
    {Py_tp_methods, link_methods},
    {0},
};
PyType_Spec link_spec = {.name = "unisono.dask._mpi.Link",
                         .basicsize = sizeof(struct link),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                         .slots = link_slots};
