// SPDX-License-Identifier: BSD-3-Clause
// Where threads of a team meet: barriers, the end of a region, reductions, single and copyprivate. A barrier is one
// counter and one generation; the thread that completes it (all arrived, no task left) opens it. Threads that wait run
// the team's tasks. A cancelled team opens nothing any more: waits end with an exception and the threads meet again in
// rt_join().
#include "rt.h"

struct gate {
    struct rt_team *team;
    struct rt_phase *phase;
    unsigned gen, pushes;
    bool final;        // the end of a region: a cancelled team is no reason to leave
    bool absent;       // this thread arrived by rt_absent(): it opens only what nobody else waits at
    bool reducing;     // who finds all of them here does not open it, but becomes the one that combines
    bool combining;    // this thread is that: it has arrived twice, see rt_reduce()
};

int rt_check(struct rt_team *team)
{
    // Acquire: pairs with the release in rt_cancel_team().
    int why = atomic_load_explicit(&team->cancelled, memory_order_acquire);
    if (!why) return 0;
    PyErr_SetNone(rt_exc_cancelled);
    return -1;
}

// Opens the gate if everybody is here and no task is left, or takes the part of the one that combines; only one thread
// can.
static bool try_open(struct gate *g)
{
    unsigned all = (unsigned)g->team->n, full = g->combining ? all + 1 : all;
    // Acquire: pairs with the increments of arrivals and the decrements of tasks; what those threads did is visible to
    // us.
    if (atomic_load_explicit(&g->phase->arrived, memory_order_acquire) != full) return false;
    if (rt_tasks_left(g->team)) return false;
    // Relaxed: those arrivals are among the ones that we have seen.
    if (g->absent && atomic_load_explicit(&g->phase->absent, memory_order_relaxed) != all) return false;
    if (g->reducing) return g->combining = atomic_compare_exchange_strong(&g->phase->arrived, &full, all + 1);
    if (!atomic_compare_exchange_strong(&g->phase->arrived, &full, 0)) return false;
    atomic_store_explicit(&g->phase->absent, 0, memory_order_relaxed);    // relaxed: the release below orders it
    // Release: pairs with the acquire in is_open(). The arrivals' count is zero before anybody can arrive again.
    atomic_store_explicit(&g->phase->gen, g->gen + 1, memory_order_release);
    rt_wake(g->team);
    return true;
}

static bool is_open(const struct gate *g)
{
    // Acquire: pairs with the release in try_open().
    return atomic_load_explicit(&g->phase->gen, memory_order_acquire) != g->gen;
}

static int stir(void *arg)
{
    struct gate *g = arg;
    if (is_open(g)) return 1;
    // Relaxed: only ends the wait; rt_check() and the deque's lock order what follows.
    if (!g->final && atomic_load_explicit(&g->team->cancelled, memory_order_relaxed)) return 1;
    if (rt_pushes(g->team) != g->pushes) return 1;
    return try_open(g);
}

// Waits until the gate opens, running tasks meanwhile. -1 with an exception if the team was cancelled or a signal said
// so.
static int pass(struct rt_member *m, struct gate *g)
{
    struct rt_team *team = m->team;
    for (;;) {
        if (is_open(g) || (g->reducing && g->combining)) return 0;
        if (!g->final && rt_check(team) < 0) return -1;
        if (rt_task_own(m)) continue;
        // Acquire: pairs with the release in rt_task_push(). A task queued later changes the count and ends the wait.
        g->pushes = rt_pushes(team);
        if (rt_tasks_left(team) && rt_task_any(m)) {
            if (try_open(g)) return 0;
            continue;
        }
        if (rt_wait(team, stir, g) == 0) continue;
        if (!g->final) return -1;
        rt_fail(team);
    }
}

static int arrive(struct rt_member *m, struct rt_phase *phase, bool final)
{
    struct rt_team *team = m->team;
    struct gate g = {.team = team, .phase = phase, .final = final};
    g.gen = atomic_load_explicit(&phase->gen, memory_order_relaxed);    // relaxed: it cannot change before we arrive
    unsigned here = atomic_fetch_add(&phase->arrived, 1) + 1;
    if (here == (unsigned)team->n && try_open(&g)) return 0;
    return pass(m, &g);
}

struct alone {
    struct rt_team *team;
    unsigned pushes;
};

static int news_came(void *arg)
{
    struct alone *a = arg;
    return rt_pushes(a->team) != a->pushes || atomic_load_explicit(&a->team->cancelled, memory_order_relaxed);
}

// A team of one runs its tasks, and waits for events of detached ones that other threads of the program fulfill.
static int drain(struct rt_member *m)
{
    struct alone a = {.team = m->team};
    while (rt_tasks_left(m->team)) {
        a.pushes = rt_pushes(m->team);
        if (rt_task_any(m)) continue;
        if (rt_pushes(m->team) != a.pushes) continue;
        if (!m->team->detached) break;
        if (rt_wait(m->team, news_came, &a) < 0) return -1;
    }
    return 0;
}

int rt_barrier(struct rt_member *m)
{
    struct rt_team *team = m->team;
    if (team->n == 1) {
        return drain(m) < 0 ? -1 : rt_check(team);
    }
    if (rt_repay(m) < 0 || rt_check(team) < 0 || arrive(m, &team->barrier, false) < 0) return -1;
    return rt_check(team);
}

// Arrives at the next missed barrier, without waiting for it.
static void arrive_absent(struct rt_member *m)
{
    struct rt_team *team = m->team;
    struct gate g = {.team = team, .phase = &team->barrier, .absent = true};
    g.gen = atomic_load_explicit(&g.phase->gen, memory_order_relaxed);    // relaxed: as in arrive()
    m->missed--;
    m->pending = true;
    m->pending_gen = g.gen;
    if (m->value) Py_CLEAR(m->value);                                        // a reduction goes on without it
    atomic_fetch_add_explicit(&g.phase->absent, 1, memory_order_relaxed);    // relaxed: the next one orders it
    atomic_fetch_add(&g.phase->arrived, 1);
    if (try_open(&g)) return;
    rt_wake(team);    // one of those that wait there opens it
}

void rt_absent(struct rt_member *m, int barriers)
{
    if (m->team->n == 1 || atomic_load_explicit(&m->team->cancelled, memory_order_relaxed)) return;
    m->missed += barriers;
    if (m->missed && !m->pending) arrive_absent(m);
}

int rt_repay(struct rt_member *m)
{
    while (m->pending || m->missed) {
        struct gate g = {.team = m->team, .phase = &m->team->barrier, .gen = m->pending_gen, .absent = true};
        if (m->pending && pass(m, &g) < 0) return -1;
        m->pending = false;
        if (m->missed) arrive_absent(m);
    }
    return 0;
}

void rt_join(struct rt_member *m)
{
    struct rt_team *team = m->team;
    if (team->n == 1) {
        while (drain(m) < 0) rt_fail(team);
        return;
    }
    arrive(m, &team->join, true);
}

static PyObject *values(struct rt_team *team)
{
    PyObject *list = PyList_New(team->n);
    for (int i = 0; list && i < team->n; i++) {
        PyObject *value = team->m[i]->value;    // NULL: the thread is absent
        PyList_SET_ITEM(list, i, Py_NewRef(value ? value : Py_None));
    }
    return list;
}

PyObject *rt_gather(struct rt_member *m, PyObject *value)
{
    if (rt_repay(m) < 0) return NULL;
    Py_XSETREF(m->value, Py_NewRef(value));
    if (rt_barrier(m) < 0) return NULL;
    PyObject *list = values(m->team);
    if (list && rt_barrier(m) < 0) Py_CLEAR(list);
    return list;
}

// Every thread brings its value; the last to arrive gets the list of all and must call rt_reduced(), the others wait
// for that. When the last one is absent, one of those that wait takes its part.
PyObject *rt_reduce(struct rt_member *m, PyObject *value)
{
    struct rt_team *team = m->team;
    if (rt_repay(m) < 0) return NULL;
    Py_XSETREF(m->value, Py_NewRef(value));
    if (team->n == 1) return values(team);
    while (rt_tasks_left(team) && rt_task_any(m)) {
    }
    if (rt_check(team) < 0) return NULL;
    struct gate g = {.team = team, .phase = &team->barrier, .reducing = true};
    g.gen =
        atomic_load_explicit(&team->barrier.gen, memory_order_relaxed);    // relaxed: cannot change before we arrive
    unsigned here = atomic_load(&team->barrier.arrived), all = (unsigned)team->n;
    // The last one arrives twice in one step: with more than all here, nobody can open the gate until rt_reduced()
    // takes one back.
    while (!atomic_compare_exchange_weak(&team->barrier.arrived, &here, here + 1 == all ? all + 1 : here + 1)) {
    }
    if (here + 1 == all) return values(team);
    if (pass(m, &g) < 0 || rt_check(team) < 0) return NULL;
    if (g.combining) return values(team);
    Py_RETURN_NONE;
}

int rt_reduced(struct rt_member *m)
{
    struct rt_team *team = m->team;
    if (team->n == 1) return 0;
    struct gate g = {.team = team, .phase = &team->barrier, .combining = true};
    g.gen = atomic_load_explicit(&team->barrier.gen, memory_order_relaxed);    // relaxed: only we can open it
    if (!try_open(&g) && pass(m, &g) < 0) return -1;
    return rt_check(team);
}

// Whether this thread is the one that runs the single block it met; -1 with an exception.
int rt_single(struct rt_member *m)
{
    if (rt_may(m, RT_IN_WORK, "single") < 0) return -1;
    unsigned met = m->singles++;
    if (m->team->n > 1 && !atomic_compare_exchange_strong(&m->team->singles, &met, met + 1)) return 0;
    rt_enter(m->task, RT_IN_WORK);
    return 1;
}

// The thread of the single block gives its values to the others: they may read between the two barriers.
int rt_share(struct rt_member *m, PyObject *value)
{
    if (rt_repay(m) < 0) return -1;
    m->team->share_failed = false;
    Py_XSETREF(m->team->shared, Py_NewRef(value));
    return rt_barrier(m) < 0 ? -1 : rt_barrier(m);
}

// The block failed: the others, which cannot go on without the values, raise an error with its exception as the cause.
void rt_share_failure(struct rt_member *m, PyObject *why)
{
    if (m->team->n == 1) return;
    if (rt_repay(m) < 0) {
        PyErr_Clear();    // the team is cancelled: nobody waits for values any more
        return;
    }
    m->team->share_failed = true;
    Py_XSETREF(m->team->shared, Py_XNewRef(why));
    rt_absent(m, 2);
}

PyObject *rt_shared(struct rt_member *m)
{
    if (rt_barrier(m) < 0) return NULL;
    bool failed = m->team->share_failed;
    PyObject *value = Py_XNewRef(m->team->shared);
    if (rt_barrier(m) < 0) Py_CLEAR(value);
    if (!value || !failed) return value;
    PyErr_SetString(PyExc_RuntimeError, "copyprivate: the thread that ran the single block left it by an exception");
    PyObject *error = rt_exc_take();
    PyException_SetCause(error, value);
    rt_exc_put(error);
    return NULL;
}

// phase() -> a number that changes with every region and every barrier of the team.
static PyObject *phase(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct rt_member *m = rt_me();
    if (!m) return NULL;
    unsigned gen =
        atomic_load_explicit(&m->team->barrier.gen, memory_order_relaxed);    // relaxed: our own barriers changed it
    return Py_BuildValue("KII", (unsigned long long)(uintptr_t)m->team, m->team->epoch, gen);
}

PyMethodDef rt_barrier_methods[] = {{"phase", phase, METH_NOARGS, NULL}, {0}};
