// SPDX-License-Identifier: BSD-3-Clause
// The module unisono.dask._mpi: starts MPI when it is needed, makes communicators for links, ends everything.
#include "engine.h"

#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

PyTypeObject *link_type, *end_type;

int engine_ready(void)
{
    if (engine.started && engine.pid == getpid()) return 0;
    PyErr_SetString(PyExc_RuntimeError, engine.started ? "this process was forked from one that uses MPI: start it "
                                                         "anew (multiprocessing's method \"spawn\")"
                                                       : "MPI is not running");
    return -1;
}

static int watch(int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(engine.set, EPOLL_CTL_ADD, fd, &e) == 0) return 0;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

static int start_mpi(void)
{
    int up, over, level, code = MPI_SUCCESS;
    MPI_Initialized(&up);
    MPI_Finalized(&over);
    if (over) return PyErr_SetString(PyExc_RuntimeError, "MPI is over in this process"), -1;
    if (!up) code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (code == MPI_SUCCESS) engine.owns_mpi = !up;
    if (code == MPI_SUCCESS) code = MPI_Query_thread(&level);
    if (code == MPI_SUCCESS && level < MPI_THREAD_MULTIPLE) {
        PyErr_SetString(PyExc_RuntimeError, "MPI was started without MPI_THREAD_MULTIPLE, which mpi:// needs");
        return -1;
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPIX_Doorbell_fd(&engine.bell);
    return code == MPI_SUCCESS ? 0 : (engine_raise("unisono.dask", code), -1);
}

// The identity of this process's world: (rank, size, job). Ranks with the same job number share MPI_COMM_WORLD.
static PyObject *world(void)
{
    int rank, size, known = 0, room = 64;
    char job[64] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_get_string(MPI_INFO_ENV, "mpix_job", &room, job, &known);
    return Py_BuildValue("(iis)", rank, size, known ? job : "");
}

// Starts to accept (name NULL) or to connect; what it makes is in the news, with call. The port's name, or NULL.
static PyObject *meet(const char *name, const char *seconds, PyObject *call)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Info info = MPI_INFO_NULL;
    MPI_Request request;
    struct op *op = engine_ready() ? NULL : engine_op(OP_CALL, NULL);
    if (!op) return NULL;
    op->call = Py_NewRef(call);
    int code = name ? MPI_SUCCESS : MPI_Open_port(MPI_INFO_NULL, port);
    if (code == MPI_SUCCESS) code = MPI_Info_create(&info);
    if (code == MPI_SUCCESS) code = MPI_Info_set(info, "timeout", seconds);
    if (code == MPI_SUCCESS)
        code = name ? MPIX_Comm_iconnect(name, info, 0, MPI_COMM_SELF, &op->made, &request)
                    : MPIX_Comm_iaccept(port, info, 0, MPI_COMM_SELF, &op->made, &request);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (code != MPI_SUCCESS) {
        engine_op_free(op);
        return engine_raise(name ? "MPIX_Comm_iconnect" : "MPIX_Comm_iaccept", code);
    }
    if (engine_add(request, op)) return NULL;
    return PyUnicode_FromString(name ? name : port);
}

static PyObject *accept_one(PyObject *module, PyObject *args)
{
    (void)module;
    const char *seconds;
    PyObject *call;
    return PyArg_ParseTuple(args, "sO:accept", &seconds, &call) ? meet(NULL, seconds, call) : NULL;
}

static PyObject *connect_to(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *seconds;
    PyObject *call;
    return PyArg_ParseTuple(args, "ssO:connect", &name, &seconds, &call) ? meet(name, seconds, call) : NULL;
}

static PyObject *close_port(PyObject *module, PyObject *name)
{
    (void)module;
    const char *port = PyUnicode_AsUTF8(name);
    if (!port) return NULL;
    int code = MPI_Close_port(port);
    if (code != MPI_SUCCESS) return engine_raise("MPI_Close_port", code);
    Py_RETURN_NONE;
}

// A communicator that no link took.
static PyObject *drop(PyObject *module, PyObject *handle)
{
    (void)module;
    MPI_Comm c = (MPI_Comm)(intptr_t)PyLong_AsSsize_t(handle);
    if (PyErr_Occurred()) return NULL;
    if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    Py_RETURN_NONE;
}

// Takes back the receives that stand and lets sends leave, for as long as `seconds` at most. No Python runs any more.
static void part(int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t end = now.tv_sec + seconds;
    for (int i = 0; i < engine.count; i++)
        if (engine.op[i]->kind != OP_SEND) MPI_Cancel(&engine.request[i]);
    for (int left = 1; left && now.tv_sec < end; clock_gettime(CLOCK_MONOTONIC, &now)) {
        int n, ready;
        if (MPIX_Doorbell_arm(0, NULL, &ready) != MPI_SUCCESS) return;
        if (MPI_Testsome(engine.count, engine.request, &n, engine.ended, engine.status) != MPI_SUCCESS) return;
        left = 0;
        for (int i = 0; i < engine.count; i++)
            left += engine.request[i] != MPI_REQUEST_NULL && !engine.op[i]->link->dead;
        struct pollfd bell = {.fd = engine.bell, .events = POLLIN};
        if (left && n == 0) poll(&bell, 1, (int)(end - now.tv_sec) * 1000);
    }
}

// Run by the interpreter at its very end, when the last users of connections (Dask's own exit handlers) have gone.
static void at_exit(void)
{
    int over = 1;
    if (!engine.started || engine.pid != getpid()) return;
    engine.started = false;
    MPI_Finalized(&over);
    if (over) return;
    part(5);
    MPIX_Doorbell_disarm();
    if (engine.owns_mpi) MPI_Finalize();
}

// start(memory, settle, closed, kept) -> (doorbell, set of control sockets, (rank, size, job))
static PyObject *start(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *memory, *settle, *closed;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "OOOn:start", &memory, &settle, &closed, &limit)) return NULL;
    if (engine.started) return PyErr_SetString(PyExc_RuntimeError, "the engine was started before"), NULL;
    if (start_mpi()) return NULL;
    engine.set = epoll_create1(EPOLL_CLOEXEC);
    if (engine.set < 0) return PyErr_SetFromErrno(PyExc_OSError);
    engine.news = PyList_New(0);
    if (!engine.news) return NULL;
    engine.memory = Py_NewRef(memory);
    memory_limit = (size_t)limit;
    engine.settle = Py_NewRef(settle);
    engine.closed = Py_NewRef(closed);
    engine.pid = getpid();
    engine.started = true;
    Py_AtExit(at_exit);
    return Py_BuildValue("(iiN)", engine.bell, engine.set, world());
}

static PyObject *watch_socket(PyObject *module, PyObject *number)
{
    (void)module;
    int fd = (int)PyLong_AsLong(number);
    if (PyErr_Occurred() || watch(fd)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *unwatch_socket(PyObject *module, PyObject *number)
{
    (void)module;
    int fd = (int)PyLong_AsLong(number);
    if (PyErr_Occurred()) return NULL;
    epoll_ctl(engine.set, EPOLL_CTL_DEL, fd, NULL);
    Py_RETURN_NONE;
}

// A communicator of this process alone.
static PyObject *own_comm(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    MPI_Comm c;
    if (engine_ready()) return NULL;
    int code = MPI_Comm_dup(MPI_COMM_SELF, &c);
    if (code != MPI_SUCCESS) return engine_raise("MPI_Comm_dup", code);
    return PyLong_FromSsize_t((Py_ssize_t)(intptr_t)c);
}

// world_comm(first, second, tag): a communicator of two ranks of MPI_COMM_WORLD. The first one does not wait for the
// second; the second finds what the first has sent, if it calls later.
static PyObject *world_comm(PyObject *module, PyObject *args)
{
    (void)module;
    int ranks[2], tag, code;
    MPI_Group all, two = MPI_GROUP_NULL;
    MPI_Comm c = MPI_COMM_NULL;
    if (!PyArg_ParseTuple(args, "iii:world_comm", &ranks[0], &ranks[1], &tag) || engine_ready()) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    code = MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (code == MPI_SUCCESS) {
        code = MPI_Group_incl(all, 2, ranks, &two);
        MPI_Group_free(&all);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_create_group(MPI_COMM_WORLD, two, tag, &c);
        MPI_Group_free(&two);
    }
    Py_END_ALLOW_THREADS;
    if (code != MPI_SUCCESS) return engine_raise("MPI_Comm_create_group", code);
    return PyLong_FromSsize_t((Py_ssize_t)(intptr_t)c);
}

static PyObject *busy(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    int n = 0;
    for (int i = 0; i < engine.count; i++) n += engine.op[i]->kind == OP_SEND && !engine.op[i]->link->dead;
    return PyLong_FromLong(n);
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(memory, settle, closed, kept)\n--\n\nStarts MPI and the engine."},
    {"step", engine_step, METH_O, "step(forced)\n--\n\nEnds what has ended; the sum of what is to be done next."},
    {"news", engine_news, METH_NOARGS, "news()\n--\n\nWhat has happened that is not a message: a list."},
    {"readable", engine_readable, METH_NOARGS, "readable()\n--\n\nThe control sockets that can be read."},
    {"watch", watch_socket, METH_O, "watch(fd)\n--\n\nAdds a control socket to the set."},
    {"unwatch", unwatch_socket, METH_O, "unwatch(fd)\n--\n\nTakes a control socket out again."},
    {"own_comm", own_comm, METH_NOARGS, "own_comm()\n--\n\nA communicator of this process alone."},
    {"world_comm", world_comm, METH_VARARGS, "world_comm(first, second, tag)\n--\n\nOne of two ranks of the world."},
    {"accept", accept_one, METH_VARARGS,
     "accept(seconds, call)\n--\n\nOpens a port and accepts one process; the port's name. Later call(error, handle)."},
    {"connect", connect_to, METH_VARARGS, "connect(port, seconds, call)\n--\n\nThe other side of accept()."},
    {"close_port", close_port, METH_O, "close_port(name)\n--\n\nAfter accept() has ended."},
    {"drop", drop, METH_O, "drop(handle)\n--\n\nFrees a communicator that no Link took."},
    {"plain", plain, METH_O, "plain(message)\n--\n\nWhether it is small and of numbers, texts, bytes, lists, dicts."},
    {"busy", busy, METH_NOARGS, "busy()\n--\n\nHow many sends are under way to processes that live."},
    {0},
};

static int exec_module(PyObject *module)
{
    link_type = (PyTypeObject *)PyType_FromSpec(&link_spec);
    end_type = (PyTypeObject *)PyType_FromSpec(&end_spec);
    memory_type = (PyTypeObject *)PyType_FromSpec(&memory_spec);
    if (!link_type || !end_type || !memory_type) return -1;
    return PyModule_AddType(module, link_type) || PyModule_AddType(module, end_type) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec_module}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_mpi",
                                        .m_doc = "The transport of unisono.dask; see engine.h.", .m_methods = methods,
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit__mpi(void)
{
    return PyModuleDef_Init(&definition);
}
