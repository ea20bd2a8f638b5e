// SPDX-License-Identifier: BSD-3-Clause
// Task dependences: per parent a table from storage (a hashable key that the rewritten code makes) to the last writer
// and the readers since. Only the thread that runs the parent touches the table; the lists of successors are guarded by
// the tasks' locks.
#include "rt.h"

enum kind { DEP_IN = 0, DEP_OUT = 1, DEP_SET = 2 };    // DEP_SET: inoutset, whose members do not wait for each other

struct entry {
    struct rt_task **out, **in;    // the writers (several for a set) and the readers after them
    struct rt_task **before;       // what every member of the set waits for
    int nout, nin, nbefore;
    bool set;
};

struct rt_deps {
    PyObject *index;    // key -> number of the entry
    struct entry *at;
    int n, cap;
};

static int append(struct rt_task ***list, int *n, struct rt_task *task)
{
    struct rt_task **more = PyMem_RawRealloc(*list, (size_t)(*n + 1) * sizeof *more);
    if (!more) {
        PyErr_NoMemory();
        return -1;
    }
    *list = more;
    more[(*n)++] = task;
    atomic_fetch_add(&task->refs, 1);
    return 0;
}

static void clear(struct rt_task **list, int *n)
{
    for (int i = 0; i < *n; i++) rt_task_unref(list[i]);
    *n = 0;
}

void rt_deps_free(struct rt_deps *deps)
{
    for (int i = 0; i < deps->n; i++) {
        clear(deps->at[i].out, &deps->at[i].nout);
        clear(deps->at[i].in, &deps->at[i].nin);
        clear(deps->at[i].before, &deps->at[i].nbefore);
        PyMem_RawFree(deps->at[i].before);
        PyMem_RawFree(deps->at[i].out);
        PyMem_RawFree(deps->at[i].in);
    }
    Py_XDECREF(deps->index);
    PyMem_RawFree(deps->at);
    PyMem_RawFree(deps);
}

static struct rt_deps *table_of(struct rt_task *parent)
{
    if (parent->deps) return parent->deps;
    struct rt_deps *deps = PyMem_RawCalloc(1, sizeof *deps);
    if (deps) deps->index = PyDict_New();
    if (!deps || !deps->index) {
        PyMem_RawFree(deps);
        PyErr_NoMemory();
        return NULL;
    }
    return parent->deps = deps;
}

static struct entry *entry_of(struct rt_deps *deps, PyObject *key)
{
    PyObject *number = PyDict_GetItemWithError(deps->index, key);
    if (number) return &deps->at[PyLong_AsLong(number)];
    if (PyErr_Occurred()) return NULL;
    if (deps->n == deps->cap) {
        int cap = deps->cap ? 2 * deps->cap : 8;
        struct entry *at = PyMem_RawRealloc(deps->at, (size_t)cap * sizeof *at);
        if (!at) return (struct entry *)PyErr_NoMemory();
        deps->at = at;
        deps->cap = cap;
    }
    number = PyLong_FromLong(deps->n);
    int rc = number ? PyDict_SetItem(deps->index, key, number) : -1;
    Py_XDECREF(number);
    if (rc < 0) return NULL;
    memset(&deps->at[deps->n], 0, sizeof *deps->at);
    return &deps->at[deps->n++];
}

// Makes next wait for before, unless before is finished or the same.
static int follow(struct rt_task *before, struct rt_task *next)
{
    int rc = 0;
    if (before == next) return 0;
    rt_lock(&before->lock);
    if (!before->done) {
        if (before->nsucc == before->csucc) {
            int cap = before->csucc ? 2 * before->csucc : 4;
            struct rt_task **succ = PyMem_RawRealloc(before->succ, (size_t)cap * sizeof *succ);
            if (succ)
                before->succ = succ, before->csucc = cap;
            else
                rc = -1;
        }
        if (rc == 0) {
            before->succ[before->nsucc++] = next;
            atomic_fetch_add(&next->waiting, 1);
        }
    }
    rt_unlock(&before->lock);
    if (rc < 0) PyErr_NoMemory();
    return rc;
}

static int follow_all(struct rt_task **list, int n, struct rt_task *next)
{
    for (int i = 0; i < n; i++) {
        if (follow(list[i], next) < 0) return -1;
    }
    return 0;
}

static int add(struct entry *e, struct rt_task *task, enum kind kind)
{
    if (kind == DEP_IN) return follow_all(e->out, e->nout, task) < 0 ? -1 : append(&e->in, &e->nin, task);
    if (kind == DEP_SET && e->set && e->nin == 0) {
        return follow_all(e->before, e->nbefore, task) < 0 ? -1 : append(&e->out, &e->nout, task);
    }
    if (follow_all(e->out, e->nout, task) < 0 || follow_all(e->in, e->nin, task) < 0) return -1;
    clear(e->before, &e->nbefore);
    for (int i = 0; kind == DEP_SET && i < e->nout; i++) {
        if (append(&e->before, &e->nbefore, e->out[i]) < 0) return -1;
    }
    for (int i = 0; kind == DEP_SET && i < e->nin; i++) {
        if (append(&e->before, &e->nbefore, e->in[i]) < 0) return -1;
    }
    clear(e->out, &e->nout);
    clear(e->in, &e->nin);
    e->set = kind == DEP_SET;
    return append(&e->out, &e->nout, task);
}

// list: pairs (kind, key). The task must still hold its creation count in waiting.
int rt_deps_add(struct rt_task *parent, struct rt_task *task, PyObject *list)
{
    struct rt_deps *deps = table_of(parent);
    PyObject *fast = deps ? PySequence_Fast(list, "depend: a sequence expected") : NULL;
    int rc = fast ? 0 : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PySequence_Fast_GET_SIZE(fast); i++) {
        PyObject *pair = PySequence_Fast_GET_ITEM(fast, i);
        struct entry *e = entry_of(deps, PyTuple_GET_ITEM(pair, 1));
        rc = e ? add(e, task, (enum kind)PyLong_AsLong(PyTuple_GET_ITEM(pair, 0))) : -1;
    }
    Py_XDECREF(fast);
    return rc;
}

// The task is finished: those that waited for it only may run.
void rt_deps_done(struct rt_member *m, struct rt_task *task)
{
    rt_lock(&task->lock);
    task->done = 1;
    int n = task->nsucc;
    rt_unlock(&task->lock);
    for (int i = 0; i < n; i++) {
        struct rt_task *next = task->succ[i];
        if (atomic_fetch_sub(&next->waiting, 1) != 1) continue;
        // An undeferred task is run by its creator, which waits for the count.
        if (next->flags & RT_UNDEFERRED) continue;
        rt_task_push(m, next);
    }
}
