// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends (MPI-4.1, 3.6): buffers attached to the process, a communicator or a session, and the messages that
// lie in them. Each owner has a slot, a pointer that is NULL while nothing is attached. The lock is held.
#pragma once
#include <stdbool.h>

#include "base/fail.h"
#include "p2p/p2p.h"

struct uno_bsend;

extern struct uno_bsend *uno_bsend_process;    // the process's slot

// 0, or MPI_ERR_BUFFER when one is attached already. buf MPI_BUFFER_AUTOMATIC: the library provides memory.
int uno_bsend_attach(struct uno_bsend **slot, void *buf, MPI_Count size) UNO_MUST_USE;

// Waits until all messages have left, then gives the buffer back.
int uno_bsend_detach(struct uno_bsend **slot, void **buf, MPI_Count *size) UNO_MUST_USE;

// Waits until all messages have left. iflush: a request for that.
void uno_bsend_flush(struct uno_bsend *b);
int uno_bsend_iflush(struct uno_bsend *b, MPI_Request *req) UNO_MUST_USE;

// Copies the message into the buffer that applies (communicator's, session's, process's) and sends it from there.
// MPI_ERR_BUFFER when there is none or no room.
int uno_bsend(const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, const struct uno_where *to) UNO_MUST_USE;

void uno_bsend_flush_all(void);     // at Finalize
size_t uno_bsend_attached(void);    // how many buffers are attached
