// SPDX-License-Identifier: BSD-3-Clause
// Schedules: an algorithm is a builder that emits steps, one engine runs them. Steps between two fences start in the
// order of emission; copies and reductions happen at once, sends and receives are waited for at the fence.
//
// Ranks in steps are those of the schedule's view: a group of ranks of one communicator. Builders see nothing else, so
// the same builder serves the whole communicator, the ranks of one host, their leaders, or the local side of an
// intercommunicator.
#pragma once
#include "base/fail.h"
#include "coll/coll.h"
#include "core/progress.h"

enum uno_form { UNO_BLOCKING, UNO_NONBLOCKING, UNO_PERSISTENT, UNO_INSIDE };

enum uno_step_kind {
    UNO_STEP_SEND,
    UNO_STEP_RECV,
    UNO_STEP_COPY,
    UNO_STEP_REDUCE,
    UNO_STEP_FENCE,
    UNO_STEP_CHECK,
    UNO_STEP_PULL,
    UNO_STEP_PUSH,
    UNO_STEP_CALL
};

struct uno_step {
    enum uno_step_kind kind;
    int peer;          // rank on comm
    bool rewritten;    // SEND: a reduction writes to src next
    const void *src;
    void *dst;
    MPI_Count count, dcount;    // COPY: count of src, dcount of dst. PULL, PUSH: bytes, bytes behind *at
    struct MPI_ABI_Datatype *type, *dtype;
    struct MPI_ABI_Comm *comm;                    // SEND, RECV
    const void *second;                           // REDUCE: dst = src op second
    int (*check)(const void *data, int count);    // CHECK: of src; an error ends the schedule
    struct uno_call *call;                        // CALL
    const uint64_t *at;                           // PULL, PUSH: where the address in the peer's memory will stand
};

// The ranks a builder works with. rank and size are those of the view; map[i] is the rank on comm (NULL: the same).
struct uno_view {
    struct MPI_ABI_Comm *comm;
    int rank, size;
    const int *map;
};

// Some elements of a type at an address.
struct uno_block {
    char *at;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
};

static inline struct uno_block uno_block(const void *at, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    return (struct uno_block){(char *)(uintptr_t)at, count, type};
}

struct uno_scratch {
    struct uno_scratch *next;
};

struct uno_sched {
    struct uno_poller poller;    // queued while the schedule runs as a request
    struct uno_view view;
    struct MPI_ABI_Op *op;
    int tag;
    struct uno_step *step;
    int nsteps, room;
    int at;                  // next step to start
    MPI_Request *pending;    // sends and receives since the last fence
    int npending, pending_room;
    int first;       // pending before this one are done
    bool running;    // inside the engine: a user's operation may call MPI and come back here
    int error;       // the first one met, building or running
    struct uno_scratch *scratch;
    MPI_Request req;                   // NULL for a blocking call
    struct MPI_ABI_Comm *comm;         // held
    struct MPI_ABI_Datatype **held;    // types the steps use
    int nheld;
    size_t scratch_bytes;
    struct uno_sched *next;    // kept for another call (cache.h)
    struct uno_call key;       // the call it was built for
    enum uno_form form;        // blocking ones alone may have CALL steps
    unsigned settled;
    bool keep;
};

// Some place in the memory of another rank of the communicator: *at, once its message has come, and `skip` bytes on.
struct uno_remote {
    int rank;
    const uint64_t *at;
    size_t skip;
};

// Emission. Nothing is emitted for empty messages (both sides know the count is zero) or after an error.
void uno_emit_send(struct uno_sched *s, int peer, const void *buf, MPI_Count count, struct MPI_ABI_Datatype *type);
void uno_emit_recv(struct uno_sched *s, int peer, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type);
void uno_emit_signal(struct uno_sched *s, int to, int from);    // zero-byte message each way; -1: none
void uno_copy_block(struct uno_sched *s, struct uno_block from, struct uno_block to);
// out = a op b; out may be b, and a if the operation is predefined.
void uno_emit_reduce(struct uno_sched *s, const void *a, const void *b, void *out, MPI_Count count,
                     struct MPI_ABI_Datatype *type);
void uno_emit_fence(struct uno_sched *s);
// Copies between processes, at once like a copy; nothing where the address is 0.
void uno_emit_pull(struct uno_sched *s, struct uno_remote from, void *dst, size_t bytes);
void uno_emit_push(struct uno_sched *s, struct uno_remote to, const void *src, size_t bytes);
void uno_emit_check(struct uno_sched *s, int (*check)(const void *data, int count), const void *data, int count);

// A whole blocking collective on another communicator, after a fence of its own. Only in blocking schedules.
void uno_emit_call(struct uno_sched *s, const struct uno_call *c);

// Scratch memory that lives as long as the schedule; NULL (and s->error set) when memory is out.
void *uno_scratch_bytes(struct uno_sched *s, size_t bytes);
// For count elements of a type in its own layout: the address to use as buffer.
void *uno_scratch_typed(struct uno_sched *s, MPI_Count count, const struct MPI_ABI_Datatype *type);

// The life of a schedule: new, build, then run (blocking), start or persist (the request then owns it), or free.
struct uno_sched *uno_sched_new(struct MPI_ABI_Comm *comm, struct MPI_ABI_Op *op, int tag);
int uno_sched_hold(struct uno_sched *s, struct MPI_ABI_Datatype *type) UNO_MUST_USE;
int uno_sched_run(struct uno_sched *s) UNO_MUST_USE;
int uno_sched_start(struct uno_sched *s, MPI_Request *req) UNO_MUST_USE;
int uno_sched_persist(struct uno_sched *s, MPI_Request *req) UNO_MUST_USE;
void uno_sched_free(struct uno_sched *s);

// The byte type, for packed data.
static inline struct MPI_ABI_Datatype *uno_bytes(void)
{
    return uno_type(MPI_BYTE);
}
