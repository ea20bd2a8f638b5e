// SPDX-License-Identifier: BSD-3-Clause
// The processes of other jobs that this one has met. A process is known by a number: its world rank if it is of this
// job, else a number from uno_chan_self.nprocs on, the place of its entry here. Entries never move; each process has
// one, however often and by whatever way it is met. Numbers mean nothing outside this process: between processes cards
// travel. With the library lock held.
//
// An entry lives as long as a group names it (hold, drop), and then until its links have ended on both sides.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "base/job.h"
#include "chan/self.h"

#define UNO_BOOT_BYTES 16
#define UNO_PROC_SECRET 32
#define UNO_CHANNELS 8    // that there may be, of which four are built in (chan.c)

// Processes with the same of both may share memory, and numbers of processes mean the same to them.
struct uno_kernel {
    unsigned char boot[UNO_BOOT_BYTES];    // of the kernel that runs
    uint64_t pids;                         // within which numbering of processes
};

// Who a process is and how it is reached, as it travels between jobs.
struct uno_card {
    uint64_t job;                // uno_job_head.job_id
    int32_t rank;                // in its MPI_COMM_WORLD
    int32_t local;               // its index in the segment of its host
    int32_t pid, fd;             // where that segment is open: /proc/PID/fd/FD
    struct uno_kernel kernel;    // on which it runs
    unsigned char secret[UNO_PROC_SECRET];
    uint32_t net_bytes;
    int32_t host;                         // index of its host in its job
    uint32_t machine, alike;              // kind of its processor, and what its host has settled on (base/machine.h)
    uint64_t algorithms;                  // which collective algorithms it has loaded (base/component.h)
    unsigned char net[UNO_CARD_BYTES];    // its network addresses (the tcp channel's business), if net_bytes > 0
};

struct uno_link;
struct uno_peer;
struct uno_home;

struct uno_proc {
    struct uno_card card;
    uint32_t refs;                          // groups that name it
    bool used;                              // the entry is taken
    bool left;                              // no group names it: its links end
    struct uno_link *link[UNO_CHANNELS];    // by channel (struct uno_chan.index), owned by it
    struct uno_peer *peer;                  // owned by src/p2p/peer.c
    struct uno_home *home;                  // NULL until it is needed, or out of reach
};

static inline bool uno_proc_is_guest(int proc)
{
    return proc >= uno_chan_self.nprocs;
}

// The entry of a process of another job.
struct uno_proc *uno_proc_of(int proc);

// The number of a process; -1: it was never met, or is gone.
int uno_proc_find(uint64_t job, int rank);

// The number of the process with this card, which may be of this job; a new entry if it was never met. The caller holds
// it once more. -1: no memory, or the card makes no sense (reason kept).
int uno_proc_meet(const struct uno_card *card);

// For processes of this job they do nothing.
void uno_proc_hold(int proc);
void uno_proc_drop(int proc);

// World rank in its own job, the same seen from everywhere.
int uno_proc_rank(int proc);

// How many entries are taken: not 0 once another job was met.
int uno_proc_guests(void);

// Calls fn for each entry that is taken.
void uno_proc_each(void (*fn)(int proc, struct uno_proc *p));

// This process's own card. Draws its secret when first called.
int uno_proc_own(struct uno_card *card) UNO_MUST_USE;

void uno_kernel_own(struct uno_kernel *k);    // on which this process runs

static inline bool uno_kernel_same(const struct uno_kernel *a, const struct uno_kernel *b)
{
    return a->pids == b->pids && memcmp(a->boot, b->boot, sizeof a->boot) == 0;
}

// Whether the process is on this host, and its number means it here.
bool uno_proc_same_host(const struct uno_card *card);

// ---- those that share memory with this one ----

// The segment in which a process of another job lives, mapped here from the first call on as long as the entry lives.
// NULL: *error as of uno_home_take.
struct uno_home *uno_proc_home(int proc, int *error);

// Whether the process, of whichever job, is on this host and its segment is mapped here; then what lies there: where
// it is woken, what it tells, the heap.
bool uno_proc_is_near(int proc);
struct uno_job_head *uno_proc_job(int proc);
struct uno_door *uno_proc_door(int proc);
struct uno_board *uno_proc_board(int proc);

// Whether a process that shares memory with this one has died: anyone, of whichever job; this one.
bool uno_neighbour_died(void);
bool uno_proc_is_dead(int proc);

// A link of the process has ended, or its peer has: frees the entry if that was the last.
void uno_proc_settle(int proc);

// ---- upwards, defined in src/p2p/peer.c ----

// No group names the process any more: what is still to be sent to it leaves, then its links end.
void uno_peer_leave(int proc);
