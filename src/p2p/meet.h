// SPDX-License-Identifier: BSD-3-Clause
// A barrier for the members of a communicator below the collectives, for windows and files: through two words that all
// members map where they are on one host, else through messages. The lock is held.
#pragma once
#include "base/fail.h"
#include "p2p/share.h"
#include "p2p/team.h"

struct meet_words;

struct uno_meet {
    struct uno_team team;
    struct uno_share share;
    struct meet_words *words;    // NULL: through messages
    uint64_t turn;               // meetings so far
};

// Collective over c, an intracommunicator, which the barrier then holds. 0, or an error class on all members.
int uno_meet_make(struct MPI_ABI_Comm *c, struct uno_meet *meet) UNO_MUST_USE;

// The same in uno_meet_bytes() that the caller has shared, zero at first, which stay as long as it; NULL: through
// messages. c as above; not collective, nothing can fail.
size_t uno_meet_bytes(void);
void uno_meet_make_in(struct MPI_ABI_Comm *c, void *words, struct uno_meet *meet);

// Returns once all members have called it; what they wrote to shared memory before is seen after.
int uno_meet(struct uno_meet *meet) UNO_MUST_USE;

// This member needs it no more; others may still be inside the last meeting.
void uno_meet_drop(struct uno_meet *meet);
