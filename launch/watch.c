// SPDX-License-Identifier: BSD-3-Clause
// Watches the boards of a node's ranks and tells the front when all of them sleep in MPI and nothing has moved for a
// second. Reads only; ranks pay nothing. It must never be wrong: a rank counts as asleep only if the kernel says that
// all its threads sleep (one that was stopped, is traced, or waits for a core does not), one of them at its door, which
// nobody has rung, the others on futexes without a time limit, which only another thread of the job could end. A rank
// that has threads in anything else (a timer, a socket, a read) may wake by itself, and nothing is reported; nor is it
// while a TCP connection holds bytes. A channel that waits to reconnect sleeps with a limit below STILL_MS, so that its
// naps count up.
//
// Why that is enough: naps and bells are the same before and after the look at the threads, and no door is rung then.
// So no rank woke in between, and at one moment all of them slept. A rank that leaves a message rings before it sleeps;
// bytes between two sockets are in one of their queues at the first look or at the second.
#include <stdlib.h>
#include <string.h>

#include "node.h"

#define STILL_MS 1000

struct seen {
    uint64_t naps;
    uint32_t bell;
};

struct uno_watch {
    struct uno_node *n;
    struct seen *seen;    // of each rank at the last look
    int64_t still_since;
    bool told;
};

struct uno_watch *uno_watch_new(struct uno_node *n)
{
    struct uno_watch *w = uno_xalloc(sizeof *w);
    w->n = n;
    w->seen = uno_xalloc((size_t)n->nlocal * sizeof *w->seen);
    w->still_since = uno_ms_now();
    return w;
}

static bool sleeps_in_mpi(struct uno_board *b)
{
    // Acquire: pairs with the rank's release when it falls asleep; what it waits for was written before.
    return atomic_load_explicit(&b->asleep, memory_order_acquire) > 0;
}

// Whoever rings stores AWAKE: a rank that was rung is not waiting any more, although it may not have run since.
static bool is_rung(struct uno_door *d)
{
    // Acquire: pairs with the ringer's exchange; what it left is there.
    return atomic_load_explicit(&d->mode, memory_order_acquire) == UNO_DOOR_AWAKE;
}

// Calls that something outside the job can end.
static bool waits_outside(const struct uno_board *b)
{
    static const char *const calls[] = {"MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join", "MPI_Comm_spawn",
                                        "MPI_Comm_spawn_multiple"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strncmp(b->wait_call, calls[i], UNO_NAME_MAX) == 0) return true;
    }
    return b->wait_peer < -2;
}

// True if every rank that is still there sleeps in MPI. One that has finalized may open a session again: it is not
// still.
static bool boards_still(struct uno_watch *w)
{
    bool still = true;
    for (int i = 0; i < w->n->nlocal; i++) {
        struct uno_board *b = uno_job_board(w->n->job, (uint32_t)i);
        struct uno_door *d = uno_job_door(w->n->job, (uint32_t)i);
        // Relaxed: only compared with the values of the last look.
        struct seen now = {.naps = atomic_load_explicit(&b->naps, memory_order_relaxed),
                           .bell = atomic_load_explicit(&d->bell, memory_order_relaxed)};
        if (now.naps != w->seen[i].naps || now.bell != w->seen[i].bell) still = false;
        w->seen[i] = now;
        if (w->n->rank[i].exited) continue;
        // Acquire: pairs with the rank's release of its state.
        uint32_t state = atomic_load_explicit(&b->state, memory_order_acquire);
        if (state == UNO_RANK_FINALIZED || state == UNO_RANK_ABORTED || !sleeps_in_mpi(b) || is_rung(d) ||
            waits_outside(b))
            still = false;
    }
    return still;
}

static bool sockets_still(struct uno_watch *w)
{
    for (int i = 0; i < w->n->nlocal; i++) {
        if (w->n->rank[i].exited) continue;
        if (!uno_threads_quiet_sockets(uno_job_board(w->n->job, (uint32_t)i)->pid)) return false;
    }
    return true;
}

// Twice, the sockets too: what was between two of them at the first look is in the queue of one at the second.
static bool threads_still(struct uno_watch *w)
{
    if (!boards_still(w) || !sockets_still(w)) return false;
    for (int i = 0; i < w->n->nlocal; i++) {
        struct uno_board *b = uno_job_board(w->n->job, (uint32_t)i);
        if (w->n->rank[i].exited) continue;
        // Relaxed: boards_still() has seen the rank asleep with acquire.
        if (!uno_threads_parked(b->pid, atomic_load_explicit(&b->sleeper, memory_order_relaxed))) return false;
    }
    return sockets_still(w) && boards_still(w);
}

static void tell(struct uno_watch *w, uint32_t type, int64_t round)
{
    struct uno_wait *list = uno_xalloc((size_t)w->n->nlocal * sizeof *list);
    size_t count = 0;
    for (int i = 0; i < w->n->nlocal; i++) {
        struct uno_board *b = uno_job_board(w->n->job, (uint32_t)i);
        if (w->n->rank[i].exited) continue;
        struct uno_wait *v = &list[count++];
        *v = (struct uno_wait){.rank = b->world_rank,
                               .pid = b->pid ? b->pid : w->n->rank[i].pid,
                               .peer = b->wait_peer,
                               .tag = b->wait_tag};
        v->asleep = sleeps_in_mpi(b);
        memcpy(v->call, v->asleep ? b->wait_call : b->last_call, sizeof v->call - 1);
        memcpy(v->comm, b->wait_comm, sizeof v->comm - 1);
        v->holds = v->asleep ? b->holds : 0;
        v->holds_alone = b->holds_alone;
        memcpy(v->held_on, b->held_on, sizeof v->held_on - 1);
    }
    uno_node_tell(w->n, type, -1, round, list, count * sizeof *list);
    free(list);
}

void uno_watch_tick(struct uno_watch *w)
{
    int64_t now = uno_ms_now();
    if (!boards_still(w)) {
        w->still_since = now;
        if (w->told) uno_node_tell(w->n, UNO_QUIET, -1, 0, NULL, 0);
        w->told = false;
    } else if (!w->told && now - w->still_since >= STILL_MS && threads_still(w)) {
        w->told = true;
        tell(w, UNO_QUIET, 1);
    }
}

void uno_watch_confirm(struct uno_watch *w, int64_t round)
{
    if (w->told && threads_still(w))
        tell(w, UNO_QUIET, round);
    else
        uno_watch_tick(w);    // says that it is no longer so
}

void uno_watch_where(struct uno_watch *w)
{
    tell(w, UNO_WHERE, 0);
}
