// SPDX-License-Identifier: BSD-3-Clause
// For tests of channels: runs a function in several processes that share a job segment, with one channel open. Included
// by chan_test.c and tcp/tcp_test.c; takes the place of src/p2p above the channel (uno_deliver and the other hooks). A
// rank that fails exits non-zero, which fails the test; every rank is ended by alarm() when it hangs.
#pragma once
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/event.h"
#include "base/fail.h"
#include "base/job.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/door.h"
#include "chan/proc.h"
#include "chan/self.h"

#define TEST_RANKS 8    // at most
#define OFFER 2         // a kind of message beside UNO_EAGER: it carries a struct uno_rts
#define TEST_SECONDS 290

// What the processes of one test share besides the job segment.
struct test_shared {
    _Atomic uint32_t step[TEST_RANKS];
    _Atomic uint32_t arrived, round;
    _Atomic uint64_t number[8];
};

// What stands for a message that is packed while it is copied.
struct uno_packer {
    const char *buf;
    size_t pos;
};

static struct test_shared *shared;
static struct uno_chan *chan;    // the one under test
static struct uno_link *links[TEST_RANKS];
static int me, ranks;

typedef void arrival_fn(struct uno_link *link, const struct uno_hdr *h, const void *payload);
static arrival_fn *on_arrival;
static void (*before_open)(int rank);    // what a rank does first; may be NULL
static void *(*on_header)(struct uno_link *link, const struct uno_hdr *h,
                          uint64_t *token);    // NULL: payloads come whole
static void (*on_done)(uint64_t token, size_t bytes, int failed);
static void (*on_lost)(struct uno_link *link);    // NULL: a lost link fails the test

#define CHECK(cond)                                                                                                    \
    ((cond)                                                                                                            \
         ? (void)0                                                                                                     \
         : (fprintf(stderr, "rank %d: %s:%d: %s (%s)\n", me, __FILE__, __LINE__, #cond, uno_fail_text()), _exit(1)))

const char *uno_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    on_arrival(link, h, payload);
    return NULL;
}

static void (*on_returned)(uint64_t token);

void uno_send_returned(uint64_t token)
{
    if (on_returned) on_returned(token);
}

void uno_direct_done(uint64_t token, size_t bytes, int failed)
{
    on_done(token, bytes, failed);
}

void *uno_deliver_into(struct uno_link *link, const struct uno_hdr *h, uint64_t *token)
{
    return on_header ? on_header(link, h, token) : NULL;
}

// What is sent here is as long as both sides knew at first.
void uno_link_eager(struct uno_link *link, uint32_t most)
{
    (void)link;
    (void)most;
}

void uno_link_lost(struct uno_link *link, const char *why)
{
    if (on_lost) {
        on_lost(link);
        return;
    }
    fprintf(stderr, "rank %d: lost rank %d: %s\n", me, link->proc, why);
    _exit(3);
}

void uno_peer_leave(int proc)
{
    uno_chan_leave(proc);
}

static uint64_t events_told;

void uno_event_happened(struct uno_event *e, const int64_t *values)
{
    (void)e;
    (void)values;
    events_told++;
}

static inline uint64_t counted(const char *name)
{
    for (int i = 0; i < uno_pvars_count(); i++)
        if (!strcmp(uno_pvar_at(i)->name, name)) return uno_pvar_value(uno_pvar_at(i));
    CHECK(!"a performance variable of that name");
    return 0;
}

size_t uno_pack(struct uno_packer *p, void *dst, size_t n)
{
    memcpy(dst, p->buf + p->pos, n);
    p->pos += n;
    return n;
}

// Lets others run. A yield gives away a whole turn, so beside threads that never rest (libfabric's, of sockets) each
// look would wait for all of theirs; who naps runs again as soon as its time is over.
static inline void rest(void)
{
    static int naps;
    if (naps > 0) {
        naps--;
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        return;
    }
    uint64_t before = uno_now_ns();
    sched_yield();
    if (uno_now_ns() - before > 1000000) naps = 200;
}

static inline void poll_once(void)
{
    chan->ops->poll(chan, 64);
    rest();
}

// All ranks meet; the channel is kept going meanwhile when `polling`.
static inline void meet(bool polling)
{
    // Seq_cst, as all atomics of these tests: what a rank did before it came is seen by all that leave.
    uint32_t round = atomic_load(&shared->round);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == (uint32_t)ranks) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->round, 1);
    }
    while (atomic_load(&shared->round) == round) {
        if (polling)
            poll_once();
        else
            rest();
    }
}

static inline void wait_step(int rank, uint32_t value)
{
    while (atomic_load(&shared->step[rank]) < value) rest();    // seq_cst, see meet()
}

static inline void must_send(struct uno_link *link, const struct uno_msg *m)
{
    int err;
    while ((err = link->ops->send(link, m)) == UNO_FULL) poll_once();
    CHECK(err == 0);
}

// Byte i of a message that carries the number `seed`.
static inline unsigned char byte_of(uint64_t seed, size_t i)
{
    return (unsigned char)((seed * 2654435761u + i * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static inline void fill_bytes(void *dst, uint64_t seed, size_t n)
{
    for (size_t i = 0; i < n; i++) ((unsigned char *)dst)[i] = byte_of(seed, i);
}

static inline bool same_bytes(const void *p, uint64_t seed, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] != byte_of(seed, i)) return false;
    return true;
}

static inline void open_rank(int fd, int rank)
{
    struct uno_job_head *head;
    if (before_open) before_open(rank);
    CHECK(uno_job_map(fd, &head) == 0);
    uno_chan_self = (struct uno_chan_self){.job = head,
                                           .board = uno_job_board(head, (uint32_t)rank),
                                           .door = uno_job_door(head, (uint32_t)rank),
                                           .local = (uint32_t)rank,
                                           .nlocal = head->nlocal,
                                           .proc = rank,
                                           .nprocs = (int)head->nworld};
    uno_chan_self.board->pid = getpid();
    uno_log_rank(rank);
    CHECK(uno_params_load() == 0);
    CHECK(uno_door_open() == 0);
    CHECK(chan->ops->open(chan) == 0);
    meet(false);
    for (int i = 0; i < ranks; i++)
        if (chan->ops->connect(chan, i, &links[i]) == UNO_DECLINED) links[i] = NULL;
}

// The parent's part while the ranks run: what a test does from outside (fd: the job segment). May be NULL.
typedef void outside_fn(int fd);

static inline int run_ranks(int n, struct uno_chan *which, void (*body)(void), outside_fn *outside)
{
    ranks = n;
    chan = which;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int world[TEST_RANKS], appnum[TEST_RANKS] = {0}, fd, failures = 0;
    for (int i = 0; i < n; i++) world[i] = i;
    unsigned char secret[32];
    fill_bytes(secret, (uint64_t)getpid(), sizeof secret);
    struct uno_job_spec spec = {.nlocal = (uint32_t)n,
                                .nworld = (uint32_t)n,
                                .universe_size = (uint32_t)n,
                                .nhosts = 1,
                                .world_rank = world,
                                .appnum = appnum,
                                .job_id = (uint64_t)getpid() << 20 ^ uno_now_ns(),
                                .secret = secret};
    assert_int_equal(uno_job_create(&spec, &fd), 0);
    pid_t pid[TEST_RANKS];
    fflush(stdout);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] != 0) continue;
        alarm(TEST_SECONDS);
        me = i;
        open_rank(fd, i);
        body();
        chan->ops->close(chan);
        _exit(0);
    }
    if (outside) outside(fd);
    for (int i = 0; i < n; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        if (status != 0) {
            fprintf(stderr, "rank %d ended with %s %d\n", i, WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            failures++;
        }
    }
    close(fd);
    munmap(shared, sizeof *shared);
    return failures;
}
