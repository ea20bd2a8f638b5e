// SPDX-License-Identifier: BSD-3-Clause
// The run-time of unisono.omp: teams of threads, waiting, worksharing, tasks. Included by every file of this folder.
// A thread has one membership (struct rt_member) per team it is in; rt_me() is the innermost. All functions are called
// with the thread attached to the interpreter unless they say otherwise; a thread that waits detaches first. Functions
// that return int give 0, or -1 with a Python exception set, unless they say otherwise.
#ifndef UNISONO_OMP_RT_H
#define UNISONO_OMP_RT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RT_LINE 128       // two cache lines: neighbours are prefetched in pairs
#define RT_SLOTS 8        // worksharing constructs that threads may run ahead of each other with nowait
#define RT_DEPTH 48       // tasks that a thread runs inside each other before it defers them
#define RT_CATCH 32       // tasks that a thief takes at once
#define RT_PATIENCE 32    // looks that a thief takes at a deque with few tasks before it takes them
#define RT_POOL 1024      // tasks that a thread keeps the memory of
#define RT_BIAS (1 << 30)
#define RT_INTERRUPTED 3    // value of a team's cancelled: by KeyboardInterrupt
#define RT_QUEUE 64         // tasks in a thread's deque before it runs new ones at once

#if PY_VERSION_HEX < 0x030C0000    // before 3.12 a pending exception was a triple
static inline PyObject *rt_exc_take(void)
{
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (!type) return NULL;
    PyErr_NormalizeException(&type, &value, &tb);
    if (tb) PyException_SetTraceback(value, tb);
    Py_XDECREF(type);
    Py_XDECREF(tb);
    return value;
}
static inline void rt_exc_put(PyObject *e)
{
    PyErr_Restore(Py_NewRef(Py_TYPE(e)), e, PyException_GetTraceback(e));
}
#else
#define rt_exc_take PyErr_GetRaisedException
#define rt_exc_put PyErr_SetRaisedException
#endif

enum rt_sched { RT_STATIC = 1, RT_DYNAMIC = 2, RT_GUIDED = 3, RT_AUTO = 4, RT_RUNTIME = 5 };
enum rt_loop_flag { RT_ORDERED = 1, RT_NOWAIT = 2, RT_CANCELLABLE = 4, RT_INDEXED = 8, RT_DOACROSS = 16 };
// RT_LINKED: the task has dependences, so that others may know it before it runs.
enum rt_task_flag {
    RT_UNDEFERRED = 1,
    RT_FINAL = 2,
    RT_UNTIED = 4,
    RT_MERGEABLE = 8,
    RT_LINKED = 16,
    RT_DETACHED = 32
};
// What a task is in the middle of; RT_IN_ANY counts all of them. A worksharing construct is for, sections, single or
// scope.
enum rt_within {
    RT_IN_ANY,
    RT_IN_WORK,
    RT_IN_MASTER,
    RT_IN_CRITICAL,
    RT_IN_ORDERED,
    RT_IN_ATOMIC,
    RT_IN_TASK,
    RT_WITHIN
};
enum rt_cancel { RT_CANCEL_PARALLEL = 1, RT_CANCEL_FOR = 2, RT_CANCEL_SECTIONS = 3, RT_CANCEL_TASKGROUP = 4 };

// The control variables of a task (those that the standard keeps per data environment).
struct rt_icv {
    int nthreads, dynamic, max_active, sched, bind;
    Py_ssize_t chunk;
};

struct rt_group {
    _Atomic int pending;    // tasks of the group that are not finished
    _Atomic int cancelled;
    struct rt_group *outer;
};

// The first line is written when the task is made. The second one is ready for use in memory that waits in a pool: what
// finishes children and what makes them do not meet in one line, and a task without children never touches it.
struct rt_task {
    PyObject *fn, *args;
    struct rt_task *parent;
    struct rt_group *group;    // group that the task belongs to; children inherit it
    struct rt_deps *deps;      // dependences among my children, touched only by the thread that runs me
    struct rt_icv icv;
    struct rt_member *home;    // whose pool the memory belongs to, and the next task there
    struct rt_task *next;
    int flags, priority;
    int born;                      // children made, by the thread that runs the task
    _Atomic int refs;              // one while the task or a child of it is not finished, one a dependence entry
    _Atomic int waiting;           // predecessors that are not finished (plus one while it is being created)
    bool lingers;                  // ended before its children did; keeps its parent, whom they look up to
    uint16_t within[RT_WITHIN];    // see nest.c; only the thread that runs the task touches it
    // RT_BIAS minus the children that are finished while the task runs, then those that are not.
    _Atomic int kids __attribute__((aligned(RT_LINE)));
    _Atomic int lock, done;    // lock guards done and succ
    struct rt_task **succ;     // tasks that wait for this one
    int nsucc, csucc;
} __attribute__((aligned(RT_LINE)));

struct rt_deque {
    _Atomic int lock;
    _Atomic unsigned epoch;    // region that the tasks belong to
    // Written under the lock. Relaxed everywhere: looks without the lock take them as hints, the lock orders the rest.
    _Atomic unsigned head, tail;
    unsigned cap;
    struct rt_task **at;
};

// One worksharing construct that needs shared state. turn is 4*seq while free for construct seq, +1 being set up, +2 in
// use.
struct rt_slot {
    _Atomic uint64_t turn;
    _Atomic int64_t next __attribute__((aligned(RT_LINE)));    // next logical iteration to hand out; a line of its own
    _Atomic int64_t ordered __attribute__((aligned(RT_LINE)));    // logical iteration whose ordered block may run
    _Atomic int left;                                             // threads that are through
    _Atomic int cancelled;
    PyObject *items;                            // a list, when the loop runs over something else than a range
    _Atomic(_Atomic unsigned char *) across;    // ordered(n): a flag per iteration, set by depend(source)
} __attribute__((aligned(RT_LINE)));

struct rt_phase {
    _Atomic unsigned arrived, gen;
    _Atomic unsigned absent;    // of those that arrived: by rt_absent(), so that they do not open it
} __attribute__((aligned(RT_LINE)));

struct rt_member {
    struct rt_team *team;
    int num;
    unsigned epoch;      // region of the team that this membership last entered
    unsigned singles;    // single constructs met
    uint64_t shares;     // worksharing constructs met that use a slot
    int depth;           // tasks running inside each other
    int missed;          // barriers that this thread must still arrive at for constructs that an exception left
    bool pending;        // it has arrived at generation pending_gen in that way, and the barrier was not open yet
    bool refused;        // the exception on its way says that a loop was met where it may not be
    unsigned pending_gen;
    _Atomic unsigned created __attribute__((aligned(RT_LINE)));    // a line that others only look at when they are idle
    _Atomic unsigned finished, pushed;    // tasks by this thread; only it writes them, see rt_tasks_left()
    struct rt_task *task __attribute__((aligned(RT_LINE)));    // what runs now
    struct rt_task *pool;    // memory of tasks that are over; only this thread takes from it
    unsigned pooled;
    // The function of the tasks that this thread runs for another one, see local.c.
    PyObject *seen, *lent, *own;
    int owed;
    struct rt_task implicit;
    _Atomic(struct rt_task *) returned __attribute__((aligned(RT_LINE)));    // the same, put there by other threads
    struct rt_deque queue __attribute__((aligned(RT_LINE)));
    struct rt_loop *loop __attribute__((aligned(RT_LINE)));    // innermost running worksharing loop (borrowed)
    PyObject *value;                                           // partial result, or the outlined function's result
    struct rt_team *child;      // teams this membership was master of, kept with their workers for its next regions
    struct rt_member *outer;    // what rt_me() was before this thread entered the team
    _Atomic int tid;            // the kernel's number of the thread, and what crowd.c last knew of it
    int64_t delay;
    _Atomic unsigned long ident;    // Python's thread identifier, for asynchronous exceptions
    int place;                      // index into the places, or -1
    int first, places;              // its partition: the places that its regions may use
    int shown, shown_place;         // team size and place when this thread last showed its affinity; only it looks
} __attribute__((aligned(RT_LINE)));

struct rt_team {
    int n, cap, level, active;    // size now, members allocated, nesting level, active nesting level
    int bind;
    int league, teams;    // which team of its league this one, or the one around it, is
    unsigned epoch;
    struct rt_member *parent;    // who met the region
    struct rt_team *spare;       // next in the parent's list of kept teams
    struct rt_member **m;
    struct rt_worker **workers;    // cap - 1
    PyObject *fn, *args;
    PyObject *context;     // the context of who met the region, which workers run in copies of; NULL: it is empty
    PyObject *shared;      // copyprivate values in flight
    bool share_failed;     // shared is the exception that kept them from coming
    PyObject *failures;    // list of exceptions, first first; guarded by fail_lock
    _Atomic int fail_lock;
    struct rt_phase barrier, join;
    _Atomic unsigned singles;
    _Atomic int cancelled;    // waits end: 1 a failure, 2 cancel parallel, 3 an interrupt
    _Atomic int tasked;       // whether a task was created in this region
    _Atomic unsigned event, sleepers;
    struct rt_task *detached;    // tasks whose blocks have run and whose events are not fulfilled; see detach.c
    _Atomic(struct rt_task *) fulfilled;    // those that may be finished now
    _Atomic unsigned news;                  // how many came there
    struct rt_slot slot[RT_SLOTS];
};

struct rt_worker {
    _Atomic unsigned go;    // region counter; the worker runs a region each time it grows
    _Atomic unsigned asleep;
    _Atomic unsigned busy;    // from the start of a region until the worker looks at nothing of the team any more
    struct rt_team *team;
    int num;
    int place;
    struct rt_worker *next;      // among those that are being started
    struct rt_worker *fellow;    // among all
} __attribute__((aligned(RT_LINE)));

// Settings of the process, written before the first region or under the interpreter's eye.
struct rt_settings {
    int procs, thread_limit, levels, cancellation, max_priority, nlist;
    int *list;            // OMP_NUM_THREADS by nesting level
    int64_t spin_ns;      // how long a wait spins before it sleeps
    int adaptive;         // not at all while other programs want the processors
    struct rt_icv icv;    // initial values
    int nplaces;
    void *places;    // cpu_set_t[nplaces]
    int nbinds;
    int *binds;    // OMP_PROC_BIND by nesting level
};
extern struct rt_settings rt_settings;
extern PyObject *rt_exc_cancelled;    // raised where a wait ends because the team was cancelled
extern PyObject *rt_exc_left;         // raised to leave a construct that was cancelled
extern PyObject *rt_hook_spawn, *rt_hook_view, *rt_hook_gil, *rt_hook_show;
extern _Atomic int rt_tracing;

// pool.c
struct rt_member *rt_me(void);    // never NULL; NULL with an exception when out of memory
PyObject *rt_parallel(PyObject *fn, PyObject *args, PyObject *nthreads, int enabled, int bind, int collect);
PyObject *rt_league(PyObject *fn, PyObject *args, PyObject *teams, int collect);
PyObject *rt_worker_main(void);
void rt_shutdown(void);
void rt_forked(void);    // in the child of fork()
int rt_threads_now(void);

// failure.c
void rt_fail(struct rt_team *team);    // takes the pending exception into the team, ends everybody's waits
void rt_cancel_team(struct rt_team *team, int why);
PyObject *rt_failure(struct rt_team *team);    // taken out: the others are its attribute omp_others; NULL: none

// crowd.c
enum rt_view { RT_UNKNOWN, RT_QUIET, RT_CROWDED };
bool rt_crowded(void);    // waits sleep at once
int rt_tid(void);         // the kernel's number of this thread
void rt_crowd_forked(void);
enum rt_view rt_look_around(struct rt_member *m);    // costs microseconds and decides what rt_crowded() says

// wait.c
typedef int (*rt_cond)(void *arg);    // nonzero ends the wait; runs detached
int rt_wait(struct rt_team *team, rt_cond cond, void *arg);
void rt_wake(struct rt_team *team);    // call after the change; any thread, attached or not
int rt_futex_wait(_Atomic unsigned *word, unsigned seen, int64_t ns);
void rt_futex_wake(_Atomic unsigned *word, int n);
int64_t rt_now(void);
int64_t rt_spin_for(int n);
static inline void rt_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");    // `yield` is nothing on most of these processors
#endif
}
static inline void rt_lock(_Atomic int *lock)
{
    // Acquire: pairs with the release in rt_unlock().
    while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) {
        while (atomic_load_explicit(lock, memory_order_relaxed)) rt_relax();
    }
}
static inline void rt_unlock(_Atomic int *lock)
{
    // Release: pairs with the acquire in rt_lock().
    atomic_store_explicit(lock, 0, memory_order_release);
}

// barrier.c
extern PyMethodDef rt_barrier_methods[];
int rt_barrier(struct rt_member *m);
void rt_join(struct rt_member *m);     // the end of a region; never fails, runs or drops what tasks are left
int rt_check(struct rt_team *team);    // -1 and the exception when the team was cancelled
PyObject *rt_gather(struct rt_member *m, PyObject *value);    // everybody's values, in thread order, to everybody
PyObject *rt_reduce(struct rt_member *m,
                    PyObject *value);    // to the last one to arrive; None to the others, after its rt_reduced()
int rt_reduced(struct rt_member *m);
void rt_absent(struct rt_member *m, int barriers);    // an exception left a construct that has these barriers ahead
int rt_repay(struct rt_member *m);                    // waits until all of them are open
int rt_single(struct rt_member *m);
int rt_share(struct rt_member *m, PyObject *value);
PyObject *rt_shared(struct rt_member *m);
void rt_share_failure(struct rt_member *m, PyObject *why);

// doacross.c
struct rt_across {
    int n;    // loops of the nest
    struct rt_dim {
        int64_t start, step, count;
    } * dim;
    _Atomic unsigned char *done;    // the team's flags; NULL in a team of one, which waits for nobody
    _Atomic int *stopped;           // the slot's cancelled
};
struct rt_across *rt_across_new(struct rt_slot *slot, PyObject *const *args, Py_ssize_t n);
void rt_across_free(struct rt_across *across);
void rt_across_clear(struct rt_slot *slot);
int rt_across_source(struct rt_member *m, struct rt_across *across, PyObject *const *args, Py_ssize_t n);
int rt_across_sink(struct rt_member *m, struct rt_across *across, PyObject *const *args, Py_ssize_t n);

// loop.c
extern PyTypeObject *rt_loop_type;
int64_t rt_loop_count(int64_t start, int64_t stop, int64_t step);    // iterations of a range; step is not 0
int rt_integer(PyObject *obj, int64_t *value);
int rt_loop_init(PyObject *module);
// start, stop, step, kind, chunk, flags[, what the name range means, how many arguments it has in the text]
PyObject *rt_loop_range(PyObject *const *args, Py_ssize_t n);
PyObject *rt_loop_over(PyObject *const *args);    // iterable, kind, chunk, flags
PyObject *rt_loop_end(PyObject *loop);
int rt_ordered(bool enter);
int rt_loop_failed(struct rt_member *m, PyObject *loop, int barriers);
int rt_loop_cancel(struct rt_member *m);
int rt_loop_cancelled(struct rt_member *m);

// nest.c
extern PyMethodDef rt_nest_methods[];
int rt_may(struct rt_member *m, enum rt_within kind, const char *what);    // -1 and the exception: not here
int rt_may_meet(struct rt_member *m, const char *what);                    // the same for a barrier
static inline void rt_enter(struct rt_task *task, enum rt_within kind)
{
    task->within[RT_IN_ANY]++;
    task->within[kind]++;
}
static inline void rt_leave(struct rt_task *task, enum rt_within kind)
{
    task->within[RT_IN_ANY]--;
    task->within[kind]--;
}

// task.c
void rt_task_init(struct rt_task *task, struct rt_task *parent, const struct rt_icv *icv);
void rt_task_ready(struct rt_task *task);                // for its next use
int rt_task_new(PyObject *const *args, Py_ssize_t n);    // fn, args, flags, priority, depend
int rt_taskwait(struct rt_member *m);
int rt_taskwait_deps(struct rt_member *m, PyObject *deps);
int rt_group_begin(struct rt_member *m);
int rt_group_end(struct rt_member *m);
int rt_task_any(struct rt_member *m);        // runs one task if there is one: 1 did, 0 none
int rt_task_own(struct rt_member *m);        // the same, from the thread's own deque only
bool rt_tasks_left(struct rt_team *team);    // acquire: false only if every task is finished
unsigned rt_pushes(struct rt_team *team);    // acquire: grows with each task that is queued
void rt_task_unref(struct rt_task *task);
void rt_task_forget(struct rt_task *task);    // drops what an implicit task held

void rt_task_finish(struct rt_member *m, struct rt_task *task);

// detach.c
extern PyMethodDef rt_detach_methods[];
int rt_detach_init(PyObject *module);
void rt_detach_begin(struct rt_member *m, struct rt_task *task);
bool rt_detach_over(struct rt_member *m, struct rt_task *task);    // its block has run; false: the event comes later
void rt_detach_settle(struct rt_member *m);                        // finishes those whose events came

// deps.c
int rt_deps_add(struct rt_task *parent, struct rt_task *task, PyObject *list);
void rt_deps_done(struct rt_member *m, struct rt_task *task);
void rt_deps_free(struct rt_deps *deps);
void rt_task_push(struct rt_member *m, struct rt_task *task);

// sync.c
int rt_sync_init(PyObject *module);
extern PyMethodDef rt_sync_methods[];

// icv.c
extern PyMethodDef rt_icv_methods[];

// local.c
int rt_local_init(void);
PyObject *rt_localize(PyObject *obj);    // a new reference: the thread's own copy of a number, or obj itself
void rt_immortal(PyObject *obj);
PyObject *rt_own_function(struct rt_member *m, PyObject *fn);    // borrowed; valid until the next call or rt_settle()
void rt_drop_function(struct rt_member *m, PyObject *fn);    // takes a reference, given up at once or a little later
void rt_settle(struct rt_member *m);                         // gives up all of them
extern PyMethodDef rt_local_methods[];

// walk.c
extern PyMethodDef rt_walk_methods[];

// trace.c
void rt_trace(const char *name, int64_t start);    // an event from start (rt_now()) until now
extern PyMethodDef rt_trace_methods[];
static inline int64_t rt_trace_start(void)
{
    // Relaxed: tracing is switched on before the threads exist.
    return atomic_load_explicit(&rt_tracing, memory_order_relaxed) ? rt_now() : 0;
}

// affinity.c
void rt_place(struct rt_team *team, struct rt_member *parent, int num);    // gives a member its place and partition
void rt_bind_self(int place);
extern PyMethodDef rt_affinity_methods[];
#endif
