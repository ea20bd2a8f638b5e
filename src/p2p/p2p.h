// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point for the inside: collectives, communicator construction and the entry points all send through these.
// The lock is held by the caller; arguments are already checked; MPI_PROC_NULL is handled here. Results: 0 or an MPI
// error class.
#pragma once
#include <mpi.h>

#include "base/fail.h"
#include "core/comm.h"
#include "core/request.h"
#include "core/type.h"

// UNO_COPIED: as standard, from memory that this process has just copied the message to.
enum uno_mode { UNO_STANDARD, UNO_SYNC, UNO_READY, UNO_BUFFERED, UNO_COPIED };

// Where a message goes or comes from. coll: it belongs to a collective (in a context of its own, so that it never meets
// the user's messages).
struct uno_where {
    struct MPI_ABI_Comm *comm;
    int rank, tag;    // receives: MPI_ANY_SOURCE, MPI_ANY_TAG allowed
    bool coll;
};

int uno_send(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
             enum uno_mode mode) UNO_MUST_USE;
int uno_recv(void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *from,
             MPI_Status *status) UNO_MUST_USE;

// A standard send, if it can leave at once: the memory is then the caller's again. UNO_FULL: nothing has happened.
int uno_send_at_once(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type,
                     const struct uno_where *to) UNO_MUST_USE;

// *req is &uno_request_sent when the message left at once.
int uno_isend(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
              enum uno_mode mode, MPI_Request *req) UNO_MUST_USE;
// The same of a standard send, for a caller who waits for it next, or receives in between.
int uno_isend_waited(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                     MPI_Request *req) UNO_MUST_USE;
// The same, for a caller who writes to the memory as soon as the message has left it.
int uno_isend_rewritten(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to,
                        MPI_Request *req) UNO_MUST_USE;
int uno_irecv(void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *from,
              MPI_Request *req) UNO_MUST_USE;

// Waits, hands the status out (may be MPI_STATUS_IGNORE), frees the request (unless persistent) and sets *req to
// MPI_REQUEST_NULL. Returns the operation's error class.
int uno_wait(MPI_Request *req, MPI_Status *status) UNO_MUST_USE;

// As MPI_Sendrecv with one datatype per side.
int uno_sendrecv(const void *sbuf, MPI_Count scount, struct MPI_ABI_Datatype *stype, const struct uno_where *to,
                 void *rbuf, MPI_Count rcount, struct MPI_ABI_Datatype *rtype, const struct uno_where *from,
                 MPI_Status *status) UNO_MUST_USE;
