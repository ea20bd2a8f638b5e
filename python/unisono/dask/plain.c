// SPDX-License-Identifier: BSD-3-Clause
// Whether a message is small and of plain parts, so that nobody has to estimate its size to decide which thread
// (de)serialises it: the estimate in Python takes longer than serialising such a message.
#include "engine.h"

struct budget {
    Py_ssize_t parts, bytes;
};

static bool spend(struct budget *b, Py_ssize_t bytes)
{
    b->bytes -= bytes;
    return --b->parts >= 0 && b->bytes >= 0;
}

static bool is_plain(PyObject *o, struct budget *b, int depth)
{
    if (PyUnicode_CheckExact(o)) return spend(b, 4 * PyUnicode_GET_LENGTH(o));
    if (PyBytes_CheckExact(o)) return spend(b, PyBytes_GET_SIZE(o));
    if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o)) return spend(b, 8);
    if (depth == 0 || !spend(b, 8)) return false;
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
            if (!is_plain(PySequence_Fast_GET_ITEM(o, i), b, depth - 1)) return false;
        return true;
    }
    if (!PyDict_CheckExact(o)) return false;
    Py_ssize_t at = 0;
    for (PyObject *key, *value; PyDict_Next(o, &at, &key, &value);)
        if (!is_plain(key, b, depth - 1) || !is_plain(value, b, depth - 1)) return false;
    return true;
}

PyObject *plain(PyObject *module, PyObject *message)
{
    (void)module;
    struct budget b = {.parts = 256, .bytes = 64 << 10};
    return PyBool_FromLong(is_plain(message, &b, 8));
}
