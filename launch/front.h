// SPDX-License-Identifier: BSD-3-Clause
// The front: the part of mpiexec that the user sees. It talks to one node, the root of the tree of nodes; writes the
// ranks' output, reads standard input, forwards signals, decides when the job has failed, and knows the exit status.
#pragma once
#include "begin.h"
#include "outfile.h"

// What the front holds. All are made before the node is forked, so that nothing has been started when one of them
// cannot be made; the node closes them.
struct uno_front_ends {
    int link, epoll, sigfd;
    int guest;                     // instead of a link: socket of the process that has started mpiexec; -1 none
    struct uno_outfiles *files;    // NULL none
    const struct uno_setting *setting;
    const struct uno_restart *restart;    // NULL: the job begins
};

// Blocks signals (`mask`: those that were), makes epoll and sigfd, adopts what the ranks will start; ends mpiexec with
// a message where one cannot be had.
void uno_front_prepare(struct uno_front_ends *e, sigset_t *mask);

// Runs the job over the link to the root node, whose process is `node` (-1: there is a guest instead). Returns the exit
// status of mpiexec.
int uno_front_run(const struct uno_plan *p, const struct uno_front_ends *ends, int node, bool forward_stdin);
