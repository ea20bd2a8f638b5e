// SPDX-License-Identifier: BSD-3-Clause
// What the members of a window on one host share, whatever the path of an operation: the words of each part, the memory
// of windows that the library allocates, the barrier of all members.
#pragma once
#include "base/job.h"
#include "p2p/meet.h"
#include "p2p/share.h"
#include "rma/ticket.h"
#include "rma/win.h"

#define UNO_RMA_STRIPES 32

// Of one part. Behind it lie, per member of the window, the counts of its posts and of its completes, which only grow,
// and the slots of the queue for the lock.
struct uno_rma_words {
    struct uno_ticket_lock lock;
    struct uno_rma_stripe {
        _Alignas(UNO_LINE) _Atomic uint32_t busy;    // 1: somebody accumulates
    } stripe[UNO_RMA_STRIPES];
};

struct uno_rma_shared {
    struct uno_meet meet;           // all members
    struct uno_share share;         // words, and the memory of windows that the library allocates
    char *memory;                   // in it, NULL: there is none
    size_t before, stride;          // in it: bytes before the members' words, bytes of one member
    struct uno_ticket_queue all;    // its first room: who locks all parts, its second: who locks any exclusively
    struct uno_door *door[];        // [ranks] where the members on this host are woken; NULL: it is on another
};

// How often this process has told the part: posted to it (MPI_Win_post), completed (MPI_Win_complete).
_Atomic uint64_t *uno_win_posted(const struct MPI_ABI_Win *w, const struct uno_rma_part *p);
_Atomic uint64_t *uno_win_completed(const struct MPI_ABI_Win *w, const struct uno_rma_part *p);

// The lock of a part on this host.
struct uno_ticket_queue uno_win_queue(const struct MPI_ABI_Win *w, const struct uno_rma_part *p);

// Raises a word of a member on this host by one and wakes the member.
void uno_win_raise(const struct MPI_ABI_Win *w, _Atomic uint64_t *word, int rank);
