// SPDX-License-Identifier: BSD-3-Clause
// The engine: every MPI request under way, and one step, which ends those that have ended and arms the doorbell. A step
// is taken by any event loop that finds the doorbell's descriptor readable; one at a time.
// Always holds: after a step that found nothing the doorbell is armed, and whatever comes later makes the descriptor
// readable; nothing here waits.
#include "engine.h"

#include <string.h>
#include <sys/epoll.h>

struct engine engine = {.set = -1, .bell = -1};

PyObject *engine_raise(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return PyErr_Format(engine.closed ? engine.closed : PyExc_OSError, "%s: %s", what, text);
}

struct op *engine_op(enum op_kind kind, struct link *link)
{
    struct op *op = PyMem_Calloc(1, sizeof *op);
    if (!op) return PyErr_NoMemory(), NULL;
    op->kind = kind;
    op->link = (struct link *)Py_XNewRef((PyObject *)link);
    op->made = MPI_COMM_NULL;
    return op;
}

void engine_op_free(struct op *op)
{
    if (op->has_view) PyBuffer_Release(&op->view);
    PyMem_Free(op->memory);
    Py_XDECREF((PyObject *)op->link);
    Py_XDECREF((PyObject *)op->end);
    Py_XDECREF(op->call);
    PyMem_Free(op);
}

static int grow(int room)
{
    void *request = PyMem_Realloc(engine.request, sizeof(MPI_Request) * (size_t)room);
    if (request) engine.request = request;
    void *op = PyMem_Realloc(engine.op, sizeof *engine.op * (size_t)room);
    if (op) engine.op = op;
    void *ended = PyMem_Realloc(engine.ended, sizeof *engine.ended * (size_t)room);
    if (ended) engine.ended = ended;
    void *status = PyMem_Realloc(engine.status, sizeof *engine.status * (size_t)room);
    if (status) engine.status = status;
    if (!request || !op || !ended || !status) return PyErr_NoMemory(), -1;
    engine.room = room;
    return 0;
}

static int add_later(MPI_Request request, struct op *op)
{
    if (engine.laters == engine.later_room) {
        int room = engine.later_room * 2 + 16;
        void *requests = PyMem_Realloc(engine.later, sizeof(MPI_Request) * (size_t)room);
        if (requests) engine.later = requests;
        void *ops = PyMem_Realloc(engine.later_op, sizeof *engine.later_op * (size_t)room);
        if (ops) engine.later_op = ops;
        if (!requests || !ops) return PyErr_NoMemory(), -1;
        engine.later_room = room;
    }
    engine.later[engine.laters] = request;
    engine.later_op[engine.laters++] = op;
    engine.again = true;
    return 0;
}

int engine_add(MPI_Request request, struct op *op)
{
    if (engine.testing) return add_later(request, op);
    if (engine.count == engine.room && grow(engine.room * 2 + 64)) return -1;
    engine.request[engine.count] = request;
    engine.op[engine.count++] = op;
    return 0;
}

static int take_laters(void)
{
    int n = engine.laters;
    engine.laters = 0;
    for (int i = 0; i < n; i++)
        if (engine_add(engine.later[i], engine.later_op[i])) return -1;
    return 0;
}

// The news of an operation that made a communicator: (call, error text or None, handle).
static void end_call(struct op *op, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    PyObject *said = code == MPI_SUCCESS ? Py_NewRef(Py_None) : PyUnicode_FromString(text);
    PyObject *item = Py_BuildValue("(ONn)", op->call, said, (Py_ssize_t)(intptr_t)op->made);
    if (!item || PyList_Append(engine.news, item)) PyErr_WriteUnraisable(op->call);
    Py_XDECREF(item);
}

static void end_slot(struct op *op, const MPI_Status *status, int code)
{
    MPI_Count bytes = 0;
    int cancelled = 0;
    struct link *l = op->link;
    MPI_Test_cancelled(status, &cancelled);
    l->standing = false;
    if (cancelled) return;
    if (code == MPI_SUCCESS) code = MPI_Get_elements_c(status, MPI_BYTE, &bytes);
    if (code != MPI_SUCCESS || message_arrive(l, (size_t)bytes)) {
        if (PyErr_Occurred()) PyErr_WriteUnraisable((PyObject *)l);
        link_fail(l);
    } else if (link_stand(l)) {
        PyErr_WriteUnraisable((PyObject *)l);
        link_fail(l);
    }
}

static void end_op(struct op *op, const MPI_Status *status, int code)
{
    if (op->large) engine.larges--;
    switch (op->kind) {
    case OP_SLOT: end_slot(op, status, code); break;
    case OP_BODY:
    case OP_PACKED: message_part(op, code); break;
    case OP_SEND:
        if (code != MPI_SUCCESS) link_fail(op->link);
        if (op->end) end_sent(op->end);
        break;
    case OP_CALL: end_call(op, code); break;
    }
    engine_op_free(op);
}

// Takes what has ended out of the arrays; the last ones move into the holes. The ended ones lie at the end of the
// array of operations then, in the order of `ended`.
static void take_out(int n, struct op **out)
{
    for (int i = 0; i < n; i++) out[i] = engine.op[engine.ended[i]];
    for (int i = n - 1; i >= 0; i--) {
        int hole = engine.ended[i], last = --engine.count;
        engine.request[hole] = engine.request[last];
        engine.op[hole] = engine.op[last];
    }
}

// One look at all requests. How many ended.
static int collect_once(void)
{
    if (engine.laters && take_laters()) return -1;
    if (engine.count == 0) return 0;
    int n = 0, code;
    engine.testing = true;
    CALL_MPI(code = MPI_Testsome(engine.count, engine.request, &n, engine.ended, engine.status));
    engine.testing = false;
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return engine_raise("MPI_Testsome", code), -1;
    if (n <= 0) return 0;
    struct op *few[16], **out = n <= 16 ? few : PyMem_Malloc(sizeof *out * (size_t)n);
    MPI_Status some[16], *status = n <= 16 ? some : PyMem_Malloc(sizeof *status * (size_t)n);
    if (!out || !status) Py_FatalError("unisono.dask: no memory to end MPI operations");
    memcpy(status, engine.status, sizeof *status * (size_t)n);
    take_out(n, out);
    for (int i = 0; i < n; i++) end_op(out[i], &status[i], code == MPI_SUCCESS ? MPI_SUCCESS : status[i].MPI_ERROR);
    if (out != few) PyMem_Free(out);
    if (status != some) PyMem_Free(status);
    return n;
}

int engine_collect(void)
{
    int n, all = 0;
    engine.again = true;
    if (engine.testing) return 0;    // that thread looks again
    do {
        engine.again = false;
        if ((n = collect_once()) < 0) return -1;
        all += n;
    } while (n > 0 || engine.again);
    return all;
}

static int arm(void)
{
    int ready, code;
    CALL_MPI(code = MPIX_Doorbell_arm(0, NULL, &ready));
    return code == MPI_SUCCESS ? 0 : (engine_raise("MPIX_Doorbell_arm", code), -1);
}

// Ends what has ended and arms the doorbell. What has ended already is handed out before the doorbell is armed, which
// takes longer: the caller lets those who waited run, and comes back with `forced` for the rest.
static int step(bool forced, bool *more)
{
    int n = engine_collect();
    if (n < 0) return -1;
    *more = n > 0 && !forced;
    if (*more) return 0;
    do {
        if (arm() || (n = engine_collect()) < 0) return -1;
    } while (n > 0);
    return 0;
}

// step(forced) -> number: STEP_BUSY: another thread is taking a step; STEP_MORE: call again, forced, once those who
// were woken have run; STEP_NEWS: news() has something.
PyObject *engine_step(PyObject *module, PyObject *forced)
{
    (void)module;
    bool more = false;
    if (engine.stepping) {
        engine.again = true;
        return PyLong_FromLong(STEP_BUSY);
    }
    engine.stepping = true;
    int failed = step(forced == Py_True, &more);
    engine.stepping = false;
    if (failed) return NULL;
    return PyLong_FromLong((more ? STEP_MORE : 0) | (PyList_GET_SIZE(engine.news) ? STEP_NEWS : 0));
}

PyObject *engine_news(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    PyObject *fresh = PyList_New(0), *news = engine.news;
    if (!fresh) return NULL;
    engine.news = fresh;
    return news;
}

// The control sockets that are readable.
PyObject *engine_readable(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    struct epoll_event e[16];
    int n = epoll_wait(engine.set, e, 16, 0);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *number = PyLong_FromLong(e[i].data.fd);
        if (!number || PyList_Append(list, number)) Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}
