// SPDX-License-Identifier: BSD-3-Clause
// The control variables and the omp_* routines that read and set them. Names and rules are the standard's.
#include "rt.h"

struct rt_settings rt_settings = {.procs = 1,
                                  .thread_limit = INT32_MAX,
                                  .levels = INT32_MAX,
                                  .spin_ns = 30000,
                                  .adaptive = 1,
                                  .icv = {.nthreads = 1, .max_active = INT32_MAX, .sched = RT_DYNAMIC, .chunk = 1}};

static PyObject *number(long v)
{
    return PyLong_FromLong(v);
}

static PyObject *get_thread_num(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->num) : NULL;
}

static PyObject *get_num_threads(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->team->n) : NULL;
}

static PyObject *get_level(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->team->level) : NULL;
}

static PyObject *get_active_level(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->team->active) : NULL;
}

static PyObject *in_parallel(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? PyBool_FromLong(m->team->active > 0) : NULL;
}

static PyObject *in_final(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? PyBool_FromLong(m->task->flags & RT_FINAL) : NULL;
}

static struct rt_member *ancestor(PyObject *level)
{
    struct rt_member *m = rt_me();
    long want = PyLong_AsLong(level);
    if (!m || (want == -1 && PyErr_Occurred()) || want < 0 || want > m->team->level) return NULL;
    while (m->team->level > want) m = m->team->parent;
    return m;
}

static PyObject *get_ancestor_thread_num(PyObject *self, PyObject *level)
{
    (void)self;
    struct rt_member *m = ancestor(level);
    return m ? number(m->num) : PyErr_Occurred() ? NULL : number(-1);
}

static PyObject *get_team_size(PyObject *self, PyObject *level)
{
    (void)self;
    struct rt_member *m = ancestor(level);
    return m ? number(m->team->n) : PyErr_Occurred() ? NULL : number(-1);
}

static PyObject *get_num_teams(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->team->teams ? m->team->teams : 1) : NULL;
}

static PyObject *get_team_num(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? number(m->team->league) : NULL;
}

static PyObject *get_wtime(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyFloat_FromDouble((double)rt_now() * 1e-9);
}

static PyObject *get_wtick(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyFloat_FromDouble(1e-9);
}

// icv_get() -> (nthreads, dynamic, max_active, sched, chunk, bind) of the current task.
static PyObject *icv_get(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    if (!m) return NULL;
    struct rt_icv *v = &m->task->icv;
    return Py_BuildValue("iiiini", v->nthreads, v->dynamic, v->max_active, v->sched, v->chunk, v->bind);
}

static int store(struct rt_icv *v, const char *name, long value)
{
    const struct {
        const char *name;
        int *at;
    } table[] = {{"nthreads", &v->nthreads},
                 {"dynamic", &v->dynamic},
                 {"max_active", &v->max_active},
                 {"sched", &v->sched},
                 {"bind", &v->bind}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name)) continue;
        *table[i].at = (int)value;
        return 0;
    }
    if (strcmp(name, "chunk")) return -1;
    v->chunk = value;
    return 0;
}

// icv_set(name, value): for the current task.
static PyObject *icv_set(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    long value;
    struct rt_member *m = rt_me();
    if (!m || !PyArg_ParseTuple(args, "sl", &name, &value)) return NULL;
    if (store(&m->task->icv, name, value) == 0) Py_RETURN_NONE;
    PyErr_Format(PyExc_KeyError, "no control variable %s", name);
    return NULL;
}

static PyObject *set_list(PyObject *list, int **values, int *count)
{
    Py_ssize_t n = PyList_Size(list);
    if (n < 0) return NULL;
    int *at = PyMem_RawMalloc(((size_t)n + 1) * sizeof *at);
    if (!at) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) at[i] = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
    if (PyErr_Occurred()) {
        PyMem_RawFree(at);
        return NULL;
    }
    PyMem_RawFree(*values);    // at import, and by tests: no region runs
    *values = at;
    *count = (int)n;
    Py_RETURN_NONE;
}

// setting(name, value): for the process, at import and by tests; also the initial control variables.
static PyObject *setting(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *value;
    if (!PyArg_ParseTuple(args, "sO", &name, &value)) return NULL;
    if (!strcmp(name, "list")) return set_list(value, &rt_settings.list, &rt_settings.nlist);
    if (!strcmp(name, "binds")) return set_list(value, &rt_settings.binds, &rt_settings.nbinds);
    long long v = PyLong_AsLongLong(value);
    if (v == -1 && PyErr_Occurred()) return NULL;
    const struct {
        const char *name;
        int *at;
    } table[] = {{"procs", &rt_settings.procs},
                 {"thread_limit", &rt_settings.thread_limit},
                 {"adaptive", &rt_settings.adaptive},
                 {"cancellation", &rt_settings.cancellation},
                 {"max_priority", &rt_settings.max_priority}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name)) continue;
        *table[i].at = (int)v;
        Py_RETURN_NONE;
    }
    if (!strcmp(name, "spin_ns")) {
        rt_settings.spin_ns = v;
        Py_RETURN_NONE;
    }
    if (store(&rt_settings.icv, name, (long)v) == 0) Py_RETURN_NONE;
    PyErr_Format(PyExc_KeyError, "no setting %s", name);
    return NULL;
}

// settings() -> (procs, thread_limit, cancellation, max_priority, spin_ns, threads now)
static PyObject *settings(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("iiiiLi", rt_settings.procs, rt_settings.thread_limit, rt_settings.cancellation,
                         rt_settings.max_priority, (long long)rt_settings.spin_ns, rt_threads_now());
}

PyMethodDef rt_icv_methods[] = {
    {"omp_get_thread_num", get_thread_num, METH_NOARGS,
     "omp_get_thread_num()\n--\n\nThis thread's number in its team, from 0."},
    {"omp_get_num_threads", get_num_threads, METH_NOARGS, "omp_get_num_threads()\n--\n\nThreads in the current team."},
    {"omp_get_level", get_level, METH_NOARGS, "omp_get_level()\n--\n\nNested parallel regions around the call."},
    {"omp_get_active_level", get_active_level, METH_NOARGS,
     "omp_get_active_level()\n--\n\nNested parallel regions with more than one thread around the call."},
    {"omp_in_parallel", in_parallel, METH_NOARGS,
     "omp_in_parallel()\n--\n\nWhether a region with more than one thread runs."},
    {"omp_in_final", in_final, METH_NOARGS, "omp_in_final()\n--\n\nWhether the current task is final."},
    {"omp_get_ancestor_thread_num", get_ancestor_thread_num, METH_O,
     "omp_get_ancestor_thread_num(level)\n--\n\nThe number of the ancestor thread at that level; -1 if there is none."},
    {"omp_get_team_size", get_team_size, METH_O,
     "omp_get_team_size(level)\n--\n\nThe size of the team at that level; -1 if there is none."},
    {"omp_get_num_teams", get_num_teams, METH_NOARGS,
     "omp_get_num_teams()\n--\n\nTeams in the league; 1 outside teams constructs."},
    {"omp_get_team_num", get_team_num, METH_NOARGS, "omp_get_team_num()\n--\n\nWhich of them this is, from 0."},
    {"omp_get_wtime", get_wtime, METH_NOARGS, "omp_get_wtime()\n--\n\nSeconds since some fixed moment."},
    {"omp_get_wtick", get_wtick, METH_NOARGS, "omp_get_wtick()\n--\n\nResolution of omp_get_wtime() in seconds."},
    {"icv_get", icv_get, METH_NOARGS, NULL},
    {"icv_set", icv_set, METH_VARARGS, NULL},
    {"setting", setting, METH_VARARGS, NULL},
    {"settings", settings, METH_NOARGS, NULL},
    {0}};
