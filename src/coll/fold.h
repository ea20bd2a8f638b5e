// SPDX-License-Identifier: BSD-3-Clause
// A value that a rank combines step by step with what others send, in a schedule: its own contribution first, which is
// read where it lies. Called by the builders of reductions.
#pragma once
#include "coll/schedule.h"

struct uno_fold {
    struct uno_sched *s;
    const void *acc;     // the value so far; begins as the contribution, which is written only if it is room[0]
    void *room[2];       // for what comes and what results
    bool is_there[2];    // else scratch, made when it is needed
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
};

// Where the next operand may be received: not where acc is. NULL when the schedule has failed.
void *uno_fold_room(struct uno_fold *f);
// acc = other op acc, and acc = acc op other, once `other` has come (emit the fence first).
void uno_fold_below(struct uno_fold *f, const void *other);
void uno_fold_above(struct uno_fold *f, const void *other);
// Leaves acc in room[0] if it is not there: predefined operations always leave it there.
void uno_fold_end(struct uno_fold *f);

// Where part i begins of the n that count elements are cut into, whose lengths differ by one at most; part n: the end.
static inline MPI_Count uno_part_at(MPI_Count count, int n, int i)
{
    MPI_Count more = count % n;
    return count / n * i + (i < more ? i : more);
}

// All of them, for the ranks of the schedule: part i goes from at[i] to at[i + 1]. In scratch; NULL when the schedule
// has failed.
MPI_Count *uno_even_parts(struct uno_sched *s, MPI_Count count);
// This rank gets its part from each rank, one after the other in scratch (its own place there stays free), and gives
// each the part that is its; a fence ends that. at may be NULL when the schedule has failed.
char *uno_share_out(struct uno_sched *s, const MPI_Count *at, const void *in, struct MPI_ABI_Datatype *type);
// The same, and combines what it got, in the order of the ranks, into out. in_place: that is part of the contribution.
void uno_fold_part(struct uno_sched *s, const MPI_Count *at, const void *in, void *out, bool in_place,
                   struct MPI_ABI_Datatype *type);
