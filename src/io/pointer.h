// SPDX-License-Identifier: BSD-3-Clause
// The shared file pointer, in bytes of the view's stream: a word in memory that all members map where they are on one
// host, else a word of rank 0 that the others ask for by messages. The lock is held.
#pragma once
#include <stdint.h>

#include "base/fail.h"

struct MPI_ABI_File;

// Collective, when the file is opened; and when this member is done.
int uno_pointer_make(struct MPI_ABI_File *f) UNO_MUST_USE;
void uno_pointer_drop(struct MPI_ABI_File *f);

// *before has the value to which n was added (0 tells it); sets it.
int uno_pointer_add(struct MPI_ABI_File *f, uint64_t n, uint64_t *before) UNO_MUST_USE;
int uno_pointer_set(struct MPI_ABI_File *f, uint64_t value) UNO_MUST_USE;

// Collective: the members take n bytes each in the order of their ranks; *before is this one's begin. err: what a
// member found wrong already; then all get an error, and the pointer stays.
int uno_pointer_order(struct MPI_ABI_File *f, int err, uint64_t n, uint64_t *before) UNO_MUST_USE;
