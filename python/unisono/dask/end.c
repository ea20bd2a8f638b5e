// SPDX-License-Identifier: BSD-3-Clause
// Ends: one side of a Comm each. An end is found by a number, whose high half says which use of the place in the table
// it is, so that a late message for an end that has gone finds nobody.
// Always holds: a future is ended in the thread of its loop.
#include "engine.h"

#include <stddef.h>
#include <structmember.h>

struct end *end_find(uint64_t id)
{
    uint32_t place = (uint32_t)id;
    if (place >= engine.ends || !engine.end[place] || engine.end[place]->id != id) return NULL;
    return engine.end[place];
}

enum end_state end_state(const struct end *e)
{
    if (!e->link) return END_OVER;
    const struct message *m = e->first;
    if (!m) return e->peer_closed ? END_OVER : END_WAITS;
    if (m->broken) return END_OVER;
    if (m->missing == 0 && m->frames) return END_READY;
    return e->link->dead ? END_OVER : END_WAITS;
}

// As engine.settle does, without a call of Python's.
static PyObject *settle_here(PyObject *future)
{
    static PyObject *is_done, *set_result;
    if (!is_done) is_done = PyUnicode_InternFromString("done");
    if (!set_result) set_result = PyUnicode_InternFromString("set_result");
    if (!is_done || !set_result) return NULL;
    PyObject *done = PyObject_CallMethodNoArgs(future, is_done);
    if (done != Py_False) return done;
    Py_DECREF(done);
    return PyObject_CallMethodOneArg(future, set_result, Py_None);
}

// Ends the future at *at, on the thread of its loop. Takes over the reference.
static void settle(struct end *e, PyObject **at)
{
    PyObject *future = *at, *done;
    *at = NULL;
    if (!future) return;
    if (PyThread_get_thread_ident() == e->thread)
        done = settle_here(future);
    else
        done = PyObject_CallMethod(e->loop, "call_soon_threadsafe", "OO", engine.settle, future);
    if (!done) {
        if (PyErr_ExceptionMatches(PyExc_RuntimeError))
            PyErr_Clear();    // that loop is closed: nobody waits any more
        else
            PyErr_WriteUnraisable((PyObject *)e);
    }
    Py_XDECREF(done);
    Py_DECREF(future);
}

void end_tell(struct end *e)
{
    if (e->reader && end_state(e) != END_WAITS) settle(e, &e->reader);
}

void end_sent(struct end *e)
{
    if (--e->sending == 0) settle(e, &e->flusher);
}

static int grow(void)
{
    uint32_t room = engine.ends * 2 + 64;
    void *end = PyMem_Realloc(engine.end, sizeof *engine.end * room);
    if (end) engine.end = end;
    void *generation = PyMem_Realloc(engine.generation, sizeof *engine.generation * room);
    if (generation) engine.generation = generation;
    if (!end || !generation) return PyErr_NoMemory(), -1;
    for (uint32_t i = engine.ends; i < room; i++) engine.end[i] = NULL, engine.generation[i] = 0;
    engine.ends = room;
    return 0;
}

static int enter(struct end *e)
{
    static uint32_t from;    // where the search for a free place begins
    for (uint32_t i = 0; i < engine.ends; i++) {
        uint32_t place = (from + i) % engine.ends;
        if (engine.end[place]) continue;
        e->id = (uint64_t)++engine.generation[place] << 32 | place;
        engine.end[place] = e;
        from = place + 1;
        return 0;
    }
    from = engine.ends;
    return grow() ? -1 : enter(e);
}

static PyObject *end_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"link", "loop", "peer", NULL};
    PyObject *link, *loop;
    unsigned long long peer;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!OK:End", names, link_type, &link, &loop, &peer)) return NULL;
    struct end *e = (struct end *)type->tp_alloc(type, 0);
    if (!e) return NULL;
    e->last = &e->first;
    e->peer = peer;
    e->thread = PyThread_get_thread_ident();
    e->loop = Py_NewRef(loop);
    if (engine_ready() || enter(e)) return Py_DECREF(e), NULL;
    e->link = (struct link *)Py_NewRef(link);
    e->peer_closed = e->link->dead;
    return (PyObject *)e;
}

// Leaves the table, tells the other side unless it has closed too, drops what nobody has taken.
static int leave(struct end *e)
{
    struct link *l = e->link;
    int failed = 0;
    if (!l) return 0;
    engine.end[(uint32_t)e->id] = NULL;
    struct head h = {.to = e->peer, .kind = KIND_CLOSE};
    if (!e->peer_closed && !l->dead && e->peer) failed = link_tell(l, &h, NULL);
    e->link = NULL;
    for (struct message *m = e->first, *next; m; m = next) {
        next = m->next;
        message_free(m);
    }
    e->first = NULL;
    e->last = &e->first;
    end_tell(e);
    Py_DECREF(l);
    return failed;
}

static void end_dealloc(struct end *e)
{
    PyTypeObject *type = Py_TYPE(e);
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    Py_CLEAR(e->reader);
    if (leave(e)) PyErr_WriteUnraisable(NULL);
    PyErr_Restore(kind, value, trace);
    Py_XDECREF(e->flusher);
    Py_XDECREF(e->loop);
    type->tp_free(e);
    Py_DECREF(type);
}

static PyObject *over(void)
{
    PyErr_SetString(engine.closed, "the connection is closed");
    return NULL;
}

static PyObject *send_frames(struct end *e, PyObject *frames, bool marked)
{
    uint64_t bytes;
    if (!e->link || e->peer_closed || e->link->dead) return over();
    struct head h = {.to = e->peer, .kind = KIND_DATA, .marked = marked};
    return link_send(e->link, e, &h, frames, &bytes) ? NULL : PyLong_FromUnsignedLongLong(bytes);
}

static PyObject *end_send(struct end *e, PyObject *frames)
{
    return send_frames(e, frames, false);
}

static PyObject *end_send_marked(struct end *e, PyObject *frames)
{
    return send_frames(e, frames, true);
}

static PyObject *end_take(struct end *e, PyObject *none)
{
    (void)none;
    switch (end_state(e)) {
    case END_OVER: return over();
    case END_WAITS: Py_RETURN_NONE;
    case END_READY: break;
    }
    struct message *m = e->first;
    e->first = m->next;
    if (!e->first) e->last = &e->first;
    PyObject *frames = m->marked ? PyList_AsTuple(m->frames) : Py_NewRef(m->frames);
    message_free(m);
    return frames;
}

static PyObject *end_wait(struct end *e, PyObject *future)
{
    Py_XSETREF(e->reader, Py_NewRef(future));
    end_tell(e);
    Py_RETURN_NONE;
}

static PyObject *end_flush(struct end *e, PyObject *future)
{
    Py_XSETREF(e->flusher, Py_NewRef(future));
    if (e->sending == 0) settle(e, &e->flusher);
    Py_RETURN_NONE;
}

static PyObject *end_close(struct end *e, PyObject *none)
{
    (void)none;
    if (leave(e)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *end_closed(struct end *e, void *none)
{
    (void)none;
    return PyBool_FromLong(!e->link || e->peer_closed || e->link->dead);
}

static PyMemberDef end_members[] = {
    {"id", T_ULONGLONG, offsetof(struct end, id), READONLY, "The number by which the other side names this end."},
    {"peer", T_ULONGLONG, offsetof(struct end, peer), 0, "The number of the other side; 0: not known yet."},
    {"sending", T_PYSSIZET, offsetof(struct end, sending), READONLY, "Parts of messages still under way."},
    {0},
};
static PyGetSetDef end_values[] = {
    {"closed", (getter)end_closed, NULL, "Whether either side has closed.", NULL},
    {0},
};
static PyMethodDef end_methods[] = {
    {"send", (PyCFunction)end_send, METH_O,
     "send(frames)\n--\n\nStarts a message; its bytes. The memory of the frames belongs to it until it has left."},
    {"send_marked", (PyCFunction)end_send_marked, METH_O,
     "send_marked(frames)\n--\n\nThe same; the last frame is not of the message but says what the others are."},
    {"take", (PyCFunction)end_take, METH_NOARGS,
     "take()\n--\n\nThe frames of the next message (a tuple: the last one says what the others are), None while there "
     "is\n"
     "none; CommClosedError: nothing more comes."},
    {"wait", (PyCFunction)end_wait, METH_O, "wait(future)\n--\n\nEnds the future when take() has something to say."},
    {"flush", (PyCFunction)end_flush, METH_O, "flush(future)\n--\n\nEnds the future when all that was sent has left."},
    {"close", (PyCFunction)end_close, METH_NOARGS,
     "close()\n--\n\nTells the other side, behind all that was sent, and forgets what has not been taken."},
    {0},
};
static PyType_Slot end_slots[] = {
    {Py_tp_doc, "End(link, loop, peer)\n--\n\nOne side of a connection, for one event loop."},
    {Py_tp_new, end_new},
    {Py_tp_dealloc, end_dealloc},
    {Py_tp_members, end_members},
    {Py_tp_getset, end_values},
    {Py_tp_methods, end_methods},
    {0},
};
PyType_Spec end_spec = {.name = "unisono.dask._mpi.End",
                        .basicsize = sizeof(struct end),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = end_slots};
