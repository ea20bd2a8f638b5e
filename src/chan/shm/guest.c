// SPDX-License-Identifier: BSD-3-Clause
// Links to processes of other jobs on this host. Each direction is a ring of its own (ring.h) in the heap of the
// receiver's job segment, which the sender maps: it takes the chunks, signs the ring with who it is and puts it into
// the list at the receiver's door. So neither side waits for the other, and neither has to agree with it on anything: a
// sender that leaves marks its ring as ended, and the receiver gives the chunks back when it has read all.
//
// Always holds: of one process at most one ring is read at a time, in the order in which it announced them.
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "chan/door.h"
#include "chan/home.h"
#include "chan/peer_memory.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/shm/ring.h"

#define PAIR_CHUNKS (UNO_PAIR_LEAST / UNO_HEAP_CHUNK)

// A ring that was announced, and whose sender is not known yet or still has one that is not read to its end.
struct shm_guest {
    struct shm_guest *next;
    struct shm_pair *pair;
    size_t chunk;
};

// Of a process that had ended before its segment was found: what it left in ours is read all the same.
static struct uno_home nowhere;
static struct uno_door no_door;
static struct uno_board no_board;

static struct shm_guest *announced, **announced_end = &announced;    // in order

// ---- their lives ----

static int lives = -1;    // an epoll set of what is readable when a process has ended
static int mortals;       // in it

static void mourn(struct shm_link *l)
{
    // Acquire: pairs with the release in uno_world_close.
    if (atomic_load_explicit(&l->board->state, memory_order_acquire) == UNO_RANK_FINALIZED) l->base.parted = true;
    uno_link_lost(&l->base, "its process has ended");
}

// A process that has ended already is a link that is lost.
static void watch_life(struct shm_link *l, int pid)
{
    l->life = (int)syscall(SYS_pidfd_open, pid, 0);
    if (l->life < 0) {
        if (errno == ESRCH) mourn(l);
        return;
    }
    fcntl(l->life, F_SETFD, FD_CLOEXEC);
    if (lives < 0) lives = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
    mortals++;
    epoll_ctl(lives, EPOLL_CTL_ADD, l->life, &e);
}

int shm_guests_fd(void)
{
    return lives;
}

bool shm_guest_is_dead(const struct shm_link *l)
{
    return l->life < 0 || poll(&(struct pollfd){.fd = l->life, .events = POLLIN}, 1, 0) > 0;
}

void shm_guests_mourn(void)
{
    struct epoll_event e;
    bool any = false;
    while (lives >= 0 && epoll_wait(lives, &e, 1, 0) == 1) {
        struct shm_link *l = e.data.ptr;
        if (!any) shm_guests_look();    // a ring that it announced last is read too
        any = true;
        epoll_ctl(lives, EPOLL_CTL_DEL, l->life, NULL);    // told once
        mourn(l);
    }
}

// ---- links ----

static struct shm_link *new_link(int proc, const struct uno_home *h)
{
    if (h == &nowhere) return shm_link_new(proc, &no_door, &no_board);
    return shm_link_new(proc, uno_proc_door(proc), uno_proc_board(proc));
}

static struct shm_link *link_of(const struct uno_proc *p)
{
    return (struct shm_link *)p->link[uno_shm.index];
}

// NULL: its memory is out of reach.
static struct shm_link *make_guest(int proc, struct uno_proc *p)
{
    int error;
    struct uno_home *h = uno_proc_home(proc, &error);
    if (!h && error == ENOENT) h = &nowhere;
    struct shm_link *l = h ? new_link(proc, h) : NULL;
    if (!l) return NULL;
    l->home = h;
    l->cma = h != &nowhere && uno_peer_memory_reaches(l->board);
    p->link[uno_shm.index] = &l->base;
    uno_patience_guest(l->door, true);
    watch_life(l, p->card.pid);
    return l;
}

static void forget_life(struct shm_link *l)
{
    if (l->life < 0) return;
    close(l->life);    // which takes it out of the set
    l->life = -1;
    if (--mortals > 0) return;
    close(lives);
    lives = -1;
}

static void end_link(struct shm_link *l)
{
    int proc = l->base.proc;
    uno_assert(!l->tx && !l->rx);
    uno_proc_of(proc)->link[uno_shm.index] = NULL;
    uno_patience_guest(l->door, false);
    forget_life(l);
    shm_link_free(l);
    uno_proc_settle(proc);
}

int shm_guest_connect(int proc, struct uno_link **link)
{
    struct uno_proc *p = uno_proc_of(proc);
    struct shm_link *l = link_of(p) ? link_of(p) : make_guest(proc, p);
    if (!l) return UNO_DECLINED;
    *link = &l->base;
    return MPI_SUCCESS;
}

// ---- our direction ----

static void give_ring(size_t chunk)
{
    uno_job_give(uno_chan_self.job, chunk, PAIR_CHUNKS);
}

static void stir(struct shm_link *l)
{
    // Release: pairs with the acquire in shm_poll.
    atomic_fetch_add_explicit(&l->door->fresh, 1, memory_order_release);
    uno_door_ring(l->door);
}

int shm_guest_open(struct shm_link *l)
{
    if (l->home == &nowhere) return uno_fail(UNO_ERR_PROC_FAILED, "the process has ended");
    int64_t first = uno_job_take(l->home->job, PAIR_CHUNKS);
    if (first < 0)
        return uno_fail(MPI_ERR_NO_MEM, "no room for a connection in the shared memory of rank %d of another job",
                        uno_proc_rank(l->base.proc));
    struct shm_pair *pair = uno_job_chunk(l->home->job, (size_t)first);
    pair->job = uno_chan_self.job->job_id;
    pair->rank = uno_chan_self.proc;
    uint32_t before = atomic_load_explicit(&l->door->guests, memory_order_relaxed);
    do pair->next = before;
    // Release: pairs with the acquire in take_announced; the ring is signed.
    while (!atomic_compare_exchange_weak_explicit(&l->door->guests, &before, (uint32_t)first + 1, memory_order_release,
                                                  memory_order_relaxed));
    shm_begin_tx(l, pair);
    l->sending = true;
    stir(l);
    return MPI_SUCCESS;
}

static void end_tx(struct shm_link *l)
{
    if (!l->tx) return;
    // Release: pairs with the acquire in look_at_end; all that was sent is in the ring.
    atomic_store_explicit(&l->tx->ended, 1, memory_order_release);
    shm_begin_tx(l, NULL);
    l->sending = false;
    stir(l);
}

static void drop_rx(struct shm_link *l)
{
    if (l->rx) give_ring(l->rx_chunk);
    shm_begin_rx(l, NULL);
    l->listening = l->ending = false;
}

void shm_guest_leave(struct uno_link *link)
{
    struct shm_link *l = (struct shm_link *)link;
    end_tx(l);
    if (l->lost) drop_rx(l);
    if (!l->rx) end_link(l);
}

// ---- their direction ----

// Moves what the door's list holds, newest first, to the end of ours, oldest first.
static void take_announced(void)
{
    // Acquire: pairs with the release in shm_guest_open.
    uint32_t at = atomic_exchange_explicit(&uno_chan_self.door->guests, 0, memory_order_acquire);
    struct shm_guest *list = NULL, *last = NULL;
    while (at > 0 && at <= UNO_HEAP_CHUNKS - PAIR_CHUNKS + 1) {
        struct shm_guest *g = malloc(sizeof *g);
        if (!g) break;
        *g = (struct shm_guest){.next = list, .pair = uno_job_chunk(uno_chan_self.job, at - 1), .chunk = at - 1};
        if (!last) last = g;
        list = g;
        at = g->pair->next;
    }
    if (!list) return;
    *announced_end = list;
    announced_end = &last->next;
}

enum taken { TAKEN_NOT, TAKEN, TAKEN_DROP };

static enum taken take_ring(struct shm_guest *g)
{
    // Acquire: pairs with the release in end_tx.
    bool over = atomic_load_explicit(&g->pair->ended, memory_order_acquire) != 0;
    int proc = uno_proc_find(g->pair->job, g->pair->rank);
    if (proc < 0 || !uno_proc_is_guest(proc)) return over && !uno_chan_self.meetings ? TAKEN_DROP : TAKEN_NOT;
    struct uno_proc *p = uno_proc_of(proc);
    struct shm_link *l = link_of(p) ? link_of(p) : make_guest(proc, p);
    if (!l || l->rx) return l && l->lost ? TAKEN_DROP : TAKEN_NOT;
    shm_begin_rx(l, g->pair);
    l->rx_chunk = g->chunk;
    l->listening = true;
    return TAKEN;
}

static void take_rings(void)
{
    for (struct shm_guest **at = &announced, *g; (g = *at);) {
        enum taken taken = take_ring(g);
        if (taken == TAKEN_NOT) {
            at = &g->next;
            continue;
        }
        if (taken == TAKEN_DROP) give_ring(g->chunk);
        *at = g->next;
        if (announced_end == &g->next) announced_end = at;
        free(g);
    }
}

static void look_at_end(int proc, struct uno_proc *p)
{
    struct shm_link *l = link_of(p);
    (void)proc;
    // Acquire: pairs with the release in end_tx.
    if (!l || !l->rx || !atomic_load_explicit(&l->rx->ended, memory_order_acquire)) return;
    l->ending = true;
}

void shm_guests_look(void)
{
    take_announced();
    take_rings();
    uno_proc_each(look_at_end);
}

void shm_guest_ended(struct shm_link *l)
{
    struct uno_proc *p = uno_proc_of(l->base.proc);
    drop_rx(l);
    shm_guests_look();    // it may have come back
    if (p->left && !l->tx && !l->rx) end_link(l);
}

static void close_link(int proc, struct uno_proc *p)
{
    struct shm_link *l = link_of(p);
    (void)proc;
    if (!l) return;
    end_tx(l);
    drop_rx(l);
    p->left = true;
    end_link(l);
}

void shm_guests_close(void)
{
    uno_proc_each(close_link);
    while (announced) {
        struct shm_guest *g = announced;
        announced = g->next;
        free(g);
    }
    announced_end = &announced;
}
