// SPDX-License-Identifier: BSD-3-Clause
// Attribute keys and the attributes of one object. Called by src/api/attr.c, communicator duplication and MPI_Type_dup.
// Always holds: a key lives until it is freed and its last attribute is gone; lists run from the newest to the oldest.
#include "core/attr.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/fail.h"

struct uno_keyval {
    enum uno_attr_kind kind;
    int number, refs;    // refs: one for the user's key, one for each attribute
    bool freed;
    uno_attr_copy *copy;
    uno_attr_delete *del;
    void *extra;
};

static struct uno_keyval **table;    // [number - UNO_KEYVAL_FIRST]; NULL where the key is gone
static int table_size, table_used;

static const char *const kind_name[] = {"communicator", "datatype", "window"};

// A key that was freed is found as long as some object has an attribute of it.
static struct uno_keyval *find_key(enum uno_attr_kind kind, int keyval)
{
    int at = keyval < UNO_KEYVAL_FIRST ? table_used : keyval - UNO_KEYVAL_FIRST;
    if (at >= table_used || !table[at]) return NULL;
    return table[at]->kind == kind ? table[at] : NULL;
}

static void drop_key(struct uno_keyval *k)
{
    if (--k->refs > 0) return;
    table[k->number - UNO_KEYVAL_FIRST] = NULL;
    free(k);
}

static int no_key(enum uno_attr_kind kind, int keyval)
{
    return uno_fail(MPI_ERR_KEYVAL, "keyval %d is not a live attribute key of a %s", keyval, kind_name[kind]);
}

int uno_keyval_make(enum uno_attr_kind kind, uno_attr_copy *copy, uno_attr_delete *del, void *extra, int *keyval)
{
    if (table_used == table_size) {
        int size = table_size ? 2 * table_size : 64;
        struct uno_keyval **bigger = realloc(table, (size_t)size * sizeof *table);
        if (!bigger) return uno_fail(MPI_ERR_NO_MEM, "no memory for an attribute key");
        table = bigger;
        table_size = size;
    }
    struct uno_keyval *k = malloc(sizeof *k);
    if (!k) return uno_fail(MPI_ERR_NO_MEM, "no memory for an attribute key");
    *k = (struct uno_keyval){
        .kind = kind, .number = UNO_KEYVAL_FIRST + table_used, .refs = 1, .copy = copy, .del = del, .extra = extra};
    table[table_used++] = k;
    *keyval = k->number;
    return MPI_SUCCESS;
}

int uno_keyval_free(enum uno_attr_kind kind, int keyval)
{
    struct uno_keyval *k = find_key(kind, keyval);
    if (!k) return no_key(kind, keyval);
    if (k->freed) return MPI_SUCCESS;    // a copy of the key, which still has attributes
    k->freed = true;
    drop_key(k);
    return MPI_SUCCESS;
}

static struct uno_attr *find_attr(struct uno_attrs *list, const struct uno_keyval *key)
{
    struct uno_attr *a = list ? list->newest : NULL;
    while (a && a->key != key) a = a->older;
    return a;
}

static int run_delete(struct uno_attr *a, void *object)
{
    return a->key->del ? a->key->del(object, a->key->number, a->value, a->key->extra) : MPI_SUCCESS;
}

// A callback may have changed the list: look for the place anew.
static void unlink_attr(struct uno_attrs *list, struct uno_attr *a)
{
    struct uno_attr **at = &list->newest;
    while (*at && *at != a) at = &(*at)->older;
    if (!*at) return;
    *at = a->older;
    drop_key(a->key);
    free(a);
}

static int add_attr(struct uno_attrs **list, struct uno_keyval *key, void *value)
{
    if (!*list) *list = calloc(1, sizeof **list);
    struct uno_attr *a = *list ? malloc(sizeof *a) : NULL;
    if (!a) return uno_fail(MPI_ERR_NO_MEM, "no memory for an attribute");
    *a = (struct uno_attr){.older = (*list)->newest, .key = key, .value = value};
    (*list)->newest = a;
    key->refs++;
    return MPI_SUCCESS;
}

int uno_attr_set(struct uno_attrs **list, enum uno_attr_kind kind, void *object, int keyval, void *value)
{
    struct uno_keyval *key = find_key(kind, keyval);
    if (!key || key->freed) return no_key(kind, keyval);
    struct uno_attr *a = find_attr(*list, key);
    if (!a) return add_attr(list, key, value);
    key->refs++;    // the callback may delete the attribute and free the key
    int err = run_delete(a, object);
    a = err ? NULL : find_attr(*list, key);
    if (a)
        a->value = value;
    else if (!err)
        err = add_attr(list, key, value);
    drop_key(key);
    return err;
}

int uno_attr_get(struct uno_attrs *list, enum uno_attr_kind kind, int keyval, void **value, bool *found)
{
    struct uno_keyval *key = find_key(kind, keyval);
    if (!key) return no_key(kind, keyval);
    struct uno_attr *a = find_attr(list, key);
    *found = a != NULL;
    if (a) *value = a->value;
    return MPI_SUCCESS;
}

int uno_attr_unset(struct uno_attrs *list, enum uno_attr_kind kind, void *object, int keyval)
{
    struct uno_keyval *key = find_key(kind, keyval);
    if (!key) return no_key(kind, keyval);
    struct uno_attr *a = find_attr(list, key);
    if (!a) return MPI_SUCCESS;
    int err = run_delete(a, object);
    if (!err) unlink_attr(list, a);
    return err;
}

// Copies one attribute as its key's copy callback says.
static int copy_one(const struct uno_attr *a, struct uno_attrs **to, void *object)
{
    struct uno_keyval *k = a->key;
    if (!k->copy) return MPI_SUCCESS;
    if ((uintptr_t)k->copy == 1) return add_attr(to, k, a->value);
    void *value = NULL;
    int flag = 0;
    k->refs++;    // as in uno_attr_set
    int err = k->copy(object, k->number, k->extra, a->value, &value, &flag);
    if (!err && flag) err = add_attr(to, k, value);
    drop_key(k);
    return err;
}

int uno_attrs_copy(struct uno_attrs *from, struct uno_attrs **to, void *object)
{
    int n = 0, err = MPI_SUCCESS;
    for (struct uno_attr *a = from ? from->newest : NULL; a; a = a->older) n++;
    while (!err && n-- > 0) {    // the n-th newest: oldest first
        struct uno_attr *a = from->newest;
        for (int i = 0; a && i < n; i++) a = a->older;
        if (a) err = copy_one(a, to, object);
    }
    return err;
}

int uno_attrs_delete(struct uno_attrs *list, void *object)
{
    while (list && list->newest) {
        struct uno_attr *a = list->newest;
        int err = run_delete(a, object);
        if (err) return err;
        unlink_attr(list, a);
    }
    return MPI_SUCCESS;
}

void uno_attrs_drop(struct uno_attrs *list)
{
    while (list && list->newest) unlink_attr(list, list->newest);
    free(list);
}
