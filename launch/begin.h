// SPDX-License-Identifier: BSD-3-Clause
// How a job begins once its plan is placed: secrets, the last checks, and the fork that becomes its root node. Called
// by main() for the first job and by child.c for those that ranks spawn.
#pragma once
#include <signal.h>
#include <sys/resource.h>

#include "plan.h"

// What mpiexec was started with, for the ranks.
struct uno_setting {
    sigset_t mask;
    struct rlimit files;
    bool pass_stdin;    // the reading rank of the first job gets descriptor 0 itself
    int argc;           // the words of the command line, whose place shows a node's name
    char **argv;
};

// Draws the job's number and secret; ends mpiexec with one line where the plan cannot work on this host.
void uno_begin_check(struct uno_plan *p);

// In the fork: becomes the root node, whose end of the link is `link`. The result is the exit status of the process.
int uno_begin_node(struct uno_plan *p, int link, const struct uno_setting *s);
