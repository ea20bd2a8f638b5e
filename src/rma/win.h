// SPDX-License-Identifier: BSD-3-Clause
// Windows: what the handle points to, for the files of src/rma and its entry points.
//
// Each member has a part: its memory, and the words by which it is locked and told. How a part is accessed is its path,
// chosen when the window is made: MAPPED (loads and stores), REACH (copies across process memory), MESSAGE (a handler
// at the target). The words of all members of a host lie in one share, so that synchronisation inside a host never
// needs the target's processor, whatever the path.
#pragma once
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "core/comm.h"

#define UNO_WIN_MAGIC 0x5557494eu

enum uno_rma_path { UNO_RMA_MAPPED, UNO_RMA_REACH, UNO_RMA_MESSAGE };

struct uno_rma_words;     // what the members of a host share per part (words.h)
struct uno_rma_shared;    // what they map and meet by (words.h)
struct uno_errands;       // errand.c
struct uno_win_access;    // parts that a channel can access (access.c)

enum uno_rma_held { UNO_RMA_FREE, UNO_RMA_SHARED, UNO_RMA_EXCLUSIVE, UNO_RMA_NOCHECK };

// The part of one member as this process sees it.
struct uno_rma_part {
    char *base;     // MAPPED: an address here; REACH and MESSAGE: in its own process
    size_t size;    // bytes; of a dynamic window SIZE_MAX
    MPI_Aint unit;
    int pid;                        // REACH
    struct uno_errands *errands;    // REACH: where what the target may do is left (errand.c), NULL: nowhere
    uint8_t shy, passed;            // operations to do without it since it was not there, and how many were
    uint8_t path;                   // enum uno_rma_path
    uint8_t held;                   // enum uno_rma_held: what this process holds in its passive epoch
    bool begun;                     // MPI_Win_start has opened an epoch
    bool direct;                    // MAPPED, and all of it: operations may go the short way (direct.h)
    bool immediate;                 // MAPPED or REACH: a flush has nothing to wait for
    bool stored;                    // by MESSAGE: since the last answer
    uint32_t turns;                 // exclusive locks that this process has had
    uint32_t stripes;               // locks of accumulates in use, less one (combine.c)
    uint64_t owed;                  // by MESSAGE: bytes of gets and fetches that are under way
    char *kept;                     // by MESSAGE: an operation that is not sent yet (remote.c), owned here
    size_t kept_bytes;
    uint64_t unconfirmed;           // by MESSAGE: bytes sent since the last answer
    uint64_t refused;               // by MESSAGE: an address that was not attached there, 0: none
    struct uno_rma_words *words;    // NULL: on another host
    uint64_t posts, completes;      // that this process has taken note of
    _Atomic uint64_t granted;       // locks that a part on another host has granted
    _Atomic uint64_t answered;      // flushes that it has answered
    uint64_t asked_locks, asked_answers;
    uint64_t accesses;                   // that this process has begun (access.c)
    _Atomic uint64_t accessed;           // and those that have ended
    uint64_t access_from, access_end;    // bytes that those under way touch, at most
    int access_error;                    // class, of one that did not end well
};

struct MPI_ABI_Win {
    struct uno_head head;
    int ranks;
    bool fenced;    // a fence has begun an epoch
    bool all_locked, all_unchecked;
    bool polls;                   // calls that poll nothing do so now and then: guests, or messages by connections
    bool messages;                // some part goes by MESSAGE
    bool errands;                 // this process has opened them for the others
    struct uno_rma_part *part;    // [ranks]
    MPI_Win handle;
    struct MPI_ABI_Comm *comm;    // of its own: the members, a context for messages, the error handler
    struct MPI_ABI_Comm *node;    // the members on this host
    struct uno_rma_shared *shared;
    _Atomic uint64_t *posted, *completed;    // [ranks] of this process, in `words`: told by each other member
    struct uno_attrs *attrs;
    struct MPI_ABI_Info *info;
    char name[MPI_MAX_OBJECT_NAME];
    int flavor;    // MPI_WIN_FLAVOR_*
    void *base;    // of this process: what the attribute MPI_WIN_BASE gives
    MPI_Aint size;
    int unit, model;
    bool no_locks;                              // the hint
    int locks, writing;                         // parts locked one by one; those on this host locked exclusively
    struct MPI_ABI_Group *started, *exposed;    // epochs of start and post
    struct uno_arena_view *borrowed;            // [size] parts of MPI_Alloc_mem's memory (borrow.c), NULL: none
    struct uno_win_access *access;              // NULL: no member can open its part
    struct uno_win_check *check;                // the checking mode (check.c), NULL: off
    struct uno_win_regions *attached;           // dynamic windows (region.c)
    struct MPI_ABI_Win *next, *prev;            // all windows of this process
};

// Whether a call on the short way, which polls nothing, is to go the long way and hear what has happened.
static inline bool uno_win_is_due(const struct MPI_ABI_Win *w)
{
    return uno_news_waits() || (__builtin_expect(w->polls, 0) && uno_guests_due());
}

struct MPI_ABI_Win *uno_win(MPI_Win h);           // NULL when not a live handle (MPI_WIN_NULL too)
const struct MPI_ABI_Win *uno_win_first(void);    // of all windows
struct MPI_ABI_Win *uno_win_of_context(uint64_t context);
