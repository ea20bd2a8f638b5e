// SPDX-License-Identifier: BSD-3-Clause
// Requests: what nonblocking and persistent calls return; Wait, Test, Start, Free, and waitall and startall over lists.
// A request holds its buffer until it is complete. One that is dropped while active keeps it for ever, as nobody knows
// when MPI is done with it.
#include "fast.h"

// A look is cheap, and short messages are soon there; the GIL is released only when it takes longer.
int fast_complete(MPI_Request *q)
{
    int done = 0, code;
    for (int i = 0; i < SPINS; i++) {
        code = MPI_Test(q, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done) return code;
    }
    Py_BEGIN_ALLOW_THREADS;
    code = MPI_Wait(q, MPI_STATUS_IGNORE);
    Py_END_ALLOW_THREADS;
    return code;
}

static struct request *take_spare(struct state *s)
{
#ifndef Py_GIL_DISABLED
    if (s->spares > 0) {
        struct request *r = s->spare[--s->spares];
        PyObject_Init((PyObject *)r, s->request);
        return r;
    }
#endif
    return PyObject_New(struct request, s->request);
}

PyObject *fast_request(struct comm *c, PyObject *o, struct part *p)
{
    struct request *r = take_spare(c->state);
    if (!r) return fast_part_give(p), NULL;
    r->state = c->state;
    r->q = MPI_REQUEST_NULL;
    r->active = r->persistent = 0;
    r->bound = NULL;
    r->view.obj = NULL;
    if (p->held)
        r->view = p->view;
    else
        r->bound = Py_XNewRef(o);
    return (PyObject *)r;
}

static void forget(struct request *r)
{
    r->active = 0;
    if (r->persistent) return;
    if (r->view.obj) PyBuffer_Release(&r->view);
    Py_CLEAR(r->bound);
}

static void dealloc(struct request *r)
{
    PyTypeObject *type = Py_TYPE(r);
    struct state *s = r->state;
    if (r->q != MPI_REQUEST_NULL) {
        int over = 0;
        MPI_Finalized(&over);
        if (!over) MPI_Request_free(&r->q);
    }
    r->persistent = 0;
    if (!r->active) forget(r);
#ifndef Py_GIL_DISABLED
    if (s->spares < SPARE)
        s->spare[s->spares++] = r;
    else
        PyObject_Free(r);
#else
    (void)s;
    PyObject_Free(r);
#endif
    Py_DECREF(type);
}

static PyObject *done(struct request *r, int code, const char *method)
{
    if (code != MPI_SUCCESS) return fast_raise(method, code);
    if (r->active) forget(r);
    Py_RETURN_NONE;
}

static PyObject *wait_one(struct request *r, PyObject *none)
{
    (void)none;
    return done(r, fast_complete(&r->q), "Wait");
}

static PyObject *test_one(struct request *r, PyObject *none)
{
    (void)none;
    int flag = 0, code = MPI_Test(&r->q, &flag, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return fast_raise("Test", code);
    if (flag && r->active) forget(r);
    return PyBool_FromLong(flag);
}

static PyObject *start_one(struct request *r, PyObject *none)
{
    (void)none;
    int code = MPI_Start(&r->q);
    if (code != MPI_SUCCESS) return fast_raise("Start", code);
    r->active = 1;
    Py_RETURN_NONE;
}

static PyObject *free_one(struct request *r, PyObject *none)
{
    (void)none;
    int code = r->q == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&r->q);
    r->persistent = 0;
    return done(r, code, "Free");
}

// The requests of a list as an array, on the stack or allocated; NULL with an exception.
static MPI_Request *handles_of(PyObject *list, MPI_Request *stack, const char *method)
{
    if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "%s() takes a list of requests", method), NULL;
    Py_ssize_t n = PyList_GET_SIZE(list);
    MPI_Request *q = n <= ON_STACK ? stack : PyMem_Malloc((size_t)n * sizeof *q);
    if (!q) return (MPI_Request *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PyList_GET_ITEM(list, i);
        if (Py_TYPE(one)->tp_dealloc != (destructor)dealloc) {
            PyErr_Format(PyExc_TypeError, "%s() takes a list of unisono.fast requests", method);
            if (q != stack) PyMem_Free(q);
            return NULL;
        }
        q[i] = ((struct request *)one)->q;
    }
    return q;
}

PyObject *fast_waitall(PyObject *module, PyObject *list)
{
    (void)module;
    MPI_Request stack[ON_STACK], *q = handles_of(list, stack, "waitall");
    if (!q) return NULL;
    int n = (int)PyList_GET_SIZE(list), flag = 0, code = MPI_SUCCESS;
    for (int i = 0; i < SPINS / 4 && !flag && code == MPI_SUCCESS; i++)
        code = MPI_Testall(n, q, &flag, MPI_STATUSES_IGNORE);
    if (!flag && code == MPI_SUCCESS) {
        Py_BEGIN_ALLOW_THREADS;
        code = MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
        Py_END_ALLOW_THREADS;
    }
    for (int i = 0; i < n; i++) {
        struct request *r = (struct request *)PyList_GET_ITEM(list, i);
        r->q = q[i];
        if (code == MPI_SUCCESS && r->active) forget(r);
    }
    if (q != stack) PyMem_Free(q);
    if (code != MPI_SUCCESS) return fast_raise("waitall", code);
    Py_RETURN_NONE;
}

PyObject *fast_startall(PyObject *module, PyObject *list)
{
    (void)module;
    MPI_Request stack[ON_STACK], *q = handles_of(list, stack, "startall");
    if (!q) return NULL;
    int n = (int)PyList_GET_SIZE(list), code = MPI_Startall(n, q);
    for (int i = 0; i < n; i++) {
        struct request *r = (struct request *)PyList_GET_ITEM(list, i);
        r->q = q[i];
        r->active = code == MPI_SUCCESS;
    }
    if (q != stack) PyMem_Free(q);
    if (code != MPI_SUCCESS) return fast_raise("startall", code);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"Wait", (PyCFunction)wait_one, METH_NOARGS, "Wait()\n--\n\nBlocks until the operation is complete."},
    {"Test", (PyCFunction)test_one, METH_NOARGS, "Test()\n--\n\nTrue if the operation is complete."},
    {"Start", (PyCFunction)start_one, METH_NOARGS, "Start()\n--\n\nStarts a persistent operation."},
    {"Free", (PyCFunction)free_one, METH_NOARGS, "Free()\n--\n\nFrees a persistent request."},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "An operation that was started; made by Comm's nonblocking and persistent calls."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0},
};
PyType_Spec fast_request_spec = {.name = "unisono.fast.Request",
                                 .basicsize = sizeof(struct request),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = slots};
