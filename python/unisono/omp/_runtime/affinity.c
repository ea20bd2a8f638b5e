// SPDX-License-Identifier: BSD-3-Clause
// Where threads run: places (sets of processors, parsed by Python) and the bind policies master, close and spread.
#include "rt.h"
#include <sched.h>

enum bind { BIND_FALSE = 0, BIND_TRUE = 1, BIND_MASTER = 2, BIND_CLOSE = 3, BIND_SPREAD = 4 };

// The place of member num of the team that the parent starts, or -1 for "do not care".
int rt_place_of(struct rt_team *team, struct rt_member *parent, int num)
{
    int places = rt_settings.nplaces, at = parent->place < 0 ? 0 : parent->place, n = team->n;
    switch ((enum bind)team->bind) {
    case BIND_MASTER: return at;
    case BIND_TRUE:
    case BIND_CLOSE: return n <= places ? (at + num) % places : (at + (int)((int64_t)num * places / n)) % places;
    case BIND_SPREAD: return (at + (int)((int64_t)num * places / n)) % places;
    default: return -1;
    }
}

// Moves the calling thread to the place; a place that the system refuses leaves the thread where it is.
void rt_bind_self(int place)
{
    if (place < 0 || place >= rt_settings.nplaces) return;
    sched_setaffinity(0, sizeof(cpu_set_t), &((cpu_set_t *)rt_settings.places)[place]);
}

// set_places([[cpu, ...], ...])
static PyObject *set_places(PyObject *self, PyObject *list)
{
    (void)self;
    int n = (int)PyList_Size(list);
    if (n < 0) return NULL;
    cpu_set_t *sets = PyMem_RawCalloc((size_t)(n ? n : 1), sizeof *sets);
    if (!sets) return PyErr_NoMemory();
    for (int i = 0; i < n; i++) {
        PyObject *cpus = PyList_GET_ITEM(list, i);
        for (Py_ssize_t k = 0; k < PyList_Size(cpus); k++) {
            long cpu = PyLong_AsLong(PyList_GET_ITEM(cpus, k));
            if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &sets[i]);
        }
    }
    if (PyErr_Occurred()) {
        PyMem_RawFree(sets);
        return NULL;
    }
    rt_settings.places = sets;    // set once, before the first region
    rt_settings.nplaces = n;
    Py_RETURN_NONE;
}

static PyObject *place_num(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? PyLong_FromLong(m->place) : NULL;
}

static PyObject *bind_self(PyObject *self, PyObject *place)
{
    (void)self;
    struct rt_member *m = rt_me();
    long p = PyLong_AsLong(place);
    if (!m || PyErr_Occurred()) return NULL;
    m->place = (int)p;
    rt_bind_self((int)p);
    Py_RETURN_NONE;
}

// show_places(callable): called by every thread of a region that has news about where it runs. At import.
static PyObject *show_places(PyObject *self, PyObject *callable)
{
    (void)self;
    Py_XSETREF(rt_hook_show, callable == Py_None ? NULL : Py_NewRef(callable));
    Py_RETURN_NONE;
}

PyMethodDef rt_affinity_methods[] = {{"set_places", set_places, METH_O, NULL},
                                     {"omp_get_place_num", place_num, METH_NOARGS,
                                      "omp_get_place_num()\n--\n\nThe place the thread is bound to, or -1."},
                                     {"bind_self", bind_self, METH_O, NULL},
                                     {"show_places", show_places, METH_O, NULL},
                                     {0}};
