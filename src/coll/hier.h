// SPDX-License-Identifier: BSD-3-Clause
// Collectives of a communicator that spans hosts, several ranks on some: a part inside each host, a part between one
// rank per host (its leader), and a part inside again. Called by coll.c, which takes the flat builders where this
// declines.
#pragma once
#include "coll/schedule.h"

// How the ranks of a communicator lie on hosts; the same on all ranks but for mine and node.
struct uno_hier {
    struct MPI_ABI_Comm *node;    // the ranks on this host, in order
    int hosts, mine;              // hosts are numbered by their first rank
    int *host, *place;            // [size] of a rank: its host, its rank there
    int *member;                  // [size] ranks, host after host
    int *first;                   // [hosts + 1] where a host's members begin
    bool blocks;                  // consecutive ranks share a host: member[i] == i
};

// The layout, NULL where there is nothing to gain (one host, one rank per host, switched off). It is found in the
// first blocking or persistent call (`settle`), in which all ranks take part; until then a nonblocking call gets NULL,
// on all ranks alike. *err is set when memory is out on this rank.
struct uno_hier *uno_hier_get(struct MPI_ABI_Comm *comm, bool settle, int *err);

// Emits the call, or nothing (false): decided by what all ranks know.
bool uno_build_hier(struct uno_sched *s, const struct uno_call *c, struct uno_hier *h);
