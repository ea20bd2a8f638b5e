// SPDX-License-Identifier: BSD-3-Clause
// A thread's own copies of what it only reads. On a free-threaded CPython every use of an object changes its reference
// count, and two threads that use the same object fight for its cache line; a thread's own copy of a float, an int or a
// complex, and its own view of an array or a buffer, are counted by nobody else. With the GIL there is nothing to gain
// and objects are left alone.
#include "rt.h"

#ifdef Py_GIL_DISABLED
static PyTypeObject *array_type;    // numpy.ndarray, once the Python side has seen numpy

static PyObject *copy_int(PyObject *obj)
{
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(obj, &overflow);
    return overflow ? Py_NewRef(obj) : PyLong_FromLongLong(v);
}

PyObject *rt_localize(PyObject *obj)
{
    // Our own objects are cheap already; immortal ones are not counted.
    if (_Py_IsOwnedByCurrentThread(obj) || _Py_IsImmortal(obj)) return Py_NewRef(obj);
    PyTypeObject *type = Py_TYPE(obj);
    if (type == &PyFloat_Type) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(obj));
    if (type == &PyLong_Type) return copy_int(obj);
    if (type == &PyComplex_Type) return PyComplex_FromCComplex(PyComplex_AsCComplex(obj));
    if (type == &PyMemoryView_Type) {
        PyObject *view = PyMemoryView_FromObject(obj);
        if (!view) PyErr_Clear();
        return view ? view : Py_NewRef(obj);
    }
    if (!array_type && !strcmp(type->tp_name, "numpy.ndarray")) array_type = type;
    if (type == array_type && rt_hook_view) return PyObject_CallOneArg(rt_hook_view, obj);
    return Py_NewRef(obj);
}

// Objects that live as long as the process need no counting.
void rt_immortal(PyObject *obj)
{
    obj->ob_tid = 0;
    obj->ob_ref_local = _Py_IMMORTAL_REFCNT_LOCAL;
    obj->ob_ref_shared = 0;
}
#else
PyObject *rt_localize(PyObject *obj)
{
    return Py_NewRef(obj);
}

void rt_immortal(PyObject *obj)
{
    Py_INCREF(obj);
}
#endif

static PyObject *localize(PyObject *self, PyObject *obj)
{
    (void)self;
    return rt_localize(obj);
}

PyMethodDef rt_local_methods[] = {{"localize", localize, METH_O, NULL}, {0}};
