// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of point-to-point share: their arguments as one struct, and the checks of all of them in one
// test.
#pragma once
#include <stdint.h>

#include "api/check.h"
#include "p2p/inner.h"

// Arguments of a send or a receive. call: the function's name, for messages.
struct uno_args {
    const char *call;
    const void *buf;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
};

// The slow, complete checks (api/p2p_check.c): 0, or the class with the reason kept. Also 0 for what is merely unusual
// (MPI_PROC_NULL, a type to pack, wildcards).
int uno_check_send(struct uno_args a);
int uno_check_recv(struct uno_args a);

// One test that an ordinary call passes: live communicator, rank in range, tag and count not negative, type live,
// committed and plain, buffer an address and not NULL or
// MPI_IN_PLACE. A call that fails it is looked at closely.
static inline __attribute__((always_inline)) bool uno_quick_check(const struct MPI_ABI_Comm *c,
                                                                  const struct MPI_ABI_Datatype *t, struct uno_args a)
{
    return c && t && c->head.magic == UNO_COMM_MAGIC && !c->freed && (unsigned)a.rank < (unsigned)c->npeers &&
           a.tag >= 0 && a.count >= 0 && (t->flags & UNO_TYPE_READY) == UNO_TYPE_READY &&
           (uintptr_t)a.buf >= UNO_HANDLE_FIRST;
}

// So but for going to nobody, as at the edge of a grid.
static inline __attribute__((always_inline)) bool uno_is_to_nobody(const struct MPI_ABI_Comm *c,
                                                                   const struct MPI_ABI_Datatype *t, struct uno_args a)
{
    bool nobody = a.rank == MPI_PROC_NULL;
    a.rank = 0;
    return nobody && uno_quick_check(c, t, a);
}

// Resolves and checks; on success *where and *type are set and the lock is held, on error the result of the raised
// handler is given and the lock is free. Arguments go by value so that they stay in registers: built in memory from the
// parameters and read back as wider words, they would wait for all earlier stores, those to the peer's ring too
// (measured: 10 M/s against 20).
static inline __attribute__((always_inline)) int uno_begin(struct uno_args a, int (*check)(struct uno_args),
                                                           struct uno_where *where, struct MPI_ABI_Datatype **type)
{
    struct MPI_ABI_Comm *c = uno_comm(a.comm);
    *type = uno_type(a.type);
    uno_enter(a.call);
    if (__builtin_expect(!uno_quick_check(c, *type, a), 0) && !uno_is_to_nobody(c, *type, a) && uno_world.checks) {
        int err = check(a);
        if (err) return uno_raise_comm(a.comm, a.call, err);
    }
    where->comm = c;
    where->rank = a.rank;
    where->tag = a.tag;
    where->coll = false;
    return MPI_SUCCESS;
}

// The receives of matched messages (api/probe.c) and the exchanges (api/sendrecv.c), from the arguments to the result
// that the call returns. s and r name the same call and communicator. By address: what is copied in wide words waits
// for the stores before it.
struct uno_pair {
    struct uno_args s, r;
};
int uno_mrecv(const struct uno_args *a, MPI_Message *message, MPI_Status *status);
int uno_imrecv(const struct uno_args *a, MPI_Message *message, MPI_Request *request);
int uno_pair_exchange(const struct uno_pair *p, MPI_Status *status);
int uno_pair_replace(const struct uno_pair *p, MPI_Status *status);    // in one buffer: r's is s's
int uno_pair_start(const struct uno_pair *p, bool replace, MPI_Request *request);

// A request as the user holds it: 0 when live or MPI_REQUEST_NULL, MPI_ERR_REQUEST with the reason kept otherwise.
int uno_check_request_closely(MPI_Request r);
static inline int uno_check_request(MPI_Request r)
{
    bool right = uno_request_is_live(r) || (r == MPI_REQUEST_NULL && uno_is_running());
    return __builtin_expect(right, 1) ? MPI_SUCCESS : uno_check_request_closely(r);
}
