// SPDX-License-Identifier: BSD-3-Clause
// The front's jobs. The first is the one of the command line; ranks may spawn others, each with a node of its own on
// every host it has ranks on. Policy of one job (what its failure means, deadlock) is in frontjob.c, how spawned ones
// come and go in child.c, what all share in front.c. Private to these and request.c.
#pragma once
#include "begin.h"
#include "outfile.h"
#include "profile.h"
#include "relay.h"
#include "sink.h"
#include "stats.h"
#include "verdict.h"

struct uno_front {
    struct uno_front_job *first, *jobs;    // the first stays in the list to the end
    const struct uno_setting *setting;
    struct uno_sinks *sinks;
    struct uno_requests *requests;
    int epoll, sigfd, signals;            // signals: how many asked for the end
    int guest;                            // socket of the process that stands for the first job (guest.h); -1 none
    int spawned;                          // jobs that ever were
    struct uno_debugger *debugger;        // mpiexec --gdb; NULL without
    struct uno_checkpoint *checkpoint;    // mpiexec --checkpoint-to; NULL without
    int status;                           // of the first spawned job that failed; 0 none
    bool closed[2];                       // by stream: nobody reads it any more
    int64_t kill_at, timeout_at, abandon_at;
};

// A rank that asked for something and waits for the answer.
struct uno_asker {
    int job, rank, node;
    int64_t ticket;    // of the request (UNO_REQUEST's arg); -1: nobody waits
};

struct uno_front_job {
    struct uno_front *front;
    struct uno_front_job *next, *parent;    // parent: the job that spawned it, NULL once that is gone
    int number;                             // 0: the first
    const struct uno_plan *plan;            // NULL while its node still plans it
    struct uno_plan *own;                   // of a spawned job: the same, to be freed
    struct uno_output *output;
    struct uno_input *input;
    struct uno_relay down;
    int node;                  // process of the root node
    struct uno_asker asker;    // who spawned it, as long as the rank waits
    bool up;                   // all ranks run, and the asker knows
    int *status;               // by rank, as waitpid() gives it; -1: not known
    struct uno_verdict verdict;
    struct uno_profile *profile;
    struct uno_statistics *stats;
    struct uno_agreements *agreements;    // agree.c; NULL: none so far
    int running, started;
    bool ending, done, paused, broken;    // broken: the front cannot hear the node any more
    struct uno_wait *wait;                // of the ranks that sleep, as far as nodes told
    size_t nwait;
    int quiet_nodes, nodes, round, confirmed;
    bool *quiet;    // by node
};

// The plan is known: what depends on its ranks is made.
void uno_front_job_begin(struct uno_front_job *j, const struct uno_plan *p, const struct uno_outfiles *files);
void uno_front_job_hear(struct uno_front_job *j);    // the link can be read or written
void uno_front_job_replay(struct uno_front_job *j, const struct uno_bytes *frames);    // as if the link had them
void uno_front_job_order(struct uno_front_job *j, uint32_t type, int64_t arg);
// Ends the ranks, and those of the jobs that they have spawned: SIGTERM, `grace` ms, SIGKILL.
void uno_front_job_end(struct uno_front_job *j, int64_t grace);
// Fails for a reason that lies in no rank; takes the text over.
void uno_front_job_fail(struct uno_front_job *j, int status, char *what);
void uno_front_job_close(struct uno_front_job *j);    // all is over and heard: says what is left to say, and frees
void uno_front_reply(struct uno_front *f, const struct uno_asker *to, int mpi_class, const char *text);
void uno_front_send(struct uno_front *f, const struct uno_asker *to, uint32_t type, int mpi_class, const char *text);

// child.c. `words`: the request behind its first word, `bytes` long.
void uno_child_spawn(struct uno_front_job *parent, const struct uno_asker *by, const char *words, size_t bytes);
void uno_child_planned(struct uno_front_job *j, const char *data, size_t bytes);
void uno_child_started(struct uno_front_job *j);                                        // one more rank of it has
void uno_child_ended(struct uno_front_job *j);                                          // whoever waits for it is told
void uno_child_met(struct uno_front *f, const struct uno_asker *by, int64_t ticket);    // it waits no more
bool uno_child_refused(struct uno_front_job *j, int mpi_class,
                       char *why);    // false: it is not being spawned (any more)
