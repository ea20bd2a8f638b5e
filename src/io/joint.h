// SPDX-License-Identifier: BSD-3-Clause
// Whether the members of a collective access move their data together, and who moves which part of the file. They tell
// each other what they are about to do, so all decide alike.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "io/access.h"

// Of one member.
struct uno_intent {
    int64_t first, end;    // bytes of the file
    uint64_t bytes, runs;
    int64_t err;    // uno_file_worst
    uint64_t wish;
    uint64_t aggregators, buffer;    // by its hints
    uint64_t shorter;                // runs below this many bytes are short
};

struct uno_joint {
    const struct uno_intent *all;    // [members]; the file's
    int64_t first, end;              // of all
    bool together;
    const int *aggregator;    // [aggregators] ranks
    int aggregators;
    size_t quota;    // bytes that a member offers to an aggregator at once
};

// Collective. a is NULL where `err` says what is wrong already. All members get success, or all get an error.
int uno_joint_make(struct uno_joint *p, struct MPI_ABI_File *f, const struct uno_access *a, int err) UNO_MUST_USE;

// The part of the file that an aggregator (by its number) moves: [*first, *end).
void uno_joint_part(const struct uno_joint *p, int number, int64_t *first, int64_t *end);

// Whether a member may have data there.
bool uno_joint_meets(const struct uno_joint *p, int rank, int number);

// Collective, when the file is opened: what plans need, with the first ranks of each host.
int uno_joint_prepare(struct MPI_ABI_File *f) UNO_MUST_USE;
