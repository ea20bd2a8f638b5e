// SPDX-License-Identifier: BSD-3-Clause
// A thread's own copies of what it only reads. On a free-threaded CPython every use of an object changes its reference
// count, and two threads that use the same object fight for its cache line; a thread's own copy of a float, an int or a
// complex is counted by no other, and neither is its own view of an array of which the text uses nothing but
// elements (views.py). With the GIL there is nothing to gain and objects are left alone.
#include "rt.h"

#ifdef Py_GIL_DISABLED
static PyTypeObject *array_type;    // numpy.ndarray, once the Python side has seen numpy

static PyObject *copy_int(PyObject *obj)
{
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(obj, &overflow);
    return overflow ? Py_NewRef(obj) : PyLong_FromLongLong(v);
}

PyObject *rt_localize(PyObject *obj)
{
    // Our own objects are cheap already; immortal ones are not counted.
    if (_Py_IsOwnedByCurrentThread(obj) || _Py_IsImmortal(obj)) return Py_NewRef(obj);
    PyTypeObject *type = Py_TYPE(obj);
    if (type == &PyFloat_Type) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(obj));
    if (type == &PyLong_Type) return copy_int(obj);
    if (type == &PyComplex_Type) return PyComplex_FromCComplex(PyComplex_AsCComplex(obj));
    return Py_NewRef(obj);
}

// What a thread's view of a memoryview is taken from. CPython counts the views of a buffer, and the exports of a view,
// without atomics: threads that take and drop views of one memoryview release it under each other's hands
// (python/cpython issues 127716 and 155606). A lease takes its export, and gives it back, under one lock; views of a
// lease share no count with those of other threads.
struct lease {
    PyObject_HEAD Py_buffer buffer;
};
static PyTypeObject *lease_type;
static PyMutex lease_lock;

static int lease_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    (void)flags;    // memoryviews, the only ones that ask, want everything
    *view = ((struct lease *)self)->buffer;
    view->obj = Py_NewRef(self);
    view->internal = NULL;
    return 0;
}

static void lease_dealloc(PyObject *self)
{
    struct lease *l = (struct lease *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *exporter = Py_XNewRef(l->buffer.obj);    // whatever its end runs, it runs without the lock
    PyMutex_Lock(&lease_lock);
    PyBuffer_Release(&l->buffer);
    PyMutex_Unlock(&lease_lock);
    Py_XDECREF(exporter);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot lease_slots[] = {{Py_tp_dealloc, lease_dealloc}, {Py_bf_getbuffer, lease_getbuffer}, {0, NULL}};
static PyType_Spec lease_spec = {.name = "unisono.omp._rt.Lease",
                                 .basicsize = sizeof(struct lease),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = lease_slots};

int rt_local_init(void)
{
    lease_type = (PyTypeObject *)PyType_FromSpec(&lease_spec);
    return lease_type ? 0 : -1;
}

// A view of the memoryview's buffer that only this thread counts; NULL with an exception.
static PyObject *leased_view(PyObject *obj)
{
    struct lease *l = (struct lease *)lease_type->tp_alloc(lease_type, 0);
    if (!l) return NULL;
    PyMutex_Lock(&lease_lock);
    int err = PyObject_GetBuffer(obj, &l->buffer, PyBUF_FULL_RO);
    PyMutex_Unlock(&lease_lock);
    PyObject *view = err ? NULL : PyMemoryView_FromObject((PyObject *)l);
    Py_DECREF(l);
    return view;
}

static PyObject *view_of(PyObject *obj)
{
    PyTypeObject *type = Py_TYPE(obj);
    if (_Py_IsOwnedByCurrentThread(obj)) return Py_NewRef(obj);
    if (type == &PyMemoryView_Type) {
        PyObject *view = leased_view(obj);
        if (!view) PyErr_Clear();
        return view ? view : Py_NewRef(obj);
    }
    if (!array_type && !strcmp(type->tp_name, "numpy.ndarray")) array_type = type;
    if (type == array_type && rt_hook_view) return PyObject_CallOneArg(rt_hook_view, obj);
    return rt_localize(obj);
}

// A thief runs many tasks of one function, which its maker counts, too: from the second one on it calls a function of
// its own with the same code and closure, and gives the references back in bursts.
PyObject *rt_own_function(struct rt_member *m, PyObject *fn)
{
    if (fn == m->lent) return m->own;
    bool first = m->seen != fn;
    m->seen = fn;    // only compared
    if (first || !PyFunction_Check(fn) || _Py_IsOwnedByCurrentThread(fn) || _Py_IsImmortal(fn)) return fn;
    rt_settle(m);
    m->own = PyFunction_New(PyFunction_GET_CODE(fn), PyFunction_GET_GLOBALS(fn));
    PyObject *closure = PyFunction_GET_CLOSURE(fn), *defaults = PyFunction_GET_DEFAULTS(fn);
    if (m->own && ((closure && PyFunction_SetClosure(m->own, closure) < 0) ||
                   (defaults && PyFunction_SetDefaults(m->own, defaults) < 0))) {
        Py_CLEAR(m->own);
    }
    if (!m->own) {
        PyErr_Clear();
        return fn;
    }
    m->lent = Py_NewRef(fn);
    return m->own;
}

void rt_drop_function(struct rt_member *m, PyObject *fn)
{
    if (!fn || fn != m->lent) {
        Py_XDECREF(fn);
        return;
    }
    if (++m->owed < RT_CATCH) return;
    for (; m->owed; m->owed--) Py_DECREF(fn);
}

void rt_settle(struct rt_member *m)
{
    PyObject *lent = m->lent, *own = m->own;
    int owed = m->owed;
    m->lent = m->own = NULL;
    m->owed = 0;
    for (; owed; owed--) Py_DECREF(lent);
    Py_XDECREF(lent);
    Py_XDECREF(own);
}

// Objects that live as long as the process need no counting.
void rt_immortal(PyObject *obj)
{
    obj->ob_tid = 0;
    obj->ob_ref_local = _Py_IMMORTAL_REFCNT_LOCAL;
    obj->ob_ref_shared = 0;
}
#else
int rt_local_init(void)
{
    return 0;
}

PyObject *rt_localize(PyObject *obj)
{
    return Py_NewRef(obj);
}

static PyObject *view_of(PyObject *obj)
{
    return Py_NewRef(obj);
}

PyObject *rt_own_function(struct rt_member *m, PyObject *fn)
{
    (void)m;
    return fn;
}

void rt_drop_function(struct rt_member *m, PyObject *fn)
{
    (void)m;
    Py_XDECREF(fn);
}

void rt_settle(struct rt_member *m)
{
    (void)m;
}

void rt_immortal(PyObject *obj)
{
    Py_INCREF(obj);
}
#endif

static PyObject *localize(PyObject *self, PyObject *obj)
{
    (void)self;
    return rt_localize(obj);
}

// view(obj): the same, and of an array or a memoryview the thread's own view.
static PyObject *view(PyObject *self, PyObject *obj)
{
    (void)self;
    return view_of(obj);
}

// immortal(obj): for what lives as long as the process, such as the code of rewritten functions.
static PyObject *immortal(PyObject *self, PyObject *obj)
{
    (void)self;
    rt_immortal(obj);
    Py_RETURN_NONE;
}

PyMethodDef rt_local_methods[] = {
    {"localize", localize, METH_O, NULL}, {"view", view, METH_O, NULL}, {"immortal", immortal, METH_O, NULL}, {0}};
