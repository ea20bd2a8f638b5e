// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Tool support": performance variables, their sessions and handles. The work is in src/tool/pvar.c.
#include <string.h>

#include "api/tool.h"

static int check_pvar(int pvar_index)
{
    return uno_tool_check_index(pvar_index, "pvar_index", uno_pvars_count());
}

static int check_session(MPI_T_pvar_session session)
{
    if (uno_pvar_session_is_live(session)) return MPI_SUCCESS;
    return uno_tool_bad_handle(MPI_T_ERR_INVALID_SESSION, "session", session);
}

static int check_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    if (!uno_pvar_is_live(handle)) return uno_tool_bad_handle(MPI_T_ERR_INVALID_HANDLE, "handle", handle);
    if (handle->session == session) return MPI_SUCCESS;
    return uno_fail(MPI_T_ERR_INVALID_HANDLE, "handle %p belongs to another session", (void *)handle);
}

int MPI_T_pvar_get_num(int *num_pvar)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(num_pvar, "num_pvar");
    if (!err) *num_pvar = uno_pvars_count();
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                        int *readonly, int *continuous, int *atomic)
{
    int err = uno_tool_enter();
    if (!err) err = check_pvar(pvar_index);
    if (!err) {
        const struct uno_pvar *v = uno_pvar_at(pvar_index);
        uno_tool_give(v->name, name, name_len);
        uno_tool_give(v->help, desc, desc_len);
        uno_tool_out(verbosity, uno_category_of(v->name)->verbosity);
        uno_tool_out(var_class, uno_pvar_class(v));
        uno_tool_out(bind, MPI_T_BIND_NO_OBJECT);
        uno_tool_out(readonly, uno_pvar_is_steady(v));
        uno_tool_out(continuous, uno_pvar_is_steady(v));
        uno_tool_out(atomic, !uno_pvar_is_steady(v));
        if (datatype) *datatype = uno_pvar_type(v);
        if (enumtype) *enumtype = MPI_T_ENUM_NULL;
    }
    return uno_tool_leave(__func__, err);
}

static bool is_called(const struct uno_pvar *v, const char *name, int var_class)
{
    return strcmp(v->name, name) == 0 && uno_pvar_class(v) == var_class;
}

int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int err = uno_tool_enter(), i = 0;
    if (!err) err = uno_tool_check(name, "name");
    if (!err) err = uno_tool_check(pvar_index, "pvar_index");
    if (!err && (var_class < MPI_T_PVAR_CLASS_STATE || var_class > MPI_T_PVAR_CLASS_GENERIC))
        err = uno_fail(MPI_T_ERR_INVALID, "var_class %d is no class of variables", var_class);
    while (!err && i < uno_pvars_count() && !is_called(uno_pvar_at(i), name, var_class)) i++;
    if (!err && i == uno_pvars_count()) err = uno_tool_bad_name("performance variable of that class", name);
    if (!err) *pvar_index = i;
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(session, "session");
    MPI_T_pvar_session s = err ? NULL : uno_pvar_session_new();
    if (!err && !s) err = uno_tool_no_memory("a session");
    if (!err) *session = s;
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(session, "session");
    if (!err) err = check_session(*session);
    if (!err) {
        uno_pvar_session_free(*session);
        *session = MPI_T_PVAR_SESSION_NULL;
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                            int *count)
{
    (void)obj_handle;    // no variable is bound to an object
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err) err = check_pvar(pvar_index);
    if (!err) err = uno_tool_check(handle, "handle");
    if (!err) err = uno_tool_check(count, "count");
    MPI_T_pvar_handle h = err ? NULL : uno_pvar_new(session, uno_pvar_at(pvar_index));
    if (!err && !h) err = uno_tool_no_memory("a handle");
    if (!err) {
        *handle = h;
        *count = 1;
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err) err = uno_tool_check(handle, "handle");
    if (!err) err = check_handle(session, *handle);
    if (!err) {
        uno_pvar_free(*handle);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return uno_tool_leave(__func__, err);
}

// All of a session: those that cannot are left out; an error only if one that could was not.
static int run(const char *call, MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool on)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err && handle == MPI_T_PVAR_ALL_HANDLES) {
        for (MPI_T_pvar_handle h = session->first; h; h = h->next)
            if (!uno_pvar_is_steady(h->pvar)) err = uno_pvar_run(h, on);
    } else {
        if (!err) err = check_handle(session, handle);
        if (!err) err = uno_pvar_run(handle, on);
    }
    return uno_tool_leave(call, err);
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return run(__func__, session, handle, true);
}

int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return run(__func__, session, handle, false);
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err) err = check_handle(session, handle);
    if (!err) err = uno_tool_check(buf, "buf");
    if (!err) uno_pvar_read(handle, buf);
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err) err = check_handle(session, handle);
    if (!err) err = uno_tool_check(buf, "buf");
    if (!err) err = uno_pvar_write(handle, buf);
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err && handle == MPI_T_PVAR_ALL_HANDLES) {
        for (MPI_T_pvar_handle h = session->first; h; h = h->next)
            if (!uno_pvar_is_steady(h->pvar)) err = uno_pvar_write(h, NULL);
    } else {
        if (!err) err = check_handle(session, handle);
        if (!err) err = uno_pvar_write(handle, NULL);
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int err = uno_tool_enter();
    if (!err) err = check_session(session);
    if (!err) err = check_handle(session, handle);
    if (!err) err = uno_tool_check(buf, "buf");
    if (!err && uno_pvar_is_steady(handle->pvar))
        err = uno_fail(MPI_T_ERR_PVAR_NO_ATOMIC, "handle: %s is a level, which cannot be set", handle->pvar->name);
    if (!err) {
        uno_pvar_read(handle, buf);
        err = uno_pvar_write(handle, NULL);
    }
    return uno_tool_leave(__func__, err);
}
