// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments and the raising of error handlers. Called by every entry point.
// Always holds: the message names the call, what is wrong and what is allowed; the library lock is free when a handler
// runs.
#include "api/check.h"

#include <stdio.h>
#include <string.h>

#include "rma/win.h"

#include "core/errh.h"
#include "core/info.h"
#include "core/session.h"
#include "core/type_make.h"
#include "io/file.h"

#undef uno_raise_comm    // what the analyzer sees in their place
#undef uno_raise_self
#undef uno_raise_session
#undef uno_raise_win
#undef uno_raise_file
#undef uno_raise_given
#undef uno_check_pointer

static _Thread_local char raised[MPI_MAX_ERROR_STRING];
static _Thread_local int raised_code;

const char *uno_raised_text(int code)
{
    return code != MPI_SUCCESS && code == raised_code ? raised : "";
}

// Puts the message together from the reason that the failing place kept, and forgets that reason. object: on what, NULL
// when there is nothing to name.
static void compose(const char *call, int err, const char *object, int rank)
{
    const char *why = uno_fail_text();
    char text[MPI_MAX_ERROR_STRING] = "error";
    if (!*why) uno_error_text(err, text, sizeof text);
    int n = snprintf(raised, sizeof raised, "%s: %s", call, *why ? why : text);
    if (object && n < (int)sizeof raised)
        snprintf(raised + n, sizeof raised - (size_t)n, " on %s, rank %d", object, rank);
    raised_code = err;
    uno_fail_clear();
}

// What all kinds of handlers share. A user's handler is given a copy of the code, which the call returns as it left it.
// True when the error is to be returned, false when a user's handler is to be called.
static bool settle(const struct MPI_ABI_Errhandler *e, int err)
{
    if (e == &uno_errors_return) {
        uno_log(1, "%s", raised);
        return true;
    }
    if (e->kind == UNO_ERRH_PREDEFINED) uno_world_abort(err, raised);
    return false;
}

static int raise_on(struct MPI_ABI_Comm *c, const char *call, int err, bool named)
{
    compose(call, err, !named ? NULL : c->name[0] ? c->name : "a communicator", c->rank);
    bool up = uno_is_running();
    struct MPI_ABI_Errhandler *e = up ? c->errhandler : uno_errh_initial();
    uno_errh_hold(e);
    int code = err;
    if (up) uno_leave();
    if (!settle(e, err)) {
        MPI_Comm handle = c->handle;
        MPI_File file = c->owner ? c->owner : MPI_FILE_NULL;
        MPI_Win win = c->owner ? c->owner : MPI_WIN_NULL;
        if (e->kind == UNO_ERRH_FILE)
            e->fn.file(&file, &code);
        else if (e->kind == UNO_ERRH_WIN)
            e->fn.win(&win, &code);
        else
            e->fn.comm(&handle, &code);
    }
    uno_lock();
    uno_errh_drop(e);
    uno_unlock();
    return code;
}

int uno_raise_comm(MPI_Comm comm, const char *call, int err)
{
    struct MPI_ABI_Comm *c = uno_comm(comm);
    return uno_comm_is_live(c) ? raise_on(c, call, err, true) : uno_raise_self(call, err);
}

int uno_raise_self(const char *call, int err)
{
    return raise_on(&uno_comm_self, call, err, false);
}

int uno_raise_session(MPI_Session session, const char *call, int err)
{
    struct MPI_ABI_Session *s = uno_session(session);
    if (!s) return uno_raise_self(call, err);
    compose(call, err, NULL, 0);
    struct MPI_ABI_Errhandler *e = s->errhandler;
    uno_leave();
    int code = err;
    if (!settle(e, err)) e->fn.session(&session, &code);
    return code;
}

int uno_raise_win(MPI_Win win, const char *call, int err)
{
    struct MPI_ABI_Win *w = uno_win(win);
    return w && uno_is_running() ? raise_on(w->comm, call, err, true) : uno_raise_self(call, err);
}

int uno_raise_file(MPI_File file, const char *call, int err)
{
    struct MPI_ABI_File *f = uno_file(file);
    if (f || !uno_is_running()) return f ? raise_on(f->comm, call, err, true) : uno_raise_self(call, err);
    compose(call, err, NULL, 0);
    struct MPI_ABI_Errhandler *e = uno_file_errhandler;
    uno_errh_hold(e);
    uno_leave();
    MPI_File none = MPI_FILE_NULL;
    int code = err;
    if (!settle(e, err)) e->fn.file(&none, &code);
    uno_lock();
    uno_errh_drop(e);
    uno_unlock();
    return code;
}

int uno_raise_given(MPI_Errhandler errhandler, const char *call, int err)
{
    struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Session session = MPI_SESSION_NULL;
    int code = err;
    compose(call, err, NULL, 0);
    uno_errh_hold(e);
    uno_leave();
    bool called = !settle(e, err);
    if (called && e->kind == UNO_ERRH_SESSION) e->fn.session(&session, &code);
    if (called && e->kind == UNO_ERRH_COMM) e->fn.comm(&comm, &code);
    uno_lock();
    uno_errh_drop(e);
    uno_unlock();
    return code;
}

int uno_keep_raised(const char *call, int err)
{
    compose(call, err, NULL, 0);
    uno_log(1, "%s", raised);
    return err;
}

int uno_refuse_null(MPI_Comm comm, const char *call, const char *name)
{
    uno_enter(call);
    return uno_raise_comm(comm, call, uno_check_pointer(NULL, name));
}

int uno_check_running(void)
{
    if (uno_is_running()) return MPI_SUCCESS;
    // Acquire: as in uno_is_running().
    bool before = atomic_load_explicit(&uno_world.phase, memory_order_acquire) == UNO_BEFORE_INIT;
    return uno_fail(MPI_ERR_OTHER, before ? "called before MPI_Init" : "called after MPI_Finalize");
}

int uno_check_comm(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) return uno_fail(MPI_ERR_COMM, "comm is MPI_COMM_NULL");
    if (comm == NULL) return uno_fail(MPI_ERR_COMM, "comm is NULL, not a communicator");
    if (uno_comm_is_live(uno_comm(comm))) return uno_check_running();
    if (!uno_is_running()) return uno_check_running();
    return uno_fail(MPI_ERR_COMM, "comm %p is not a communicator (was it freed?)", (void *)comm);
}

int uno_check_intracomm(MPI_Comm comm)
{
    int err = uno_check_comm(comm);
    if (err) return err;
    if (uno_comm(comm)->inter)
        return uno_fail(MPI_ERR_COMM, "comm is an intercommunicator (an intracommunicator is needed)");
    return MPI_SUCCESS;
}

int uno_check_count(MPI_Count count)
{
    if (count >= 0) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_COUNT, "count %lld is negative", (long long)count);
}

int uno_check_type(MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL) return uno_fail(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
    if (!uno_type_is_live(type)) {
        return uno_fail(MPI_ERR_TYPE, "datatype %p is not a datatype (was it freed?)", (void *)type);
    }
    if (uno_type(type)->flags & UNO_TYPE_COMMITTED) return MPI_SUCCESS;
    return uno_type_ask(uno_type(type), "datatype");
}

int uno_check_buffer(const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    MPI_Count bytes;
    if (buf == MPI_IN_PLACE) return uno_fail(MPI_ERR_BUFFER, "buffer is MPI_IN_PLACE, which has no meaning here");
    if (__builtin_mul_overflow(count, type->size, &bytes))
        return uno_fail(MPI_ERR_COUNT, "count %lld of a datatype of %lld bytes does not fit 63 bits", (long long)count,
                        (long long)type->size);
    if (buf || bytes == 0) return MPI_SUCCESS;
    // MPI_BOTTOM is NULL too: only a type that reaches down to the first pages makes it wrong.
    if (type->true_lb >= 65536 || type->true_lb < 0) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_BUFFER, "buffer is NULL, with count %lld of a type that starts at address %lld",
                    (long long)count, (long long)type->true_lb);
}

static const char *size_text(const struct MPI_ABI_Comm *c, char *out, size_t n)
{
    if (c->npeers == 1)
        snprintf(out, n, "only 0 exists");
    else
        snprintf(out, n, "0 .. %d allowed", c->npeers - 1);
    return out;
}

int uno_check_dest(const struct MPI_ABI_Comm *c, int rank, const char *name)
{
    if ((rank >= 0 && rank < c->npeers) || rank == MPI_PROC_NULL) return MPI_SUCCESS;
    char text[40];
    return uno_fail(MPI_ERR_RANK, "%s %d is not a rank (%s, or MPI_PROC_NULL)", name, rank,
                    size_text(c, text, sizeof text));
}

int uno_check_source(const struct MPI_ABI_Comm *c, int rank)
{
    if ((rank >= 0 && rank < c->npeers) || rank == MPI_PROC_NULL || rank == MPI_ANY_SOURCE) return MPI_SUCCESS;
    char text[40];
    return uno_fail(MPI_ERR_RANK, "source %d is not a rank (%s, or MPI_ANY_SOURCE, MPI_PROC_NULL)", rank,
                    size_text(c, text, sizeof text));
}

int uno_check_tag(int tag)
{
    if (tag >= 0) return MPI_SUCCESS;
    if (tag == MPI_ANY_TAG) return uno_fail(MPI_ERR_TAG, "tag is MPI_ANY_TAG (only a receive may have it)");
    return uno_fail(MPI_ERR_TAG, "tag %d is negative (0 .. %d allowed)", tag, UNO_TAG_UB);
}

int uno_check_recv_tag(int tag)
{
    if (tag >= 0 || tag == MPI_ANY_TAG) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TAG, "tag %d is negative (0 .. %d or MPI_ANY_TAG allowed)", tag, UNO_TAG_UB);
}

int uno_check_root(const struct MPI_ABI_Comm *c, int root)
{
    if (root >= 0 && root < c->npeers) return MPI_SUCCESS;
    if (c->inter && (root == MPI_ROOT || root == MPI_PROC_NULL)) return MPI_SUCCESS;
    char text[40];
    return uno_fail(MPI_ERR_ROOT, "root %d is not a rank (%s%s)", root, size_text(c, text, sizeof text),
                    c->inter ? ", or MPI_ROOT, MPI_PROC_NULL" : "");
}

int uno_check_pointer(const void *p, const char *name)
{
    return p ? MPI_SUCCESS : uno_fail(MPI_ERR_ARG, "%s is NULL", name);
}

int uno_check_group(MPI_Group group, const char *name)
{
    if (uno_group(group)) return MPI_SUCCESS;
    if (group == MPI_GROUP_NULL) return uno_fail(MPI_ERR_GROUP, "%s is MPI_GROUP_NULL", name);
    return uno_fail(MPI_ERR_GROUP, "%s %p is not a group (was it freed?)", name, (void *)group);
}

int uno_check_info(MPI_Info info)
{
    if (info == MPI_INFO_NULL || uno_info(info)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_INFO, "info %p is not an info object (was it freed?)", (void *)info);
}
