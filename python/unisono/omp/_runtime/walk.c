// SPDX-License-Identifier: BSD-3-Clause
// walk(node): all nodes of a syntax tree; locate(node): places for those without one, taken from the nodes around them.
// The rewriter uses them so often that their twins in Python's ast module were most of the time that a decoration took.
#include "rt.h"

static PyObject *ast_class, *context_class, *fields_name;

static const char *const place_names[4] = {"lineno", "col_offset", "end_lineno", "end_col_offset"};
static PyObject *place[4], *attributes_name;

static int append_node(PyObject *list, PyObject *value)
{
    if (!PyObject_TypeCheck(value, (PyTypeObject *)ast_class)) return 0;
    if (PyObject_TypeCheck(value, (PyTypeObject *)context_class)) return 0;    // Load, Store, Del have nothing in them
    return PyList_Append(list, value);
}

static int append_children(PyObject *list, PyObject *node)
{
    PyObject *fields = PyObject_GetAttr((PyObject *)Py_TYPE(node), fields_name);
    int rc = fields ? 0 : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *value = PyObject_GetAttr(node, PyTuple_GET_ITEM(fields, i));
        if (!value) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                rc = -1;
            else
                PyErr_Clear();
        } else if (PyList_Check(value)) {
            for (Py_ssize_t k = 0; rc == 0 && k < PyList_GET_SIZE(value); k++)
                rc = append_node(list, PyList_GET_ITEM(value, k));
        } else {
            rc = append_node(list, value);
        }
        Py_XDECREF(value);
    }
    Py_XDECREF(fields);
    return rc;
}

static int find_classes(void)
{
    if (ast_class) return 0;
    PyObject *module = PyImport_ImportModule("ast");
    if (!module) return -1;
    fields_name = PyUnicode_InternFromString("_fields");
    attributes_name = PyUnicode_InternFromString("_attributes");
    for (int i = 0; i < 4; i++) place[i] = PyUnicode_InternFromString(place_names[i]);
    context_class = PyObject_GetAttrString(module, "expr_context");
    ast_class = PyObject_GetAttrString(module, "AST");
    Py_DECREF(module);
    return ast_class && context_class && fields_name ? 0 : -1;
}

static PyObject *walk(PyObject *self, PyObject *node)
{
    (void)self;
    if (find_classes() < 0) return NULL;
    PyObject *list = PyList_New(0);
    int rc = list ? append_node(list, node) : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(list); i++)
        rc = append_children(list, PyList_GET_ITEM(list, i));
    if (rc < 0) Py_CLEAR(list);
    return list;
}

// The attribute, or NULL without an exception.
static PyObject *get(PyObject *node, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(node, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return value;
}

static int locate_in(PyObject *node, PyObject *const *around)
{
    PyObject *own[4] = {NULL, NULL, NULL, NULL},
             *attributes = PyObject_GetAttr((PyObject *)Py_TYPE(node), attributes_name);
    PyObject *children = attributes ? PyList_New(0) : NULL;
    int rc = children ? 0 : -1;
    if (rc == 0 && PyTuple_GET_SIZE(attributes) > 0) {
        own[0] = get(node, place[0]);
        bool placed = own[0] && own[0] != Py_None;
        for (int i = 0; rc == 0 && i < 4; i++) {
            if (placed && i > 0) own[i] = get(node, place[i]);
            if (PyErr_Occurred()) rc = -1;
            if (rc == 0 && (!own[i] || own[i] == Py_None)) {
                Py_XSETREF(own[i], Py_NewRef(around[i]));
                rc = PyObject_SetAttr(node, place[i], own[i]);
            }
        }
    }
    if (rc == 0) rc = append_children(children, node);
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(children); i++) {
        rc = Py_EnterRecursiveCall(" while places are given to a syntax tree");
        if (rc < 0) break;
        rc = locate_in(PyList_GET_ITEM(children, i), own[0] ? own : around);
        Py_LeaveRecursiveCall();
    }
    for (int i = 0; i < 4; i++) Py_XDECREF(own[i]);
    Py_XDECREF(attributes);
    Py_XDECREF(children);
    return rc;
}

static PyObject *locate(PyObject *self, PyObject *node)
{
    (void)self;
    PyObject *start[4] = {PyLong_FromLong(1), PyLong_FromLong(0), PyLong_FromLong(1), PyLong_FromLong(0)};
    int rc = find_classes();
    if (rc == 0) rc = locate_in(node, start);
    for (int i = 0; i < 4; i++) Py_DECREF(start[i]);    // small numbers: never NULL
    return rc < 0 ? NULL : Py_NewRef(node);
}

PyMethodDef rt_walk_methods[] = {
    {"walk", walk, METH_O, "walk(node)\n--\n\nThe node and all nodes in it, outer ones first."},
    {"locate", locate, METH_O, "locate(node)\n--\n\nThe node; all nodes in it have a line and a column now."},
    {0}};
