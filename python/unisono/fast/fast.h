// SPDX-License-Identifier: BSD-3-Clause
// What the files of unisono.fast share: a message's part of memory, the types, arguments, the end of a call.
// A call takes its arguments from the vector, makes at most three parts on the stack, calls MPI, gives the parts back.
// Nothing is allocated but the Request that a nonblocking call returns, and that comes from a free list.
#ifndef UNISONO_FAST_H
#define UNISONO_FAST_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mpi.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// A handle as mpi4py's `handle` attribute gives it; pointers and integers alike.
#define HANDLE(type, number) ((type)(intptr_t)(number))

enum {
    SPINS = 100,           // looks for completion before the GIL is released; about 2 us
    RELEASE = 32 << 10,    // messages above take long enough to release the GIL at once
    SPARE = 64,            // Requests kept for reuse
    ON_STACK = 128,        // requests of a waitall that need no allocation
};

// Element types that MPI has, too: their letters in the buffer protocol, in the order of NumPy's numbers.
#define FAST_LETTERS "?bBhHiIlLqQfd"
enum { ELEMENTS = sizeof FAST_LETTERS - 1 };
struct element {
    MPI_Datatype type;
    int width;    // bytes
};

struct request;
struct state {
    PyTypeObject *buffer, *request, *comm;
    _Atomic(PyTypeObject *) ndarray;    // NumPy's, once an array was seen whose fields lie as array.c reads them
    _Atomic int ndarray_odd;            // they do not: arrays go through the buffer protocol
    struct element element[ELEMENTS];
    PyObject *handle;     // the name of the attribute
    PyObject *op_seen;    // the last reduction operation looked up, and its handle
    MPI_Op op;
    struct request *spare[SPARE];
    int spares;
};

// Memory of one side of a call: bound before (a Buffer), or held for the call through the buffer protocol.
struct part {
    void *at;
    int count;
    MPI_Datatype type;
    int width;    // bytes per element; 0: elements that no reduction can combine
    int held;     // view is to be released
    Py_buffer view;
};

struct buffer {
    PyObject_HEAD struct part part;
};

struct request {
    PyObject_HEAD struct state *state;
    MPI_Request q;
    int active, persistent;
    PyObject *bound;    // the Buffer of the message, or NULL
    Py_buffer view;     // its view otherwise
};

struct comm {
    PyObject_HEAD struct state *state;
    MPI_Comm comm;
    PyObject *owner;    // whose handle it is
    int rank, size;
};

// Names of a method's arguments; the first `least` must be given.
struct names {
    const char *method;
    int least, most;
    const char *word[8];
};

int fast_keywords(const struct names *k, PyObject *const *args, Py_ssize_t n, PyObject *words, PyObject **out);
static inline int fast_arguments(const struct names *k, PyObject *const *args, Py_ssize_t n, PyObject *words,
                                 PyObject **out)
{
    if (words || n > k->most || n < k->least) return fast_keywords(k, args, n, words, out);
    int i = 0;
    for (; i < n; i++) out[i] = args[i];
    for (; i < k->most; i++) out[i] = NULL;
    return 0;
}

static inline int fast_int(PyObject *o, int otherwise, int *value)
{
    *value = otherwise;
    if (!o) return 0;
    long v = PyLong_AsLong(o);
    if (v == -1 && PyErr_Occurred()) return -1;
    *value = (int)v;
    return 0;
}

void fast_array_elements(struct state *s);
int fast_array(const struct state *s, PyObject *o, int writable, struct part *p);    // 1: the part of an array
void fast_array_meet(struct state *s, PyObject *o, const Py_buffer *view);
int fast_part_hold(struct state *s, PyObject *o, int writable, struct part *p);
// 0 with the part, which fast_part_give() releases, or -1 with an exception.
static inline int fast_part(struct state *s, PyObject *o, int writable, struct part *p)
{
    if (o && Py_TYPE(o) == s->buffer) {
        const struct part *b = &((struct buffer *)o)->part;
        p->at = b->at, p->count = b->count, p->type = b->type, p->width = b->width, p->held = 0;
        return 0;
    }
    // Relaxed, as the store in fast_array_meet(): a type object, made long before.
    if (o && Py_TYPE(o) == atomic_load_explicit(&s->ndarray, memory_order_relaxed) && fast_array(s, o, writable, p))
        return 0;
    return fast_part_hold(s, o, writable, p);
}

static inline void fast_part_give(struct part *p)
{
    if (p->held) PyBuffer_Release(&p->view);
}

static inline int fast_small(const struct part *p)
{
    return (size_t)p->count * (size_t)(p->width ? p->width : 1) <= RELEASE;
}

PyObject *fast_raise(const char *method, int code);    // NULL with an exception
int fast_complete(MPI_Request *q);                     // waits; without the GIL when it takes long

PyObject *fast_request(struct comm *c, PyObject *o, struct part *p);    // takes over the part; NULL gives it back
int fast_op(struct state *s, PyObject *o, MPI_Op *op);
int fast_handle(struct state *s, PyObject *o, intptr_t *value);

extern PyType_Spec fast_buffer_spec, fast_request_spec, fast_comm_spec;
extern PyMethodDef fast_p2p_methods[], fast_coll_methods[];
PyObject *fast_waitall(PyObject *module, PyObject *list);
PyObject *fast_startall(PyObject *module, PyObject *list);
#endif
