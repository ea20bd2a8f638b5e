// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, the standard's error classes with their texts, and the classes and codes that the user adds.
// Called by src/api (raising, MPI_Error_*, MPI_Add_error_*), also before MPI_Init, when the library lock does not exist
// yet: a mutex of this file guards all it holds.
// Always holds: codes above MPI_ERR_LASTCODE are entries of `added`; a removed entry is given out again, the last
// removed first.
#include "core/errh.h"

#include <mpi_ext.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/start.h"

_Static_assert(MPIX_ERR_PROC_FAILED == UNO_ERR_PROC_FAILED && MPIX_ERR_REVOKED == UNO_ERR_REVOKED &&
                   MPIX_ERR_PROC_FAILED_PENDING == UNO_ERR_PROC_FAILED_PENDING,
               "one number for each class");

struct MPI_ABI_Errhandler uno_errors_are_fatal = {
    .head = {UNO_ERRH_MAGIC, 1, NULL}, .kind = UNO_ERRH_PREDEFINED, .handles = 1, .handle = MPI_ERRORS_ARE_FATAL};
struct MPI_ABI_Errhandler uno_errors_abort = {
    .head = {UNO_ERRH_MAGIC, 1, NULL}, .kind = UNO_ERRH_PREDEFINED, .handles = 1, .handle = MPI_ERRORS_ABORT};
struct MPI_ABI_Errhandler uno_errors_return = {
    .head = {UNO_ERRH_MAGIC, 1, NULL}, .kind = UNO_ERRH_PREDEFINED, .handles = 1, .handle = MPI_ERRORS_RETURN};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Errhandler), .magic = UNO_ERRH_MAGIC};
static size_t live;

struct MPI_ABI_Errhandler *uno_errh(MPI_Errhandler h)
{
    if (h == MPI_ERRORS_ARE_FATAL) return &uno_errors_are_fatal;
    if (h == MPI_ERRORS_ABORT) return &uno_errors_abort;
    if (h == MPI_ERRORS_RETURN) return &uno_errors_return;
    return uno_head_is(h, UNO_ERRH_MAGIC) && h->handles > 0 ? h : NULL;
}

// Parameters are read in MPI_Init; what fails before goes by the environment.
struct MPI_ABI_Errhandler *uno_errh_initial(void)
{
    const char *set = getenv(UNO_ERRHANDLER_ENV), *name = uno_start_errhandler.text;
    if (set && uno_start_errhandler.origin == UNO_PARAM_DEFAULT) name = set;
    if (strcmp(name, "mpi_errors_return") == 0) return &uno_errors_return;
    return strcmp(name, "mpi_errors_abort") == 0 ? &uno_errors_abort : &uno_errors_are_fatal;
}

struct MPI_ABI_Errhandler *uno_errh_new(enum uno_errh_kind kind)
{
    pthread_mutex_lock(&mutex);
    struct MPI_ABI_Errhandler *e = uno_pool_get(&pool);
    pthread_mutex_unlock(&mutex);
    if (!e) return NULL;
    e->kind = kind;
    e->handle = e;
    return e;
}

void uno_errh_hold(struct MPI_ABI_Errhandler *e)
{
    if (e->kind == UNO_ERRH_PREDEFINED) return;
    pthread_mutex_lock(&mutex);
    uno_assert(e->head.magic == UNO_ERRH_MAGIC && e->head.refs > 0);
    e->head.refs++;
    pthread_mutex_unlock(&mutex);
}

void uno_errh_drop(struct MPI_ABI_Errhandler *e)
{
    if (e->kind == UNO_ERRH_PREDEFINED) return;
    pthread_mutex_lock(&mutex);
    uno_assert(e->head.magic == UNO_ERRH_MAGIC && e->head.refs > 0);
    if (--e->head.refs == 0) uno_pool_put(&pool, e);
    pthread_mutex_unlock(&mutex);
}

MPI_Errhandler uno_errh_give(struct MPI_ABI_Errhandler *e)
{
    if (e->kind == UNO_ERRH_PREDEFINED) return e->handle;
    pthread_mutex_lock(&mutex);
    e->handles++;
    live++;
    pthread_mutex_unlock(&mutex);
    return e->handle;
}

void uno_errh_take_back(struct MPI_ABI_Errhandler *e)
{
    if (e->kind == UNO_ERRH_PREDEFINED) return;
    pthread_mutex_lock(&mutex);
    e->handles--;
    live--;
    pthread_mutex_unlock(&mutex);
    uno_errh_drop(e);
}

size_t uno_errhs_live(void)
{
    return live;
}

// ---- classes and codes ----

#define TEXTS(X)                                                                                                       \
    X(SUCCESS, "no error")                                                                                             \
    X(ERR_BUFFER, "invalid buffer")                                                                                    \
    X(ERR_COUNT, "invalid count")                                                                                      \
    X(ERR_TYPE, "invalid datatype")                                                                                    \
    X(ERR_TAG, "invalid tag")                                                                                          \
    X(ERR_COMM, "invalid communicator")                                                                                \
    X(ERR_RANK, "invalid rank")                                                                                        \
    X(ERR_REQUEST, "invalid request")                                                                                  \
    X(ERR_ROOT, "invalid root")                                                                                        \
    X(ERR_GROUP, "invalid group")                                                                                      \
    X(ERR_OP, "invalid operation")                                                                                     \
    X(ERR_TOPOLOGY, "invalid topology")                                                                                \
    X(ERR_DIMS, "invalid dimension argument")                                                                          \
    X(ERR_ARG, "invalid argument")                                                                                     \
    X(ERR_UNKNOWN, "unknown error")                                                                                    \
    X(ERR_TRUNCATE, "message truncated on receive")                                                                    \
    X(ERR_OTHER, "known error not in this list")                                                                       \
    X(ERR_INTERN, "internal error of the library")                                                                     \
    X(ERR_PENDING, "pending request")                                                                                  \
    X(ERR_IN_STATUS, "error code is in the status")                                                                    \
    X(ERR_ACCESS, "permission denied")                                                                                 \
    X(ERR_AMODE, "invalid access mode of a file")                                                                      \
    X(ERR_ASSERT, "invalid assertion")                                                                                 \
    X(ERR_BAD_FILE, "invalid file name")                                                                               \
    X(ERR_BASE, "invalid base address")                                                                                \
    X(ERR_CONVERSION, "error in a data conversion function")                                                           \
    X(ERR_DISP, "invalid displacement")                                                                                \
    X(ERR_DUP_DATAREP, "data representation is already defined")                                                       \
    X(ERR_FILE_EXISTS, "file exists")                                                                                  \
    X(ERR_FILE_IN_USE, "file is in use by some process")                                                               \
    X(ERR_FILE, "invalid file handle")                                                                                 \
    X(ERR_INFO_KEY, "invalid info key")                                                                                \
    X(ERR_INFO_NOKEY, "info key is not defined")                                                                       \
    X(ERR_INFO_VALUE, "invalid info value")                                                                            \
    X(ERR_INFO, "invalid info object")                                                                                 \
    X(ERR_IO, "input or output error")                                                                                 \
    X(ERR_KEYVAL, "invalid attribute key")                                                                             \
    X(ERR_LOCKTYPE, "invalid lock type")                                                                               \
    X(ERR_NAME, "name is not published")                                                                               \
    X(ERR_NO_MEM, "out of memory")                                                                                     \
    X(ERR_NOT_SAME, "collective argument differs between processes")                                                   \
    X(ERR_NO_SPACE, "no space left")                                                                                   \
    X(ERR_NO_SUCH_FILE, "file does not exist")                                                                         \
    X(ERR_PORT, "invalid port name")                                                                                   \
    X(ERR_QUOTA, "quota exceeded")                                                                                     \
    X(ERR_READ_ONLY, "read-only file or file system")                                                                  \
    X(ERR_RMA_ATTACH, "memory cannot be attached")                                                                     \
    X(ERR_RMA_CONFLICT, "conflicting accesses to a window")                                                            \
    X(ERR_RMA_RANGE, "target memory is not part of the window")                                                        \
    X(ERR_RMA_SHARED, "memory cannot be shared")                                                                       \
    X(ERR_RMA_SYNC, "wrong synchronization of one-sided operations")                                                   \
    X(ERR_SERVICE, "invalid service name")                                                                             \
    X(ERR_SIZE, "invalid size")                                                                                        \
    X(ERR_SPAWN, "error in spawning processes")                                                                        \
    X(ERR_UNSUPPORTED_DATAREP, "unsupported data representation")                                                      \
    X(ERR_UNSUPPORTED_OPERATION, "unsupported operation")                                                              \
    X(ERR_WIN, "invalid window")                                                                                       \
    X(ERR_RMA_FLAVOR, "window has the wrong flavor")                                                                   \
    X(ERR_PROC_ABORTED, "a peer process has aborted")                                                                  \
    X(ERR_VALUE_TOO_LARGE, "value is too large to store")                                                              \
    X(ERR_SESSION, "invalid session")                                                                                  \
    X(ERR_ERRHANDLER, "invalid error handler")                                                                         \
    X(ERR_ABI, "operation not possible with this ABI")                                                                 \
    X(T_ERR_CANNOT_INIT, "tool interface cannot be initialized")                                                       \
    X(T_ERR_NOT_ACCESSIBLE, "tool interface functionality not accessible")                                             \
    X(T_ERR_NOT_INITIALIZED, "tool interface not initialized")                                                         \
    X(T_ERR_NOT_SUPPORTED, "tool interface functionality not supported")                                               \
    X(T_ERR_MEMORY, "tool interface out of memory")                                                                    \
    X(T_ERR_INVALID, "invalid use of the tool interface")                                                              \
    X(T_ERR_INVALID_INDEX, "invalid index of the tool interface")                                                      \
    X(T_ERR_INVALID_ITEM, "invalid item of the tool interface")                                                        \
    X(T_ERR_INVALID_SESSION, "invalid session of the tool interface")                                                  \
    X(T_ERR_INVALID_HANDLE, "invalid handle of the tool interface")                                                    \
    X(T_ERR_INVALID_NAME, "invalid name of the tool interface")                                                        \
    X(T_ERR_OUT_OF_HANDLES, "no more handles in the tool interface")                                                   \
    X(T_ERR_OUT_OF_SESSIONS, "no more sessions in the tool interface")                                                 \
    X(T_ERR_CVAR_SET_NOT_NOW, "control variable cannot be set now")                                                    \
    X(T_ERR_CVAR_SET_NEVER, "control variable cannot be set")                                                          \
    X(T_ERR_PVAR_NO_WRITE, "performance variable cannot be written")                                                   \
    X(T_ERR_PVAR_NO_STARTSTOP, "performance variable cannot be started or stopped")                                    \
    X(T_ERR_PVAR_NO_ATOMIC, "performance variable cannot be read and reset at once")

#define OWN_TEXTS(X)                                                                                                   \
    X(ERR_PROC_FAILED, "a process has failed")                                                                         \
    X(ERR_PROC_FAILED_PENDING, "a process that might send has failed, the receive is pending")                         \
    X(ERR_REVOKED, "the communicator is revoked")

static const struct {
    int code;
    const char *text;
} standard[] = {
#define ENTRY(name, text) {MPI_##name, "MPI_" #name ": " text},
    TEXTS(ENTRY)
#undef ENTRY
#define ENTRY(name, text) {MPIX_##name, "MPIX_" #name ": " text},
        OWN_TEXTS(ENTRY)
#undef ENTRY
};

// A number above MPI_ERR_LASTCODE: in use, or free for the next one that is added.
struct added {
    int class;        // of a code; a class is its own
    int codes;        // of a class: how many codes of the user it has
    int next_free;    // of a free number: the next free one, 0 at the end
    bool is_class, live;
    char *text;
};

static struct added *added;    // [number - MPI_ERR_LASTCODE - 1]
static int added_size, first_free;
int uno_error_last = MPI_ERR_LASTCODE;

static struct added *find_added(int code)
{
    if (code <= MPI_ERR_LASTCODE || code > uno_error_last) return NULL;
    struct added *a = &added[code - MPI_ERR_LASTCODE - 1];
    return a->live ? a : NULL;
}

static const char *standard_text(int code)
{
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++) {
        if (standard[i].code == code) return standard[i].text;
    }
    return NULL;
}

static int class_of(int code)
{
    struct added *a = find_added(code);
    if (a) return a->class;
    return standard_text(code) ? code : MPI_ERR_UNKNOWN;
}

static bool is_class(int code)
{
    struct added *a = find_added(code);
    return a ? a->is_class : standard_text(code) != NULL;
}

int uno_error_class(int code)
{
    pthread_mutex_lock(&mutex);
    int class = class_of(code);
    pthread_mutex_unlock(&mutex);
    return class;
}

bool uno_error_text(int code, char *out, size_t room)
{
    pthread_mutex_lock(&mutex);
    struct added *a = find_added(code);
    const char *text = a ? (a->text ? a->text : "") : standard_text(code);
    if (text && room > 0) snprintf(out, room, "%s", text);
    pthread_mutex_unlock(&mutex);
    return text != NULL;
}

// The number removed last, or the next one never used. MPI_LASTUSEDCODE grows with the latter and never shrinks.
static int take_number(int *out)
{
    if (first_free) {
        *out = first_free;
        first_free = added[first_free - MPI_ERR_LASTCODE - 1].next_free;
        return MPI_SUCCESS;
    }
    if (uno_error_last - MPI_ERR_LASTCODE == added_size) {
        int size = added_size ? 2 * added_size : 32;
        struct added *bigger = realloc(added, (size_t)size * sizeof *added);
        if (!bigger) return uno_fail(MPI_ERR_NO_MEM, "no memory for an error code");
        added = bigger;
        added_size = size;
    }
    *out = ++uno_error_last;
    return MPI_SUCCESS;
}

// class 0: the number is a class.
static int add_number(int class, int *out)
{
    int number = 0, err = take_number(&number);
    if (err) return err;
    added[number - MPI_ERR_LASTCODE - 1] =
        (struct added){.class = class ? class : number, .is_class = class == 0, .live = true};
    struct added *of = find_added(class);
    if (of) of->codes++;
    *out = number;
    return MPI_SUCCESS;
}

static void free_number(struct added *a)
{
    a->live = false;
    a->next_free = first_free;
    first_free = (int)(a - added) + MPI_ERR_LASTCODE + 1;
}

static int add_code(int class, int *code)
{
    if (class != MPI_SUCCESS && is_class(class)) return add_number(class, code);
    return uno_fail(MPI_ERR_ARG, "errorclass %d is not an error class", class);
}

static int not_added(const char *name, int code)
{
    return uno_fail(MPI_ERR_ARG, "%s %d was not added by the user (or was removed)", name, code);
}

static int add_text(int code, const char *text)
{
    struct added *a = find_added(code);
    if (!a) return not_added("errorcode", code);
    char *copy = *text ? strndup(text, MPI_MAX_ERROR_STRING - 1) : NULL;
    if (*text && !copy) return uno_fail(MPI_ERR_NO_MEM, "no memory for an error string");
    free(a->text);
    a->text = copy;
    return MPI_SUCCESS;
}

static int remove_class(int class)
{
    struct added *a = find_added(class);
    if (!a || !a->is_class) return not_added("errorclass", class);
    if (a->codes) return uno_fail(MPI_ERR_ARG, "errorclass %d still has error codes (%d of them)", class, a->codes);
    if (a->text) return uno_fail(MPI_ERR_ARG, "errorclass %d still has an error string", class);
    free_number(a);
    return MPI_SUCCESS;
}

static int remove_code(int code)
{
    struct added *a = find_added(code);
    if (!a || a->is_class) return not_added("errorcode", code);
    if (a->text) return uno_fail(MPI_ERR_ARG, "errorcode %d still has an error string", code);
    struct added *of = find_added(a->class);
    if (of) of->codes--;
    free_number(a);
    return MPI_SUCCESS;
}

static int remove_text(int code)
{
    struct added *a = find_added(code);
    if (!a) return not_added("errorcode", code);
    if (!a->text) return uno_fail(MPI_ERR_ARG, "errorcode %d has no error string", code);
    free(a->text);
    a->text = NULL;
    return MPI_SUCCESS;
}

// Lets the mutex go that the argument's evaluation was guarded by.
static int unlocked(int err)
{
    pthread_mutex_unlock(&mutex);
    return err;
}

int uno_error_add_class(int *class)
{
    pthread_mutex_lock(&mutex);
    return unlocked(add_number(0, class));
}

int uno_error_add_code(int class, int *code)
{
    pthread_mutex_lock(&mutex);
    return unlocked(add_code(class, code));
}

int uno_error_add_text(int code, const char *text)
{
    pthread_mutex_lock(&mutex);
    return unlocked(add_text(code, text));
}

int uno_error_remove_class(int class)
{
    pthread_mutex_lock(&mutex);
    return unlocked(remove_class(class));
}

int uno_error_remove_code(int code)
{
    pthread_mutex_lock(&mutex);
    return unlocked(remove_code(code));
}

int uno_error_remove_text(int code)
{
    pthread_mutex_lock(&mutex);
    return unlocked(remove_text(code));
}
