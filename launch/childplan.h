// SPDX-License-Identifier: BSD-3-Clause
// The plan of a job that a rank spawns. Runs in the fork that becomes the job's node, where names may be resolved
// without keeping the front waiting, and where a mistake ends nothing but the fork. Called by child.c.
//
// The request is a list of words with a zero each:
//   dir DIR        where the spawning rank is
//   port PORT      what the new ranks connect to when they are initialised ("": nothing)
//   command NAME   begins one of the commands; the following belong to it
//   count N        as many ranks
//   arg WORD       one more argument
//   info KEY VALUE
#pragma once
#include "plan.h"

// `first`: the plan of the first job, which gives the environment, the hosts and what else the command line said;
// `p` is one that has yet to be filled in. A mistake goes to `refuse`, which does not return, or to uno_usage().
struct uno_childplan {
    const struct uno_plan *first;
    const char *words, *end;
    void (*refuse)(int mpi_class, const char *text);
};
void uno_childplan_read(struct uno_plan *p, const struct uno_childplan *from);
void uno_childplan_count(struct uno_plan *p, const struct uno_childplan *from);    // then: what soft allows and fits
