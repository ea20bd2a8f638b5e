// SPDX-License-Identifier: BSD-3-Clause
// The part of this process in an agreement, for the files of src/ft: agree.c begins and ends it; between these it is
// mpiexec's business (agree.c) or, over several jobs, the members' own (mixed.c).
//
// Members have numbers that all of them know: their ranks; of an intercommunicator first those of the `low` group. A
// process in both groups is two members, one by each of its objects.
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/fail.h"
#include "ft/council.h"

struct MPI_ABI_Comm;

struct uno_vote {
    struct uno_vote *next;
    MPI_Request req;
    struct MPI_ABI_Comm *comm;    // held by the request
    uint32_t turn;                // number of the agreement on it
    int *flag;                    // of an agreement
    MPI_Comm *out;                // of a shrink
    struct uno_council council;
    bool mixed;      // it is the members' own business, and council is in use
    bool stirred;    // something was noted there
    bool watches;    // it leads, and hears when another member dies
    int failed;      // failures of members that the council knows of
    int error;       // why no message can be sent, 0
};

extern struct uno_vote *uno_votes;    // all that are under way

struct uno_vote *uno_vote_find(uint64_t context, uint32_t turn);

// Ends it, and frees it: with what was decided, by number of member, or without.
void uno_vote_end(struct uno_vote *v, const struct uno_motion *motion, const uint64_t *dead);
void uno_vote_fail(struct uno_vote *v, int error);

int uno_ft_members(const struct MPI_ABI_Comm *c);
int uno_ft_member(const struct MPI_ABI_Comm *c, int i);    // its process

// mixed.c: the communicator has processes of several jobs. May end v at once.
int uno_mixed_begin(struct uno_vote *v) UNO_MUST_USE;
void uno_mixed_revoke(struct MPI_ABI_Comm *c);    // tells the other members
void uno_mixed_close(void);
