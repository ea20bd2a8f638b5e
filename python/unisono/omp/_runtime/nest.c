// SPDX-License-Identifier: BSD-3-Clause
// Which construct a task is in the middle of, so that a construct that comes through a call where the standard forbids
// it ("closely nested") is an error and not a wait for ever. What can be seen in the text is a SyntaxError already, see
// nesting.py. Also the way out of a worksharing construct by an exception: the thread counts as arrived at the barriers
// that the construct still has, so that the others go on.
#include "rt.h"

static const char *const names[RT_WITHIN] = {[RT_IN_WORK] = "a for, sections, single or scope construct",
                                             [RT_IN_MASTER] = "a master or masked construct",
                                             [RT_IN_CRITICAL] = "a critical construct",
                                             [RT_IN_ORDERED] = "an ordered construct",
                                             [RT_IN_ATOMIC] = "an atomic construct",
                                             [RT_IN_TASK] = "a task"};

#define BIT(kind) (1u << (kind))
static const unsigned forbidden[RT_WITHIN] = {
    [RT_IN_ANY] = ~0u,    // a barrier
    [RT_IN_WORK] = ~0u,
    [RT_IN_MASTER] = BIT(RT_IN_WORK) | BIT(RT_IN_ATOMIC) | BIT(RT_IN_TASK),
    [RT_IN_ORDERED] = BIT(RT_IN_CRITICAL) | BIT(RT_IN_ORDERED) | BIT(RT_IN_ATOMIC) | BIT(RT_IN_TASK),
};

int rt_may(struct rt_member *m, enum rt_within kind, const char *what)
{
    const struct rt_task *task = m->task;
    if (!task->within[RT_IN_ANY]) return 0;
    for (enum rt_within in = RT_IN_WORK; in < RT_WITHIN; in++) {
        if (!task->within[in] || !(forbidden[kind] & BIT(in))) continue;
        PyErr_Format(PyExc_RuntimeError, "%s: not allowed inside %s, which this thread is in the middle of", what,
                     names[in]);
        return -1;
    }
    return 0;
}

int rt_may_meet(struct rt_member *m, const char *what)
{
    return rt_may(m, RT_IN_ANY, what);
}

// enter(kind, name): the thread begins such a construct.
static PyObject *enter(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    struct rt_member *m = rt_me();
    long kind = n == 2 ? PyLong_AsLong(args[0]) : 0;
    if (!m) return NULL;
    if (kind <= RT_IN_ANY || kind >= RT_WITHIN) return PyErr_Format(PyExc_TypeError, "enter: kind, name expected");
    const char *what = PyUnicode_AsUTF8(args[1]);
    if (!what || rt_may(m, (enum rt_within)kind, what) < 0) return NULL;
    rt_enter(m->task, (enum rt_within)kind);
    Py_RETURN_NONE;
}

// masked(number, name): whether this is the thread with that number; if so, it begins the construct.
static PyObject *masked(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    struct rt_member *m = rt_me();
    int64_t number;
    if (!m || n != 2 || rt_integer(args[0], &number) < 0) return NULL;
    const char *what = PyUnicode_AsUTF8(args[1]);
    if (!what || rt_may(m, RT_IN_MASTER, what) < 0) return NULL;
    if (m->num != number) Py_RETURN_FALSE;
    rt_enter(m->task, RT_IN_MASTER);
    Py_RETURN_TRUE;
}

static PyObject *leave(PyObject *self, PyObject *arg)
{
    (void)self;
    struct rt_member *m = rt_me();
    long kind = PyLong_AsLong(arg);
    if (!m || kind <= RT_IN_ANY || kind >= RT_WITHIN) return NULL;
    if (m->task->within[kind]) rt_leave(m->task, (enum rt_within)kind);
    Py_RETURN_NONE;
}

// work_failed(barriers): an exception leaves a single or scope.
static PyObject *work_failed(PyObject *self, PyObject *arg)
{
    (void)self;
    struct rt_member *m = rt_me();
    int barriers = (int)PyLong_AsLong(arg);
    if (!m || PyErr_Occurred()) return NULL;
    if (m->task->within[RT_IN_WORK]) rt_leave(m->task, RT_IN_WORK);
    rt_absent(m, barriers);
    Py_RETURN_NONE;
}

// share_failed(): an exception leaves a single with copyprivate; the others learn that there are no values.
static PyObject *share_failed(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    if (!m) return NULL;
    if (m->task->within[RT_IN_WORK]) rt_leave(m->task, RT_IN_WORK);
    PyObject *why = PyErr_GetHandledException();
    rt_share_failure(m, why);
    Py_XDECREF(why);
    Py_RETURN_NONE;
}

// loop_failed(loop, barriers): an exception leaves a loop or sections; loop is None when there was no loop yet. Then
// nobody can say what the others wait for, and the region ends with the exception, even if the user catches it.
static PyObject *loop_failed(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    struct rt_member *m = rt_me();
    if (!m || n != 2) return NULL;
    int barriers = (int)PyLong_AsLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (m->refused) {
        m->refused = false;
    } else if (args[0] != Py_None) {
        if (rt_loop_failed(m, args[0], barriers) < 0) return NULL;
    } else if (m->team->n > 1) {
        PyObject *why = PyErr_GetHandledException();
        if (why) {
            rt_exc_put(why);
            rt_fail(m->team);
        }
    }
    Py_RETURN_NONE;
}

PyMethodDef rt_nest_methods[] = {{"enter", (PyCFunction)(void (*)(void))enter, METH_FASTCALL, NULL},
                                 {"masked", (PyCFunction)(void (*)(void))masked, METH_FASTCALL, NULL},
                                 {"leave", leave, METH_O, NULL},
                                 {"work_failed", work_failed, METH_O, NULL},
                                 {"share_failed", share_failed, METH_NOARGS, NULL},
                                 {"loop_failed", (PyCFunction)(void (*)(void))loop_failed, METH_FASTCALL, NULL},
                                 {0}};
