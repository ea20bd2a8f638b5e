// SPDX-License-Identifier: BSD-3-Clause
// Where threads run: places (sets of processors, parsed by Python) and the bind policies master, close and spread.
#include "rt.h"
#include <sched.h>

enum bind { BIND_FALSE = 0, BIND_TRUE = 1, BIND_MASTER = 2, BIND_CLOSE = 3, BIND_SPREAD = 4 };

// The threads of the team go to groups as equal as can be, one a place, when they outnumber the places.
static int group_of(int num, int n, int places)
{
    return n <= places ? num : (int)((int64_t)num * places / n);
}

// spread: the parent's partition is cut into one part per thread. Thread 0 stays where the parent is, in the part that
// has this place; the others take the first place of the following parts, the last one's successor being the first.
static void spread(struct rt_team *team, struct rt_member *parent, struct rt_member *m)
{
    int places = parent->places, parts = team->n < places ? team->n : places, at = parent->place - parent->first;
    int mine = 0;
    while ((int)((int64_t)(mine + 1) * places / parts) <= at) mine++;
    int part = (mine + group_of(m->num, team->n, parts)) % parts;
    int begin = (int)((int64_t)part * places / parts);
    m->first = parent->first + begin;
    m->places = (int)((int64_t)(part + 1) * places / parts) - begin;
    m->place = part == mine ? parent->place : m->first;
}

void rt_place(struct rt_team *team, struct rt_member *parent, int num)
{
    struct rt_member *m = team->m[num];
    m->place = -1;
    m->first = parent->first;
    m->places = parent->places;
    if (parent->place < 0) return;    // the thread that starts the team is bound nowhere: neither are its teams
    switch ((enum bind)team->bind) {
    case BIND_FALSE: break;
    case BIND_MASTER: m->place = parent->place; break;
    case BIND_TRUE:
    case BIND_CLOSE:
        m->place =
            parent->first + (parent->place - parent->first + group_of(num, team->n, parent->places)) % parent->places;
        break;
    case BIND_SPREAD: spread(team, parent, m);
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
    m->first = 0;
    m->places = rt_settings.nplaces;
    rt_bind_self((int)p);
    Py_RETURN_NONE;
}

// partition() -> (first place, how many) that the regions of this thread may use.
static PyObject *partition(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? Py_BuildValue("ii", m->first, m->places) : NULL;
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
                                     {"partition", partition, METH_NOARGS, NULL},
                                     {"show_places", show_places, METH_O, NULL},
                                     {0}};
