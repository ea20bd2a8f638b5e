// SPDX-License-Identifier: BSD-3-Clause
// Explicit tasks: creation, the deques they wait in, stealing, taskwait and taskgroup. A thread takes its newest task
// first and steals the oldest of others. At a taskwait only descendants of the waiting task may run (the standard's
// scheduling constraint for tied tasks), so a thread never starts, under a suspended task, one that could need what
// that task holds.
#include "rt.h"

void rt_task_init(struct rt_task *task, struct rt_task *parent, const struct rt_icv *icv)
{
    task->fn = task->args = NULL;
    task->parent = parent;
    task->group = NULL;
    task->deps = NULL;
    task->icv = *icv;
    task->flags = task->priority = task->born = 0;
    task->lingers = false;
    memset(task->within, 0, sizeof task->within);
    // Relaxed: nobody else has the task yet.
    atomic_store_explicit(&task->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&task->waiting, 0, memory_order_relaxed);
}

void rt_task_ready(struct rt_task *task)
{
    atomic_store_explicit(&task->kids, RT_BIAS, memory_order_relaxed);    // relaxed: as above
    atomic_store_explicit(&task->done, 0, memory_order_relaxed);
    atomic_store_explicit(&task->lock, 0, memory_order_relaxed);
    PyMem_RawFree(task->succ);
    task->succ = NULL;
    task->nsucc = task->csucc = 0;
}

// Memory for a task: one that is over, of this thread's pool, or new.
static struct rt_task *obtain(struct rt_member *m)
{
    // Acquire: pairs with the release in give_back(); whoever returned the task is through with it.
    if (!m->pool && atomic_load_explicit(&m->returned, memory_order_relaxed)) {
        m->pool = atomic_exchange_explicit(&m->returned, NULL, memory_order_acquire);
        m->pooled = 0;    // counted from here on: a hint that keeps the pool from growing
    }
    struct rt_task *task = m->pool;
    if (task) {
        m->pool = task->next;
        m->pooled -= m->pooled > 0;
        return task;
    }
    if (posix_memalign((void **)&task, RT_LINE, sizeof *task)) return NULL;
    memset(task, 0, sizeof *task);
    task->home = m;
    rt_task_ready(task);
    return task;
}

static void give_back(struct rt_task *task)
{
    struct rt_member *m = task->home;
    rt_task_ready(task);
    if (m != rt_me()) {
        task->next = atomic_load_explicit(&m->returned, memory_order_relaxed);
        // Release: pairs with the acquire in obtain().
        while (!atomic_compare_exchange_weak_explicit(&m->returned, &task->next, task, memory_order_release,
                                                      memory_order_relaxed)) {
        }
    } else if (m->pooled < RT_POOL) {
        task->next = m->pool;
        m->pool = task;
        m->pooled++;
    } else {
        free(task);
    }
}

// Adds one to a counter that only this thread writes. Release: pairs with the acquires in rt_tasks_left() and
// rt_pushes().
static void count(_Atomic unsigned *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_release);
}

bool rt_tasks_left(struct rt_team *team)
{
    if (!atomic_load_explicit(&team->tasked, memory_order_acquire)) return false;
    unsigned finished = 0, created = 0;
    // Finished first: a task is counted as created before it can finish, so equal sums mean that none was left in
    // between.
    for (int i = 0; i < team->n; i++) finished += atomic_load_explicit(&team->m[i]->finished, memory_order_acquire);
    for (int i = 0; i < team->n; i++) created += atomic_load_explicit(&team->m[i]->created, memory_order_acquire);
    return finished != created;
}

unsigned rt_pushes(struct rt_team *team)
{
    unsigned pushes = atomic_load_explicit(&team->news, memory_order_acquire);
    for (int i = 0; i < team->n; i++) pushes += atomic_load_explicit(&team->m[i]->pushed, memory_order_acquire);
    return pushes;
}

void rt_task_unref(struct rt_task *task)
{
    // Implicit tasks live in their membership and never reach zero: they do not end.
    while (task && atomic_fetch_sub(&task->refs, 1) == 1) {
        struct rt_task *parent = task->lingers ? task->parent : NULL;
        rt_task_forget(task);
        give_back(task);
        task = parent;
    }
}

// The count of children falls, or the task itself ends and takes the bias away; at zero all of them are over.
static void lower(struct rt_task *task, int by)
{
    if (atomic_fetch_sub(&task->kids, by) == by) rt_task_unref(task);
}

void rt_task_forget(struct rt_task *task)
{
    if (task->deps) rt_deps_free(task->deps);
    task->deps = NULL;
}

static bool descends(const struct rt_task *task, const struct rt_task *from)
{
    for (const struct rt_task *t = task->parent; t; t = t->parent) {
        if (t == from) return true;
    }
    return false;
}

// Relaxed: see struct rt_deque.
static unsigned get(const _Atomic unsigned *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void set(_Atomic unsigned *at, unsigned value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static int grow(struct rt_deque *q)
{
    unsigned cap = q->cap ? 2 * q->cap : 64;
    struct rt_task **at = PyMem_RawMalloc(cap * sizeof *at);
    if (!at) return -1;
    for (unsigned i = get(&q->head), tail = get(&q->tail); i != tail; i++) at[i % cap] = q->at[i % q->cap];
    PyMem_RawFree(q->at);
    q->at = at;
    q->cap = cap;
    return 0;
}

// Puts tasks that may run into the thread's deque, the last one on top. Cannot fail: out of memory means out of this
// process.
static void push(struct rt_member *m, struct rt_task *const *tasks, unsigned n)
{
    struct rt_deque *q = &m->queue;
    rt_lock(&q->lock);
    set(&q->epoch, m->team->epoch);
    unsigned tail = get(&q->tail), head = get(&q->head);
    while (tail - head + n > q->cap) {
        if (grow(q) < 0) Py_FatalError("unisono.omp: no memory for a task");
    }
    for (unsigned i = 0; i < n; i++) q->at[tail++ % q->cap] = tasks[i];
    set(&q->tail, tail);
    rt_unlock(&q->lock);
    count(&m->pushed);
    rt_wake(m->team);
}

void rt_task_push(struct rt_member *m, struct rt_task *task)
{
    push(m, &task, 1);
}

// Which entry to take: the newest for the owner, the oldest for a thief; with priorities the highest one first.
static unsigned choose(const struct rt_deque *q, bool own)
{
    unsigned head = get(&q->head), tail = get(&q->tail), best = own ? tail - 1 : head;
    if (rt_settings.max_priority == 0) return best;
    for (unsigned i = head; i != tail; i++) {
        if (q->at[i % q->cap]->priority > q->at[best % q->cap]->priority) best = i;
    }
    return best;
}

static struct rt_task *take(struct rt_member *m, struct rt_member *from, const struct rt_task *under)
{
    struct rt_deque *q = &from->queue;
    struct rt_task *task = NULL;
    // A look without the lock: head and tail are only hints here, the count of pushes brings us back if one is late.
    if (get(&q->tail) == get(&q->head)) return NULL;
    rt_lock(&q->lock);
    // A thread that still looks around at the end of the last region must not take tasks of the next.
    unsigned head = get(&q->head), tail = get(&q->tail);
    if (tail != head && get(&q->epoch) == m->epoch) {
        unsigned at = choose(q, from == m);
        task = q->at[at % q->cap];
        if (under && !descends(task, under)) {
            task = NULL;
        } else if (at == head) {
            set(&q->head, head + 1);
        } else {
            for (unsigned i = at; i + 1 != tail; i++) q->at[i % q->cap] = q->at[(i + 1) % q->cap];
            set(&q->tail, tail - 1);
        }
    }
    rt_unlock(&q->lock);
    return task;
}

// A victim that makes tasks faster than it is robbed gets a moment to make some more: taken one by one, small tasks
// cost more in cache lines that travel than they bring.
static void let_grow(const struct rt_deque *q)
{
    for (int i = 0; i < RT_PATIENCE && get(&q->tail) - get(&q->head) < RT_CATCH / 2; i++) rt_relax();
}

// A thief without work takes up to half of what the victim has: the rest of the catch goes into its own deque.
static struct rt_task *plunder(struct rt_member *m, struct rt_member *from)
{
    struct rt_task *catch[RT_CATCH];
    struct rt_deque *q = &from->queue;
    unsigned n = 0;
    if (get(&q->tail) == get(&q->head)) return NULL;
    let_grow(q);
    rt_lock(&q->lock);
    if (get(&q->epoch) == m->epoch) {
        unsigned head = get(&q->head), half = (get(&q->tail) - head + 1) / 2;
        while (n < half && n < RT_CATCH) catch[n++] = q->at[head++ % q->cap];
        set(&q->head, head);
    }
    rt_unlock(&q->lock);
    for (unsigned i = 1, j = n; i + 1 < j; i++) {    // the oldest of the rest on top, as it was the next to be stolen
        struct rt_task *t = catch[i];
        catch[i] = catch[--j];
        catch[j] = t;
    }
    if (n > 1) push(m, catch + 1, n - 1);
    return n ? catch[0] : NULL;
}

static struct rt_task *find(struct rt_member *m, const struct rt_task *under)
{
    struct rt_team *team = m->team;
    // Relaxed: hints; the count in rt_pushes() brings us back.
    if (atomic_load_explicit(&team->fulfilled, memory_order_relaxed) ||
        (team->detached && atomic_load_explicit(&team->cancelled, memory_order_relaxed))) {
        rt_detach_settle(m);
    }
    struct rt_task *task = take(m, m, under);
    bool many = !under && rt_settings.max_priority == 0;
    for (int i = 1; !task && i < team->n; i++) {
        struct rt_member *victim = team->m[(m->num + i) % team->n];
        task = many ? plunder(m, victim) : take(m, victim, under);
    }
    return task;
}

void rt_task_finish(struct rt_member *m, struct rt_task *task)
{
    struct rt_team *team = m->team;
    rt_drop_function(m, task->fn);
    Py_CLEAR(task->args);
    if (task->flags & RT_LINKED) rt_deps_done(m, task);
    if (task->group) atomic_fetch_sub(&task->group->pending, 1);
    // Only we made children of this task, so their number can only fall now.
    task->lingers = atomic_load_explicit(&task->kids, memory_order_relaxed) != RT_BIAS - task->born;
    if (task->lingers) atomic_fetch_add(&task->parent->refs, 1);
    lower(task->parent, 1);
    lower(task, RT_BIAS - task->born);
    // Last: when all are counted the region may end, and the implicit tasks that we held belong to the next one.
    count(&m->finished);
    rt_wake(team);
}

static bool dropped(struct rt_team *team, struct rt_task *task)
{
    if (atomic_load_explicit(&team->cancelled, memory_order_relaxed)) return true;
    for (struct rt_group *g = task->group; g; g = g->outer) {
        if (atomic_load_explicit(&g->cancelled, memory_order_relaxed)) return true;
    }
    return false;
}

static void run(struct rt_member *m, struct rt_task *task)
{
    struct rt_task *previous = m->task;
    struct rt_loop *loop = m->loop;
    m->task = task;
    m->loop = NULL;
    m->depth++;
    bool runs = task->fn && !dropped(m->team, task);
    if (runs) {
        int64_t start = rt_trace_start();
        PyObject *r = PyObject_Call(rt_own_function(m, task->fn), task->args, NULL);
        if (start) rt_trace("task", start);
        if (r)
            Py_DECREF(r);
        else if (PyErr_ExceptionMatches(rt_exc_left))
            PyErr_Clear();
        else
            rt_fail(m->team);
    }
    m->depth--;
    m->loop = loop;
    m->task = previous;
    if (runs && task->flags & RT_DETACHED && !rt_detach_over(m, task)) return;
    rt_task_finish(m, task);
}

int rt_task_any(struct rt_member *m)
{
    struct rt_task *task = find(m, NULL);
    if (!task) return 0;
    run(m, task);
    return 1;
}

int rt_task_own(struct rt_member *m)
{
    struct rt_task *task = take(m, m, NULL);
    if (!task) return 0;
    run(m, task);
    return 1;
}

struct waiting {
    struct rt_team *team;
    _Atomic int *count;
    int until;
    unsigned pushes;
    bool stubborn;    // a cancelled team does not end the wait
};

static int waited(void *arg)
{
    struct waiting *w = arg;
    // Acquire: pairs with the decrement in finish(); what the tasks wrote is visible afterwards.
    if (atomic_load_explicit(w->count, memory_order_acquire) <= w->until) return 1;
    if (!w->stubborn && atomic_load_explicit(&w->team->cancelled, memory_order_relaxed)) return 1;
    return rt_pushes(w->team) != w->pushes;
}

// Waits until *count is at most until, running descendants of the current task meanwhile.
static int wait_children(struct rt_member *m, _Atomic int *count, int until)
{
    struct waiting w = {.team = m->team, .count = count, .until = until};
    while (atomic_load_explicit(count, memory_order_acquire) > until) {
        // A cancelled team drops its tasks, so the count falls; but a task that ran into the failure must not wait for
        // others.
        if (rt_check(m->team) < 0) return -1;
        w.pushes = rt_pushes(m->team);
        struct rt_task *task = find(m, m->task);
        if (task)
            run(m, task);
        else if (rt_wait(m->team, waited, &w) < 0)
            return -1;
    }
    return rt_check(m->team);
}

static int start(struct rt_member *m, struct rt_task *task, bool at_once)
{
    bool free = !(task->flags & RT_LINKED) || atomic_fetch_sub(&task->waiting, 1) == 1;
    if (!free) {
        if (!(task->flags & RT_UNDEFERRED)) return 0;    // whoever finishes the last predecessor queues it
        // An undeferred task with unfinished predecessors: help until they are through.
        if (wait_children(m, &task->waiting, 0) < 0) {
            Py_CLEAR(task->fn);
            PyObject *e = rt_exc_take();
            run(m, task);
            rt_exc_put(e);
            return -1;
        }
    }
    if (at_once)
        run(m, task);
    else
        rt_task_push(m, task);
    return at_once ? rt_check(m->team) : 0;
}

static struct rt_task *create(struct rt_member *m, PyObject *fn, PyObject *args, int flags)
{
    struct rt_task *task = obtain(m);
    if (!task) {
        PyErr_NoMemory();
        return NULL;
    }
    struct rt_task *parent = m->task;
    rt_task_init(task, parent, &parent->icv);
    task->fn = Py_XNewRef(fn);
    task->args = Py_XNewRef(args);
    task->flags = flags | (parent->flags & RT_FINAL);
    if (task->flags & RT_FINAL) task->flags |= RT_UNDEFERRED;
    rt_enter(task, RT_IN_TASK);
    atomic_store_explicit(&task->waiting, 1, memory_order_relaxed);    // relaxed: nobody else has the task yet
    task->group = parent->group;
    if (task->group) atomic_fetch_add(&task->group->pending, 1);
    parent->born++;
    // Release: pairs with the acquire in rt_tasks_left(). Once per region, as others look at the line all the time.
    if (!atomic_load_explicit(&m->team->tasked, memory_order_relaxed))
        atomic_store_explicit(&m->team->tasked, 1, memory_order_release);
    count(&m->created);
    return task;
}

// Whether a new task runs at once: it must, or nobody else could take it, or enough are queued; never too deep on the
// stack.
static bool runs_at_once(const struct rt_member *m, const struct rt_task *task)
{
    if (task->flags & (RT_UNDEFERRED | RT_FINAL)) return true;
    if (m->depth >= RT_DEPTH) return false;
    return m->team->n == 1 || get(&m->queue.tail) - get(&m->queue.head) >= RT_QUEUE;
}

int rt_task_new(PyObject *const *args, Py_ssize_t n)
{
    struct rt_member *m = rt_me();
    if (!m || rt_check(m->team) < 0) return -1;
    int flags = (int)PyLong_AsLong(args[2]);
    long priority = n > 3 ? PyLong_AsLong(args[3]) : 0;
    if (PyErr_Occurred()) return -1;
    bool linked = n > 4 && args[4] != Py_None;
    struct rt_task *task = create(m, args[0], args[1], flags | (linked ? RT_LINKED : 0));
    if (!task) return -1;
    if (flags & RT_DETACHED) rt_detach_begin(m, task);
    task->priority = priority > rt_settings.max_priority ? rt_settings.max_priority : (int)priority;
    bool at_once = runs_at_once(m, task);
    if (linked && rt_deps_add(m->task, task, args[4]) < 0) {
        Py_CLEAR(task->fn);
        PyObject *e = rt_exc_take();
        start(m, task, true);
        rt_exc_put(e);
        return -1;
    }
    return start(m, task, at_once || (flags & (RT_UNDEFERRED | RT_FINAL)));
}

int rt_taskwait(struct rt_member *m)
{
    return wait_children(m, &m->task->kids, RT_BIAS - m->task->born);
}

// taskwait depend(...): an empty undeferred task with these dependences.
int rt_taskwait_deps(struct rt_member *m, PyObject *deps)
{
    struct rt_task *task = create(m, NULL, NULL, RT_UNDEFERRED | RT_LINKED);
    if (!task) return -1;
    int bad = rt_deps_add(m->task, task, deps);
    PyObject *e = bad < 0 ? rt_exc_take() : NULL;
    int rc = start(m, task, true);
    if (e) rt_exc_put(e);
    return bad < 0 ? -1 : rc;
}

int rt_group_begin(struct rt_member *m)
{
    struct rt_group *group = PyMem_RawCalloc(1, sizeof *group);
    if (!group) {
        PyErr_NoMemory();
        return -1;
    }
    group->outer = m->task->group;
    m->task->group = group;
    return 0;
}

// Waits for all tasks of the group, also when an exception is on its way; the group's memory is theirs until then.
int rt_group_end(struct rt_member *m)
{
    struct rt_group *group = m->task->group;
    int rc = wait_children(m, &group->pending, 0);
    PyObject *e = rc < 0 ? rt_exc_take() : NULL;
    struct waiting w = {.team = m->team, .count = &group->pending, .stubborn = true};
    while (atomic_load_explicit(&group->pending, memory_order_acquire) > 0) {
        w.pushes = rt_pushes(m->team);
        struct rt_task *task = find(m, m->task);
        if (task)
            run(m, task);
        else if (rt_wait(m->team, waited, &w) < 0)
            PyErr_Clear();
    }
    m->task->group = group->outer;
    PyMem_RawFree(group);
    if (e) rt_exc_put(e);
    return rc;
}
