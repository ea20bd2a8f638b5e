// SPDX-License-Identifier: BSD-3-Clause
// The memory of another process of this host, reached by cross-memory attach: whether it may be, and the copies. All
// that copies so goes through here: rendezvous (shm/direct.c), partitions (p2p/part_shared.c), collectives
// (coll/segment_copy.c), windows (rma/copy.c). Needs no lock, but for the set-up.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct uno_mem;      // chan.h
struct uno_board;    // base/job.h

// Tries such copies within this process, and tells the others by its board. Called when the channel of the host opens.
void uno_peer_memory_open(void);

// Whether the memory of the process with that local index can be read at this moment: always by a copy.
bool uno_peer_memory_try(uint32_t local);

// The same for a process of another job, by its board.
bool uno_peer_memory_reaches(const struct uno_board *peer);

// The process id for the copies below; 0: they are not allowed, or local is this process or -1 (another host). Tries
// the first time that anybody in the job asks.
int uno_peer_memory_pid(int local);

// The same by number of the process, which may be of another job: then it is near (proc.h), and is tried each time.
int uno_peer_memory_pid_of(int proc);

// A copy between a list of runs here and one there, each from its own place on. The places move on with what has been
// copied, also when the copy fails.
struct uno_crossing {
    int pid;
    bool reading;                    // else writing
    const struct uno_mem *mine;      // here
    const struct uno_mem *theirs;    // addresses of the other process; the list itself lies here
    size_t mine_at, theirs_at;
};

// The next n bytes; both lists have as many left. MPI_ERR_BUFFER: they are not mapped on either side (or not for
// writing); MPI_ERR_PROC_ABORTED, in a job that survives UNO_ERR_PROC_FAILED: the process is gone; MPI_ERR_NO_MEM;
// MPI_ERR_OTHER: not permitted.
UNO_MUST_USE int uno_peer_memory_copy(struct uno_crossing *c, size_t n);

// As above, n bytes that lie together on both sides.
UNO_MUST_USE int uno_peer_memory_move(int pid, void *mine, uint64_t theirs, size_t n, bool reading);

// What a copy of n bytes took, of so many ticks, in sixteenths of what the costs of the machine say; at least 1,
// and at most five times as long as usual: one that was interrupted is dear, no more.
#define UNO_PEER_MEMORY_USUAL 16
#define UNO_PEER_MEMORY_MOST (5 * UNO_PEER_MEMORY_USUAL)
uint32_t uno_peer_memory_took(uint64_t ticks, size_t n);
