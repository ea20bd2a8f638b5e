// SPDX-License-Identifier: BSD-3-Clause
// Frames between the front (the mpiexec that the user sees) and the nodes (one process per host that starts and guards
// ranks), over a socket pair on this host or the standard input and output of a launch agent. Nothing here blocks. A
// frame is a head and `bytes` bytes behind it. Both ends run the same build; `UNO_HELLO` says so.
#pragma once
#include "util.h"

#define UNO_RELAY_FULL (1 << 20)     // queued bytes from which a sender of bulk data should pause
#define UNO_FRAME_MAX (64u << 20)    // a longer frame is a broken link

enum uno_frame_type {
    // from a node to the front
    UNO_HELLO = 1,     // daemon is there; payload: its version
    UNO_CANNOT,        // payload: one line that says why; the job ends with UNO_EXIT_USAGE
    UNO_SAY,           // payload: text for standard error (bindings, dry run)
    UNO_STARTED,       // rank; payload: pid
    UNO_OUTPUT,        // rank, arg = 1 or 2; payload: bytes
    UNO_EXITED,        // rank; payload: struct uno_exit
    UNO_QUIET,         // arg = 1 all ranks of the node sleep in MPI (payload: struct uno_wait each), 0 no longer
    UNO_STDIN_ROOM,    // arg = bytes that were passed on to the rank
    UNO_LOST,          // a host is gone; payload: one line
    UNO_PROFILE,       // rank; payload: what it recorded (profile.h)
    UNO_STATS,         // rank; payload: what it counted (stats.h)
    UNO_REQUEST,       // rank, arg = ticket << 32 | its local index; payload: what it asks of the front (request.h)
    UNO_VOTE,          // rank; payload: struct uno_ballot and its sets (src/base/pm.h)
    UNO_GONE,          // hosts are lost and their ranks with them; payload: their indices; then UNO_LOST says why
    UNO_BEAT,          // a daemon is alive
    UNO_RESTED,        // arg = process id of the node, which stands still; payload: inode of its end of the link
    UNO_DONE,          // nothing of the job is left on the node and below it
    // from the front to nodes
    UNO_PLAN = 32,    // payload: the plan (plan.h)
    UNO_SIGNAL,       // arg = signal number for all ranks
    UNO_END,          // arg = milliseconds between SIGTERM and SIGKILL; 0: SIGKILL at once
    UNO_STDIN,        // rank; payload: bytes; no payload: end of file
    UNO_CLOSE,        // arg = 1 or 2: nobody reads this stream any more
    UNO_CONFIRM,      // arg = round: say QUIET again if still so
    UNO_ANSWER,       // node, arg of the request, rank = class; payload: text
    UNO_ENDED,        // node, arg of the request: the job that it spawned has ended
    UNO_FAILED,       // rank: it is dead, and the job goes on
    UNO_KILL,         // rank: it is to be dead
    UNO_NEWS,         // payload: struct uno_ballot and its sets, for the ranks
    UNO_WHERE,        // say where your ranks are; from a node: struct uno_wait each
    UNO_REST,         // say RESTED and stand still
    UNO_GO,           // go on; arg = 1: as processes made anew from a checkpoint
    // between nodes
    UNO_PM_GET = 64,    // rank = owner of the key, arg = ticket, node = asker; payload: key
    UNO_PM_VALUE,       // node = asker, arg = ticket; payload: value
    UNO_PM_FENCE,       // up: all ranks of this subtree are there; down: go on
};

struct uno_frame {
    uint32_t bytes;
    uint32_t type;
    int32_t rank;    // world rank, -1 none
    int32_t node;    // host index it is for or from, -1 all
    int64_t arg;
};

struct uno_relay {
    int rd, wr;    // may be the same descriptor
    struct uno_bytes in, out;
    bool ended;    // the other end is gone
    bool held;     // what is sent waits: the other end stands still
    bool deaf;     // the other end reads no more; what it wrote before may still come
};

void uno_relay_open(struct uno_relay *l, int rd, int wr);
void uno_relay_close(struct uno_relay *l);
void uno_relay_send(struct uno_relay *l, const struct uno_frame *f, const void *payload);    // queues and tries to send
void uno_relay_flush(struct uno_relay *l);
// Reads at most `most` bytes straight from fd as the payload of a frame. Returns what read() returned; nothing is
// queued unless > 0.
long uno_relay_pass(struct uno_relay *l, struct uno_frame f, int fd, size_t most);
void uno_relay_fill(struct uno_relay *l);    // reads what has come
bool uno_relay_next(struct uno_relay *l, struct uno_frame *f,
                    const char **payload);    // payload lives until the next call
