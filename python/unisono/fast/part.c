// SPDX-License-Identifier: BSD-3-Clause
// Arguments: keyword words, handles, and memory through the buffer protocol. Called by every method; the fast cases
// (positional words, a bound Buffer) are inline in fast.h and do not come here.
#include "fast.h"

#include <limits.h>
#include <string.h>

int fast_keywords(const struct names *k, PyObject *const *args, Py_ssize_t n, PyObject *words, PyObject **out)
{
    memset(out, 0, (size_t)k->most * sizeof *out);
    if (n > k->most) return PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments", k->method, k->most), -1;
    for (Py_ssize_t i = 0; i < n; i++) out[i] = args[i];
    for (Py_ssize_t w = 0; words && w < PyTuple_GET_SIZE(words); w++) {
        PyObject *word = PyTuple_GET_ITEM(words, w);
        int i = 0;
        while (i < k->most && PyUnicode_CompareWithASCIIString(word, k->word[i]) != 0) i++;
        if (i == k->most || out[i])
            return PyErr_Format(PyExc_TypeError, "%s() %s argument '%U'", k->method,
                                i == k->most ? "has no" : "got twice the", word),
                   -1;
        out[i] = args[n + w];
    }
    for (int i = 0; i < k->least; i++)
        if (!out[i]) return PyErr_Format(PyExc_TypeError, "%s() misses '%s'", k->method, k->word[i]), -1;
    return 0;
}

// The type of elements by their letter in the buffer protocol; in standard sizes (=, <) a long has four bytes.
static MPI_Datatype type_of(const struct state *s, const char *format, Py_ssize_t width)
{
    if (!format) return MPI_BYTE;
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (!format[0] || format[1]) return MPI_DATATYPE_NULL;
    char letter = *format == 'c' ? 'B' : *format;
    if (width == 4 && (letter == 'l' || letter == 'L')) letter = letter == 'l' ? 'i' : 'I';
    const char *at = strchr(FAST_LETTERS, letter);
    if (!at || s->element[at - FAST_LETTERS].width != width) return MPI_DATATYPE_NULL;
    return s->element[at - FAST_LETTERS].type;
}

static int is_in_place(PyObject *o)
{
    const char *name = strrchr(Py_TYPE(o)->tp_name, '.');
    return !strcmp(name ? name + 1 : Py_TYPE(o)->tp_name, "InPlaceType");
}

int fast_part_hold(struct state *s, PyObject *o, int writable, struct part *p)
{
    p->held = 0, p->at = NULL, p->count = 0, p->width = 1, p->type = MPI_BYTE;
    if (!o || o == Py_None) return 0;
    if (!PyObject_CheckBuffer(o) && is_in_place(o)) {
        p->at = MPI_IN_PLACE;
        return 0;
    }
    if (PyObject_GetBuffer(o, &p->view, PyBUF_ND | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    p->at = p->view.buf;
    p->type = type_of(s, p->view.format, p->view.itemsize);
    p->width = (int)p->view.itemsize;
    Py_ssize_t count = p->view.len;
    if (p->type == MPI_DATATYPE_NULL || p->view.itemsize <= 0)
        p->type = MPI_BYTE, p->width = 0;
    else
        count /= p->view.itemsize;
    if (count > INT_MAX) {
        PyBuffer_Release(&p->view);
        PyErr_SetString(PyExc_OverflowError, "more than 2147483647 elements; mpi4py takes them");
        return -1;
    }
    p->count = (int)count;
    p->held = 1;
    if (!atomic_load_explicit(&s->ndarray, memory_order_relaxed)) fast_array_meet(s, o, &p->view);    // as fast_part()
    return 0;
}

int fast_handle(struct state *s, PyObject *o, intptr_t *value)
{
    PyObject *number = PyLong_CheckExact(o) ? Py_NewRef(o) : PyObject_GetAttr(o, s->handle);
    if (!number) return -1;
    *value = (intptr_t)PyLong_AsLongLong(number);
    int bad = *value == -1 && PyErr_Occurred();
    if (bad && PyErr_ExceptionMatches(PyExc_OverflowError)) {    // an address above the signed half
        PyErr_Clear();
        *value = (intptr_t)PyLong_AsUnsignedLongLong(number);
        bad = PyErr_Occurred() != NULL;
    }
    Py_DECREF(number);
    return bad ? -1 : 0;
}

int fast_op(struct state *s, PyObject *o, MPI_Op *op)
{
    *op = MPI_SUM;
    if (!o) return 0;
#ifndef Py_GIL_DISABLED
    if (o == s->op_seen) {
        *op = s->op;
        return 0;
    }
#endif
    intptr_t value;
    if (fast_handle(s, o, &value)) return -1;
    *op = HANDLE(MPI_Op, value);
#ifndef Py_GIL_DISABLED
    s->op = *op;
    Py_XSETREF(s->op_seen, Py_NewRef(o));
#endif
    return 0;
}

// mpi4py's exception where mpi4py is loaded, so that one `except` serves both.
PyObject *fast_raise(const char *method, int code)
{
    PyObject *name = PyUnicode_FromString("mpi4py.MPI"), *module = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(name);
    PyObject *type = module ? PyObject_GetAttrString(module, "Exception") : NULL;
    Py_XDECREF(module);
    if (type) {
        PyObject *error = PyObject_CallFunction(type, "i", code);
        if (error) PyErr_SetObject(type, error);
        Py_XDECREF(error);
        Py_DECREF(type);
        return NULL;
    }
    PyErr_Clear();
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    MPI_Error_string(code, text, &len);
    return PyErr_Format(PyExc_RuntimeError, "%s: %s", method, text);
}
