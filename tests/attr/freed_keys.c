// SPDX-License-Identifier: BSD-3-Clause
// run: np=1
// A freed key stays good for the attributes that are there: they are read, deleted and copied by it, on
// communicators and types, until the last one is gone; then it is no key any more. Callbacks that free keys.
#include "../check.h"

static int deleted, copied, late_key;

static int on_delete(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static int on_delete_type(MPI_Datatype t, int key, void *value, void *extra)
{
    (void)t, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c, (void)key, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void comms(void)
{
    int key, kept, again, flag, a = 1, *value;
    MPI_Comm c, d;
    CHECK(MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &c) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(c, key, &a) == MPI_SUCCESS);
    kept = again = key;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_free_keyval(&again) == MPI_SUCCESS && again == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(c, kept, &value, &flag) == MPI_SUCCESS && flag && value == &a);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, kept, &a) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_set_attr(c, kept, &a) == MPI_ERR_KEYVAL && deleted == 0);
    CHECK(MPI_Comm_dup(c, &d) == MPI_SUCCESS && copied == 1);
    CHECK(MPI_Comm_get_attr(d, kept, &value, &flag) == MPI_SUCCESS && flag && value == &a);
    CHECK(MPI_Comm_delete_attr(c, kept) == MPI_SUCCESS && deleted == 1);
    CHECK(MPI_Comm_get_attr(c, kept, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_free(&d) == MPI_SUCCESS && deleted == 2);
    CHECK(MPI_Comm_delete_attr(c, kept) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_get_attr(c, kept, &value, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_free_keyval(&kept) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_free(&c) == MPI_SUCCESS && deleted == 2);
}

static void types(void)
{
    int key, kept, flag, a = 1, *value;
    MPI_Datatype t, u;
    CHECK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, on_delete_type, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Type_dup(MPI_INT, &t) == MPI_SUCCESS && MPI_Type_set_attr(t, key, &a) == MPI_SUCCESS);
    CHECK(MPI_Type_dup(t, &u) == MPI_SUCCESS);
    kept = key;
    deleted = 0;
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
    CHECK(MPI_Type_delete_attr(t, kept) == MPI_SUCCESS && deleted == 1);
    CHECK(MPI_Type_get_attr(u, kept, &value, &flag) == MPI_SUCCESS && flag && value == &a);
    CHECK(MPI_Type_delete_attr(u, kept) == MPI_SUCCESS && deleted == 2);
    CHECK(MPI_Type_delete_attr(u, kept) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free(&t) == MPI_SUCCESS && MPI_Type_free(&u) == MPI_SUCCESS && deleted == 2);
}

// While its attribute is replaced, deletes it and frees the key.
static int on_delete_all(MPI_Comm c, int key, void *value, void *extra)
{
    (void)value, (void)extra;
    if (deleted++) return MPI_SUCCESS;
    CHECK(MPI_Comm_delete_attr(c, key) == MPI_SUCCESS);
    if (late_key != MPI_KEYVAL_INVALID) CHECK(MPI_Comm_free_keyval(&late_key) == MPI_SUCCESS);
    return MPI_SUCCESS;
}

static void by_callback(void)
{
    int key, a = 1, b = 2, flag, *value;
    MPI_Comm c;
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &c) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete_all, &key, NULL) == MPI_SUCCESS);
    late_key = key;
    deleted = 0;
    CHECK(MPI_Comm_set_attr(c, key, &a) == MPI_SUCCESS && MPI_Comm_set_attr(c, key, &b) == MPI_SUCCESS);
    CHECK(deleted == 2 && late_key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(c, key, &value, &flag) == MPI_SUCCESS && flag && value == &b);
    CHECK(MPI_Comm_delete_attr(c, key) == MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(c, key) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    comms();
    types();
    by_callback();
    MPI_Finalize();
    return 0;
}
