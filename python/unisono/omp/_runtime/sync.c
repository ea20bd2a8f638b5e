// SPDX-License-Identifier: BSD-3-Clause
// Mutual exclusion: one Lock type for critical sections and the omp_*_lock routines, and striped locks for atomic. A
// lock is a futex word: 0 free, 1 held, 2 held and some thread sleeps. Waits are detached, bounded spins first; a
// cancelled team ends them.
#include "rt.h"

struct mutex {
    _Atomic unsigned word;
    _Atomic(void *) owner;    // task that holds it
    int count;                // nesting, written by the owner only
};

struct lock {
    PyObject_HEAD struct mutex mutex;
    bool nest, destroyed;
};

static PyTypeObject *lock_type;
static struct mutex stripes[64] __attribute__((aligned(RT_LINE)));
static PyObject *criticals;    // name -> Lock

static bool try_take(struct mutex *x)
{
    unsigned none = 0;
    // Acquire: pairs with the release in give().
    return atomic_compare_exchange_strong_explicit(&x->word, &none, 1, memory_order_acquire, memory_order_relaxed);
}

// Waits 20 ms at most between looks at signals and at the team. Detached inside, attached outside.
static int take_slowly(struct mutex *x, struct rt_member *m)
{
    int64_t start = rt_trace_start(), spin_end = rt_now() + rt_spin_for(m->team->n);
    for (;;) {
        if (m->team->level > 0 && rt_check(m->team) < 0) return -1;
        PyThreadState *state = PyEval_SaveThread();
        bool mine = false;
        do {
            for (int i = 0; i < 32 && !(mine = !atomic_load_explicit(&x->word, memory_order_relaxed) && try_take(x));
                 i++) {
                rt_relax();
            }
        } while (!mine && rt_now() < spin_end);
        // Acquire: pairs with the release in give(). From here on the word says 2, so whoever gives it wakes one of us.
        if (!mine && !(mine = atomic_exchange_explicit(&x->word, 2, memory_order_acquire) == 0)) {
            rt_futex_wait(&x->word, 2, 20000000);
            mine = atomic_exchange_explicit(&x->word, 2, memory_order_acquire) == 0;
        }
        PyEval_RestoreThread(state);
        if (start && mine) rt_trace("lock", start);
        if (mine) return 0;
        if (PyErr_CheckSignals() < 0) return -1;
    }
}

static void give(struct mutex *x)
{
    atomic_store_explicit(&x->owner, NULL, memory_order_relaxed);
    // Release: pairs with the acquires in try_take() and take_slowly().
    if (atomic_exchange_explicit(&x->word, 0, memory_order_release) == 2) rt_futex_wake(&x->word, 1);
}

// Without a GIL the owner runs on: a short wait while attached, with growing pauses so that the owner may take it again
// at once.
static bool take_soon(struct mutex *x, struct rt_member *m)
{
#ifdef Py_GIL_DISABLED
    if (m->team->n > rt_settings.procs || atomic_load_explicit(&x->owner, memory_order_relaxed) == m->task)
        return false;
    for (int pause = 16; pause <= 256; pause *= 2) {
        for (int i = 0; i < pause; i++) rt_relax();
        if (atomic_load_explicit(&x->word, memory_order_relaxed) == 0 && try_take(x)) return true;
    }
#else
    (void)x, (void)m;
#endif
    return false;
}

static int take(struct mutex *x, struct rt_member *m, bool nest, const char *what)
{
    if (!try_take(x) && !take_soon(x, m)) {
        // Relaxed: only the owner itself can find its own task there.
        if (atomic_load_explicit(&x->owner, memory_order_relaxed) == m->task) {
            if (nest) return ++x->count;
            PyErr_Format(PyExc_RuntimeError, "%s: this task holds it already and would wait for itself for ever", what);
            return -1;
        }
        if (take_slowly(x, m) < 0) return -1;
    }
    atomic_store_explicit(&x->owner, m->task, memory_order_relaxed);
    return x->count = 1;
}

static struct lock *lock_of(PyObject *obj, bool nest, const char *what)
{
    struct lock *l = (struct lock *)obj;
    if (!Py_IS_TYPE(obj, lock_type) || l->nest != nest) {
        PyErr_Format(PyExc_TypeError, "%s: %s made by %s() expected, not %.80s", what,
                     nest ? "a nestable lock" : "a lock", nest ? "omp_init_nest_lock" : "omp_init_lock",
                     Py_TYPE(obj)->tp_name);
        return NULL;
    }
    if (!l->destroyed) return l;
    PyErr_Format(PyExc_RuntimeError, "%s: the lock was destroyed", what);
    return NULL;
}

static PyObject *new_lock(bool nest)
{
    struct lock *l = PyObject_New(struct lock, lock_type);
    if (!l) return NULL;
    memset(&l->mutex, 0, sizeof l->mutex);
    l->nest = nest;
    l->destroyed = false;
    return (PyObject *)l;
}

static PyObject *init_lock(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return new_lock(false);
}

static PyObject *init_nest_lock(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return new_lock(true);
}

static PyObject *set_any(PyObject *obj, bool nest, const char *what)
{
    struct lock *l = lock_of(obj, nest, what);
    struct rt_member *m = rt_me();
    if (!l || !m || take(&l->mutex, m, nest, what) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *unset_any(PyObject *obj, bool nest, const char *what)
{
    struct lock *l = lock_of(obj, nest, what);
    if (!l) return NULL;
    if (atomic_load_explicit(&l->mutex.word, memory_order_relaxed) == 0) {
        PyErr_Format(PyExc_RuntimeError, "%s: the lock is not set", what);
        return NULL;
    }
    if (--l->mutex.count == 0) give(&l->mutex);
    Py_RETURN_NONE;
}

static PyObject *destroy_any(PyObject *obj, bool nest, const char *what)
{
    struct lock *l = lock_of(obj, nest, what);
    if (!l) return NULL;
    if (atomic_load_explicit(&l->mutex.word, memory_order_relaxed) != 0) {
        PyErr_Format(PyExc_RuntimeError, "%s: the lock is set", what);
        return NULL;
    }
    l->destroyed = true;
    Py_RETURN_NONE;
}

static PyObject *set_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return set_any(obj, false, "omp_set_lock");
}

static PyObject *set_nest_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return set_any(obj, true, "omp_set_nest_lock");
}

static PyObject *unset_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return unset_any(obj, false, "omp_unset_lock");
}

static PyObject *unset_nest_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return unset_any(obj, true, "omp_unset_nest_lock");
}

static PyObject *destroy_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return destroy_any(obj, false, "omp_destroy_lock");
}

static PyObject *destroy_nest_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    return destroy_any(obj, true, "omp_destroy_nest_lock");
}

static PyObject *test_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    struct lock *l = lock_of(obj, false, "omp_test_lock");
    struct rt_member *m = rt_me();
    if (!l || !m) return NULL;
    if (!try_take(&l->mutex)) Py_RETURN_FALSE;
    atomic_store_explicit(&l->mutex.owner, m->task, memory_order_relaxed);
    l->mutex.count = 1;
    Py_RETURN_TRUE;
}

static PyObject *test_nest_lock(PyObject *self, PyObject *obj)
{
    (void)self;
    struct lock *l = lock_of(obj, true, "omp_test_nest_lock");
    struct rt_member *m = rt_me();
    if (!l || !m) return NULL;
    bool mine = atomic_load_explicit(&l->mutex.owner, memory_order_relaxed) == m->task;
    if (!mine && !try_take(&l->mutex)) return PyLong_FromLong(0);
    atomic_store_explicit(&l->mutex.owner, m->task, memory_order_relaxed);
    l->mutex.count = mine ? l->mutex.count + 1 : 1;
    return PyLong_FromLong(l->mutex.count);
}

// The lock of a named critical section, the same for the whole program; lives for ever.
static PyObject *critical(PyObject *self, PyObject *name)
{
    (void)self;
    PyObject *l = PyDict_GetItemWithError(criticals, name);
    if (l || PyErr_Occurred()) return Py_XNewRef(l);
    PyObject *fresh = new_lock(false);
    if (!fresh) return NULL;
    l = PyDict_SetDefault(criticals, name, fresh);
    Py_DECREF(fresh);
    if (l) rt_immortal(l);
    return Py_XNewRef(l);
}

static PyObject *critical_enter(PyObject *self, PyObject *obj)
{
    (void)self;
    struct rt_member *m = rt_me();
    if (!m || take(&((struct lock *)obj)->mutex, m, false, "critical") < 0) return NULL;
    rt_enter(m->task, RT_IN_CRITICAL);
    Py_RETURN_NONE;
}

static PyObject *critical_exit(PyObject *self, PyObject *obj)
{
    (void)self;
    struct rt_member *m = rt_me();
    rt_leave(m->task, RT_IN_CRITICAL);
    give(&((struct lock *)obj)->mutex);
    Py_RETURN_NONE;
}

static struct mutex *stripe(PyObject *obj)
{
    uintptr_t at = (uintptr_t)obj;
    return &stripes[(at >> 4 ^ at >> 12) % 64];
}

// Nestable: what the update itself calls may contain an atomic of its own.
static PyObject *atomic_enter(PyObject *self, PyObject *obj)
{
    (void)self;
    struct rt_member *m = rt_me();
    if (!m || take(stripe(obj), m, true, "atomic") < 0) return NULL;
    rt_enter(m->task, RT_IN_ATOMIC);
    Py_RETURN_NONE;
}

static PyObject *atomic_exit(PyObject *self, PyObject *obj)
{
    (void)self;
    struct mutex *x = stripe(obj);
    rt_leave(rt_me()->task, RT_IN_ATOMIC);
    if (--x->count == 0) give(x);
    Py_RETURN_NONE;
}

static PyObject *flush(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    atomic_thread_fence(memory_order_seq_cst);
    Py_RETURN_NONE;
}

static PyObject *lock_repr(PyObject *self)
{
    struct lock *l = (struct lock *)self;
    const char *state = l->destroyed ? "destroyed" : l->mutex.word ? "set" : "free";
    return PyUnicode_FromFormat("<omp %slock %s>", l->nest ? "nest " : "", state);
}

static void lock_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_repr, lock_repr}, {Py_tp_dealloc, lock_dealloc}, {0, NULL}};
static PyType_Spec spec = {.name = "unisono.omp._rt.Lock",
                           .basicsize = sizeof(struct lock),
                           .slots = slots,
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION};

int rt_sync_init(PyObject *module)
{
    lock_type = (PyTypeObject *)PyType_FromSpec(&spec);
    criticals = PyDict_New();
    if (!lock_type || !criticals) return -1;
    return PyModule_AddObjectRef(module, "Lock", (PyObject *)lock_type);
}

PyMethodDef rt_sync_methods[] = {
    {"omp_init_lock", init_lock, METH_NOARGS, "omp_init_lock()\n--\n\nA new lock, not set."},
    {"omp_init_nest_lock", init_nest_lock, METH_NOARGS, "omp_init_nest_lock()\n--\n\nA new nestable lock, not set."},
    {"omp_set_lock", set_lock, METH_O, "omp_set_lock(lock)\n--\n\nWaits until the lock is free and sets it."},
    {"omp_set_nest_lock", set_nest_lock, METH_O,
     "omp_set_nest_lock(lock)\n--\n\nSets the lock, or nests if this task holds it."},
    {"omp_unset_lock", unset_lock, METH_O, "omp_unset_lock(lock)\n--\n\nFrees the lock."},
    {"omp_unset_nest_lock", unset_nest_lock, METH_O,
     "omp_unset_nest_lock(lock)\n--\n\nOne nesting less; free at zero."},
    {"omp_test_lock", test_lock, METH_O, "omp_test_lock(lock)\n--\n\nSets the lock if it is free; whether it did."},
    {"omp_test_nest_lock", test_nest_lock, METH_O, "omp_test_nest_lock(lock)\n--\n\nThe new nesting count, or 0."},
    {"omp_destroy_lock", destroy_lock, METH_O, "omp_destroy_lock(lock)\n--\n\nThe lock may not be used any more."},
    {"omp_destroy_nest_lock", destroy_nest_lock, METH_O,
     "omp_destroy_nest_lock(lock)\n--\n\nThe lock may not be used any more."},
    {"critical", critical, METH_O, NULL},
    {"critical_enter", critical_enter, METH_O, NULL},
    {"critical_exit", critical_exit, METH_O, NULL},
    {"atomic_enter", atomic_enter, METH_O, NULL},
    {"atomic_exit", atomic_exit, METH_O, NULL},
    {"flush", flush, METH_NOARGS, NULL},
    {0}};
