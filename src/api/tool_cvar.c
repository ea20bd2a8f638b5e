// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Tool support": control variables. The work is in src/tool/cvar.c.
#include <string.h>

#include "api/tool.h"

static int check_cvar(int cvar_index)
{
    return uno_tool_check_index(cvar_index, "cvar_index", uno_cvars_count());
}

static int check_handle(MPI_T_cvar_handle handle)
{
    return uno_cvar_is_live(handle) ? MPI_SUCCESS : uno_tool_bad_handle(MPI_T_ERR_INVALID_HANDLE, "handle", handle);
}

int MPI_T_cvar_get_num(int *num_cvar)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(num_cvar, "num_cvar");
    if (!err) *num_cvar = uno_cvars_count();
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    int err = uno_tool_enter();
    if (!err) err = check_cvar(cvar_index);
    if (!err) {
        const struct uno_param *p = uno_cvar_at(cvar_index);
        const struct uno_category *c = uno_category_of(p->name);
        uno_tool_give(p->name, name, name_len);
        uno_tool_give(p->help, desc, desc_len);
        uno_tool_out(verbosity, c->verbosity);
        uno_tool_out(bind, MPI_T_BIND_NO_OBJECT);
        uno_tool_out(scope, c->scope);
        if (datatype) *datatype = uno_cvar_type(p);
        if (enumtype) *enumtype = uno_cvar_enum(p);
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    int err = uno_tool_enter(), i = 0;
    if (!err) err = uno_tool_check(name, "name");
    if (!err) err = uno_tool_check(cvar_index, "cvar_index");
    while (!err && i < uno_cvars_count() && strcmp(uno_cvar_at(i)->name, name) != 0) i++;
    if (!err && i == uno_cvars_count()) err = uno_tool_bad_name("control variable", name);
    if (!err) *cvar_index = i;
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    (void)obj_handle;    // no variable is bound to an object
    int err = uno_tool_enter();
    if (!err) err = check_cvar(cvar_index);
    if (!err) err = uno_tool_check(handle, "handle");
    if (!err) err = uno_tool_check(count, "count");
    if (!err) {
        struct uno_param *p = uno_cvar_at(cvar_index);
        MPI_T_cvar_handle h = uno_cvar_new(p);
        if (h) {
            *handle = h;
            *count = uno_cvar_elements(p);
        } else {
            err = uno_tool_no_memory("a handle");
        }
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    int err = uno_tool_enter();
    if (!err) err = uno_tool_check(handle, "handle");
    if (!err) err = check_handle(*handle);
    if (!err) {
        uno_cvar_free(*handle);
        *handle = MPI_T_CVAR_HANDLE_NULL;
    }
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    int err = uno_tool_enter();
    if (!err) err = check_handle(handle);
    if (!err) err = uno_tool_check(buf, "buf");
    if (!err) uno_cvar_read(handle, buf);
    return uno_tool_leave(__func__, err);
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    int err = uno_tool_enter();
    if (!err) err = check_handle(handle);
    if (!err) err = uno_tool_check(buf, "buf");
    if (!err) err = uno_cvar_write(handle, buf);
    return uno_tool_leave(__func__, err);
}
