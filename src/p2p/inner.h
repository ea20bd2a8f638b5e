// SPDX-License-Identifier: BSD-3-Clause
// What the files of src/p2p share with each other and with the entry points of point-to-point, beyond p2p.h.
#pragma once
#include "base/fail.h"
#include "core/request.h"
#include "p2p/p2p.h"

struct uno_unexp;
struct uno_link;

// deliver.c: the receive r (not queued) gets the message u, which is freed.
void uno_recv_unexpected(MPI_Request r, struct uno_unexp *u);

// deliver.c: a receive ends because its sender cannot be answered.
void uno_recv_broken(MPI_Request r, int error);

// cancel.c: takes a send back that has not left this process; else the library takes it over, and it is complete.
int uno_cancel_send(MPI_Request r) UNO_MUST_USE;

// send.c: a send ends because its announcement cannot be sent, or its receiver is gone; not one that the channel copies
// already, which ends there.
void uno_send_broken(MPI_Request r, int error);

// send.c, recv.c: set a request's envelope and data up; start it.
void uno_send_setup(MPI_Request r, const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type,
                    const struct uno_where *to);
int uno_send_start(MPI_Request r) UNO_MUST_USE;
void uno_recv_setup(MPI_Request r, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type,
                    const struct uno_where *from);
int uno_recv_start(MPI_Request r) UNO_MUST_USE;

// The caller no longer wants what *req receives: it is taken back, or waited for where its message has come.
void uno_recv_abandon(MPI_Request *req);

// ---- fail.c: members of a communicator that have failed ----

// Why an operation with that rank of c (MPI_ANY_SOURCE, MPI_PROC_NULL: any) cannot be: the class, its reason kept; 0
// where nothing stands against it. Members that failed matter to collective operations alike, but not to receives from
// any source.
int uno_comm_refusal(const struct MPI_ABI_Comm *c, int rank, bool coll);

// A failure of a member that was not acknowledged: receives from any source may wait for it.
static inline bool uno_comm_is_uneasy(const struct MPI_ABI_Comm *c)
{
    return c->failed > c->acknowledged;
}

// Receives from any source that wait, with an error but not at their end: the next wait says so again.
bool uno_recv_is_pending(const struct MPI_ABI_Request *r);

// A communicator is made: it may have members that failed before.
void uno_comm_examine(struct MPI_ABI_Comm *c);

extern const struct uno_request_ops uno_send_ops, uno_recv_ops;
extern uint64_t uno_receives;    // recv.c: that have begun

// Fills *status from a completed request as the standard says (generalized query included) and gives the error class.
int uno_request_finish(MPI_Request r, MPI_Status *status);

// finish.c: waits until every rank of the job is in MPI_Finalize.
int uno_p2p_finish(void) UNO_MUST_USE;
