// SPDX-License-Identifier: BSD-3-Clause
// A meeting under way, for the two files that know of it: meeting.c (the roots, and what users see) and side.c (what
// the members of one side tell each other).
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "chan/proc.h"
#include "dpm/dpm.h"
#include "dpm/port.h"

enum stage {
    M_DIAL,      // root, connect: to be dialled again
    M_MEET,      // root: waits for a connection (accept), for GREET (connect)
    M_GATHER,    // root: the members' cards, and the other side's CARDS (accept)
    M_ANSWER,    // root: waits for TAKEN (connect), for COMMIT (accept)
    M_TELL,      // root: how it ended goes to the members
    M_HEAR,      // member: waits for the root's word
    M_GIVE,      // member: its card goes to the root
    M_LEARN,     // member: the cards of the other side
    M_REACH,     // the communicator is made: links to all of the other side; root: the members', too
    M_SWAP,      // root: waits for MET
    M_LEAVE      // root: all is well goes to the members; member: waits for that
};

enum reach { REACH_NONE, REACH_HOST, REACH_FAR };    // how the cards that a root asks for are to be good

// What a root tells its members, first that it wants their cards, then how it ended.
struct word {
    int32_t gather, err, cancelled, n;    // gather: an enum reach
    uint64_t context;
    char why[200];
};

struct meeting {
    struct dpm_guest guest;
    struct meeting *next;
    enum uno_meeting_role role;
    enum stage stage;
    struct MPI_ABI_Comm *comm;
    int root, tag;
    MPI_Comm *out;
    struct MPI_ABI_Comm *made;    // goes there when all of both sides are reached
    MPI_Request request;
    char port[MPI_MAX_PORT_NAME];
    uint64_t deadline, retry;    // 0: none
    bool limited;                // the user has said how long
    struct dpm_wire *wire;
    struct uno_card *mine, *theirs;
    int ntheirs;
    bool far;         // processes on several hosts meet
    bool gathered;    // mine is complete, and good for what was asked
    enum reach asked;
    bool gathering;
    bool cancel;         // as soon as nobody is bound
    bool waits;          // at the port
    bool met;            // the other side has reached all of this one, or its root is gone
    bool over;           // ended: to be taken off the list
    MPI_Request *sub;    // messages inside comm, under way
    int nsub;
    struct word word;
};

static inline bool meeting_is_root(const struct meeting *m)
{
    return m->comm->rank == m->root;
}

// ---- side.c: at the root ----
void dpm_side_gather(struct meeting *m);    // asks the members for their cards
void dpm_side_tell(struct meeting *m);      // how it ended goes to the members, if there are any
// Whether all messages inside the side have ended; *err: the first error of theirs.
bool dpm_side_ended(struct meeting *m, int *err);
void dpm_side_end(struct meeting *m);    // the call ends
void dpm_side_fail(struct meeting *m, int err, const char *why);
void dpm_side_fail_kept(struct meeting *m, int err);    // for the reason that is kept

// ---- side.c: at all, once the processes of the other side are known ----
void dpm_side_make(struct meeting *m);               // the communicator; then the stage is M_REACH
bool dpm_side_reached(const struct meeting *m);      // whether this process is linked with all of the other side
void dpm_side_call(struct meeting *m, bool send);    // an empty message to or from the root, or each other member

// ---- side.c: at the other members ----
void dpm_side_hear(struct meeting *m);    // begins
int dpm_side_step(struct meeting *m);     // whether it has moved on
