// SPDX-License-Identifier: BSD-3-Clause
// Progress and waiting. A call waits in one place, uno_wait_on. It polls the channels for as long as the
// policy says (base/patience.h), then sleeps on the door of this rank (base/job.h) until a peer rings. The lock is held
// on entry and on return.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct MPI_ABI_Comm;
struct uno_patience;

// What the launcher may report about a wait (deadlock report). comm may be NULL; peer is a rank of comm, MPI_ANY_SOURCE
// or MPI_UNDEFINED.
struct uno_waiting {
    const struct MPI_ABI_Comm *comm;
    int peer, tag;
    bool looks;    // where ranks share processors: for what this one rank does (base/cosched.h)
};

// Polls all channels and queues once. Returns how many things moved.
int uno_progress(void);

// The same for a call that only looks (MPI_Test, MPI_Iprobe), for what; NULL: for nobody in particular. A program that
// looks again and again waits, and where ranks share processors it gives its own away as a wait does.
void uno_look(const struct uno_waiting *what);
void uno_look_for(MPI_Request r);

extern const struct uno_waiting uno_waiting_helper;    // of the progress thread (core/helper.c): no wait of the user's

// Waits until ready(arg) is true. ready is called with the lock held and must not block.
void uno_wait_until(bool (*ready)(void *arg), void *arg, const struct uno_waiting *what);

// Waits for one request (the common case, without the indirect call while spinning).
void uno_wait_request(MPI_Request r);

// The same for a caller that has looked for a while already, with what is left of its patience.
void uno_wait_on(bool (*ready)(void *arg), void *arg, const struct uno_waiting *what, struct uno_patience *p);
void uno_wait_request_on(MPI_Request r, struct uno_patience *p);

// Wakes the threads whose condition became true, and who waits at the doorbell's descriptor: what one call has moved
// leaves no trace in the channels that a wait begun before would see. Called by uno_progress and uno_request_done.
void uno_wake_waiters_slow(void);
extern struct uno_waiter *uno_first_waiter;
extern bool uno_doorbell_armed;
static inline void uno_wake_waiters(void)
{
    if (__builtin_expect(uno_first_waiter != NULL || uno_doorbell_armed, 0)) uno_wake_waiters_slow();
}

// The doorbell as a descriptor (MPIX_Doorbell_*): while armed, a ring makes it readable.
int uno_doorbell_fd(void);    // -1 with the reason kept
// Polls as a wait does; true: ready, do not sleep. With ready NULL it does not poll.
bool uno_doorbell_arm(bool (*ready)(void *arg), void *arg);
void uno_doorbell_disarm(void);

// One more descriptor (an epoll set, say) that ends a sleep and makes the doorbell's readable when it is readable; -1
// ends that. What it stands for is looked at by a poller.
void uno_watch_fd(int fd);
void uno_progress_close(void);

// Things that need polling whenever a call makes progress: schedules of nonblocking collectives, timers. fn returns how
// many things moved. A poller that has nothing left to do is removed, from within fn or outside.
struct uno_poller {
    int (*fn)(struct uno_poller *self);
    struct uno_poller *next, *prev;
    bool queued;
    bool waited;    // as long as it is queued its owner waits in MPI: no work for the progress thread
};
void uno_poller_add(struct uno_poller *p);
void uno_poller_remove(struct uno_poller *p);
bool uno_pollers_queued(void);    // whose owners do not wait
int uno_pollers_run(void);        // each once; how many things moved
