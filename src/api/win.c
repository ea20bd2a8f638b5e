// SPDX-License-Identifier: BSD-3-Clause
// Windows: freeing, names, groups, attributes, error handlers, info, memory of dynamic windows. Entry points of the
// chapter on one-sided communication; making is in twice/win_make.c, synchronisation in win_sync.c.
// Always holds: outputs are written on success only.
#include "api/win.h"

#include <string.h>

#include "core/attr.h"
#include "core/errh.h"
#include "core/info.h"

int uno_check_win(MPI_Win win)
{
    if (win == MPI_WIN_NULL) return uno_fail(MPI_ERR_WIN, "win is MPI_WIN_NULL");
    if (uno_win(win)) return uno_check_running();
    int err = uno_check_running();
    return err ? err : uno_fail(MPI_ERR_WIN, "win %p is not a window (was it freed?)", (void *)win);
}

int uno_check_memory(const void *at, const char *name)
{
    return at ? MPI_SUCCESS : uno_fail(MPI_ERR_BUFFER, "%s is NULL", name);
}

int uno_check_win_rank(const struct MPI_ABI_Win *w, int rank, const char *name)
{
    if (rank >= 0 && rank < w->comm->size) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RANK, "%s %d is not a rank of the window (0 .. %d allowed)", name, rank, w->comm->size - 1);
}

// ---- life ----

static int may_go(const struct MPI_ABI_Win *w)
{
    if (w->comm->broken) return MPI_SUCCESS;    // a member has failed: what is open ends with the window
    if (w->locks || w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "a lock is held (unlock first)");
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_start is open (call MPI_Win_complete)");
    if (w->exposed) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_post is open (call MPI_Win_wait)");
    return w->check ? uno_win_check_passive(w) : MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win)
{
    static const char call[] = "MPI_Win_free";
    uno_enter(call);
    MPI_Win handle = win ? *win : MPI_WIN_NULL;
    int err = uno_check_pointer(win, "win");
    if (err) return uno_raise_self(call, err);
    err = uno_check_win(handle);
    if (!err) err = may_go(uno_win(handle));
    if (!err && uno_win(handle)->attrs) err = uno_attrs_delete(uno_win(handle)->attrs, handle);
    if (err) return uno_raise_win(handle, call, err);
    uno_attrs_drop(uno_win(handle)->attrs);
    uno_win(handle)->attrs = NULL;
    err = uno_win_free(uno_win(handle));
    if (err) return uno_raise_win(handle, call, err);
    *win = MPI_WIN_NULL;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
    static const char call[] = "MPI_Win_get_group";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(group, "group");
    if (!err) {
        uno_group_hold(uno_win(win)->comm->group);
        *group = uno_group_give(uno_win(win)->comm->group);
    }
    return uno_finish_win(win, call, err);
}

int MPI_Win_set_name(MPI_Win win, const char *win_name)
{
    static const char call[] = "MPI_Win_set_name";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(win_name, "win_name");
    if (!err) {
        struct MPI_ABI_Win *w = uno_win(win);
        memset(w->name, 0, sizeof w->name);
        memcpy(w->name, win_name, strnlen(win_name, sizeof w->name - 1));
        uno_win_call_it(w, w->name);
    }
    return uno_finish_win(win, call, err);
}

int MPI_Win_get_name(MPI_Win win, char *win_name, int *resultlen)
{
    static const char call[] = "MPI_Win_get_name";
    uno_enter(call);
    int err = win == MPI_WIN_NULL ? uno_check_running() : uno_check_win(win);
    if (!err) err = uno_check_pointer(win_name, "win_name");
    if (!err) err = uno_check_pointer(resultlen, "resultlen");
    if (!err) {
        strcpy(win_name, win == MPI_WIN_NULL ? "MPI_WIN_NULL" : uno_win(win)->name);
        *resultlen = (int)strlen(win_name);
    }
    return uno_finish_win(win, call, err);
}

// ---- info ----

int MPI_Win_set_info(MPI_Win win, MPI_Info info)
{
    static const char call[] = "MPI_Win_set_info";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_win_hints_take(uno_win(win), uno_info(info));
    return uno_finish_win(win, call, err);
}

int MPI_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
    static const char call[] = "MPI_Win_get_info";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(info_used, "info_used");
    if (!err) {
        struct MPI_ABI_Info *all = uno_win_hints_all(uno_win(win));
        if (all)
            *info_used = all;
        else
            err = uno_fail(MPI_ERR_NO_MEM, "no memory for the hints");
    }
    return uno_finish_win(win, call, err);
}

// ---- attributes ----

// A predefined attribute's value; false when keyval is none.
static bool predefined(struct MPI_ABI_Win *w, int keyval, void **value)
{
    switch (keyval) {
    case MPI_WIN_BASE: *value = w->base; return true;
    case MPI_WIN_SIZE: *value = &w->size; return true;
    case MPI_WIN_DISP_UNIT: *value = &w->unit; return true;
    case MPI_WIN_CREATE_FLAVOR: *value = &w->flavor; return true;
    case MPI_WIN_MODEL: *value = &w->model; return true;
    default: return false;
    }
}

static int check_key_writable(int keyval)
{
    void *value;
    struct MPI_ABI_Win none = {0};    // only its addresses are told
    if (keyval == MPI_KEYVAL_INVALID) return uno_fail(MPI_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID");
    if (!predefined(&none, keyval, &value)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_KEYVAL, "keyval %d is predefined and cannot be changed", keyval);
}

int MPI_Win_set_attr(MPI_Win win, int win_keyval, void *attribute_val)
{
    static const char call[] = "MPI_Win_set_attr";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = check_key_writable(win_keyval);
    if (!err) err = uno_attr_set(&uno_win(win)->attrs, UNO_ATTR_WIN, win, win_keyval, attribute_val);
    return uno_finish_win(win, call, err);
}

int MPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    static const char call[] = "MPI_Win_get_attr";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(attribute_val, "attribute_val");
    if (!err) err = uno_check_pointer(flag, "flag");
    bool found = false;
    void *value = NULL;
    if (!err) found = predefined(uno_win(win), win_keyval, &value);
    if (!err && !found) err = uno_attr_get(uno_win(win)->attrs, UNO_ATTR_WIN, win_keyval, &value, &found);
    if (!err) {
        *flag = found;
        if (found) memcpy(attribute_val, &value, sizeof value);
    }
    return uno_finish_win(win, call, err);
}

int MPI_Win_delete_attr(MPI_Win win, int win_keyval)
{
    static const char call[] = "MPI_Win_delete_attr";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = check_key_writable(win_keyval);
    if (!err) err = uno_attr_unset(uno_win(win)->attrs, UNO_ATTR_WIN, win, win_keyval);
    return uno_finish_win(win, call, err);
}

// ---- error handlers ----

int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
    static const char call[] = "MPI_Win_set_errhandler";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_WIN);
    if (!err) {
        struct MPI_ABI_Win *w = uno_win(win);
        struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
        uno_errh_hold(e);
        uno_errh_drop(w->comm->errhandler);
        w->comm->errhandler = e;
    }
    return uno_finish_win(win, call, err);
}

int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
    static const char call[] = "MPI_Win_get_errhandler";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(errhandler, "errhandler");
    if (!err) {
        uno_errh_hold(uno_win(win)->comm->errhandler);
        *errhandler = uno_errh_give(uno_win(win)->comm->errhandler);
    }
    return uno_finish_win(win, call, err);
}

int MPI_Win_call_errhandler(MPI_Win win, int errorcode)
{
    static const char call[] = "MPI_Win_call_errhandler";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_called_with(errorcode);
    if (err) return uno_raise_win(win, call, err);
    uno_raise_win(win, call, errorcode);
    return MPI_SUCCESS;
}

// ---- dynamic windows ----

static int check_dynamic(MPI_Win win)
{
    int err = uno_check_win(win);
    if (err || uno_win(win)->flavor == MPI_WIN_FLAVOR_DYNAMIC) return err;
    return uno_fail(MPI_ERR_RMA_FLAVOR, "the window was not made by MPI_Win_create_dynamic");
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    static const char call[] = "MPI_Win_attach";
    uno_enter(call);
    int err = check_dynamic(win);
    if (!err && size < 0) err = uno_fail(MPI_ERR_SIZE, "size %lld is negative", (long long)size);
    if (!err && size > 0) err = uno_check_memory(base, "base");
    if (!err) err = uno_win_attach(uno_win(win), base, size);
    return uno_finish_win(win, call, err);
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    static const char call[] = "MPI_Win_detach";
    uno_enter(call);
    int err = check_dynamic(win);
    if (!err) err = uno_check_memory(base, "base");
    if (!err) err = uno_win_detach(uno_win(win), base);
    return uno_finish_win(win, call, err);
}
