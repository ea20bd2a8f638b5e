// SPDX-License-Identifier: BSD-3-Clause
// The module unisono.omp._rt: what the rewritten code calls (thin wrappers), its exceptions, fork and interpreter
// checks.
#include "rt.h"
#include <pthread.h>

PyObject *rt_exc_cancelled, *rt_exc_left, *rt_hook_spawn, *rt_hook_view, *rt_hook_gil, *rt_hook_show;

static int arity(Py_ssize_t n, Py_ssize_t least, Py_ssize_t most, const char *name)
{
    if (n >= least && n <= most) return 0;
    PyErr_Format(PyExc_TypeError, "%s: wrong number of arguments", name);
    return -1;
}

// parallel(fn, args[, num_threads, if, bind, collect])
static PyObject *parallel(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (arity(n, 2, 6, "parallel") < 0) return NULL;
    int enabled = n > 3 ? PyObject_IsTrue(args[3]) : 1;
    int bind = n > 4 ? (int)PyLong_AsLong(args[4]) : 0;
    int collect = n > 5 ? PyObject_IsTrue(args[5]) : 0;
    if (PyErr_Occurred()) return NULL;
    return rt_parallel(args[0], args[1], n > 2 ? args[2] : Py_None, enabled, bind, collect);
}

// league(fn, args, teams, collect)
static PyObject *league(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return arity(n, 4, 4, "league") < 0 ? NULL : rt_league(args[0], args[1], args[2], args[3] == Py_True);
}

static PyObject *loop(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return arity(n, 6, 8, "loop") < 0 ? NULL : rt_loop_range(args, n);
}

static PyObject *loop_over(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return arity(n, 4, 4, "loop_over") < 0 ? NULL : rt_loop_over(args);
}

static PyObject *loop_end(PyObject *self, PyObject *arg)
{
    (void)self;
    return rt_loop_end(arg);
}

static PyObject *done(int rc)
{
    if (rc < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *barrier(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m && rt_may_meet(m, "barrier") == 0 ? done(rt_barrier(m)) : NULL;
}

// meet(): the barrier that belongs to a construct.
static PyObject *meet(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? done(rt_barrier(m)) : NULL;
}

static PyObject *single(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    int mine = m ? rt_single(m) : -1;
    return mine < 0 ? NULL : PyBool_FromLong(mine);
}

static PyObject *share(PyObject *self, PyObject *value)
{
    (void)self;
    struct rt_member *m = rt_me();
    return m ? done(rt_share(m, value)) : NULL;
}

static PyObject *shared(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? rt_shared(m) : NULL;
}

static PyObject *gather(PyObject *self, PyObject *value)
{
    (void)self;
    struct rt_member *m = rt_me();
    return m ? rt_gather(m, value) : NULL;
}

static PyObject *reduce(PyObject *self, PyObject *value)
{
    (void)self;
    struct rt_member *m = rt_me();
    return m ? rt_reduce(m, value) : NULL;
}

static PyObject *reduced(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? done(rt_reduced(m)) : NULL;
}

static PyObject *ordered_enter(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    if (!m || rt_may(m, RT_IN_ORDERED, "ordered") < 0 || rt_ordered(true) < 0) return NULL;
    rt_enter(m->task, RT_IN_ORDERED);
    Py_RETURN_NONE;
}

static PyObject *ordered_exit(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    rt_leave(rt_me()->task, RT_IN_ORDERED);
    return done(rt_ordered(false));
}

// task(fn, args, flags[, priority[, depend]])
static PyObject *task(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return arity(n, 3, 5, "task") < 0 ? NULL : done(rt_task_new(args, n));
}

static PyObject *taskwait(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    struct rt_member *m = rt_me();
    if (!m) return NULL;
    return done(n ? rt_taskwait_deps(m, args[0]) : rt_taskwait(m));
}

static PyObject *taskyield(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? done(rt_check(m->team)) : NULL;
}

static PyObject *taskgroup_enter(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? done(rt_group_begin(m)) : NULL;
}

static PyObject *taskgroup_exit(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    return m ? done(rt_group_end(m)) : NULL;
}

static int is_cancelled(struct rt_member *m, enum rt_cancel kind)
{
    switch (kind) {
    case RT_CANCEL_PARALLEL: return atomic_load_explicit(&m->team->cancelled, memory_order_acquire) != 0;
    case RT_CANCEL_FOR:
    case RT_CANCEL_SECTIONS: return rt_loop_cancelled(m);
    case RT_CANCEL_TASKGROUP:
        return m->task->group && atomic_load_explicit(&m->task->group->cancelled, memory_order_acquire);
    }
    return 0;
}

static PyObject *leave_if(struct rt_member *m, enum rt_cancel kind)
{
    if (!is_cancelled(m, kind)) Py_RETURN_NONE;
    PyErr_SetNone(kind == RT_CANCEL_PARALLEL ? rt_exc_cancelled : rt_exc_left);
    return NULL;
}

// cancel(kind): activates cancellation and leaves the construct by an exception; nothing when OMP_CANCELLATION is
// false.
static PyObject *cancel(PyObject *self, PyObject *arg)
{
    (void)self;
    struct rt_member *m = rt_me();
    enum rt_cancel kind = (enum rt_cancel)PyLong_AsLong(arg);
    if (!m || PyErr_Occurred()) return NULL;
    if (!rt_settings.cancellation) Py_RETURN_NONE;
    if (kind == RT_CANCEL_PARALLEL)
        rt_cancel_team(m->team, 2);
    else if (kind != RT_CANCEL_TASKGROUP)
        rt_loop_cancel(m);
    else if (m->task->group)
        atomic_store(&m->task->group->cancelled, 1);
    PyErr_SetNone(kind == RT_CANCEL_PARALLEL ? rt_exc_cancelled : rt_exc_left);
    return NULL;
}

static PyObject *cancellation_point(PyObject *self, PyObject *arg)
{
    (void)self;
    struct rt_member *m = rt_me();
    enum rt_cancel kind = (enum rt_cancel)PyLong_AsLong(arg);
    if (!m || PyErr_Occurred()) return NULL;
    return leave_if(m, kind);
}

static PyObject *worker(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return rt_worker_main();
}

static PyObject *shutdown(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    rt_shutdown();
    Py_RETURN_NONE;
}

// hooks(spawn, view, gil): called to start a worker, to view an array, before the first region of several threads.
static PyObject *hooks(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (arity(n, 3, 3, "hooks") < 0) return NULL;
    Py_XSETREF(rt_hook_spawn, Py_NewRef(args[0]));
    Py_XSETREF(rt_hook_view, args[1] == Py_None ? NULL : Py_NewRef(args[1]));
    Py_XSETREF(rt_hook_gil, args[2] == Py_None ? NULL : Py_NewRef(args[2]));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"parallel", (PyCFunction)(void (*)(void))parallel, METH_FASTCALL, NULL},
                                {"league", (PyCFunction)(void (*)(void))league, METH_FASTCALL, NULL},
                                {"loop", (PyCFunction)(void (*)(void))loop, METH_FASTCALL, NULL},
                                {"loop_over", (PyCFunction)(void (*)(void))loop_over, METH_FASTCALL, NULL},
                                {"loop_end", loop_end, METH_O, NULL},
                                {"barrier", barrier, METH_NOARGS, NULL},
                                {"meet", meet, METH_NOARGS, NULL},
                                {"single", single, METH_NOARGS, NULL},
                                {"share", share, METH_O, NULL},
                                {"shared", shared, METH_NOARGS, NULL},
                                {"gather", gather, METH_O, NULL},
                                {"reduce", reduce, METH_O, NULL},
                                {"reduced", reduced, METH_NOARGS, NULL},
                                {"ordered_enter", ordered_enter, METH_NOARGS, NULL},
                                {"ordered_exit", ordered_exit, METH_NOARGS, NULL},
                                {"task", (PyCFunction)(void (*)(void))task, METH_FASTCALL, NULL},
                                {"taskwait", (PyCFunction)(void (*)(void))taskwait, METH_FASTCALL, NULL},
                                {"taskyield", taskyield, METH_NOARGS, NULL},
                                {"taskgroup_enter", taskgroup_enter, METH_NOARGS, NULL},
                                {"taskgroup_exit", taskgroup_exit, METH_NOARGS, NULL},
                                {"cancel", cancel, METH_O, NULL},
                                {"cancellation_point", cancellation_point, METH_O, NULL},
                                {"worker", worker, METH_NOARGS, NULL},
                                {"shutdown", shutdown, METH_NOARGS, NULL},
                                {"hooks", (PyCFunction)(void (*)(void))hooks, METH_FASTCALL, NULL},
                                {0}};

// The functions that rewritten code calls are used by all threads at once: they are not counted.
static int keep_functions(PyObject *module)
{
    PyObject *dict = PyModule_GetDict(module), *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (PyCFunction_Check(value)) rt_immortal(value);
    }
    return 0;
}

static int add_exceptions(PyObject *module)
{
    rt_exc_cancelled = PyErr_NewExceptionWithDoc(
        "unisono.omp._rt.TeamCancelled",
        "Unwinds a thread of a team that another thread's failure or cancel has ended.", PyExc_BaseException, NULL);
    rt_exc_left = PyErr_NewExceptionWithDoc("unisono.omp._rt.ConstructLeft",
                                            "Unwinds a thread to the end of a construct that was cancelled.",
                                            PyExc_BaseException, NULL);
    if (!rt_exc_cancelled || !rt_exc_left) return -1;
    if (PyModule_AddObjectRef(module, "TeamCancelled", rt_exc_cancelled) < 0) return -1;
    return PyModule_AddObjectRef(module, "ConstructLeft", rt_exc_left);
}

static int exec_module(PyObject *module)
{
    static int loaded;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "unisono.omp works in the main interpreter only: its threads belong to the process");
        return -1;
    }
    if (loaded++) {
        PyErr_SetString(PyExc_ImportError, "unisono.omp._rt cannot be loaded twice");
        return -1;
    }
    PyMethodDef *tables[] = {rt_sync_methods,  rt_icv_methods,      rt_local_methods,
                             rt_trace_methods, rt_affinity_methods, rt_barrier_methods,
                             rt_walk_methods,  rt_nest_methods,     rt_detach_methods};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0) return -1;
    }
    if (rt_loop_init(module) < 0 || rt_sync_init(module) < 0 || rt_detach_init(module) < 0 || rt_local_init() < 0 ||
        add_exceptions(module) < 0)
        return -1;
    pthread_atfork(NULL, NULL, rt_forked);
    return keep_functions(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec_module},
#if PY_VERSION_HEX >= 0x030C0000
                                   {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};
static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "unisono.omp._rt",
                                        .m_doc = "The run-time of unisono.omp.",
                                        .m_methods = methods,
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit__rt(void)
{
    return PyModuleDef_Init(&definition);
}
