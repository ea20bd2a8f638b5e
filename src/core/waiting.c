// SPDX-License-Identifier: BSD-3-Clause
// Who is waited for, and what mpiexec may read of it (waiting.h).
#define _GNU_SOURCE
#include "core/waiting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cosched.h"
#include "base/patience.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/world.h"

void (*uno_tell_held)(struct uno_board *b);

static int proc_of(const struct uno_waiting *what)
{
    bool known = what->comm && what->peer >= 0 && what->peer < what->comm->npeers;
    return known ? uno_comm_proc(what->comm, what->peer) : -1;
}

// Of the one other rank of this host that is waited for; NULL: there is none.
static const struct uno_door *door_of(const struct uno_waiting *what)
{
    int proc = proc_of(what);
    int local = proc >= 0 && !uno_proc_is_guest(proc) ? uno_local_of(proc) : -1;
    bool known = local >= 0 && (uint32_t)local < uno_patience.ndoors && (uint32_t)local != uno_patience.own;
    return known ? &uno_patience.doors[local] : NULL;
}

void uno_waiting(const struct uno_waiting *what, struct uno_patience *p)
{
    uno_cosched_wait(p, what && what->looks ? door_of(what) : NULL);
}

void uno_waited(const struct uno_patience *p)
{
    uno_cosched_waited(p);
}

uint64_t uno_waiting_looks(const struct uno_waiting *what, struct uno_patience *p)
{
    return uno_cosched_looks(p, what ? door_of(what) : NULL);
}

bool uno_waiting_message(MPI_Request r, const struct uno_waiting *what, struct uno_patience *p)
{
    bool message = r->kind == UNO_REQ_RECV || r->kind == UNO_REQ_SEND;
    const struct uno_door *of = message ? door_of(what) : NULL;
    if (of) uno_cosched_wait_message(p, of);
    return of != NULL;
}

void uno_waited_message(MPI_Request r, const struct uno_patience *p)
{
    uno_cosched_waited_message(p, r->kind == UNO_REQ_RECV, (size_t)uno_status_bytes(&r->status));
}

static void tell_board(const struct uno_waiting *what)
{
    struct uno_board *b = uno_world.board;
    const char *call = uno_world.call ? uno_world.call : "";
    strncpy(b->wait_call, call, sizeof b->wait_call - 1);
    strncpy(b->last_call, call, sizeof b->last_call - 1);
    bool known = what && what->comm;
    snprintf(b->wait_comm, sizeof b->wait_comm, "%.*s", (int)sizeof b->wait_comm - 1, known ? what->comm->name : "");
    b->wait_peer = -2;
    b->wait_tag = -2;
    if (uno_chan_self.guests || uno_chan_self.meetings) b->wait_peer = -3;    // another job may end this wait
    if (uno_tell_held) uno_tell_held(b);
    if (!known) return;
    int proc = proc_of(what);
    if (proc >= 0 && !uno_proc_is_guest(proc))
        b->wait_peer = proc;
    else if (what->peer == MPI_ANY_SOURCE && !uno_chan_self.guests)
        b->wait_peer = -1;
    b->wait_tag = what->tag == MPI_ANY_TAG ? -1 : what->tag;
}

// Relaxed: the counters of uno_tell_asleep publish it.
void uno_tell_sleeper(void)
{
    static _Thread_local pid_t self;
    if (!self) self = gettid();
    atomic_store_explicit(&uno_world.board->sleeper, self, memory_order_relaxed);
}

// The progress thread says so too, which serves others while this process waits.
void uno_tell_nap(void)
{
    // Release: mpiexec reads the wait's description after it sees the counters.
    atomic_fetch_add_explicit(&uno_world.board->naps, 1, memory_order_release);
}

void uno_tell_asleep(const struct uno_waiting *what)
{
    tell_board(what);
    uno_tell_nap();
    // Release: as in uno_tell_nap.
    atomic_fetch_add_explicit(&uno_world.board->asleep, 1, memory_order_release);
}

void uno_tell_awake(void)
{
    // Release: as in uno_tell_nap.
    atomic_fetch_sub_explicit(&uno_world.board->asleep, 1, memory_order_release);
    uno_tell_nap();
}
