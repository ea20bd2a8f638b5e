// SPDX-License-Identifier: BSD-3-Clause
// The timeline: events in one buffer, written out by Python in the Chrome trace format at the end. Off unless asked
// for.
#include "rt.h"

struct event {
    const char *name;
    int64_t start, end;
    int thread, level;
    unsigned long ident;
};

_Atomic int rt_tracing;
static struct event *events;
static size_t n, cap;
static _Atomic int lock;

void rt_trace(const char *name, int64_t start)
{
    struct rt_member *m = rt_me();
    struct event e = {name, start, rt_now(), m ? m->num : -1, m ? m->team->level : 0, PyThread_get_thread_ident()};
    rt_lock(&lock);
    if (n == cap) {
        size_t more = cap ? 2 * cap : 4096;
        struct event *grown = PyMem_RawRealloc(events, more * sizeof *grown);
        if (grown) events = grown, cap = more;
    }
    if (n < cap) events[n++] = e;
    rt_unlock(&lock);
}

static PyObject *trace_start(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    atomic_store(&rt_tracing, 1);
    Py_RETURN_NONE;
}

// All events so far: (name, start ns, end ns, thread number, level, thread identifier).
static PyObject *trace_events(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        struct event *e = &events[i];
        PyObject *t =
            Py_BuildValue("sLLiik", e->name, (long long)e->start, (long long)e->end, e->thread, e->level, e->ident);
        if (!t || PyList_Append(list, t) < 0) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

// An event of the rewritten code: (name, start) where start came from now().
static PyObject *now(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLongLong(rt_now());
}

PyMethodDef rt_trace_methods[] = {{"trace_start", trace_start, METH_NOARGS, NULL},
                                  {"trace_events", trace_events, METH_NOARGS, NULL},
                                  {"now", now, METH_NOARGS, NULL},
                                  {0}};
