// SPDX-License-Identifier: BSD-3-Clause
// Threads and teams: the calling thread's membership, starting a region, joining it. Workers are kept: a team stays
// with the membership that was its master, so the next region of the same size costs one store per worker. Idle workers
// spin a bounded time, then sleep. Python starts the threads (rt_hook_spawn), so that tracing, profiling and its own
// book-keeping apply.
#include "rt.h"
#include <pthread.h>
#include <signal.h>

static __thread struct rt_member *me __attribute__((tls_model("initial-exec")));
static _Atomic int threads_now;    // workers started and not ended
static _Atomic int quitting;
static struct rt_worker *newborn;     // workers that Python is starting, in any order
static struct rt_worker *everyone;    // all workers
static struct rt_team *orphans;       // teams of one of threads that ended; the next thread takes one with its workers
static _Atomic int pool_lock;         // guards the three
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static struct rt_member *member_new(struct rt_team *team, int num)
{
    struct rt_member *m = NULL;
    if (posix_memalign((void **)&m, RT_LINE, sizeof *m)) return NULL;
    memset(m, 0, sizeof *m);
    m->team = team;
    m->num = num;
    m->place = -1;
    return m;
}

// Room for n members in the team; the workers of new places are asked for by the caller.
static int team_grow(struct rt_team *team, int n)
{
    struct rt_member **m = PyMem_RawRealloc(team->m, (size_t)n * sizeof *m);
    if (m) team->m = m;
    struct rt_worker **w = PyMem_RawRealloc(team->workers, (size_t)n * sizeof *w);
    if (w) team->workers = w;
    while (m && w && team->cap < n) {
        team->workers[team->cap] = NULL;
        if (!(team->m[team->cap] = member_new(team, team->cap))) break;
        team->cap++;
    }
    if (team->cap >= n) return 0;
    PyErr_NoMemory();
    return -1;
}

static struct rt_team *team_new(struct rt_member *parent, int n)
{
    struct rt_team *team = NULL;
    if (posix_memalign((void **)&team, RT_LINE, sizeof *team)) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(team, 0, sizeof *team);
    for (int i = 0; i < RT_SLOTS; i++) team->slot[i].turn = 4u * (unsigned)i;
    team->parent = parent;
    if (team_grow(team, n) < 0) {
        free(team);
        return NULL;
    }
    return team;
}

static void thread_ends(void *team)
{
    rt_lock(&pool_lock);
    ((struct rt_team *)team)->spare = orphans;
    orphans = team;
    rt_unlock(&pool_lock);
}

static void make_key(void)
{
    pthread_key_create(&exit_key, thread_ends);
}

// The membership of a thread outside all regions: a team of one.
static struct rt_member *root(void)
{
    pthread_once(&exit_once, make_key);
    rt_lock(&pool_lock);
    struct rt_team *team = orphans;
    if (team) orphans = team->spare;
    rt_unlock(&pool_lock);
    if (!team && !(team = team_new(NULL, 1))) return NULL;
    pthread_setspecific(exit_key, team);
    team->n = 1;
    struct rt_member *m = team->m[0];
    rt_task_init(&m->implicit, NULL, &rt_settings.icv);
    rt_task_ready(&m->implicit);
    m->task = &m->implicit;
    m->ident = PyThread_get_thread_ident();
    m->places = rt_settings.nplaces;    // a thread that Python started is bound nowhere, but may use all places
    return me = m;
}

struct rt_member *rt_me(void)
{
    return me ? me : root();
}

int rt_threads_now(void)
{
    return atomic_load(&threads_now);
}

// OMP_DISPLAY_AFFINITY: a thread says where it runs in its first region, and again when its team or place is another.
static void show_place(struct rt_member *m)
{
    if (m->shown == m->team->n && m->shown_place == m->place) return;
    m->shown = m->team->n;
    m->shown_place = m->place;
    PyObject *r = PyObject_CallNoArgs(rt_hook_show);
    if (!r) PyErr_WriteUnraisable(rt_hook_show);
    Py_XDECREF(r);
}

// A worker lives in an empty context (contextvars) of its own; the region runs in that, or in a copy of the caller's
// when something is set there. What the block sets in the empty one goes with it: the worker gets another. Failures
// leave the thread in the context it is in.
static PyObject *enter_context(const struct rt_member *m)
{
    PyObject *context = m->team->context ? PyContext_Copy(m->team->context) : NULL;
    if (context && PyContext_Enter(context) < 0) Py_CLEAR(context);
    if (!context) PyErr_Clear();
    return context;
}

static PyObject *renewed(PyObject *blank)
{
    if (blank && PyMapping_Size(blank) == 0) return blank;
    if (blank && PyContext_Exit(blank) < 0) PyErr_Clear();
    Py_XDECREF(blank);
    blank = PyContext_New();
    if (blank && PyContext_Enter(blank) < 0) Py_CLEAR(blank);
    if (!blank) PyErr_Clear();
    return blank;
}

static void leave_context(PyObject *context)
{
    if (context && PyContext_Exit(context) < 0) PyErr_Clear();
    Py_XDECREF(context);
}

// Runs the outlined function as one member of the team. The thread's own copies of what it only reads live here.
static void run_member(struct rt_member *m)
{
    struct rt_team *team = m->team;
    m->outer = me;
    me = m;
    atomic_store_explicit(&m->tid, rt_tid(), memory_order_relaxed);    // relaxed: see longest_delay()
    if (rt_hook_show) show_place(m);
    int64_t start = rt_trace_start();
    PyObject *context = m->num ? enter_context(m) : NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(team->args);
    PyObject *small[16], **argv = n <= 16 ? small : PyMem_Malloc((size_t)n * sizeof *argv);
    Py_ssize_t have = 0;
    for (; argv && have < n; have++) {
        PyObject *arg = PyTuple_GET_ITEM(team->args, have);
        argv[have] = m->num == 0 ? Py_NewRef(arg) : rt_localize(arg);
        if (!argv[have]) break;
    }
    bool late = atomic_load(&team->cancelled) == RT_INTERRUPTED;    // for an asynchronous exception: do not begin
    PyObject *r = argv && have == n && !late ? PyObject_Vectorcall(team->fn, argv, (size_t)n, NULL) : NULL;
    while (have > 0) Py_DECREF(argv[--have]);
    if (argv != small) PyMem_Free(argv);
    if (!r && argv) rt_fail(team);
    if (rt_repay(m) < 0) PyErr_Clear();    // the team is cancelled
    Py_XSETREF(m->value, r);
    if (start) rt_trace("region", start);
    rt_join(m);
    rt_settle(m);
    leave_context(context);
    me = m->outer;
}

static void prepare(struct rt_team *team, int num)
{
    struct rt_member *m = team->m[num];
    struct rt_icv icv = team->parent->task->icv;
    if (team->level < rt_settings.nlist) icv.nthreads = rt_settings.list[team->level];
    if (team->level < rt_settings.nbinds) icv.bind = rt_settings.binds[team->level];
    rt_task_forget(&m->implicit);
    rt_task_init(&m->implicit, team->parent->task, &icv);
    rt_task_ready(&m->implicit);
    m->task = &m->implicit;
    m->epoch = team->epoch;
    // Relaxed: a thread that still looks around sees the old region or the new one, and compares it with its own.
    atomic_store_explicit(&m->queue.epoch, team->epoch, memory_order_relaxed);
    m->singles = 0;
    m->shares = 0;
    m->depth = m->missed = 0;
    m->pending = m->refused = false;
    // Relaxed: no thread of the team runs yet.
    atomic_store_explicit(&m->created, 0, memory_order_relaxed);
    atomic_store_explicit(&m->finished, 0, memory_order_relaxed);
    m->loop = NULL;
}

static int idle_go(void *arg)
{
    struct rt_worker *w = arg;
    // Acquire: pairs with the release in start_workers(); the team is set up before the worker may look at it.
    return (atomic_load_explicit(&w->go, memory_order_acquire) & 1) ||
           atomic_load_explicit(&quitting, memory_order_relaxed);
}

// Detached. The lowest bit of go is set while there is work.
static void idle(struct rt_worker *w, int procs_wanted)
{
    int64_t end = rt_now() + rt_spin_for(procs_wanted);
    do {
        for (int i = 0; i < 64; i++) {
            if (idle_go(w)) return;
            rt_relax();
        }
    } while (rt_now() < end);
    while (!idle_go(w)) {
        unsigned seen = atomic_load(&w->go);
        // Sequentially consistent: pairs with the exchange of go and the load of asleep in start_workers().
        atomic_store(&w->asleep, 1);
        if (!(atomic_load(&w->go) & 1) && !atomic_load(&quitting)) rt_futex_wait(&w->go, seen, 0);
        atomic_store(&w->asleep, 0);
    }
}

PyObject *rt_worker_main(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);    // signals are for the threads that Python knows to handle them
    rt_lock(&pool_lock);
    struct rt_worker *w = newborn;
    if (w) newborn = w->next;
    rt_unlock(&pool_lock);
    if (!w) Py_RETURN_NONE;
    PyObject *blank = NULL;
    for (int n = 1;;) {
        blank = renewed(blank);
        PyThreadState *state = PyEval_SaveThread();
        idle(w, n);
        PyEval_RestoreThread(state);
        if (atomic_load(&quitting)) break;
        struct rt_member *m = w->team->m[w->num];
        n = w->team->n;
        // Relaxed: we are the only one to clear it, and the master sets it again only after we joined.
        atomic_store_explicit(&w->go, atomic_load_explicit(&w->go, memory_order_relaxed) + 1, memory_order_relaxed);
        m->ident = PyThread_get_thread_ident();
        if (rt_settings.nplaces && w->place != m->place) rt_bind_self(w->place = m->place);
        run_member(m);
        // Release: pairs with the acquire in at_rest().
        atomic_store_explicit(&w->busy, 0, memory_order_release);
        rt_wake(w->team);
    }
    leave_context(blank);
    atomic_fetch_sub(&threads_now, 1);
    Py_RETURN_NONE;
}

static struct rt_worker *hire(struct rt_team *team, int num)
{
    struct rt_worker *w = NULL;
    if (posix_memalign((void **)&w, RT_LINE, sizeof *w)) return (struct rt_worker *)PyErr_NoMemory();
    memset(w, 0, sizeof *w);
    w->team = team;
    w->num = num;
    w->place = -1;
    atomic_fetch_add(&threads_now, 1);
    rt_lock(&pool_lock);
    w->next = newborn;
    newborn = w;
    w->fellow = everyone;
    everyone = w;
    rt_unlock(&pool_lock);
    PyObject *r = PyObject_CallNoArgs(rt_hook_spawn);
    if (r) {
        Py_DECREF(r);
        return w;
    }
    rt_lock(&pool_lock);
    for (struct rt_worker **at = &newborn; *at; at = &(*at)->next) {
        if (*at == w) {
            *at = w->next;
            break;
        }
    }
    rt_unlock(&pool_lock);
    atomic_fetch_sub(&threads_now, 1);
    return NULL;    // w stays in the list of all; it is small and this is rare
}

// The team gets n threads, or as many as the system gives.
static int staff(struct rt_team *team, int n)
{
    if (n > team->cap && team_grow(team, n) < 0) return -1;
    for (int i = 1; i < n; i++) {
        if (team->workers[i]) continue;
        if (atomic_load(&threads_now) + 1 >= rt_settings.thread_limit) return i;
        if (!(team->workers[i] = hire(team, i))) {
            if (i == 1 && PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
            PyErr_Clear();
            return i;
        }
    }
    return n;
}

static void start_workers(struct rt_team *team)
{
    for (int i = 1; i < team->n; i++) {
        struct rt_worker *w = team->workers[i];
        atomic_store_explicit(&w->busy, 1, memory_order_relaxed);    // relaxed: the worker sees it through go
        // Release: pairs with the acquire in idle_go(). Sequentially consistent for the load of asleep that follows.
        atomic_fetch_add(&w->go, 1);
        if (atomic_load(&w->asleep)) rt_futex_wake(&w->go, 1);
    }
}

// The size of the next team as the standard computes it.
static int team_size(struct rt_member *m, PyObject *nthreads, int enabled)
{
    struct rt_icv *icv = &m->task->icv;
    long n = icv->nthreads;
    if (nthreads != Py_None) {
        n = PyLong_AsLong(nthreads);
        if (n == -1 && PyErr_Occurred()) return -1;
        if (n < 1) {
            PyErr_Format(PyExc_ValueError, "num_threads(%ld): at least 1 expected", n);
            return -1;
        }
    }
    if (!enabled || m->team->active >= icv->max_active) return 1;
    if (n > rt_settings.thread_limit) n = rt_settings.thread_limit;
    if (icv->dynamic && n > rt_settings.procs) n = rt_settings.procs;
    return (int)n;
}

static PyObject *finish(struct rt_team *team, int collect)
{
    if (team->n > 1 && atomic_load(&team->cancelled) == RT_INTERRUPTED) {
        for (int i = 1; i < team->n; i++) PyThreadState_SetAsyncExc(team->m[i]->ident, NULL);
    }
    PyObject *first = rt_failure(team), *result = NULL;
    if (!first && collect) {
        result = PyList_New(0);
        for (int i = 0; result && i < team->n; i++) {
            PyObject *v = team->m[i]->value;
            if (v && v != Py_None && PyList_Append(result, v) < 0) Py_CLEAR(result);
        }
    } else if (!first) {
        result = Py_NewRef(Py_None);
    }
    for (int i = 0; i < team->n; i++) Py_CLEAR(team->m[i]->value);
    Py_CLEAR(team->shared);
    Py_CLEAR(team->fn);
    Py_CLEAR(team->args);
    Py_CLEAR(team->context);
    if (first) rt_exc_put(first);
    return result;
}

// Whether the workers of the team's last region are through with it: the last to leave a join may still look around.
static int at_rest(void *arg)
{
    struct rt_team *team = arg;
    for (int i = 1; i < team->n; i++) {
        // Acquire: pairs with the release in rt_worker_main().
        if (team->workers[i] && atomic_load_explicit(&team->workers[i]->busy, memory_order_acquire)) return 0;
    }
    return 1;
}

static void reset(struct rt_team *team, struct rt_member *parent, int n, int bind)
{
    team->n = n;
    team->level = parent->team->level + 1;
    team->active = parent->team->active + (n > 1);
    team->league = parent->team->league;
    team->teams = parent->team->teams;
    team->bind = bind;
    team->parent = parent;
    team->epoch++;
    team->detached = NULL;
    // Relaxed: the workers see all of this through the release of their go words.
    atomic_store_explicit(&team->barrier.arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&team->barrier.absent, 0, memory_order_relaxed);
    atomic_store_explicit(&team->singles, 0, memory_order_relaxed);
    atomic_store_explicit(&team->fulfilled, NULL, memory_order_relaxed);
    atomic_store_explicit(&team->tasked, 0, memory_order_relaxed);
    atomic_store_explicit(&team->cancelled, 0, memory_order_relaxed);
    for (int i = 0; i < RT_SLOTS; i++) {
        struct rt_slot *s = &team->slot[i];
        atomic_store_explicit(&s->turn, 4u * (unsigned)i, memory_order_relaxed);
        atomic_store_explicit(&s->cancelled, 0, memory_order_relaxed);
        Py_CLEAR(s->items);
        rt_across_clear(s);
    }
    for (int i = 0; i < n; i++) {
        prepare(team, i);
        if (rt_settings.nplaces) rt_place(team, parent, i);
    }
}

struct region {
    PyObject *fn, *args;
    int bind, collect;
    int league, teams;    // teams > 0: an initial task with no parallel region around it
};

// What the caller has set in its context; NULL when that is nothing.
static PyObject *caller_context(void)
{
    PyObject *current = PyThreadState_Get()->context;    // NULL: nothing was ever set in this thread
    if (!current || PyMapping_Size(current) == 0) return NULL;
    PyObject *context = PyContext_CopyCurrent();
    if (!context) PyErr_Clear();
    return context;
}

static PyObject *run_region(struct rt_team *team, struct rt_member *parent, int n, const struct region *r)
{
    if (n > 1 && rt_hook_gil) {
        PyObject *hook = rt_hook_gil;
        rt_hook_gil = NULL;
        PyObject *said = PyObject_CallNoArgs(hook);
        Py_DECREF(hook);
        if (!said) return NULL;
        Py_DECREF(said);
    }
    reset(team, parent, n, r->bind ? r->bind : parent->task->icv.bind);
    if (r->teams) {
        team->level = team->active = 0;
        team->league = r->league;
        team->teams = r->teams;
    }
    team->fn = Py_NewRef(r->fn);
    team->args = Py_NewRef(r->args);
    team->context = n > 1 ? caller_context() : NULL;
    team->m[0]->ident = parent->ident;
    start_workers(team);
    run_member(team->m[0]);
    return finish(team, r->collect);
}

static PyObject *begin_region(struct rt_member *parent, int n, const struct region *r)
{
    struct rt_team *team = parent->child;
    if (team)
        parent->child = team->spare;    // a region inside a task that runs while we wait here gets another team
    else if (!(team = team_new(parent, n)))
        return NULL;
    team->spare = NULL;
    if (rt_wait(team, at_rest, team) < 0)
        n = -1;
    else if (n > 1)
        n = staff(team, n);
    PyObject *result = n > 0 ? run_region(team, parent, n, r) : NULL;
    team->spare = parent->child;
    parent->child = team;
    return result;
}

PyObject *rt_parallel(PyObject *fn, PyObject *args, PyObject *nthreads, int enabled, int bind, int collect)
{
    struct rt_member *parent = rt_me();
    if (!parent || rt_check(parent->team) < 0) return NULL;
    int n = team_size(parent, nthreads, enabled);
    if (n < 0) return NULL;
    return begin_region(parent, n, &(struct region){.fn = fn, .args = args, .bind = bind, .collect = collect});
}

// The teams of a league, one after the other; what they return in one list.
PyObject *rt_league(PyObject *fn, PyObject *args, PyObject *teams, int collect)
{
    struct rt_member *parent = rt_me();
    int64_t n;
    if (!parent || rt_check(parent->team) < 0 || rt_integer(teams, &n) < 0) return NULL;
    if (n < 1 || n > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "num_teams(%lld): at least 1 expected", (long long)n);
    PyObject *all = collect ? PyList_New(0) : Py_NewRef(Py_None);
    for (int i = 0; all && i < n; i++) {
        struct region r = {.fn = fn, .args = args, .collect = collect, .league = i, .teams = (int)n};
        PyObject *part = begin_region(parent, 1, &r);
        if (!part || (collect && PyList_SetSlice(all, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, part) < 0)) Py_CLEAR(all);
        Py_XDECREF(part);
    }
    return all;
}

// Idle workers end; those that are in a region (of a daemon thread) are left to the interpreter.
void rt_shutdown(void)
{
    atomic_store(&quitting, 1);
    rt_lock(&pool_lock);
    for (struct rt_worker *w = everyone; w; w = w->fellow) rt_futex_wake(&w->go, 1);
    rt_unlock(&pool_lock);
}

// In the child of fork() only the calling thread lives; teams and workers of before are left alone, new ones are made.
void rt_forked(void)
{
    me = NULL;
    rt_crowd_forked();
    newborn = everyone = NULL;
    orphans = NULL;
    atomic_store(&threads_now, 0);
    atomic_store(&pool_lock, 0);
}
