// SPDX-License-Identifier: BSD-3-Clause
// What this machine allows between two processes, without MPI: one-way time and rate of 64-byte slots in a shared ring,
// memcpy, and a large copy across address spaces that both sides share (one reads its half, the other writes the other
// half), handshake included, and a ping-pong over a plain TCP connection on the loopback, both sides spinning.
// `unisono-bench floor` (--quick: the first figure alone); the demo shows these beside the library's figures. The two
// processes are pinned to two allowed cores.
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 256, SAMPLES = 31 };
struct slot {
    _Alignas(64) _Atomic uint32_t seq;
    char payload[60];
};
struct shared {
    struct slot ring[2][SLOTS];
    _Alignas(64) _Atomic uint32_t freed;    // slots the reader is done with
    _Alignas(64) _Atomic uint32_t go;       // turn number of the copy
    _Alignas(64) _Atomic uint32_t done;
    _Alignas(64) char *volatile address;    // of the child's buffer
};
static struct shared *sh;

// What the machine allows is what it gives undisturbed: the lower decile, not the median.
static double lowest(double *sample)
{
    bench_median(sample, SAMPLES);    // sorts
    return sample[SAMPLES / 10];
}

static void pin(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

void bench_pin_nth(int which)
{
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may)) return;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && seen++ == which) return pin(cpu);
}

static void put(struct slot *s, uint32_t seq)
{
    memset(s->payload, (int)seq, 8);
    // Release: pairs with the acquire in take(); the payload is there before the sequence.
    atomic_store_explicit(&s->seq, seq, memory_order_release);
}

static char take(struct slot *s, uint32_t seq)
{
    // Acquire: pairs with the release in put().
    while (atomic_load_explicit(&s->seq, memory_order_acquire) != seq) bench_rest();
    return s->payload[0];
}

static void bounce(int me, uint32_t from, int turns)
{
    for (uint32_t i = from; i < from + (uint32_t)turns; i++) {
        if (me == 0) put(&sh->ring[0][i % SLOTS], i);
        take(&sh->ring[me ? 0 : 1][i % SLOTS], i);
        if (me == 1) put(&sh->ring[1][i % SLOTS], i);
    }
}

static void stream(int me, uint32_t from, int turns)
{
    uint32_t seen = from;
    for (uint32_t i = from; i < from + (uint32_t)turns; i++) {
        if (me == 1) {
            take(&sh->ring[0][i % SLOTS], i);
            // Release: pairs with the acquire below; the slot was read before it is given back.
            if (i % 32 == 0) atomic_store_explicit(&sh->freed, i, memory_order_release);
            continue;
        }
        while (i - seen >= SLOTS - 32) seen = atomic_load_explicit(&sh->freed, memory_order_acquire);
        put(&sh->ring[0][i % SLOTS], i);
    }
    if (me == 1)
        atomic_store_explicit(&sh->freed, from + (uint32_t)turns - 1,
                              memory_order_release);    // pairs with stream()'s acquire
}

static void meet(int me, uint32_t turn)
{
    bounce(me, turn, 1);
}

static double slots(int me, uint32_t *at, int turns, void (*run)(int, uint32_t, int))
{
    double sample[SAMPLES];
    for (int s = 0; s < SAMPLES; s++) {
        meet(me, (*at)++);
        if (run == stream && me == 0)
            atomic_store_explicit(&sh->freed, *at, memory_order_relaxed);    // ordered by the meeting below
        meet(me, (*at)++);
        double start = bench_now();
        run(me, *at, turns);
        *at += (uint32_t)turns;
        meet(me, (*at)++);
        sample[s] = (bench_now() - start) / turns;
    }
    return lowest(sample);
}

struct bouncer {
    int me, cpu;
    double one_way;
};

static void *bouncing(void *arg)
{
    struct bouncer *b = arg;
    uint32_t at = 1;
    pin(b->cpu);
    b->one_way = slots(b->me, &at, 100, bounce) / 2;
    return NULL;
}

double bench_floor_line(int cpu, int other)
{
    struct bouncer end[2] = {{0, cpu, 0}, {1, other, 0}};
    pthread_t thread[2];
    if (!sh) sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED) return sh = NULL, 0;
    memset(sh, 0, sizeof *sh);    // the slots count from 1 again
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, bouncing, &end[i])) abort();
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return end[0].one_way;
}

// The two halves of one transfer: the parent's buffer goes to the child's. Returns 0, or errno where the kernel forbids
// it.
static int share_copy(int me, pid_t other, char *mine, char *theirs, size_t n)
{
    size_t half = n / 2;
    struct iovec here = {mine + (me ? half : 0), me ? n - half : half},
                 there = {theirs + (me ? half : 0), here.iov_len};
    while (here.iov_len) {
        ssize_t got =
            me ? process_vm_readv(other, &here, 1, &there, 1, 0) : process_vm_writev(other, &here, 1, &there, 1, 0);
        if (got <= 0) return errno ? errno : EIO;
        here.iov_base = (char *)here.iov_base + got;
        there.iov_base = (char *)there.iov_base + got;
        here.iov_len = there.iov_len -= (size_t)got;
    }
    return 0;
}

// Seconds for n bytes; negative errno where the kernel forbids it.
static double shared_copy(int me, uint32_t *at, pid_t other, char *buf, size_t n)
{
    char *mine = me ? sh->address : buf, *theirs = me ? buf : sh->address;
    int error = 0;
    double sample[SAMPLES];
    for (int s = 0; s < SAMPLES; s++) {
        meet(me, (*at)++);
        double start = bench_now();
        if (me == 0)
            put(&sh->ring[0][*at % SLOTS], *at);
        else
            take(&sh->ring[0][*at % SLOTS], *at);
        error |= share_copy(me, other, mine, theirs, n);
        if (me == 1)
            put(&sh->ring[1][*at % SLOTS], *at);
        else
            take(&sh->ring[1][*at % SLOTS], *at);
        (*at)++;
        sample[s] = bench_now() - start;
    }
    return error ? -error : lowest(sample);
}

static double plain_copy(char *a, char *b, size_t n)
{
    double sample[SAMPLES];
    int turns = n < 1 << 20 ? 64 : 4;
    for (int s = 0; s < SAMPLES; s++) {
        double start = bench_now();
        for (int i = 0; i < turns; i++) {
            memcpy(a, b, n);
            __asm__ volatile("" : : "r"(a) : "memory");
        }
        sample[s] = (bench_now() - start) / turns;
    }
    return lowest(sample);
}

static int socket_move(int fd, char *buf, size_t n, int out)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = out ? send(fd, buf + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : recv(fd, buf + done, n - done, MSG_DONTWAIT);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) return -1;
        if (k > 0) done += (size_t)k;
    }
    return 0;
}

// One way, the two sides spinning; negative when the connection failed.
static double socket_lat(int me, uint32_t *at, int fd, char *buf, size_t n)
{
    double sample[SAMPLES];
    int turns = n < 1 << 16 ? 200 : 4, failed = 0;
    for (int s = 0; s < SAMPLES; s++) {
        meet(me, (*at)++);
        double start = bench_now();
        for (int i = 0; i < turns; i++)
            for (int out = 1; out >= 0; out--) failed |= socket_move(fd, buf, n, out != me);
        sample[s] = (bench_now() - start) / turns / 2;
    }
    return failed ? -1 : lowest(sample);
}

// Two ends of a TCP connection on the loopback; -1 with errno.
static int socket_pair(int fd[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    fd[1] = -1;
    if (listener >= 0 && fd[0] >= 0 && bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&a, &len) == 0 && connect(fd[0], (struct sockaddr *)&a, len) == 0)
        fd[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++) setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (listener >= 0) close(listener);
    return fd[1] < 0 ? -1 : 0;
}

static void line(const struct opts *o, const char *name, long size, const char *unit, double value, const char *text)
{
    if (o->format == TABLE) printf("%-12s %10ld %12.4g %-5s %s\n", name, size, value, unit, text);
    if (o->format == CSV) printf("%s,%ld,%.6g,%s\n", name, size, value, unit);
    if (o->format == JSON)
        printf("{\"schema\": 1, \"row\": \"%s\", \"family\": \"floor\", \"size\": %ld, \"unit\": \"%s\", \"value\": "
               "%.6g}\n",
               name, size, unit, value);
}

static void sockets(int me, const struct opts *o, uint32_t *at, int fd, char *buf)
{
    static const size_t sizes[] = {1, 4096, 65536, 1 << 20, 4 << 20};
    for (int i = 0; i < 5; i++) {
        double t = socket_lat(me, at, fd, buf, sizes[i]);
        if (me == 0 && t > 0)
            line(o, "socket-lat", (long)sizes[i], "us", t * 1e6, "over TCP on the loopback, one way, both spinning");
    }
}

static void both(int me, const struct opts *o, pid_t other, int fd, char *buf)
{
    static const size_t sizes[] = {4096, 65536, 262144, 1 << 20, 4 << 20};
    uint32_t at = 1;
    char *spare = buf + (4 << 20);
    bench_pin_nth(me);
    double one_way = slots(me, &at, 1000, bounce) / 2;
    if (me == 0) line(o, "slot-lat", 64, "us", one_way * 1e6, "a cache line from core to core, one way");
    if (o->quick) return;
    double each = slots(me, &at, 200000, stream);
    if (me == 0) line(o, "slot-rate", 64, "M/s", 1e-6 / each, "cache lines through a ring");
    for (int i = 0; i < 5; i++) {
        if (me == 0)
            line(o, "memcpy", (long)sizes[i], "us", plain_copy(spare, buf, sizes[i]) * 1e6, "within one process");
        double t = shared_copy(me, &at, other, buf, sizes[i]);
        if (me == 0 && t > 0)
            line(o, "both-copy", (long)sizes[i], "us", t * 1e6, "between two processes, each copies a half");
        if (me == 0 && t <= 0)
            fprintf(stderr, "both-copy: skipped: cross-memory attach is not allowed here (%s)\n", strerror((int)-t));
    }
    if (fd >= 0) sockets(me, o, &at, fd, buf);
}

// Memory on huge pages where the machine has them, as a library may use: pages of 4 KiB are no floor for large copies.
// Not touched yet: what two processes share by fork is copied in small pages.
char *bench_huge_buffer(size_t bytes)
{
    const size_t huge = 2 << 20;
    char *at = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    at = (char *)(((uintptr_t)at + huge - 1) & ~(uintptr_t)(huge - 1));
    madvise(at, bytes, MADV_HUGEPAGE);    // advice: small pages do as well
    return at;
}

int bench_floor(const struct opts *o)
{
    size_t most = 4 << 20;
    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *buf = bench_huge_buffer(2 * most);
    if (sh == MAP_FAILED || !buf) return fprintf(stderr, "unisono-bench: no memory\n"), 1;
    sh->address = buf + most;    // the child touches pages of its own at the same address
    pid_t parent = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (o->format == TABLE) printf("# what this machine allows (no MPI)\n%-12s %10s %12s\n", "floor", "bytes", "value");
    if (o->format == CSV) printf("row,size,value,unit\n");
    fflush(stdout);
    int fd[2];
    if (o->quick)
        fd[0] = fd[1] = -1;
    else if (socket_pair(fd))
        fprintf(stderr, "socket-lat: skipped: no TCP on the loopback (%s)\n", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!o->quick) memset(buf, 2, 2 * most);
        close(fd[0]);    // the other end notices when this process ends
        both(1, o, parent, fd[1], buf);
        _exit(0);
    }
    if (child < 0) return perror("unisono-bench: fork"), 1;
    if (!o->quick) memset(buf, 1, 2 * most);
    close(fd[1]);
    both(0, o, child, fd[1] < 0 ? -1 : fd[0], buf);
    int status;
    waitpid(child, &status, 0);
    return 0;
}
