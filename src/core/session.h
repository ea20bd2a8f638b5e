// SPDX-License-Identifier: BSD-3-Clause
// Sessions: what the handle points to.
#pragma once
#include <mpi.h>

#include "base/pool.h"

#define UNO_SESSION_MAGIC 0x55534553u

struct MPI_ABI_Session {
    struct uno_head head;
    struct MPI_ABI_Errhandler *errhandler;
    struct MPI_ABI_Info *info;
    struct uno_bsend *bsend;    // buffer attached to the session (src/p2p/buffered.c)
    int thread_level;           // the level that was granted
};

struct MPI_ABI_Session *uno_session(MPI_Session h);    // NULL when not a live handle (MPI_SESSION_NULL too)
struct MPI_ABI_Session *uno_session_new(void);         // NULL when memory is out
void uno_session_drop(struct MPI_ABI_Session *s);
