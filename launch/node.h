// SPDX-License-Identifier: BSD-3-Clause
// A node: the process that starts, feeds, watches and guards the ranks of one host, and relays for the hosts below it.
// It is forked by mpiexec on this host and started as `mpiexec --daemon` by a launch agent on others. It has a session
// of its own and adopts every process that descends from its ranks (PR_SET_CHILD_SUBREAPER). When its link upwards
// ends, for whatever reason, it kills them all, so nothing outlives a killed mpiexec. This header is private to node.c
// and the files it names.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/job.h"
#include "plan.h"
#include "relay.h"

// What the front learns of a rank that ended.
struct uno_exit {
    int32_t status;              // as waitpid() gives it
    int32_t state, code, pid;    // of the board
    int32_t asleep;              // it slept in `call`; otherwise `call` is the MPI call that it entered last
    char call[UNO_NAME_MAX], why[256];
};

// What the front learns of where a rank is: the call it sleeps in, or the one it entered last.
struct uno_wait {
    int32_t rank, pid, peer, tag, asleep;
    char call[UNO_NAME_MAX], comm[UNO_NAME_MAX];
    int32_t holds, holds_alone;    // as in struct uno_board
    char held_on[UNO_NAME_MAX];
};

struct uno_node_rank {
    int world, app;
    pid_t pid;                 // 0 before the start
    int in, out[2], pm;        // our ends of its pipes and of its wire-up socket; -1 closed
    bool exited, in_closes;    // in_closes: end of file once `feed` is written
    struct uno_bytes feed;
    struct uno_bytes ask;     // bytes of an incomplete wire-up request
    struct uno_bytes news;    // for which its socket had no room: heads and values
};

struct uno_node {
    struct uno_plan *plan;
    int index;    // of this host in the plan; -1: a root without ranks
    bool root;    // its link leads to the front
    int nlocal, running;
    struct uno_node_rank *rank;    // nlocal of them
    struct uno_relay up;
    int epoll, outputs, sigfd;    // `outputs` is an epoll of its own inside `epoll`, left out while `up` is full
    bool paused, ending, killed;
    bool resting;                 // it is to stand still as soon as nothing waits for its link
    int64_t beat_at;              // when to say that this node lives
    int64_t kill_at, sweep_at;    // deadlines in uno_ms_now(); 0 none
    int job_fd, stdin_fd;         // stdin_fd: handed to the stdin rank as it is; -1 none
    struct uno_job_head *job;
    sigset_t mask;          // signals that were blocked when mpiexec was started
    struct rlimit files;    // the limit of open files then
    int fault;              // errno of what went wrong in watching descriptors: the job cannot go on; 0 none
    struct uno_watch *watch;
    struct uno_tree *tree;
    struct uno_pm *pm;
};

// Where a node stands.
struct uno_node_place {
    int index;    // as in struct uno_node
    bool root;
    const int *below;    // hosts that it has to start
    int nbelow, stdin_fd;
    const sigset_t *mask;
    const struct rlimit *files;
};

// node.c. Does not return to the caller's work: the result is the exit status of the process.
int uno_node_run(struct uno_plan *p, const struct uno_node_place *place, struct uno_relay *up);
int uno_node_refuse(struct uno_relay *up, int index, const char *what, int err);    // instead: says why and ends
void uno_node_tell(struct uno_node *n, uint32_t type, int rank, int64_t arg, const void *data, size_t bytes);
void uno_node_reap(struct uno_node *n);
void uno_node_settle(struct uno_node *n);    // a rank or a subtree has ended: if all have, begin to leave
enum uno_node_source { UNO_ON_UP, UNO_ON_SIGNAL, UNO_ON_OUTPUTS, UNO_ON_STDIN, UNO_ON_PM, UNO_ON_TREE };
// False: errno says why, and the node ends the job by itself.
bool uno_node_listen(struct uno_node *n, int fd, uint32_t events, enum uno_node_source source, int index);

// spawn.c
struct uno_start {
    const struct uno_node *node;
    const struct uno_node_rank *rank;
    int local, in, out, err, pm;    // the rank's ends
    bool held;                      // until gdb lets it go (debug.h)
};
char *uno_spawn_find(const struct uno_plan *p, const struct uno_app *a,
                     char **why);    // path of the program, or NULL and why
pid_t uno_spawn(const struct uno_start *s, const char *path, const cpu_set_t *cpus, char **why);

// guard.c: kills all descendants of this process and reaps them, with `reap` called for what has ended.
int uno_guard_adopt(void);      // descendants become ours when their parents end. 0 or an errno value
void uno_guard_forget(void);    // in a fork that has closed all descriptors: it adopts anew
bool uno_guard_alone(void);     // no child is left
void uno_guard_sweep(int sigfd, void (*reap)(void *), void *self);

// threads.c: what the kernel says about a process.
bool uno_threads_parked(int pid, int sleeper);    // all its threads are asleep for good, `sleeper` in MPI
bool uno_threads_reads(int pid);                  // it, or a process it started, sits reading standard input
bool uno_threads_quiet_sockets(int pid);          // no byte is on its way in its TCP connections

// survive.c: a job that goes on when ranks die, and the agreements of its ranks.
void uno_survive_died(struct uno_node *n, int index);                                       // a rank of this host
bool uno_survive_frame(struct uno_node *n, const struct uno_frame *f, const char *data);    // false: none of its own
void uno_survive_vote(struct uno_node *n, int index, const char *ballot, size_t bytes);     // what a rank says
void uno_survive_flush(struct uno_node *n, int index);    // its socket may have room again

// rest.c: standing still while a checkpoint is made, and going on in processes that were made anew from one.
bool uno_rest_stand(struct uno_node *n);    // when nothing waits for the link; true: frames may have come

// watch.c: which ranks sleep in MPI.
struct uno_watch *uno_watch_new(struct uno_node *n);
void uno_watch_tick(struct uno_watch *w);    // every UNO_WATCH_MS
void uno_watch_confirm(struct uno_watch *w, int64_t round);
void uno_watch_where(struct uno_watch *w);
#define UNO_WATCH_MS 250
#define UNO_BEAT_MS 1000
