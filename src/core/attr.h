// SPDX-License-Identifier: BSD-3-Clause
// Attributes cached on communicators, datatypes and windows: key values and the list of one object.
// Callers hold the library lock; a callback may call MPI. Results are 0, or what a callback or a check returned.
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/fail.h"

#define UNO_KEYVAL_FIRST 65536    // keys the user makes; the ABI's own are below

enum uno_attr_kind { UNO_ATTR_COMM, UNO_ATTR_TYPE, UNO_ATTR_WIN };

struct uno_attr {
    struct uno_attr *older;
    struct uno_keyval *key;
    void *value;
};

struct uno_attrs {
    struct uno_attr *newest;
};

// All callbacks have the same shape except for the handle's type; they are kept as these.
typedef int uno_attr_copy(void *object, int keyval, void *extra, void *in, void *out, int *flag);
typedef int uno_attr_delete(void *object, int keyval, void *value, void *extra);

// Makes a key. copy: the ABI's null copy function is 0 and the dup function 1; delete: the null delete function is 0.
int uno_keyval_make(enum uno_attr_kind kind, uno_attr_copy *copy, uno_attr_delete *del, void *extra,
                    int *keyval) UNO_MUST_USE;
// MPI_ERR_KEYVAL when not a key of this kind. A freed key still serves to read and
// delete the attributes that objects have of it, until the last one is gone.
int uno_keyval_free(enum uno_attr_kind kind, int keyval) UNO_MUST_USE;

// *list is created on first use. object is the handle that callbacks see.
int uno_attr_set(struct uno_attrs **list, enum uno_attr_kind kind, void *object, int keyval, void *value) UNO_MUST_USE;
int uno_attr_get(struct uno_attrs *list, enum uno_attr_kind kind, int keyval, void **value, bool *found) UNO_MUST_USE;
int uno_attr_unset(struct uno_attrs *list, enum uno_attr_kind kind, void *object, int keyval) UNO_MUST_USE;

// Copies in the order set, as the copy callbacks say. On failure *to holds what was copied: delete and drop it.
int uno_attrs_copy(struct uno_attrs *from, struct uno_attrs **to, void *object) UNO_MUST_USE;

// Calls the delete callbacks, newest first; stops at the first that fails, keeping it and the older ones.
int uno_attrs_delete(struct uno_attrs *list, void *object) UNO_MUST_USE;

// Gives the memory back without callbacks (NULL allowed).
void uno_attrs_drop(struct uno_attrs *list);
