// SPDX-License-Identifier: BSD-3-Clause
// Published names: a service and the port it is found at. A table of what this process has published for itself or, in
// mpiexec, for its ranks. Every entry is also a file in a folder of the user's, so that independently started jobs on
// this host find it, or on all hosts that share the folder. The publisher keeps its file locked: one that nobody has
// locked was left by a process that died, is not found, and makes way for the next. All functions return 0 or an MPI
// error class, with a reason that speaks of the name as "it".
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct uno_name;
struct uno_names {
    struct uno_name *first;
};

// MPI_ERR_SERVICE: it is published, by this table or by another process that lives. `owner` is the caller's, for
// uno_names_drop().
int uno_names_publish(struct uno_names *t, const char *service, const char *port, uint64_t owner) UNO_MUST_USE;

// MPI_ERR_SERVICE: this table has not published it.
int uno_names_unpublish(struct uno_names *t, const char *service) UNO_MUST_USE;

// The port, as text in `port`, of this table's or another process's name. MPI_ERR_NAME: nobody has published it, or the
// reason why that is not known.
int uno_names_look_up(const struct uno_names *t, const char *service, char *port, size_t room) UNO_MUST_USE;

void uno_names_drop(struct uno_names *t, uint64_t owner);    // what that owner has published
void uno_names_close(struct uno_names *t);                   // all
