// SPDX-License-Identifier: BSD-3-Clause
// Worksharing loops. A loop object is a thread's iterator over its share: a static share is computed, a dynamic or
// guided one is claimed from the team's slot with one atomic operation per chunk. Ordered loops hand a token from
// iteration to iteration. Every thread of a team meets the same constructs in the same order, so their number names the
// slot.
#include "rt.h"

struct rt_loop {
    PyObject_HEAD struct rt_member *m;
    struct rt_slot *slot;    // NULL when the share is computed
    struct rt_loop *outer;
    uint64_t seq;
    int64_t start, step, total;    // value = start + step * logical iteration
    int64_t at, end;               // logical iterations of the current chunk that are left
    int64_t chunk;
    int64_t since;      // when the current chunk was taken, while tracing
    int64_t running;    // ordered: iteration whose body runs, or -1
    int kind, flags;
    bool last, passed, ended,
        through;                 // had the last iteration; its token is passed on; no more chunks; left the slot
    bool within;                 // counted among the constructs that the task is in
    PyObject *items;             // list when not over a range
    struct rt_across *across;    // ordered(n), or NULL
};

PyTypeObject *rt_loop_type;

struct turn {
    struct rt_slot *slot;
    struct rt_team *team;
    uint64_t want;
};

static int turn_came(void *arg)
{
    struct turn *t = arg;
    if (atomic_load_explicit(&t->team->cancelled, memory_order_relaxed)) return 1;
    // Acquire: pairs with the releases of turn in enter() and leave().
    return atomic_load_explicit(&t->slot->turn, memory_order_acquire) >= t->want;
}

static int set_up(struct rt_slot *s, PyObject *iterable)
{
    atomic_store_explicit(&s->next, 0, memory_order_relaxed);
    atomic_store_explicit(&s->ordered, 0, memory_order_relaxed);
    atomic_store_explicit(&s->left, 0, memory_order_relaxed);
    atomic_store_explicit(&s->cancelled, 0, memory_order_relaxed);
    Py_CLEAR(s->items);
    rt_across_clear(s);
    return !iterable || (s->items = PySequence_List(iterable)) ? 0 : -1;
}

// Takes part in construct number seq: the first thread sets the slot up, the others wait for that.
static int enter(struct rt_loop *l, PyObject *iterable)
{
    struct rt_member *m = l->m;
    l->seq = m->shares++;
    l->slot = &m->team->slot[l->seq % RT_SLOTS];
    struct turn t = {l->slot, m->team, 4 * l->seq};
    if (!turn_came(&t) && rt_wait(m->team, turn_came, &t) < 0) return -1;
    uint64_t fresh = 4 * l->seq;
    if (atomic_compare_exchange_strong(&l->slot->turn, &fresh, fresh + 1)) {
        int rc = set_up(l->slot, iterable);
        // Release: pairs with the acquire in turn_came(); set even on failure, the cancelled team tells the others.
        atomic_store_explicit(&l->slot->turn, 4 * l->seq + 2, memory_order_release);
        rt_wake(m->team);
        return rc;
    }
    t.want = 4 * l->seq + 2;
    if (rt_wait(m->team, turn_came, &t) < 0) return -1;
    return rt_check(m->team);
}

static void leave(struct rt_loop *l)
{
    if (!l->slot || l->through) return;
    l->through = true;
    if (atomic_fetch_add(&l->slot->left, 1) + 1 != l->m->team->n) return;
    // Release: pairs with the acquire in turn_came(); the last one frees the slot for the construct RT_SLOTS later.
    atomic_store_explicit(&l->slot->turn, 4 * (l->seq + RT_SLOTS), memory_order_release);
    rt_wake(l->m->team);
}

static int static_share(struct rt_loop *l)
{
    int64_t n = l->m->team->n, i = l->m->num;
    if (l->chunk > 0) {
        l->at = l->end = 0;
        l->running = -1;
        return 0;
    }
    int64_t each = l->total / n, rest = l->total % n;
    l->at = i * each + (i < rest ? i : rest);
    l->end = l->at + each + (i < rest);
    l->last = l->end == l->total && l->end > l->at;
    l->ended = true;
    return 0;
}

// The next chunk, in at and end. False: there is none.
static bool claim(struct rt_loop *l)
{
    if (l->since) rt_trace("chunk", l->since);
    l->since = rt_trace_start();
    if (l->ended) return false;
    int64_t n = l->m->team->n, lo, size = l->chunk > 0 ? l->chunk : 1;
    if (l->kind == RT_STATIC) {
        lo = l->end ? l->end - size + n * size : l->m->num * size;
        if (l->end && l->end % size) lo = l->total;    // that was the last, short chunk
    } else if (!l->slot) {
        lo = l->end, size = l->total;    // a team of one
    } else if (l->kind == RT_DYNAMIC) {
        lo =
            atomic_fetch_add_explicit(&l->slot->next, size, memory_order_relaxed);    // relaxed: only the number counts
    } else {
        int64_t least = size;
        lo = atomic_load_explicit(&l->slot->next, memory_order_relaxed);
        do {
            size = (l->total - lo) / (2 * n);
            if (size < least) size = least;
        } while (lo < l->total && !atomic_compare_exchange_weak(&l->slot->next, &lo, lo + size));
    }
    if (lo >= l->total) {
        l->ended = true;
        return false;
    }
    l->at = lo;
    l->end = lo + size < l->total ? lo + size : l->total;
    if (l->end == l->total) l->last = true;
    return true;
}

static struct rt_loop *make(PyObject *const *args, PyObject *iterable, int64_t total)
{
    struct rt_member *m = rt_me();
    if (!m || rt_check(m->team) < 0) return NULL;
    m->refused = rt_may(m, RT_IN_WORK, "for or sections") < 0;
    if (m->refused) return NULL;
    struct rt_loop *l = PyObject_New(struct rt_loop, rt_loop_type);
    if (!l) return NULL;
    memset((char *)l + sizeof(PyObject), 0, sizeof *l - sizeof(PyObject));
    l->m = m;
    l->total = total;
    l->running = -1;
    l->step = 1;
    l->kind = (int)PyLong_AsLong(args[0]);
    l->chunk = args[1] == Py_None ? 0 : PyLong_AsLongLong(args[1]);
    l->flags = (int)PyLong_AsLong(args[2]);
    if (!PyErr_Occurred() && args[1] != Py_None && l->chunk < 1) {
        PyErr_Format(PyExc_ValueError, "schedule: chunk size %lld, at least 1 expected", (long long)l->chunk);
    }
    if (l->kind == RT_RUNTIME) {
        l->kind = m->task->icv.sched;
        l->chunk = m->task->icv.chunk;
    }
    if (l->kind == RT_AUTO) l->kind = RT_STATIC, l->chunk = 0;
    bool shared = l->kind == RT_DYNAMIC || l->kind == RT_GUIDED ||
                  (l->flags & (RT_ORDERED | RT_CANCELLABLE | RT_DOACROSS)) || iterable;
    int rc = PyErr_Occurred() ? -1 : 0;
    if (rc == 0 && m->team->n > 1 && shared)
        rc = enter(l, iterable);
    else if (rc == 0 && iterable && !(l->items = PySequence_List(iterable)))
        rc = -1;
    if (rc == 0 && l->slot && iterable) l->items = Py_NewRef(l->slot->items);
    if (rc < 0) {
        Py_DECREF(l);
        return NULL;
    }
    if (l->items) l->total = PyList_GET_SIZE(l->items);
    if (l->kind == RT_STATIC) static_share(l);
    if (l->flags & (RT_ORDERED | RT_CANCELLABLE)) {
        l->outer = m->loop;
        m->loop = l;
    }
    rt_enter(m->task, RT_IN_WORK);
    l->within = true;
    return l;
}

int64_t rt_loop_count(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0) return start < stop ? (int64_t)(((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1) : 0;
    return start > stop ? (int64_t)(((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1) : 0;
}

int rt_integer(PyObject *obj, int64_t *value)
{
    PyObject *index = PyLong_CheckExact(obj) ? Py_NewRef(obj) : PyNumber_Index(obj);
    if (!index) return -1;
    *value = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

// range is another one than it was when the function was decorated: its iterations, as the call in the text has them.
static PyObject *other_range(PyObject *const *args)
{
    long n = PyLong_AsLong(args[7]);
    PyObject *const *given = n == 1 ? args + 1 : args;
    PyObject *items = PyObject_Vectorcall(args[6], given, (size_t)n, NULL);
    PyObject *over[] = {items, args[3], args[4], args[5]}, *loop = items ? rt_loop_over(over) : NULL;
    Py_XDECREF(items);
    return loop;
}

PyObject *rt_loop_range(PyObject *const *args, Py_ssize_t n)
{
    int64_t start, stop, step;
    if (n > 6 && args[6] != (PyObject *)&PyRange_Type) return other_range(args);
    if (rt_integer(args[0], &start) < 0 || rt_integer(args[1], &stop) < 0 || rt_integer(args[2], &step) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
        PyErr_Clear();    // numbers beyond 64 bits: a list of them
        PyObject *range = PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, args[0], args[1], args[2], NULL);
        PyObject *loop = range ? (PyObject *)make(args + 3, range, 0) : NULL;
        Py_XDECREF(range);
        return loop;
    }
    if (step == 0) {
        PyErr_SetString(PyExc_ValueError, "range() arg 3 must not be zero");
        return NULL;
    }
    struct rt_loop *l = make(args + 3, NULL, rt_loop_count(start, stop, step));
    if (!l) return NULL;
    l->start = start;
    l->step = step;
    return (PyObject *)l;
}

PyObject *rt_loop_over(PyObject *const *args)
{
    PyObject *parts[6], *loop = NULL;
    if (!PyRange_Check(args[0])) return (PyObject *)make(args + 1, args[0], 0);
    parts[0] = PyObject_GetAttrString(args[0], "start");
    parts[1] = PyObject_GetAttrString(args[0], "stop");
    parts[2] = PyObject_GetAttrString(args[0], "step");
    for (int i = 0; i < 3; i++) parts[3 + i] = args[1 + i];
    if (parts[0] && parts[1] && parts[2]) loop = rt_loop_range(parts, 6);
    for (int i = 0; i < 3; i++) Py_XDECREF(parts[i]);
    return loop;
}

struct token {
    struct rt_loop *loop;
    int64_t want;
};

static int token_here(void *arg)
{
    struct token *t = arg;
    if (atomic_load_explicit(&t->loop->m->team->cancelled, memory_order_relaxed)) return 1;
    if (atomic_load_explicit(&t->loop->slot->cancelled, memory_order_relaxed)) return 1;
    // Acquire: pairs with the release in pass_token(); what earlier ordered blocks wrote is visible.
    return atomic_load_explicit(&t->loop->slot->ordered, memory_order_acquire) == t->want;
}

static int await_token(struct rt_loop *l)
{
    if (!l->slot) return 0;
    struct token t = {l, l->running};
    if (rt_wait(l->m->team, token_here, &t) < 0) return -1;
    if (rt_check(l->m->team) < 0) return -1;
    if (atomic_load_explicit(&l->slot->ordered, memory_order_acquire) == t.want) return 0;
    PyErr_SetNone(rt_exc_left);    // cancelled, or an exception has left an earlier iteration: this one does not run
    return -1;
}

static void pass_token(struct rt_loop *l)
{
    l->passed = true;
    if (!l->slot) return;
    // Release: pairs with the acquire in token_here().
    atomic_store_explicit(&l->slot->ordered, l->running + 1, memory_order_release);
    rt_wake(l->m->team);
}

// The iteration that ran is over; if it had no ordered block its token must still go on.
static int close_iteration(struct rt_loop *l)
{
    if (l->running < 0 || l->passed) return 0;
    if (await_token(l) < 0) return -1;
    pass_token(l);
    return 0;
}

int rt_ordered(bool begin)
{
    struct rt_member *m = rt_me();
    struct rt_loop *l = m ? m->loop : NULL;
    if (!m) return -1;
    if (!l || !(l->flags & RT_ORDERED)) {
        if (m->team->n == 1) return 0;
        PyErr_SetString(PyExc_RuntimeError, "ordered: the loop that runs has no ordered clause");
        return -1;
    }
    if (l->running < 0) return 0;
    if (begin) return await_token(l);
    if (!l->passed) pass_token(l);
    return 0;
}

// 1 when the loop or the team was cancelled, with the exception set in the latter case.
static int stopped(struct rt_loop *l)
{
    if (rt_check(l->m->team) < 0) return 1;
    return l->slot && atomic_load_explicit(&l->slot->cancelled, memory_order_relaxed);
}

static PyObject *loop_next(PyObject *self)
{
    struct rt_loop *l = (struct rt_loop *)self;
    if (l->flags & RT_ORDERED && close_iteration(l) < 0) return NULL;
    if (atomic_load_explicit(&l->m->team->cancelled, memory_order_relaxed) && stopped(l)) return NULL;
    if (l->at >= l->end && !claim(l)) {
        l->running = -1;
        return NULL;
    }
    int64_t i = l->at++;
    if (l->flags & RT_ORDERED) {
        l->running = i;
        l->passed = false;
    }
    if (l->slot && atomic_load_explicit(&l->slot->cancelled, memory_order_relaxed)) return NULL;
    if (l->items) return Py_NewRef(PyList_GET_ITEM(l->items, i));
    return PyLong_FromLongLong(l->start + l->step * i);
}

// A computed share in one piece is a plain range where the interpreter has a fast path for those.
static PyObject *loop_iter(PyObject *self)
{
#if !defined(Py_GIL_DISABLED) || PY_VERSION_HEX >= 0x030E0000
    struct rt_loop *l = (struct rt_loop *)self;
    if (l->ended && !l->slot && !l->items && l->end - l->at > 256 && !(l->flags & (RT_ORDERED | RT_INDEXED))) {
        long long lo = l->start + l->step * l->at, hi = l->start + l->step * (l->end - 1) + (l->step > 0 ? 1 : -1);
        PyObject *range = PyObject_CallFunction((PyObject *)&PyRange_Type, "LLL", lo, hi, (long long)l->step);
        PyObject *it = range ? PyObject_GetIter(range) : NULL;
        Py_XDECREF(range);
        return it;
    }
#endif
    return Py_NewRef(self);
}

static void out_of(struct rt_loop *l)
{
    if (l->m->loop == l) l->m->loop = l->outer;
    if (l->within) rt_leave(l->m->task, RT_IN_WORK);
    l->within = false;
}

static void loop_dealloc(PyObject *self)
{
    struct rt_loop *l = (struct rt_loop *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(l->items);
    rt_across_free(l->across);
    PyObject_Free(self);
    Py_DECREF(type);
}

// The end of the construct: gives the barrier its due unless nowait, and says whether this thread had the last
// iteration.
PyObject *rt_loop_end(PyObject *loop)
{
    if (!Py_IS_TYPE(loop, rt_loop_type)) {
        PyErr_SetString(PyExc_TypeError, "a loop expected");
        return NULL;
    }
    struct rt_loop *l = (struct rt_loop *)loop;
    out_of(l);
    leave(l);
    if (!(l->flags & RT_NOWAIT) && rt_barrier(l->m) < 0) return NULL;
    return Py_NewRef(l->last ? Py_True : Py_False);
}

// An exception leaves the construct. The iterations of an ordered loop come one after the other, so none may follow the
// one that failed: the others stop. In any other loop they go on.
int rt_loop_failed(struct rt_member *m, PyObject *loop, int barriers)
{
    struct rt_loop *l = (struct rt_loop *)loop;
    if (!Py_IS_TYPE(loop, rt_loop_type)) {
        PyErr_SetString(PyExc_TypeError, "a loop expected");
        return -1;
    }
    if (l->slot && (l->flags & (RT_ORDERED | RT_DOACROSS))) {
        atomic_store_explicit(&l->slot->cancelled, 1, memory_order_relaxed);    // relaxed: it only ends waits
        rt_wake(m->team);
    }
    out_of(l);
    leave(l);
    rt_absent(m, barriers);
    return 0;
}

static PyObject *get_last(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct rt_loop *)self)->last);
}

// cancel for / cancel sections: the other threads stop at their next iteration.
int rt_loop_cancel(struct rt_member *m)
{
    if (m->loop && m->loop->slot) atomic_store_explicit(&m->loop->slot->cancelled, 1, memory_order_relaxed);
    return 0;
}

int rt_loop_cancelled(struct rt_member *m)
{
    return m->loop && m->loop->slot && atomic_load_explicit(&m->loop->slot->cancelled, memory_order_relaxed);
}

// The rewritten code calls it on every way out of a loop that is ordered or has a cancel in it.
static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    out_of((struct rt_loop *)self);
    leave((struct rt_loop *)self);
    Py_RETURN_NONE;
}

static PyObject *get_index(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((struct rt_loop *)self)->at - 1);
}

static PyGetSetDef loop_getset[] = {
    {"index", get_index, NULL, "The logical number of the iteration that runs.", NULL},
    {"last", get_last, NULL, "Whether this thread ran the sequentially last iteration.", NULL},
    {0}};
// chunk() -> (start, stop, step) of the next chunk, or None: for code that runs a chunk at a time.
static PyObject *next_chunk(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct rt_loop *l = (struct rt_loop *)self;
    if (stopped(l)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    if (l->at >= l->end && !claim(l)) Py_RETURN_NONE;
    long long lo = l->start + l->step * l->at, hi = l->start + l->step * (l->end - 1) + (l->step > 0 ? 1 : -1);
    l->at = l->end;
    return Py_BuildValue("LLL", lo, hi, (long long)l->step);
}

// across(start, stop, step, ...): the loops of ordered(n), outermost first.
static PyObject *across(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct rt_loop *l = (struct rt_loop *)self;
    l->across = rt_across_new(l->slot, args, n);
    if (!l->across) return NULL;
    Py_RETURN_NONE;
}

// source(i, ...): the iteration with these values of the loops' variables has come to its depend(source).
static PyObject *source(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct rt_loop *l = (struct rt_loop *)self;
    if (rt_across_source(l->m, l->across, args, n) < 0) return NULL;
    Py_RETURN_NONE;
}

// sink(i, ...): waits until that iteration has.
static PyObject *sink(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct rt_loop *l = (struct rt_loop *)self;
    if (rt_across_sink(l->m, l->across, args, n) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef loop_methods[] = {
    {"across", (PyCFunction)(void (*)(void))across, METH_FASTCALL, NULL},
    {"source", (PyCFunction)(void (*)(void))source, METH_FASTCALL, NULL},
    {"sink", (PyCFunction)(void (*)(void))sink, METH_FASTCALL, NULL},
    {"chunk", next_chunk, METH_NOARGS, "The next chunk of numbers as (start, stop, step), or None."},
    {"forget", forget, METH_NOARGS, "Leaves the construct without a barrier."},
    {0}};
static PyType_Slot loop_slots[] = {{Py_tp_iter, loop_iter},       {Py_tp_iternext, loop_next},
                                   {Py_tp_dealloc, loop_dealloc}, {Py_tp_getset, loop_getset},
                                   {Py_tp_methods, loop_methods}, {0, NULL}};
static PyType_Spec loop_spec = {.name = "unisono.omp._rt.Loop",
                                .basicsize = sizeof(struct rt_loop),
                                .slots = loop_slots,
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION};

int rt_loop_init(PyObject *module)
{
    rt_loop_type = (PyTypeObject *)PyType_FromSpec(&loop_spec);
    if (!rt_loop_type) return -1;
    return PyModule_AddObjectRef(module, "Loop", (PyObject *)rt_loop_type);
}
