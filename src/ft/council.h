// SPDX-License-Identifier: BSD-3-Clause
// An agreement of n members, any of which may die at any moment, by messages between them alone: the state of one
// member, and what it does next. It knows nothing of processes and links (mixed.c has those), so that its test can play
// every order of messages and deaths. Why it is so: docs/design/survive.md.
//
// Sets of members are bits in words, by number, 0 to n - 1.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uno_say_what {
    UNO_SAY_VOTE,        // to who leads: what the member wants
    UNO_SAY_HELD,        // to who leads: it has accepted a proposal already
    UNO_SAY_CALL,        // of a new leader: vote for me, these are dead
    UNO_SAY_PROPOSAL,    // of the leader, once all living members have voted
    UNO_SAY_ACCEPT,      // of a proposal
    UNO_SAY_DECISION,    // all living members have accepted it
    UNO_SAY_REVOKE,      // no part of an agreement: the communicator is revoked
    UNO_SAY_END
};

// What is decided, together with the set of the dead.
struct uno_motion {
    int32_t flag;       // the bits that all have in common
    uint32_t uneasy;    // a failed member was not acknowledged by all
    uint64_t offer;     // contexts that a communicator made of the members may have
};

// On the wire. Two sets follow, but for a revocation: the dead of the motion, or in a vote those acknowledged; and all
// that the sender takes for dead.
struct uno_say {
    uint32_t what, turn;    // turn: number of the agreement on its communicator
    int32_t round;          // who proposed the motion, -1: nobody yet
    uint32_t from, to;      // numbers of the members
    uint32_t crosses;       // to the other side of an intercommunicator whose groups have a process in common
    struct uno_motion motion;
};

enum uno_council_set { UNO_DEAD, UNO_GONE, UNO_KNOWN, UNO_VOTED, UNO_ACCEPTED, UNO_OUT, UNO_COUNCIL_SETS };

struct uno_council {
    // Sends it to a member, which may be dead.
    void (*tell)(struct uno_council *c, int to, const struct uno_say *say, const uint64_t *first, const uint64_t *dead);
    int n, me;
    int lead;                          // whom this member has turned to; itself: it leads; -1: nobody yet
    int round;                         // of the motion that it holds, -1: none
    bool asked;                        // it leads, and has proposed that motion
    bool decided;                      // the motion and the set UNO_OUT are what all agree on
    struct uno_motion vote, motion;    // vote: its own, of a leader with those that it has heard
    // [words each]: dead by what it has seen or heard; dead for sure; acknowledged by all that have voted; have voted;
    // have accepted; the dead of the motion.
    uint64_t *set[UNO_COUNCIL_SETS];
};

static inline size_t uno_council_words(int n)
{
    return ((size_t)n + 63) / 64;
}

static inline void uno_set_add(uint64_t *set, int i)
{
    set[i / 64] |= 1ULL << i % 64;
}

static inline bool uno_set_has(const uint64_t *set, int i)
{
    return set[i / 64] >> i % 64 & 1;
}

// For n members of which this is number `me`; vote and UNO_KNOWN are then filled in. False: no memory.
bool uno_council_make(struct uno_council *c, int n, int me);
void uno_council_free(struct uno_council *c);

// A member has died; a message came from it. Only noted: uno_council_step acts.
void uno_council_lost(struct uno_council *c, int member);
void uno_council_hear(struct uno_council *c, int from, const struct uno_say *say, const uint64_t *sets);

// Says what is to be said now. Called after whatever was noted, until it comes back with `decided`.
void uno_council_step(struct uno_council *c);

// What a member for which the agreement is over answers: `what` of *say is changed. False: nothing.
bool uno_council_answer(struct uno_say *say);
