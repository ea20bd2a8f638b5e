// SPDX-License-Identifier: BSD-3-Clause
// One job as the front sees it: its plan, the link to its root node, and what is known of its ranks. The first job is
// the one of the command line; ranks may spawn others. Policy of one job (what its failure means, deadlock) is here;
// front.c has what all share. Private to front.c and frontjob.c.
#pragma once
#include "outfile.h"
#include "profile.h"
#include "relay.h"
#include "sink.h"
#include "verdict.h"

struct uno_front_job {
    struct uno_front_job *next;
    const struct uno_plan *plan;
    struct uno_sinks *sinks;      // of the front
    struct uno_output *output;    // its part of them
    struct uno_input *input;
    struct uno_relay down;
    int node;       // process of the root node
    int *status;    // by rank, as waitpid() gives it; -1: not known
    struct uno_verdict verdict;
    struct uno_profile *profile;
    struct uno_requests *requests;    // of the front
    int running;
    bool ending, done, paused, broken;    // broken: the front cannot hear the node any more
    struct uno_wait *wait;                // of the ranks that sleep, as far as nodes told
    size_t nwait;
    int quiet_nodes, nodes, round, confirmed;
    bool *quiet;    // by node
};

// The job begins; its node is process `node`, on the other end of `link`.
void uno_front_job_open(struct uno_front_job *j, const struct uno_outfiles *files, int link, int node);
void uno_front_job_hear(struct uno_front_job *j);    // the link can be read or written
void uno_front_job_order(struct uno_front_job *j, uint32_t type, int64_t arg);
void uno_front_job_end(struct uno_front_job *j, int64_t grace);    // ends the ranks: SIGTERM, `grace` ms, SIGKILL
// Fails for a reason that lies in no rank; takes the text over.
void uno_front_job_fail(struct uno_front_job *j, int status, char *what);
// All is over and heard: says what is left to say of it.
void uno_front_job_close(struct uno_front_job *j);
