// SPDX-License-Identifier: BSD-3-Clause
// The front: the part of mpiexec that the user sees. It talks to one node, the root of the tree of nodes; writes the
// ranks' output, reads standard input, forwards signals, decides when the job has failed, and knows the exit status.
#pragma once
#include <signal.h>

#include "plan.h"

// Runs the job over the link fd to the root node, whose process is `node`. Returns the exit status of mpiexec.
int uno_front_run(const struct uno_plan *p, int fd, int node, bool forward_stdin);
