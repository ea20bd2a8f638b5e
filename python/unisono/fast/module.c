// SPDX-License-Identifier: BSD-3-Clause
// The module unisono.fast._fast: its state, and the types Buffer (memory bound once) and Comm (a communicator of
// mpi4py's, or any by its handle). Methods of Comm are in p2p.c and coll.c.
#include "fast.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

static struct state *state_of(PyTypeObject *type)
{
    return PyType_GetModuleState(type);
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"obj", NULL};
    PyObject *o;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O:Buffer", names, &o)) return NULL;
    struct part p;
    struct state *s = state_of(type);
    if (fast_part_hold(s, o, 1, &p)) {
        if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
        PyErr_Clear();    // read-only memory can still be sent
        if (fast_part_hold(s, o, 0, &p)) return NULL;
    }
    struct buffer *b = (struct buffer *)type->tp_alloc(type, 0);
    if (!b) return fast_part_give(&p), NULL;
    b->part = p;
    return (PyObject *)b;
}

static void buffer_dealloc(struct buffer *b)
{
    PyTypeObject *type = Py_TYPE(b);
    fast_part_give(&b->part);
    type->tp_free(b);
    Py_DECREF(type);
}

static Py_ssize_t buffer_length(struct buffer *b)
{
    return b->part.count;
}

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, "Buffer(obj)\n--\n\nMemory of obj, bound once: calls take it without asking obj again. Its length is "
                "the number of elements; obj cannot be resized while it is bound."},
    {Py_tp_new, buffer_new},
    {Py_tp_dealloc, buffer_dealloc},
    {Py_sq_length, buffer_length},
    {0},
};
PyType_Spec fast_buffer_spec = {.name = "unisono.fast.Buffer",
                                .basicsize = sizeof(struct buffer),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                .slots = buffer_slots};

static PyObject *comm_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"comm", NULL};
    PyObject *owner;
    intptr_t value;
    int ready = 0;
    struct state *s = state_of(type);
    if (!PyArg_ParseTupleAndKeywords(args, words, "O:Comm", names, &owner) || fast_handle(s, owner, &value))
        return NULL;
    MPI_Initialized(&ready);
    if (!ready) {
        PyErr_SetString(PyExc_RuntimeError, "this MPI library is not started; is it the one that mpi4py uses?");
        return NULL;
    }
    struct comm *c = (struct comm *)type->tp_alloc(type, 0);
    if (!c) return NULL;
    c->state = s;
    c->comm = HANDLE(MPI_Comm, value);
    c->owner = Py_NewRef(owner);
    int code = MPI_Comm_rank(c->comm, &c->rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(c->comm, &c->size);
    if (code == MPI_SUCCESS) return (PyObject *)c;
    Py_DECREF(c);
    return fast_raise("Comm", code);
}

static void comm_dealloc(struct comm *c)
{
    PyTypeObject *type = Py_TYPE(c);
    Py_XDECREF(c->owner);
    type->tp_free(c);
    Py_DECREF(type);
}

static PyMemberDef comm_members[] = {
    {"rank", T_INT, offsetof(struct comm, rank), READONLY, "This process's rank."},
    {"size", T_INT, offsetof(struct comm, size), READONLY, "Number of ranks."},
    {0},
};
static PyMethodDef comm_methods[24];    // those of p2p.c and coll.c, joined when the module is made
static PyType_Slot comm_slots[] = {
    {Py_tp_doc, "Comm(comm)\n--\n\nThe calls that matter, with the least overhead, on a communicator of mpi4py's (or "
                "its handle as an int). The communicator stays mpi4py's: both may be used side by side."},
    {Py_tp_new, comm_new},
    {Py_tp_dealloc, comm_dealloc},
    {Py_tp_members, comm_members},
    {Py_tp_methods, comm_methods},
    {0},
};
PyType_Spec fast_comm_spec = {.name = "unisono.fast.Comm",
                              .basicsize = sizeof(struct comm),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                              .slots = comm_slots};

static int exec_module(PyObject *module)
{
    struct state *s = PyModule_GetState(module);
    s->handle = PyUnicode_InternFromString("handle");
    s->buffer = (PyTypeObject *)PyType_FromModuleAndSpec(module, &fast_buffer_spec, NULL);
    s->request = (PyTypeObject *)PyType_FromModuleAndSpec(module, &fast_request_spec, NULL);
    s->comm = (PyTypeObject *)PyType_FromModuleAndSpec(module, &fast_comm_spec, NULL);
    if (!s->handle || !s->buffer || !s->request || !s->comm) return -1;
    fast_array_elements(s);
    PyTypeObject *types[] = {s->buffer, s->request, s->comm};
    for (int i = 0; i < 3; i++)
        if (PyModule_AddType(module, types[i])) return -1;
    return 0;
}

static void free_module(void *module)
{
    struct state *s = PyModule_GetState(module);
    if (!s) return;
    while (s->spares > 0) PyObject_Free(s->spare[--s->spares]);
    Py_CLEAR(s->op_seen);
    Py_CLEAR(s->handle);
    Py_CLEAR(s->buffer);
    Py_CLEAR(s->request);
    Py_CLEAR(s->comm);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, exec_module},
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0},
};
static PyMethodDef module_methods[] = {
    {"waitall", fast_waitall, METH_O, "waitall(requests)\n--\n\nBlocks until all requests of a list are complete."},
    {"startall", fast_startall, METH_O, "startall(requests)\n--\n\nStarts all persistent requests of a list."},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        .m_name = "_fast",
                                        .m_doc = "Calls of MPI with the least overhead; see unisono.fast.",
                                        .m_size = sizeof(struct state),
                                        .m_methods = module_methods,
                                        .m_slots = module_slots,
                                        .m_free = free_module};

PyMODINIT_FUNC PyInit__fast(void)
{
    int n = 0;
    for (const PyMethodDef *m = fast_p2p_methods; m->ml_name; m++) comm_methods[n++] = *m;
    for (const PyMethodDef *m = fast_coll_methods; m->ml_name; m++) comm_methods[n++] = *m;
    return PyModuleDef_Init(&definition);
}
