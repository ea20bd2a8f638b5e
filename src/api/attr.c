// SPDX-License-Identifier: BSD-3-Clause
// Attribute caching on communicators and datatypes, the keys of all kinds, and the deprecated names of MPI-1. The
// keys of windows go through the same functions of core/attr.h.
// Always holds: predefined attributes are read-only and are values kept here; the pointer given out stays valid.
#include "api/check.h"
#include "core/attr.h"
#include "core/errh.h"

// ---- keys ----

static const char *const key_name[] = {
    [UNO_ATTR_COMM] = "comm_keyval", [UNO_ATTR_TYPE] = "type_keyval", [UNO_ATTR_WIN] = "win_keyval"};

static int make_key(const char *call, enum uno_attr_kind kind, uno_attr_copy *copy, uno_attr_delete *del, void *extra,
                    int *key)
{
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(key, key_name[kind]);
    if (!err) err = uno_keyval_make(kind, copy, del, extra, key);
    return uno_finish_self(call, err);
}

static int free_key(const char *call, enum uno_attr_kind kind, int *key)
{
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(key, key_name[kind]);
    if (!err) err = uno_keyval_free(kind, *key);
    if (!err) *key = MPI_KEYVAL_INVALID;
    return uno_finish_self(call, err);
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del, int *keyval,
                           void *extra_state)
{
    return make_key("MPI_Comm_create_keyval", UNO_ATTR_COMM, (uno_attr_copy *)copy, (uno_attr_delete *)del, extra_state,
                    keyval);
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del, int *keyval,
                           void *extra_state)
{
    return make_key("MPI_Type_create_keyval", UNO_ATTR_TYPE, (uno_attr_copy *)copy, (uno_attr_delete *)del, extra_state,
                    keyval);
}

int MPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *del, int *keyval,
                          void *extra_state)
{
    return make_key("MPI_Win_create_keyval", UNO_ATTR_WIN, (uno_attr_copy *)copy, (uno_attr_delete *)del, extra_state,
                    keyval);
}

int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del, int *keyval, void *extra_state)
{
    return make_key("MPI_Keyval_create", UNO_ATTR_COMM, (uno_attr_copy *)copy, (uno_attr_delete *)del, extra_state,
                    keyval);
}

int MPI_Comm_free_keyval(int *keyval)
{
    return free_key("MPI_Comm_free_keyval", UNO_ATTR_COMM, keyval);
}

int MPI_Type_free_keyval(int *keyval)
{
    return free_key("MPI_Type_free_keyval", UNO_ATTR_TYPE, keyval);
}

int MPI_Win_free_keyval(int *keyval)
{
    return free_key("MPI_Win_free_keyval", UNO_ATTR_WIN, keyval);
}

int MPI_Keyval_free(int *keyval)
{
    return free_key("MPI_Keyval_free", UNO_ATTR_COMM, keyval);
}

// ---- communicators ----

static int predefined_value[MPI_UNIVERSE_SIZE - MPI_TAG_UB + 1];

// Sets *value to a predefined attribute; false when it is not set in this job. keyval is one of the predefined ones.
static bool predefined(int keyval, void **value)
{
    int *v = &predefined_value[keyval - MPI_TAG_UB];
    *value = v;
    switch (keyval) {
    case MPI_TAG_UB: *v = UNO_TAG_UB; return true;
    case MPI_IO: *v = MPI_ANY_SOURCE; return true;
    case MPI_HOST: *v = MPI_PROC_NULL; return true;
    case MPI_WTIME_IS_GLOBAL: *v = uno_world.job == NULL || uno_world.job->nhosts <= 1; return true;
    case MPI_APPNUM: *v = uno_world.appnum; return uno_world.appnum >= 0;
    case MPI_UNIVERSE_SIZE: *v = uno_world.universe; return uno_world.universe > 0;
    default: *value = &uno_error_last; return true;    // MPI_LASTUSEDCODE
    }
}

static bool is_predefined(int keyval)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

static int check_key_writable(int keyval)
{
    if (keyval == MPI_KEYVAL_INVALID) return uno_fail(MPI_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID");
    if (is_predefined(keyval)) return uno_fail(MPI_ERR_KEYVAL, "keyval %d is predefined and cannot be changed", keyval);
    return MPI_SUCCESS;
}

static int comm_set(const char *call, MPI_Comm comm, int keyval, void *value)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = check_key_writable(keyval);
    if (!err) err = uno_attr_set(&uno_comm(comm)->attrs, UNO_ATTR_COMM, comm, keyval, value);
    return uno_finish_comm(comm, call, err);
}

static int comm_get(const char *call, MPI_Comm comm, int keyval, void *out, int *flag)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(out, "attribute_val");
    if (!err) err = uno_check_pointer(flag, "flag");
    void *value = NULL;
    bool found = false;
    if (!err && is_predefined(keyval))
        found = predefined(keyval, &value);
    else if (!err)
        err = uno_attr_get(uno_comm(comm)->attrs, UNO_ATTR_COMM, keyval, &value, &found);
    if (!err) {
        *flag = found;
        if (found) *(void **)out = value;
    }
    return uno_finish_comm(comm, call, err);
}

static int comm_delete(const char *call, MPI_Comm comm, int keyval)
{
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = check_key_writable(keyval);
    if (!err) err = uno_attr_unset(uno_comm(comm)->attrs, UNO_ATTR_COMM, comm, keyval);
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    return comm_set("MPI_Comm_set_attr", comm, comm_keyval, attribute_val);
}

int MPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    return comm_get("MPI_Comm_get_attr", comm, comm_keyval, attribute_val, flag);
}

int MPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    return comm_delete("MPI_Comm_delete_attr", comm, comm_keyval);
}

int MPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return comm_set("MPI_Attr_put", comm, keyval, attribute_val);
}

int MPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return comm_get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}

int MPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return comm_delete("MPI_Attr_delete", comm, keyval);
}

// ---- datatypes ----

static int check_live_type(MPI_Datatype type)
{
    int err = uno_check_running();
    if (err) return err;
    if (type == MPI_DATATYPE_NULL) return uno_fail(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
    if (uno_type_is_live(type)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "datatype %p is not a datatype (was it freed?)", (void *)type);
}

int MPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
    static const char call[] = "MPI_Type_set_attr";
    uno_enter(call);
    int err = check_live_type(datatype);
    if (!err) err = uno_attr_set(&uno_type(datatype)->attrs, UNO_ATTR_TYPE, datatype, type_keyval, attribute_val);
    return uno_finish_self(call, err);
}

int MPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag)
{
    static const char call[] = "MPI_Type_get_attr";
    uno_enter(call);
    int err = check_live_type(datatype);
    if (!err) err = uno_check_pointer(attribute_val, "attribute_val");
    if (!err) err = uno_check_pointer(flag, "flag");
    void *value = NULL;
    bool found = false;
    if (!err) err = uno_attr_get(uno_type(datatype)->attrs, UNO_ATTR_TYPE, type_keyval, &value, &found);
    if (!err) {
        *flag = found;
        if (found) *(void **)attribute_val = value;
    }
    return uno_finish_self(call, err);
}

int MPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    static const char call[] = "MPI_Type_delete_attr";
    uno_enter(call);
    int err = check_live_type(datatype);
    if (!err) err = uno_attr_unset(uno_type(datatype)->attrs, UNO_ATTR_TYPE, datatype, type_keyval);
    return uno_finish_self(call, err);
}
