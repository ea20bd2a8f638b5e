// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, classes and codes. Raising happens in src/api only (api/check.h).
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "base/pool.h"

#define UNO_ERRH_MAGIC 0x55455248u
#define UNO_ERRH_FIRST 320

enum uno_errh_kind { UNO_ERRH_COMM, UNO_ERRH_WIN, UNO_ERRH_FILE, UNO_ERRH_SESSION, UNO_ERRH_PREDEFINED };

struct MPI_ABI_Errhandler {
    struct uno_head head;
    enum uno_errh_kind kind;
    int handles;    // how many of refs the user holds
    MPI_Errhandler handle;
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } fn;
};

extern struct MPI_ABI_Errhandler uno_errors_are_fatal, uno_errors_abort, uno_errors_return;

// What the predefined communicators begin with, and what errors go to before and after them.
struct MPI_ABI_Errhandler *uno_errh_initial(void);

struct MPI_ABI_Errhandler *uno_errh(MPI_Errhandler h);               // NULL when not a live handle
struct MPI_ABI_Errhandler *uno_errh_new(enum uno_errh_kind kind);    // NULL when memory is out
void uno_errh_hold(struct MPI_ABI_Errhandler *e);
void uno_errh_drop(struct MPI_ABI_Errhandler *e);

// A handler with a reference of its own becomes a handle of the user; the user frees that handle.
MPI_Errhandler uno_errh_give(struct MPI_ABI_Errhandler *e);
void uno_errh_take_back(struct MPI_ABI_Errhandler *e);
size_t uno_errhs_live(void);    // handles the user has not freed

// Class of a code (user-added ones too), MPI_ERR_UNKNOWN when there is none; the text of a class or code.
int uno_error_class(int code);
bool uno_error_text(int code, char *out, size_t room);    // false when there is no such code; room 0: only that

// Classes, codes and texts that the user adds and removes. 0 or an MPI error class.
int uno_error_add_class(int *class) UNO_MUST_USE;
int uno_error_add_code(int class, int *code) UNO_MUST_USE;
int uno_error_add_text(int code, const char *text) UNO_MUST_USE;
int uno_error_remove_class(int class) UNO_MUST_USE;
int uno_error_remove_code(int code) UNO_MUST_USE;
int uno_error_remove_text(int code) UNO_MUST_USE;
extern int uno_error_last;    // the attribute MPI_LASTUSEDCODE
