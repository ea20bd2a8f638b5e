// SPDX-License-Identifier: BSD-3-Clause
// Doacross loops: `for ordered(n)` with `ordered depend(source)` and `ordered depend(sink: vector)`. The team has one
// flag per iteration of the n loops; an iteration sets its own at its source, and waits at a sink for the flag of
// another. Iterations that a vector names outside the loops do not exist and are not waited for. Called through the
// loop object, see loop.c.
#include "rt.h"

void rt_across_clear(struct rt_slot *slot)
{
    // Relaxed: only while nobody uses the slot, which its turn (or the start of the region) orders.
    void *done = atomic_exchange_explicit(&slot->across, NULL, memory_order_relaxed);
    PyMem_RawFree(done);
}

void rt_across_free(struct rt_across *across)
{
    if (across) PyMem_RawFree(across->dim);
    PyMem_RawFree(across);
}

// The flags of the slot, made by the first thread that asks.
static _Atomic unsigned char *flags_of(struct rt_slot *slot, size_t total)
{
    // Acquire: pairs with the release below; the flags are zero before anybody sets one.
    _Atomic unsigned char *have = atomic_load_explicit(&slot->across, memory_order_acquire), *fresh;
    if (have) return have;
    if (!(fresh = PyMem_RawCalloc(total ? total : 1, 1))) return NULL;
    if (atomic_compare_exchange_strong_explicit(&slot->across, &have, fresh, memory_order_release,
                                                memory_order_acquire)) {
        return fresh;
    }
    PyMem_RawFree((void *)fresh);
    return have;
}

static int set_dims(struct rt_across *across, PyObject *const *args, size_t *total)
{
    for (int i = 0; i < across->n; i++) {
        struct rt_dim *d = &across->dim[i];
        int64_t stop;
        if (rt_integer(args[3 * i], &d->start) < 0 || rt_integer(args[3 * i + 1], &stop) < 0) return -1;
        if (rt_integer(args[3 * i + 2], &d->step) < 0) return -1;
        if (d->step == 0) {
            PyErr_SetString(PyExc_ValueError, "range() arg 3 must not be zero");
            return -1;
        }
        d->count = rt_loop_count(d->start, stop, d->step);
        if (__builtin_mul_overflow(*total, (size_t)d->count, total)) {
            PyErr_SetString(PyExc_OverflowError, "ordered(n): too many iterations");
            return -1;
        }
    }
    return 0;
}

struct rt_across *rt_across_new(struct rt_slot *slot, PyObject *const *args, Py_ssize_t n)
{
    struct rt_across *across = PyMem_RawCalloc(1, sizeof *across);
    size_t total = 1;
    if (across && (across->dim = PyMem_RawCalloc((size_t)n, sizeof *across->dim))) {
        across->n = (int)(n / 3);
        if (set_dims(across, args, &total) < 0) goto fail;
        if (!slot) return across;
        across->stopped = &slot->cancelled;
        if ((across->done = flags_of(slot, total))) return across;
    }
    PyErr_NoMemory();
fail:
    rt_across_free(across);
    return NULL;
}

// The number of the iteration with these values; -1 when there is none, -2 with an exception.
static int64_t number_of(const struct rt_across *across, PyObject *const *args, Py_ssize_t n)
{
    int64_t number = 0, value;
    if (!across || n != across->n) {
        PyErr_Format(PyExc_TypeError, "ordered depend: %zd values for %d loops", n, across ? across->n : 0);
        return -2;
    }
    for (int i = 0; i < n; i++) {
        const struct rt_dim *d = &across->dim[i];
        if (rt_integer(args[i], &value) < 0) return -2;
        int64_t away = value - d->start, at = away / d->step;
        if (away % d->step || at < 0 || at >= d->count) return -1;
        number = number * d->count + at;
    }
    return number;
}

int rt_across_source(struct rt_member *m, struct rt_across *across, PyObject *const *args, Py_ssize_t n)
{
    int64_t number = number_of(across, args, n);
    if (number == -2) return -1;
    if (number < 0 || !across->done) return 0;
    // Release: pairs with the acquire in is_set(); what the iteration wrote before is visible to those that waited.
    atomic_store_explicit(&across->done[number], 1, memory_order_release);
    rt_wake(m->team);
    return 0;
}

struct wait {
    struct rt_team *team;
    _Atomic unsigned char *flag;
    _Atomic int *stopped;    // the loop is cancelled, or an exception has left it
};

static int is_set(void *arg)
{
    struct wait *w = arg;
    // Acquire: pairs with the release in rt_across_source().
    if (atomic_load_explicit(w->flag, memory_order_acquire)) return 1;
    if (atomic_load_explicit(w->stopped, memory_order_relaxed)) return 1;
    // Relaxed: only ends the wait, rt_check() orders what follows.
    return atomic_load_explicit(&w->team->cancelled, memory_order_relaxed) != 0;
}

int rt_across_sink(struct rt_member *m, struct rt_across *across, PyObject *const *args, Py_ssize_t n)
{
    int64_t number = number_of(across, args, n);
    if (number == -2) return -1;
    if (number < 0 || !across->done) return 0;
    struct wait w = {m->team, &across->done[number], across->stopped};
    if (rt_wait(m->team, is_set, &w) < 0) return -1;
    if (rt_check(m->team) < 0) return -1;
    if (atomic_load_explicit(w.flag, memory_order_acquire)) return 0;
    PyErr_SetNone(rt_exc_left);
    return -1;
}
