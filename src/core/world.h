// SPDX-License-Identifier: BSD-3-Clause
// The process's own place: its rank in the job, whether it has threads, and the lock of the library.
//
// Every entry point that touches shared state runs between uno_lock() and uno_unlock(); without MPI_THREAD_MULTIPLE
// both are one predicted branch. The lock is recursive (a callback of the user may call MPI). A wait releases it while
// it sleeps.
#pragma once
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/job.h"

enum uno_phase { UNO_BEFORE_INIT, UNO_RUNNING, UNO_FINALIZED };

struct uno_world {
    int rank, size;            // in MPI_COMM_WORLD
    uint32_t processors;       // that this process may use; 0: not known
    uint32_t local, nlocal;    // in the job segment
    int appnum, universe;
    bool singleton;
    bool threads;    // MPI_THREAD_MULTIPLE: the lock is real
    bool checks;     // argument checks (parameter `checks`)
    int thread_level;
    _Atomic int phase;    // enum uno_phase; users: sessions and the world model together
    _Atomic int opens;    // MPI_Init and live sessions
    struct uno_job_head *job;
    struct uno_board *board;
    struct uno_door *door;
    const char *volatile call;    // the MPI call last entered, for messages
    char host[MPI_MAX_PROCESSOR_NAME];
    int *local_of;    // [size] local index of a world rank, -1 on another host; NULL when all are here (identity)
};

extern struct uno_world uno_world;

// Adds to the board what a deadlock report should tell of windows; NULL: there are none (src/rma).
extern void (*uno_tell_held)(struct uno_board *b);

void uno_lock_slow(void);
void uno_unlock_slow(void);

static inline void uno_lock(void)
{
    if (__builtin_expect(uno_world.threads, 0)) uno_lock_slow();
}

static inline void uno_unlock(void)
{
    if (__builtin_expect(uno_world.threads, 0)) uno_unlock_slow();
}

// Whether this thread may touch what the lock guards: it has it, or is the only one that calls MPI.
bool uno_lock_is_mine(void);

// For those who include base/invariant.h.
#define uno_assert_locked() uno_assert(uno_lock_is_mine())

// Releases the lock whatever its depth and returns the depth; takes it again to that depth.
int uno_lock_drop(void);
void uno_lock_retake(int depth);
void uno_lock_give_core(void);    // gives the core away, with the lock released meanwhile

// src/core/world.c: opens the library (first of MPI_Init, MPI_Session_init) and closes it (last of both). Lock not
// held.
int uno_world_open(int thread_level) UNO_MUST_USE;
void uno_world_close(void);

// Between two uses: everything stays open, but MPI is not running and the process may exit.
void uno_world_rest(void);
void uno_world_wake(int thread_level);

// Ends the job: gives the launcher the reason `why` and exits with `code`. Does not return.
_Noreturn void uno_world_abort(int code, const char *why);

// Wakes the thread that sleeps on this word, once the lock is free: woken before, it would only wait for it, perhaps on
// the core of who has it. The word may be gone by then, which does no harm.
void uno_lock_wakes(_Atomic uint32_t *word);

// Lets threads that want the lock have it, if there are any, and wakes those that are to be woken. Called by a thread
// that polls for long.
void uno_lock_offer(void);
