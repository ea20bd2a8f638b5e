// SPDX-License-Identifier: BSD-3-Clause
// walk(node): all nodes of a syntax tree; locate(node): places for those without one, taken from the nodes around them;
// events(...): what binds and what reads which name in it (names.py says what events are). The rewriter uses them so
// often that their twins in Python's ast module were most of the time that a decoration took.
#include "rt.h"

static PyObject *ast_class, *context_class, *name_class, *load_class, *fields_name;
static PyObject *id_name, *context_name, *load_kind, *store_kind;

static const char *const place_names[4] = {"lineno", "col_offset", "end_lineno", "end_col_offset"};
static PyObject *place[4], *attributes_name;

// The attribute; NULL without an exception when there is none.
static PyObject *get(PyObject *node, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;
    (void)PyObject_GetOptionalAttr(node, name, &value);    // makes no exception to throw away
#else
    PyObject *value = PyObject_GetAttr(node, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
#endif
    return value;
}

// A list that grows, of references; PyList_Append takes a lock on a free-threaded CPython.
struct nodes {
    PyObject **of;
    Py_ssize_t n, room;
};

static int append(struct nodes *all, PyObject *node)
{
    if (all->n == all->room) {
        Py_ssize_t room = all->room ? 2 * all->room : 16;
        PyObject **more = PyMem_Realloc(all->of, (size_t)room * sizeof *more);
        if (!more) return PyErr_NoMemory(), -1;
        all->of = more;
        all->room = room;
    }
    all->of[all->n++] = Py_NewRef(node);
    return 0;
}

static void release(struct nodes *all)
{
    for (Py_ssize_t i = 0; i < all->n; i++) Py_DECREF(all->of[i]);
    PyMem_Free(all->of);
}

static int append_node(struct nodes *all, PyObject *value)
{
    if (!PyObject_TypeCheck(value, (PyTypeObject *)ast_class)) return 0;
    if (PyObject_TypeCheck(value, (PyTypeObject *)context_class)) return 0;    // Load, Store, Del have nothing in them
    return append(all, value);
}

static int append_children(struct nodes *all, PyObject *node)
{
    PyObject *fields = PyObject_GetAttr((PyObject *)Py_TYPE(node), fields_name);
    int rc = fields ? 0 : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *value = get(node, PyTuple_GET_ITEM(fields, i));
        if (!value) {
            rc = PyErr_Occurred() ? -1 : 0;
        } else if (PyList_Check(value)) {
            for (Py_ssize_t k = 0; rc == 0 && k < PyList_GET_SIZE(value); k++)
                rc = append_node(all, PyList_GET_ITEM(value, k));
        } else {
            rc = append_node(all, value);
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
    id_name = PyUnicode_InternFromString("id");
    context_name = PyUnicode_InternFromString("ctx");
    load_kind = PyUnicode_InternFromString("load");
    store_kind = PyUnicode_InternFromString("store");
    name_class = PyObject_GetAttrString(module, "Name");
    load_class = PyObject_GetAttrString(module, "Load");
    context_class = PyObject_GetAttrString(module, "expr_context");
    ast_class = PyObject_GetAttrString(module, "AST");
    Py_DECREF(module);
    return ast_class && context_class && name_class && load_class && fields_name ? 0 : -1;
}

// walk(node), or walk(node, class): only the nodes that are exactly of the class.
static PyObject *walk(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (n < 1 || n > 2) return PyErr_Format(PyExc_TypeError, "walk: a node and perhaps a class expected");
    if (find_classes() < 0) return NULL;
    struct nodes all = {0};
    int rc = append_node(&all, args[0]);
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < all.n; i++) {
        rc = append_children(&all, all.of[i]);
        found += n == 1 || (PyObject *)Py_TYPE(all.of[i]) == args[1];
    }
    PyObject *list = rc == 0 ? PyList_New(found) : NULL;
    found = 0;
    for (Py_ssize_t i = 0; list && i < all.n; i++)
        if (n == 1 || (PyObject *)Py_TYPE(all.of[i]) == args[1]) PyList_SET_ITEM(list, found++, Py_NewRef(all.of[i]));
    release(&all);
    return list;
}

static int locate_in(PyObject *node, PyObject *const *around)
{
    PyObject *own[4] = {NULL, NULL, NULL, NULL},
             *attributes = PyObject_GetAttr((PyObject *)Py_TYPE(node), attributes_name);
    struct nodes children = {0};
    int rc = attributes ? 0 : -1;
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
    if (rc == 0) rc = append_children(&children, node);
    for (Py_ssize_t i = 0; rc == 0 && i < children.n; i++) {
        rc = Py_EnterRecursiveCall(" while places are given to a syntax tree");
        if (rc < 0) break;
        rc = locate_in(children.of[i], own[0] ? own : around);
        Py_LeaveRecursiveCall();
    }
    for (int i = 0; i < 4; i++) Py_XDECREF(own[i]);
    Py_XDECREF(attributes);
    release(&children);
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

struct collector {
    PyObject *self, *list, *how;
};

static int collect(const struct collector *c, PyObject *node);

static int collect_name(const struct collector *c, PyObject *node)
{
    PyObject *id = PyObject_GetAttr(node, id_name), *context = id ? PyObject_GetAttr(node, context_name) : NULL;
    bool load = context && PyObject_TypeCheck(context, (PyTypeObject *)load_class);
    PyObject *event = context ? PyTuple_Pack(3, id, load ? load_kind : store_kind, node) : NULL;
    int rc = event ? PyList_Append(c->list, event) : -1;
    Py_XDECREF(event);
    Py_XDECREF(context);
    Py_XDECREF(id);
    return rc;
}

// A field's value: a node, a list of nodes, or nothing that has names.
static int collect_field(const struct collector *c, PyObject *value)
{
    if (PyObject_TypeCheck(value, (PyTypeObject *)ast_class)) return collect(c, value);
    int rc = 0;
    for (Py_ssize_t k = 0; PyList_Check(value) && rc == 0 && k < PyList_GET_SIZE(value); k++) {
        PyObject *child = PyList_GET_ITEM(value, k);
        if (PyObject_TypeCheck(child, (PyTypeObject *)ast_class)) rc = collect(c, child);
    }
    return rc;
}

static int collect(const struct collector *c, PyObject *node)
{
    if ((PyObject *)Py_TYPE(node) == name_class) return collect_name(c, node);
    PyObject *how = PyObject_GetItem(c->how, (PyObject *)Py_TYPE(node));
    if (!how) return -1;
    int rc = Py_EnterRecursiveCall(" while names are looked for in a syntax tree");
    if (rc < 0) {
        Py_DECREF(how);
        return -1;
    }
    if (!PyTuple_CheckExact(how)) {
        PyObject *done = PyObject_CallFunctionObjArgs(how, c->self, node, NULL);
        rc = done ? 0 : -1;
        Py_XDECREF(done);
    } else {
        for (Py_ssize_t i = 0; rc == 0 && i < PyTuple_GET_SIZE(how); i++) {
            PyObject *value = get(node, PyTuple_GET_ITEM(how, i));
            rc = value ? collect_field(c, value) : PyErr_Occurred() ? -1 : 0;
            Py_XDECREF(value);
        }
    }
    Py_LeaveRecursiveCall();
    Py_DECREF(how);
    return rc;
}

// events(self, list, how, node): how[class of a node] is the tuple of its fields in evaluation order, or a function
// (self, node) that does it.
static PyObject *events(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (n != 4 || !PyList_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "events: self, list, how, node expected");
    struct collector c = {args[0], args[1], args[2]};
    if (find_classes() < 0 || collect(&c, args[3]) < 0) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef rt_walk_methods[] = {
    {"walk", (PyCFunction)(void (*)(void))walk, METH_FASTCALL,
     "walk(node[, class])\n--\n\nThe node and all nodes in it (of the class), outer ones first."},
    {"events", (PyCFunction)(void (*)(void))events, METH_FASTCALL, NULL},
    {"locate", locate, METH_O, "locate(node)\n--\n\nThe node; all nodes in it have a line and a column now."},
    {0}};
