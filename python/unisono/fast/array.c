// SPDX-License-Identifier: BSD-3-Clause
// NumPy arrays as arguments, without the buffer protocol: NumPy makes a description of the array for each view, which
// takes longer than a small message. The fields that its binary interface promises are read instead, after they
// were compared with a view of the first array that came. Called by fast_part() and, once, by fast_part_hold().
#include "fast.h"

#include <limits.h>
#include <string.h>

// The start of a NumPy array and of its element type: the same in NumPy 1 and 2, whose binary interface names them.
struct descr {
    PyObject_HEAD PyTypeObject *scalar;
    char kind, letter, order, former;
    int number;
};
struct array {
    PyObject_HEAD char *data;
    int dims;
    const Py_ssize_t *shape, *strides;
    PyObject *base;
    const struct descr *descr;
    int flags;
};
enum { C_CONTIGUOUS = 1, WRITEABLE = 0x400 };

void fast_array_elements(struct state *s)
{
    const int narrow = sizeof(long) == 4;
    const struct element known[ELEMENTS] = {
        {MPI_C_BOOL, 1},
        {MPI_SIGNED_CHAR, 1},
        {MPI_BYTE, 1},
        {MPI_INT16_T, 2},
        {MPI_UINT16_T, 2},
        {MPI_INT32_T, 4},
        {MPI_UINT32_T, 4},
        {narrow ? MPI_INT32_T : MPI_INT64_T, sizeof(long)},
        {narrow ? MPI_UINT32_T : MPI_UINT64_T, sizeof(long)},
        {MPI_INT64_T, 8},
        {MPI_UINT64_T, 8},
        {MPI_FLOAT, 4},
        {MPI_DOUBLE, 8},
    };
    memcpy(s->element, known, sizeof known);
}

// The object stays alive and as large as it is through the caller, as with mpi4py; a Request holds it itself.
int fast_array(const struct state *s, PyObject *o, int writable, struct part *p)
{
    const struct array *a = (const struct array *)o;
    int need = writable ? C_CONTIGUOUS | WRITEABLE : C_CONTIGUOUS;
    unsigned number = (unsigned)a->descr->number;
    if ((a->flags & need) != need || number >= ELEMENTS) return 0;
    if (a->descr->order != '=' && a->descr->order != '|') return 0;
    const struct element *e = &s->element[number];
    Py_ssize_t count = 1;
    for (int d = 0; d < a->dims; d++) count *= a->shape[d];
    if (count > INT_MAX) return 0;
    p->at = a->data, p->count = (int)count, p->type = e->type, p->width = e->width, p->held = 0;
    return 1;
}

// The first array says whether the fields are where they are read.
static int as_viewed(const struct state *s, PyObject *o, const Py_buffer *view)
{
    struct part p;
    const struct array *a = (const struct array *)o;
    if ((size_t)Py_TYPE(o)->tp_basicsize < sizeof *a || a->data != view->buf || a->dims != view->ndim) return 0;
    if (a->dims > 0 && memcmp(a->shape, view->shape, (size_t)a->dims * sizeof *a->shape) != 0) return 0;
    return fast_array(s, o, 0, &p) && (Py_ssize_t)p.count * p.width == view->len && p.width == view->itemsize &&
           FAST_LETTERS[a->descr->number] == view->format[0];
}

void fast_array_meet(struct state *s, PyObject *o, const Py_buffer *view)
{
    if (atomic_load(&s->ndarray_odd) || strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0) return;
    int plain = view->format && view->format[0] && !view->format[1] && strchr(FAST_LETTERS, view->format[0]);
    if (!plain) return;    // says nothing about arrays that are
    if (as_viewed(s, o, view))
        atomic_store_explicit(&s->ndarray, Py_TYPE(o), memory_order_relaxed);    // see fast_part()
    else
        atomic_store(&s->ndarray_odd, 1);    // see the load above
}
