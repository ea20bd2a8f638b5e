// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3 chan=shm,tcp
// Attributes: callbacks of copying and deleting, their order, errors from them, keys freed early, predefined
// attributes, types.
#include "../check.h"

#include <stdint.h>
#include <string.h>

static char trace[256];
static int copy_result, delete_result;

static void note(const char *what, int value)
{
    size_t n = strlen(trace);
    snprintf(trace + n, sizeof trace - n, "%s%d ", what, value);
}

static int on_copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c, (void)key;
    int v = *(int *)in;
    note("c", v);
    *flag = v != 13;    // 13 is not copied
    *(void **)out = (int *)in + *(int *)extra;
    return copy_result;
}

static int on_delete(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c, (void)key, (void)extra;
    note("d", *(int *)value);
    return delete_result;
}

static int value_of(MPI_Comm c, int key)
{
    int *v, flag = -1;
    CHECK(MPI_Comm_get_attr(c, key, &v, &flag) == MPI_SUCCESS);
    return flag ? *v : -1;
}

static void callbacks(void)
{
    int key[4], step = 1, v[] = {10, 11, 12, 13, 14};
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_SELF, &a);
    for (int i = 0; i < 3; i++) MPI_Comm_create_keyval(on_copy, on_delete, &key[i], &step);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key[3], NULL);
    CHECK(value_of(a, key[0]) == -1);
    trace[0] = 0;
    MPI_Comm_set_attr(a, key[0], &v[0]);
    MPI_Comm_set_attr(a, key[1], &v[3]);
    MPI_Comm_set_attr(a, key[2], &v[1]);
    MPI_Comm_set_attr(a, key[3], &v[2]);
    CHECK(trace[0] == 0 && value_of(a, key[0]) == 10);
    MPI_Comm_dup(a, &b);
    CHECK(strcmp(trace, "c10 c13 c11 ") == 0);    // in the order set
    CHECK(value_of(b, key[0]) == 11 && value_of(b, key[1]) == -1 && value_of(b, key[2]) == 12 &&
          value_of(b, key[3]) == -1);
    trace[0] = 0;
    MPI_Comm_set_attr(b, key[0], &v[4]);    // replaced: the old value is deleted
    CHECK(strcmp(trace, "d11 ") == 0 && value_of(b, key[0]) == 14);
    MPI_Comm_delete_attr(b, key[2]);
    CHECK(strcmp(trace, "d11 d12 ") == 0 && value_of(b, key[2]) == -1);
    trace[0] = 0;
    int was = key[0];
    MPI_Comm_free_keyval(&key[0]);    // its attributes live on until they are deleted
    CHECK(key[0] == MPI_KEYVAL_INVALID && trace[0] == 0);
    CHECK(MPI_Comm_set_attr(a, was, &v[0]) == MPI_ERR_KEYVAL);
    MPI_Comm_free(&a);
    CHECK(strcmp(trace, "d11 d13 d10 ") == 0);    // newest first
    trace[0] = 0;
    MPI_Comm_free(&b);
    CHECK(strcmp(trace, "d14 ") == 0);
    for (int i = 1; i < 4; i++) MPI_Comm_free_keyval(&key[i]);
}

static void failing_callbacks(void)
{
    int key, step = 0, v = 1;
    MPI_Comm a, b = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_create_keyval(on_copy, on_delete, &key, &step);
    MPI_Comm_set_attr(a, key, &v);
    copy_result = MPI_ERR_OTHER;
    CHECK(MPI_Comm_dup(a, &b) == MPI_ERR_OTHER && b == MPI_COMM_NULL);
    copy_result = MPI_SUCCESS;
    delete_result = MPI_ERR_OTHER;
    MPI_Comm copy = a;
    CHECK(MPI_Comm_free(&a) == MPI_ERR_OTHER && a == copy);    // nothing is freed
    CHECK(MPI_Comm_delete_attr(a, key) == MPI_ERR_OTHER && value_of(a, key) == 1);
    delete_result = MPI_SUCCESS;
    CHECK(MPI_Comm_dup(a, &b) == MPI_SUCCESS && value_of(b, key) == 1);
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
    MPI_Comm_free_keyval(&key);
}

static void dup_function_and_old_names(void)
{
    int key, old, v = 5, *got, flag;
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_SELF, &a);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    CHECK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &old, NULL) == MPI_SUCCESS);
    MPI_Comm_set_attr(a, key, &v);
    CHECK(MPI_Attr_put(a, old, NULL) == MPI_SUCCESS);    // NULL is a value
    MPI_Comm_dup(a, &b);
    CHECK(value_of(b, key) == 5);
    got = &v;
    CHECK(MPI_Attr_get(b, old, &got, &flag) == MPI_SUCCESS && flag && got == NULL);
    CHECK(MPI_Attr_delete(b, old) == MPI_SUCCESS);
    MPI_Attr_get(b, old, &got, &flag);
    CHECK(!flag);
    CHECK(MPI_Keyval_free(&old) == MPI_SUCCESS && old == MPI_KEYVAL_INVALID);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

static void predefined(void)
{
    int *v, flag, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(value_of(MPI_COMM_WORLD, MPI_TAG_UB) >= 32767);
    CHECK(value_of(MPI_COMM_WORLD, MPI_IO) == MPI_ANY_SOURCE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &v, &flag);
    CHECK(flag && *v == MPI_PROC_NULL);
    CHECK(value_of(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL) == 1);
    CHECK(value_of(MPI_COMM_WORLD, MPI_APPNUM) == 0);
    CHECK(value_of(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE) >= size);
    CHECK(value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE) >= MPI_ERR_LASTCODE);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_TAG_UB, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, MPI_APPNUM) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &v, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_WIN_BASE, &v, &flag) == MPI_ERR_KEYVAL);
}

static void types(void)
{
    int key, win, comm, v = 3, *got, flag;
    MPI_Datatype t;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm, NULL);
    MPI_Type_contiguous(2, MPI_INT, &t);
    CHECK(MPI_Type_set_attr(t, key, &v) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(t, key, &got, &flag) == MPI_SUCCESS && flag && *got == 3);
    CHECK(MPI_Type_set_attr(t, win, &v) == MPI_ERR_KEYVAL);    // a key of another kind
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &v) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free_keyval(&comm) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_delete_attr(t, key) == MPI_SUCCESS);
    MPI_Type_get_attr(t, key, &got, &flag);
    CHECK(!flag);
    CHECK(MPI_Type_set_attr(MPI_INT, key, &v) == MPI_SUCCESS);    // predefined types may have attributes too
    CHECK(MPI_Type_get_attr(MPI_INT, key, &got, &flag) == MPI_SUCCESS && flag && *got == 3);
    CHECK(MPI_Type_delete_attr(MPI_INT, key) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(MPI_DATATYPE_NULL, key, &got, &flag) == MPI_ERR_TYPE);
    MPI_Type_free(&t);
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_free_keyval(&win) == MPI_SUCCESS && MPI_Comm_free_keyval(&comm) == MPI_SUCCESS);
}

// A callback may use MPI on the object that it is called for.
static int nested_key;

static int delete_nested(MPI_Comm c, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    note("n", 0);
    return MPI_Comm_delete_attr(c, nested_key);
}

static void reentrant(void)
{
    int key, v = 9;
    MPI_Comm a;
    MPI_Comm_dup(MPI_COMM_SELF, &a);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &nested_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_nested, &key, NULL);
    MPI_Comm_set_attr(a, nested_key, &v);
    MPI_Comm_set_attr(a, key, &v);
    trace[0] = 0;
    CHECK(MPI_Comm_free(&a) == MPI_SUCCESS);
    CHECK(strcmp(trace, "n0 d9 ") == 0);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&nested_key);
}

static int finalize_calls;

static int at_finalize(MPI_Comm c, int key, void *value, void *extra)
{
    int up = 0;
    (void)key, (void)extra;
    MPI_Finalized(&up);
    CHECK(c == MPI_COMM_SELF && !up && (intptr_t)value == finalize_calls);
    finalize_calls--;
    return MPI_SUCCESS;
}

int main(void)
{
    int key[3];
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    callbacks();
    failing_callbacks();
    dup_function_and_old_names();
    predefined();
    types();
    reentrant();
    for (int i = 0; i < 3; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key[i], (void *)(intptr_t)(i + 1));
    }
    finalize_calls = 3;
    MPI_Finalize();
    CHECK(finalize_calls == 0);    // newest first, before MPI ends
    return 0;
}
