// SPDX-License-Identifier: BSD-3-Clause
// Argument checks and raising of error handlers for the entry points. A check returns 0 or the MPI error class, with a
// message `what is wrong (what is allowed)` kept by uno_fail; the entry point then returns uno_raise_comm and the like,
// which compose
//   MPI_Send: tag -5 is negative (0 .. 2147483647 allowed) on MPI_COMM_WORLD, rank 3
// and call the handler. Pattern of an entry point:
//
//   int MPI_Comm_set_name(MPI_Comm comm, const char *name)
//   {
//       uno_enter(__func__);
//       int err = uno_check_comm(comm);
//       ...
//       return uno_finish_comm(comm, __func__, err);
//   }
//
// A call that has a large form (_c) too is written once, in api/twice/.
#pragma once
#include <limits.h>
#include <mpi.h>

#include "base/fail.h"
#include "core/comm.h"
#include "core/errh.h"
#include "core/request.h"
#include "core/type.h"
#include "core/world.h"

// Between Init and Finalize.
static inline bool uno_is_running(void)
{
    // Acquire: pairs with the release in uno_world_open and uno_world_close.
    return atomic_load_explicit(&uno_world.phase, memory_order_acquire) == UNO_RUNNING;
}

// Marks the call as entered and takes the lock; lets it go.
static inline void uno_enter(const char *call)
{
    uno_lock();
    uno_world.call = call;
}

static inline void uno_leave(void)
{
    uno_unlock();
}

// Called between uno_enter and uno_leave, in place of the latter: each lets the lock go, calls the handler of the
// object (for a handle that is invalid: of MPI_COMM_SELF, as MPI-4 says) and returns what the entry point is to return:
// err, or the code that a user's handler has put in its place.
// Before MPI_Init and after MPI_Finalize the initial error handler decides.
int uno_raise_comm(MPI_Comm comm, const char *call, int err);
int uno_raise_self(const char *call, int err);    // no object: MPI_COMM_SELF's handler (datatypes, groups, info, ...)
int uno_raise_session(MPI_Session session, const char *call, int err);
int uno_raise_win(MPI_Win win, const char *call, int err);
int uno_raise_file(MPI_File file, const char *call, int err);    // a handle that is invalid: MPI_FILE_NULL's handler
// The handler that the call was given for what it makes, and of that kind. It sees a null handle: nothing was made.
int uno_raise_given(MPI_Errhandler errhandler, const char *call, int err);

#ifdef __clang_analyzer__    // which does not see across files what these return (base/fail.h)
#define uno_raise_comm(comm, call, err) ((uno_raise_comm)(comm, call, err), (err))
#define uno_raise_self(call, err) ((uno_raise_self)(call, err), (err))
#define uno_raise_session(session, call, err) ((uno_raise_session)(session, call, err), (err))
#define uno_raise_win(win, call, err) ((uno_raise_win)(win, call, err), (err))
#define uno_raise_file(file, call, err) ((uno_raise_file)(file, call, err), (err))
#define uno_raise_given(errhandler, call, err) ((uno_raise_given)(errhandler, call, err), (err))
#endif

// How an entry point ends: raises err, or lets the lock go when there is none.
static inline int uno_finish_comm(MPI_Comm comm, const char *call, int err)
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) return uno_raise_comm(comm, call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static inline int uno_finish_self(const char *call, int err)
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static inline int uno_finish_session(MPI_Session session, const char *call, int err)
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) return uno_raise_session(session, call, err);
    uno_leave();
    return MPI_SUCCESS;
}

static inline int uno_finish_file(MPI_File file, const char *call, int err)
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) return uno_raise_file(file, call, err);
    uno_leave();
    return MPI_SUCCESS;
}

// The same for calls that are allowed at any time, before MPI_Init too: they do not enter (uno_enter), and so do not
// hold the lock.
static inline int uno_finish_any(const char *call, int err)
{
    if (__builtin_expect(err == MPI_SUCCESS, 1)) return MPI_SUCCESS;
    uno_enter(call);
    return uno_raise_self(call, err);
}

// An argument that must not be NULL is NULL, found before the call has entered: enters, and raises MPI_ERR_ARG.
__attribute__((cold)) int uno_refuse_null(MPI_Comm comm, const char *call, const char *name);

// For calls that return an error and call no handler (MPI_T): the message is kept, and said at verbosity 1.
int uno_keep_raised(const char *call, int err);

// The message of the error last raised in this thread if it was of this code, else "": MPI_Error_string appends it.
const char *uno_raised_text(int code);

// One test that ordinary data pass: a plain type, committed, an address and no large count. What fails it is looked at
// closely.
static inline bool uno_is_plain_data(const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    return (type->flags & UNO_TYPE_READY) == UNO_TYPE_READY && count >= 0 && count <= INT_MAX &&
           (uintptr_t)buf >= UNO_HANDLE_FIRST;
}

// The checks. All are skipped by callers when !uno_world.checks, except that handles are always resolved.
int uno_called_with(int errorcode);    // what MPI_Comm_call_errhandler and its like are given: MPI_ERR_ARG
int uno_check_running(void);           // between Init and Finalize
int uno_check_comm(MPI_Comm comm);     // MPI_ERR_COMM
int uno_check_intracomm(MPI_Comm comm);
int uno_check_count(MPI_Count count);     // MPI_ERR_COUNT
int uno_check_type(MPI_Datatype type);    // MPI_ERR_TYPE: live and committed
int uno_check_buffer(const void *buf, MPI_Count count,
                     const struct MPI_ABI_Datatype *type);    // MPI_ERR_BUFFER, _COUNT
// MPI_ERR_RANK: 0 .. npeers-1 or MPI_PROC_NULL.
int uno_check_dest(const struct MPI_ABI_Comm *c, int rank, const char *name);
int uno_check_source(const struct MPI_ABI_Comm *c, int rank);                    // ... or MPI_ANY_SOURCE
int uno_check_tag(int tag);                                                      // MPI_ERR_TAG: 0 .. MPI_TAG_UB
int uno_check_recv_tag(int tag);                                                 // ... or MPI_ANY_TAG
int uno_check_root(const struct MPI_ABI_Comm *c, int root);                      // MPI_ERR_ROOT
int uno_check_pointer(const void *p, const char *name);                          // MPI_ERR_ARG: NULL
int uno_check_group(MPI_Group group, const char *name);                          // MPI_ERR_GROUP
int uno_check_session(MPI_Session session);                                      // MPI_ERR_SESSION
int uno_check_errhandler(MPI_Errhandler errhandler, enum uno_errh_kind kind);    // UNO_ERRH_PREDEFINED: any kind
int uno_check_info(MPI_Info info);    // MPI_ERR_INFO: a live object or MPI_INFO_NULL
int uno_check_op(MPI_Op op);          // MPI_ERR_OP
// MPI_ERR_OP when op is not defined for the type. In a checking mode, one line per process when that goes beyond the
// standard.
int uno_check_reduction(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type);

#ifdef __clang_analyzer__
#define uno_check_pointer(p, name) ((p) ? MPI_SUCCESS : MPI_ERR_ARG)
#endif

// The least level of thread support that gives what is asked for; all of it where that is no level.
static inline int uno_thread_level(int required)
{
    if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_SERIALIZED) return MPI_THREAD_MULTIPLE;
    if (required > MPI_THREAD_FUNNELED) return MPI_THREAD_SERIALIZED;
    return required > MPI_THREAD_SINGLE ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
}
