// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, classes, codes and strings. Entry points of the chapter on error handling; those that name no object
// are allowed before MPI_Init. Handlers of windows and files are set in their own files.
// Always holds: outputs are written on success only.
#include <stdio.h>
#include <string.h>

#include "api/check.h"
#include "core/errh.h"
#include "core/session.h"

// ---- objects ----

static int create(const char *call, enum uno_errh_kind kind, bool given, struct MPI_ABI_Errhandler **e,
                  MPI_Errhandler *out)
{
    static const char *const fn_name[] = {[UNO_ERRH_COMM] = "comm_errhandler_fn",
                                          [UNO_ERRH_WIN] = "win_errhandler_fn",
                                          [UNO_ERRH_FILE] = "file_errhandler_fn",
                                          [UNO_ERRH_SESSION] = "session_errhandler_fn"};
    int err = given ? uno_check_pointer(out, "errhandler") : uno_fail(MPI_ERR_ARG, "%s is NULL", fn_name[kind]);
    if (!err) {
        *e = uno_errh_new(kind);
        if (!*e) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an error handler");
    }
    return uno_finish_any(call, err);
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *fn, MPI_Errhandler *errhandler)
{
    struct MPI_ABI_Errhandler *e;
    int err = create("MPI_Comm_create_errhandler", UNO_ERRH_COMM, fn, &e, errhandler);
    if (err) return err;
    e->fn.comm = fn;
    *errhandler = uno_errh_give(e);
    return MPI_SUCCESS;
}

int MPI_Win_create_errhandler(MPI_Win_errhandler_function *fn, MPI_Errhandler *errhandler)
{
    struct MPI_ABI_Errhandler *e;
    int err = create("MPI_Win_create_errhandler", UNO_ERRH_WIN, fn, &e, errhandler);
    if (err) return err;
    e->fn.win = fn;
    *errhandler = uno_errh_give(e);
    return MPI_SUCCESS;
}

int MPI_File_create_errhandler(MPI_File_errhandler_function *fn, MPI_Errhandler *errhandler)
{
    struct MPI_ABI_Errhandler *e;
    int err = create("MPI_File_create_errhandler", UNO_ERRH_FILE, fn, &e, errhandler);
    if (err) return err;
    e->fn.file = fn;
    *errhandler = uno_errh_give(e);
    return MPI_SUCCESS;
}

int MPI_Session_create_errhandler(MPI_Session_errhandler_function *fn, MPI_Errhandler *errhandler)
{
    struct MPI_ABI_Errhandler *e;
    int err = create("MPI_Session_create_errhandler", UNO_ERRH_SESSION, fn, &e, errhandler);
    if (err) return err;
    e->fn.session = fn;
    *errhandler = uno_errh_give(e);
    return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    int err = uno_check_pointer(errhandler, "errhandler");
    if (!err) err = uno_check_errhandler(*errhandler, UNO_ERRH_PREDEFINED);
    if (!err) {
        uno_errh_take_back(uno_errh(*errhandler));
        *errhandler = MPI_ERRHANDLER_NULL;
    }
    return uno_finish_any("MPI_Errhandler_free", err);
}

int uno_check_errhandler(MPI_Errhandler errhandler, enum uno_errh_kind kind)
{
    static const char *const name[] = {"communicators", "windows", "files", "sessions"};
    struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
    if (errhandler == MPI_ERRHANDLER_NULL) return uno_fail(MPI_ERR_ERRHANDLER, "errhandler is MPI_ERRHANDLER_NULL");
    if (!e)
        return uno_fail(MPI_ERR_ERRHANDLER, "errhandler %p is not an error handler (was it freed?)",
                        (void *)errhandler);
    if (e->kind == kind || e->kind == UNO_ERRH_PREDEFINED || kind == UNO_ERRH_PREDEFINED) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ERRHANDLER, "errhandler is one of %s (one of %s is needed)", name[e->kind], name[kind]);
}

// ---- on communicators ----

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    static const char call[] = "MPI_Comm_set_errhandler";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_COMM);
    if (!err) {
        struct MPI_ABI_Comm *c = uno_comm(comm);
        struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
        uno_errh_hold(e);
        uno_errh_drop(c->errhandler);
        c->errhandler = e;
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    static const char call[] = "MPI_Comm_get_errhandler";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(errhandler, "errhandler");
    if (!err) {
        struct MPI_ABI_Errhandler *e = uno_comm(comm)->errhandler;
        uno_errh_hold(e);
        *errhandler = uno_errh_give(e);
    }
    return uno_finish_comm(comm, call, err);
}

// The reason for a handler that the user calls: the code and its text.
int uno_called_with(int errorcode)
{
    char text[MPI_MAX_ERROR_STRING];
    if (!uno_error_text(errorcode, text, sizeof text)) {
        return uno_fail(MPI_ERR_ARG, "errorcode %d is not an error code", errorcode);
    }
    uno_fail(errorcode, "called with error code %d, %s", errorcode, text);
    return MPI_SUCCESS;
}

int MPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    static const char call[] = "MPI_Comm_call_errhandler";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_called_with(errorcode);
    if (err) return uno_raise_comm(comm, call, err);
    uno_raise_comm(comm, call, errorcode);
    return MPI_SUCCESS;
}

// ---- on sessions ----

int MPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
    static const char call[] = "MPI_Session_set_errhandler";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_check_errhandler(errhandler, UNO_ERRH_SESSION);
    if (err) return uno_raise_session(session, call, err);
    struct MPI_ABI_Errhandler *e = uno_errh(errhandler);
    uno_errh_hold(e);
    uno_errh_drop(session->errhandler);
    session->errhandler = e;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
    static const char call[] = "MPI_Session_get_errhandler";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_check_pointer(errhandler, "errhandler");
    if (err) return uno_raise_session(session, call, err);
    uno_errh_hold(session->errhandler);
    *errhandler = uno_errh_give(session->errhandler);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
    static const char call[] = "MPI_Session_call_errhandler";
    uno_enter(call);
    int err = uno_check_session(session);
    if (!err) err = uno_called_with(errorcode);
    if (err) return uno_raise_session(session, call, err);
    uno_raise_session(session, call, errorcode);
    return MPI_SUCCESS;
}

// ---- classes, codes, strings ----

int MPI_Error_class(int errorcode, int *errorclass)
{
    int err = uno_check_pointer(errorclass, "errorclass");
    if (!err && !uno_error_text(errorcode, NULL, 0))
        err = uno_fail(MPI_ERR_ARG, "errorcode %d is not an error code", errorcode);
    if (!err) *errorclass = uno_error_class(errorcode);
    return uno_finish_any("MPI_Error_class", err);
}

int MPI_Error_string(int errorcode, char *string, int *resultlen)
{
    int err = uno_check_pointer(string, "string");
    if (!err) err = uno_check_pointer(resultlen, "resultlen");
    char text[MPI_MAX_ERROR_STRING];
    if (!err && !uno_error_text(errorcode, text, sizeof text)) {
        err = uno_fail(MPI_ERR_ARG, "errorcode %d is not an error code", errorcode);
    }
    if (!err) {
        // The message of this thread's last error, if that is the error asked about, says more than its class. What
        // the user added is as the user said it.
        const char *more = errorcode <= MPI_ERR_LASTCODE ? uno_raised_text(errorcode) : "";
        size_t n = strlen(text);
        if (*more) snprintf(text + n, sizeof text - n, "; %s", more);
        strcpy(string, text);
        *resultlen = (int)strlen(text);
    }
    return uno_finish_any("MPI_Error_string", err);
}

int MPI_Add_error_class(int *errorclass)
{
    int err = uno_check_pointer(errorclass, "errorclass");
    if (!err) err = uno_error_add_class(errorclass);
    return uno_finish_any("MPI_Add_error_class", err);
}

int MPI_Add_error_code(int errorclass, int *errorcode)
{
    int err = uno_check_pointer(errorcode, "errorcode");
    if (!err) err = uno_error_add_code(errorclass, errorcode);
    return uno_finish_any("MPI_Add_error_code", err);
}

int MPI_Add_error_string(int errorcode, const char *string)
{
    int err = uno_check_pointer(string, "string");
    if (!err) err = uno_error_add_text(errorcode, string);
    return uno_finish_any("MPI_Add_error_string", err);
}

int MPI_Remove_error_class(int errorclass)
{
    return uno_finish_any("MPI_Remove_error_class", uno_error_remove_class(errorclass));
}

int MPI_Remove_error_code(int errorcode)
{
    return uno_finish_any("MPI_Remove_error_code", uno_error_remove_code(errorcode));
}

int MPI_Remove_error_string(int errorcode)
{
    return uno_finish_any("MPI_Remove_error_string", uno_error_remove_text(errorcode));
}
