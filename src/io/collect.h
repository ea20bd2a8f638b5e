// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses. Where the members' parts are long, or lie apart, each moves its own. Where they are short and
// interleave, two members per host move them for all, each a part of the file.
#pragma once
#include <mpi.h>

#include "io/access.h"

struct MPI_ABI_File;

// All members call. a was set up by uno_access_begin, or is NULL where `err` says what is wrong already; then nothing
// is moved. All members get success, or all get an error. The lock is held, but not while data is moved.
int uno_collect_run(struct MPI_ABI_File *f, struct uno_access *a, int err) UNO_MUST_USE;

// The same, as the begin of a split collective: *request completes when this member's part is moved, which is at once
// where the members moved it together. The access is ended here, or by the request. The outcome of what each moves is
// to be agreed on later.
int uno_collect_begin(struct MPI_ABI_File *f, struct uno_access *a, int err, MPI_Request *request) UNO_MUST_USE;
