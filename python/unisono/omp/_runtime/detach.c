// SPDX-License-Identifier: BSD-3-Clause
// task detach(event): a task that is over when its block has run and any thread of the process has fulfilled
// its event. Until then it waits in a list of its team; a fulfilled one is finished by the next member that looks for
// work, since only members may touch the team's deques. A cancelled team waits for no event.
#include "rt.h"

struct event {
    PyObject_HEAD struct rt_team *team;
    struct rt_task *task;    // in the team's list: its block has run
    bool fulfilled, dropped;
};

static PyTypeObject *event_type;
static _Atomic int lock;    // guards all events and the teams' lists; taken twice per detached task

static struct event *event_of(const struct rt_task *task)
{
    return (struct event *)PyTuple_GET_ITEM(task->args, 0);
}

void rt_detach_begin(struct rt_member *m, struct rt_task *task)
{
    event_of(task)->team = m->team;
}

bool rt_detach_over(struct rt_member *m, struct rt_task *task)
{
    struct event *e = event_of(task);
    rt_lock(&lock);
    // Relaxed: the canceller comes to the team's join and drops what is in the list then.
    bool over = e->fulfilled || atomic_load_explicit(&m->team->cancelled, memory_order_relaxed);
    if (!over) {
        e->task = task;
        task->next = m->team->detached;
        m->team->detached = task;
    } else {
        e->dropped = !e->fulfilled;
    }
    rt_unlock(&lock);
    return over;
}

void rt_detach_settle(struct rt_member *m)
{
    struct rt_team *team = m->team;
    rt_lock(&lock);
    struct rt_task *task = atomic_load_explicit(&team->fulfilled, memory_order_relaxed), **end = &task;
    atomic_store_explicit(&team->fulfilled, NULL, memory_order_relaxed);    // relaxed: the lock orders both
    if (atomic_load_explicit(&team->cancelled, memory_order_relaxed)) {
        for (; *end; end = &(*end)->next) {
        }
        *end = team->detached;
        team->detached = NULL;
        for (struct rt_task *t = *end; t; t = t->next) event_of(t)->dropped = true;
    }
    rt_unlock(&lock);
    while (task) {
        struct rt_task *next = task->next;
        rt_task_finish(m, task);
        task = next;
    }
}

// omp_fulfill_event(event)
static PyObject *fulfill(PyObject *self, PyObject *obj)
{
    (void)self;
    if (!Py_IS_TYPE(obj, event_type))
        return PyErr_Format(PyExc_TypeError,
                            "omp_fulfill_event: the event of a task's detach clause expected, not %.80s",
                            Py_TYPE(obj)->tp_name);
    struct event *e = (struct event *)obj;
    rt_lock(&lock);
    bool again = e->fulfilled;
    struct rt_task *task = e->dropped ? NULL : e->task;
    struct rt_team *team = e->team;
    e->fulfilled = true;
    e->task = NULL;
    if (task) {
        struct rt_task **at = &team->detached;
        while (*at != task) at = &(*at)->next;
        *at = task->next;
        task->next = atomic_load_explicit(&team->fulfilled, memory_order_relaxed);
        // Relaxed: the lock orders it. The count is a release: pairs with the acquire in rt_pushes().
        atomic_store_explicit(&team->fulfilled, task, memory_order_relaxed);
        atomic_fetch_add_explicit(&team->news, 1, memory_order_release);
    }
    rt_unlock(&lock);
    if (again) return PyErr_Format(PyExc_RuntimeError, "omp_fulfill_event: the event was fulfilled before");
    if (task) rt_wake(team);
    Py_RETURN_NONE;
}

// event(): for the detach clause of one task.
static PyObject *event(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct event *e = PyObject_New(struct event, event_type);
    if (!e) return NULL;
    e->team = NULL;
    e->task = NULL;
    e->fulfilled = e->dropped = false;
    return (PyObject *)e;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {0, NULL}};
static PyType_Spec spec = {.name = "unisono.omp._rt.Event",
                           .basicsize = sizeof(struct event),
                           .slots = slots,
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION};

int rt_detach_init(PyObject *module)
{
    event_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return event_type ? PyModule_AddObjectRef(module, "Event", (PyObject *)event_type) : -1;
}

PyMethodDef rt_detach_methods[] = {
    {"event", event, METH_NOARGS, NULL},
    {"omp_fulfill_event", fulfill, METH_O,
     "omp_fulfill_event(event)\n--\n\nThe task with detach(event) is over, once its block has run."},
    {0}};
