// SPDX-License-Identifier: BSD-3-Clause
// Messages that arrive: a slot is taken apart, memory is made for large frames, and when all is there the end's reader
// is told. What the other process wrote is data: every number is checked against the slot before it is used.
#include "engine.h"

#include <string.h>

void message_free(struct message *m)
{
    m->end = NULL;
    if (m->missing) return;
    Py_XDECREF(m->frames);
    Py_XDECREF(m->bodies);
    PyMem_Free(m);
}

static int refuse(const char *what)
{
    PyErr_Format(PyExc_ValueError, "a message of another process is malformed: %s", what);
    return -1;
}

// A small frame gets memory of its own, so that nothing keeps the rest of the message alive; nobody keeps the first.
static PyObject *small_frame(const unsigned char *at, uint64_t bytes, Py_ssize_t index)
{
    if (index == 0) return PyBytes_FromStringAndSize((const char *)at, (Py_ssize_t)bytes);
    PyObject *copy = PyByteArray_FromStringAndSize((const char *)at, (Py_ssize_t)bytes);
    PyObject *view = copy ? PyMemoryView_FromObject(copy) : NULL;
    Py_XDECREF(copy);
    return view;
}

// Makes the list of frames out of the packed part and the bodies.
static int unpack(struct message *m, const unsigned char *packed, uint64_t bytes, uint32_t frames)
{
    uint64_t at = (uint64_t)frames * 8, length;
    Py_ssize_t bodies = 0;
    if (at > bytes) return refuse("its table of frames");
    PyObject *list = PyList_New(frames);
    for (uint32_t i = 0; list && i < frames; i++) {
        memcpy(&length, packed + 8 * (size_t)i, 8);
        PyObject *frame = NULL;
        if (length == APART && bodies < PyList_GET_SIZE(m->bodies)) {
            frame = Py_NewRef(PyList_GET_ITEM(m->bodies, bodies++));
        } else if (length <= bytes - at) {
            frame = small_frame(packed + at, length, i);
            at += length;
        } else {
            refuse("the length of a frame");
        }
        if (frame)
            PyList_SET_ITEM(list, i, frame);
        else
            Py_CLEAR(list);
    }
    m->frames = list;
    return list ? 0 : -1;
}

static int receive(struct message *m, struct op *op, uint32_t tag, void *at, uint64_t bytes)
{
    MPI_Request request;
    int code;
    op->message = m;
    op->large = bytes >= LARGE;
    engine.larges += op->large;
    CALL_MPI(code = MPI_Irecv_c(at, (MPI_Count)bytes, MPI_BYTE, op->link->peer, TAG_FRAMES + (int)(tag % TAG_TURNS),
                                op->link->comm, &request));
    if (code == MPI_SUCCESS && engine_add(request, op) == 0) {
        m->missing++;
        return 0;
    }
    engine.larges -= op->large;
    if (code != MPI_SUCCESS) engine_raise("MPI_Irecv", code);
    engine_op_free(op);
    return -1;
}

static int receive_body(struct link *l, struct message *m, uint32_t tag, uint64_t bytes)
{
    if (bytes > PY_SSIZE_T_MAX) return refuse("the length of a large frame");
    struct op *op = engine_op(OP_BODY, l);
    if (!op) return -1;
    PyObject *memory = memory_make((Py_ssize_t)bytes);
    int failed = !memory || PyList_Append(m->bodies, memory) || PyObject_GetBuffer(memory, &op->view, PyBUF_WRITABLE);
    Py_XDECREF(memory);
    if (failed) return engine_op_free(op), -1;
    op->has_view = true;
    return receive(m, op, tag, op->view.buf, bytes);
}

static int receive_packed(struct link *l, struct message *m, const struct head *h)
{
    if (h->packed > PY_SSIZE_T_MAX) return refuse("the length of its packed part");
    struct op *op = engine_op(OP_PACKED, l);
    if (!op) return -1;
    op->frames = h->frames;
    op->bytes = h->packed;
    op->memory = PyMem_Malloc(h->packed);
    if (!op->memory) return engine_op_free(op), PyErr_NoMemory(), -1;
    return receive(m, op, h->tag, op->memory, h->packed);
}

// A data message: what its slot holds, and receives for the rest.
static int arrive(struct link *l, struct message *m, const struct head *h, const unsigned char *at)
{
    m->bodies = PyList_New(0);
    if (!m->bodies) return -1;
    const unsigned char *packed = at + 8 * (size_t)h->bodies;
    if (h->packed_apart && receive_packed(l, m, h)) return -1;
    for (uint32_t i = 0; i < h->bodies; i++) {
        uint64_t bytes;
        memcpy(&bytes, at + 8 * (size_t)i, 8);
        if (receive_body(l, m, h->tag, bytes)) return -1;
    }
    return h->packed_apart ? 0 : unpack(m, packed, h->packed, h->frames);
}

static int arrive_data(struct link *l, const struct head *h, const unsigned char *at, size_t bytes)
{
    uint64_t inside = h->packed_apart ? 0 : h->packed;
    if (h->bodies > ROOM / 8 || 8 * (size_t)h->bodies + inside != bytes) return refuse("its lengths");
    struct message *m = PyMem_Calloc(1, sizeof *m);
    if (!m) return PyErr_NoMemory(), -1;
    m->marked = h->marked;
    struct end *e = end_find(h->to);
    if (arrive(l, m, h, at)) {
        message_free(m);
        return -1;
    }
    if (!e || e->link != l || e->peer_closed) {
        message_free(m);    // closed here meanwhile
        return 0;
    }
    m->end = e;
    *e->last = m;
    e->last = &m->next;
    end_tell(e);
    return 0;
}

static int arrive_control(struct link *l, const struct head *h, const unsigned char *at, size_t bytes)
{
    PyObject *item = Py_BuildValue("(OIKKy#)", l->owner ? l->owner : Py_None, (unsigned)h->kind,
                                   (unsigned long long)h->to, (unsigned long long)h->from, at, (Py_ssize_t)bytes);
    int failed = !item || PyList_Append(engine.news, item);
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

int message_arrive(struct link *l, size_t bytes)
{
    struct head h;
    if (bytes < sizeof h || bytes > SLOT) return refuse("its size");
    memcpy(&h, l->slot, sizeof h);
    const unsigned char *at = l->slot + sizeof h;
    bytes -= sizeof h;
    if (h.kind == KIND_DATA) return arrive_data(l, &h, at, bytes);
    if (h.kind == 0 || h.kind > KIND_LAST) return refuse("its kind");
    if (h.kind != KIND_CLOSE) return arrive_control(l, &h, at, bytes);
    struct end *e = end_find(h.to);
    if (!e || e->link != l) return 0;
    e->peer_closed = true;
    end_tell(e);
    return 0;
}

void message_part(struct op *op, int code)
{
    struct message *m = op->message;
    m->missing--;
    if (code != MPI_SUCCESS) m->broken = true;
    if (op->kind == OP_PACKED && !m->broken && unpack(m, op->memory, op->bytes, op->frames)) {
        PyErr_WriteUnraisable((PyObject *)op->link);
        m->broken = true;
    }
    if (m->broken && !op->link->dead) link_fail(op->link);
    if (m->end)
        end_tell(m->end);
    else
        message_free(m);
}
