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

// send.c: a send ends because its announcement cannot be sent.
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

extern const struct uno_request_ops uno_send_ops, uno_recv_ops;

// Fills *status from a completed request as the standard says (generalized query included) and gives the error class.
int uno_request_finish(MPI_Request r, MPI_Status *status);

// finish.c: waits until every rank of the job is in MPI_Finalize.
int uno_p2p_finish(void) UNO_MUST_USE;
