// SPDX-License-Identifier: BSD-3-Clause
// Exceptions that leave a region: the first ends what the others of the team wait for, and is raised at the end as it
// is, so that the user's `except ValueError` works whether one thread raised or several (which is chance). Called by
// whatever runs the user's code, and by pool.c at the end of a region.
#include "rt.h"

void rt_fail(struct rt_team *team)
{
    PyObject *e = rt_exc_take();
    if (!e) return;
    if (PyErr_GivenExceptionMatches(e, rt_exc_cancelled) || PyErr_GivenExceptionMatches(e, rt_exc_left)) {
        Py_DECREF(e);
        return;
    }
    PyObject *list = PyList_New(0);
    rt_lock(&team->fail_lock);
    if (!team->failures && list) team->failures = Py_NewRef(list);
    PyObject *all = team->failures;
    rt_unlock(&team->fail_lock);
    Py_XDECREF(list);
    int known = all ? PySequence_Contains(all, e) : 1;    // the exception of a loop that could not begin comes twice
    if (known < 0 || (!known && PyList_Append(all, e) < 0)) PyErr_Clear();
    bool interrupt = PyErr_GivenExceptionMatches(e, PyExc_KeyboardInterrupt);
    Py_DECREF(e);
    rt_cancel_team(team, 1);
    if (!interrupt) return;
    atomic_store(&team->cancelled, RT_INTERRUPTED);
    struct rt_member *me = rt_me();
    // The user wants it to end: threads in the middle of Python code get an exception at their next byte code.
    for (int i = 0; i < team->n; i++) {
        // Sequentially consistent: pairs with the store in rt_worker_main(). A thread that is not seen here sees the
        // cancellation.
        unsigned long ident = atomic_load(&team->m[i]->ident);
        if (team->m[i] != me && ident) PyThreadState_SetAsyncExc(ident, rt_exc_cancelled);
    }
}

void rt_cancel_team(struct rt_team *team, int why)
{
    int none = 0;
    // Sequentially consistent (a release too): pairs with the acquire in rt_check() and with the load in run_member().
    atomic_compare_exchange_strong(&team->cancelled, &none, why);
    rt_wake(team);
}

// Puts the group at the end of what was being handled when the exception was raised, so that its traceback shows it.
static void append_context(PyObject *first, PyObject *group)
{
    PyObject *last = Py_NewRef(first), *next;
    for (int i = 0; i < 1000 && (next = PyException_GetContext(last)); i++) Py_SETREF(last, next);
    PyObject *more = PyException_GetContext(last);
    if (!more && last != group) PyException_SetContext(last, Py_NewRef(group));
    Py_XDECREF(more);
    Py_DECREF(last);
}

PyObject *rt_failure(struct rt_team *team)
{
    PyObject *all = team->failures;
    team->failures = NULL;
    if (!all) return NULL;
    PyObject *first = Py_NewRef(PyList_GET_ITEM(all, 0));
    if (PyList_GET_SIZE(all) > 1 && PyList_SetSlice(all, 0, 1, NULL) == 0) {
        PyObject *group =
            PyObject_CallFunction(PyExc_BaseExceptionGroup, "sO", "raised by other threads of the region", all);
        if (!group)
            PyErr_Clear();
        else if (PyObject_SetAttrString(first, "omp_others", group) < 0)
            PyErr_Clear();
        if (group) append_context(first, group);
        Py_XDECREF(group);
    }
    Py_DECREF(all);
    return first;
}
