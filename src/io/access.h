// SPDX-License-Identifier: BSD-3-Clause
// One data access: part of the user's buffer and part of the view's stream. Runs without the library's lock, in the
// caller's thread or in the I/O thread (async.h).
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "core/type.h"
#include "io/view.h"

struct MPI_ABI_File;

struct uno_access {
    struct MPI_ABI_File *file;
    struct uno_view *view;
    bool write, atomic, sieve;
    int direct;     // the file past the system's cache, or -1
    bool agreed;    // nonblocking: its request ends as those of all members do (outcome.h)
    void *buf;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
    uint64_t pos, bytes;    // in the view's stream
    uint64_t done;          // bytes of the stream that were moved
    MPI_Count moved;        // bytes of the buffer's data that were
};

// Sets it up on the file's present view, except for pos; both are held until uno_access_end. The lock is held.
int uno_access_begin(struct uno_access *a) UNO_MUST_USE;
void uno_access_end(struct uno_access *a);

// Moves the data; done and moved tell how far it went, with an error or at the end of the file.
int uno_access_run(struct uno_access *a) UNO_MUST_USE;
// Reads if that needs no waiting for a disk; else false, and the buffer's content is undefined.
bool uno_access_read_now(struct uno_access *a);

// The usual access, n bytes of one run in memory and in the file from an offset in etypes on, if it is that and one
// system call moves it. False: it is to be made by the other ways. The lock is held, and let go meanwhile.
bool uno_access_at_once(struct MPI_ABI_File *f, bool write, void *buf, size_t n, MPI_Offset offset);

int uno_access_alone(struct uno_access *a) UNO_MUST_USE;    // called with the lock, which it lets go meanwhile
