// SPDX-License-Identifier: BSD-3-Clause
// A team: some ranks of a communicator that meet or agree on something: while a communicator is being made, memory is
// shared (share.h), a barrier is made (meet.h), the job ends. Plain bytes, small trees of point-to-point messages on
// the collective context. Collectives have schedules.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "core/comm.h"

struct uno_team {
    struct MPI_ABI_Comm *comm;
    const int *member;    // [n] ranks in comm; NULL: all ranks, in the order root, root + 1, ...
    int n, me;            // size, own index
    int root;             // with member NULL: rank of index 0
    int tag;
};

// Tags on the collective context. Operations that all members of a communicator start in one order use uno_coll_tag()
// >= 0; the others name their own, in ranges below zero that hold neither MPI_ANY_TAG nor each other.
#define UNO_TAG_SUBGROUP(t) (-0x7fffffff + ((t)&0x3fffffff))
#define UNO_TAG_LEADERS(t) (-0x3fffffff + ((t)&0x1fffffff))
#define UNO_TAG_NAMED(t) (-0x1fffffff + ((t)&0x0fffffff))

// All ranks of c, of an intercommunicator the local group, with its next collective tag; index 0 is root.
struct uno_team uno_team_all(struct MPI_ABI_Comm *c, int root);

int uno_team_rank(const struct uno_team *t, int index);

// From index 0 to all.
int uno_team_bcast(const struct uno_team *t, void *data, size_t bytes) UNO_MUST_USE;

// all: [n * bytes], own part filled in; complete at index 0 (gather) or everywhere (allgather).
int uno_team_gather(const struct uno_team *t, void *all, size_t bytes) UNO_MUST_USE;
int uno_team_allgather(const struct uno_team *t, void *all, size_t bytes) UNO_MUST_USE;

// Parts of different sizes: that of index i lies at offset[i] .. offset[i + 1] - 1 (n + 1 offsets, the same
// everywhere).
int uno_team_allgatherv(const struct uno_team *t, void *all, const size_t *offset) UNO_MUST_USE;

// *value becomes the largest of all members' values, everywhere.
int uno_team_most(const struct uno_team *t, int64_t *value) UNO_MUST_USE;

// The same for each of n values, up to UNO_TEAM_VALUES; after an error they are anything.
#define UNO_TEAM_VALUES 5
int uno_team_most_of(const struct uno_team *t, int64_t *value, int n) UNO_MUST_USE;

// A communicator of the team's members, with a context that index 0 chose. g: their group, held by it; NULL: made here.
int uno_team_comm(const struct uno_team *t, struct MPI_ABI_Group *g, struct MPI_ABI_Comm **out) UNO_MUST_USE;

// Returns once all members have called it.
int uno_team_barrier(const struct uno_team *t) UNO_MUST_USE;
