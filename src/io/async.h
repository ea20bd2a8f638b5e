// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking accesses: one thread of the process does them, one after the other, as long as files are open.
#pragma once
#include "io/access.h"

// Starts what uno_access_begin has set up, and ends it. *request completes when some thread of the user's makes
// progress. What is done before it returns: small accesses that wait for no disk, and those in a representation of the
// user's, whose functions run in the user's thread.
int uno_async_start(const struct uno_access *a, MPI_Request *request) UNO_MUST_USE;

// The same for one that was moved already.
int uno_async_ended(const struct uno_access *a, MPI_Request *request) UNO_MUST_USE;

// A collective access that this member cannot begin, with its reason kept: the requests of the others end with the
// error, which is returned again.
int uno_async_refused(struct MPI_ABI_File *f, int err) UNO_MUST_USE;

const void *uno_async_buffer(MPI_Request request);    // the user's buffer of one that was started

// No file is open any more: the thread ends. The lock is held.
void uno_async_close(void);
