// SPDX-License-Identifier: BSD-3-Clause
// What the paths between two cores of this machine cost, without MPI: the figures that the library's thresholds follow
// from (docs/design/machine.md says what each one means). `unisono-bench costs`; `unisono-tune --machine` writes them
// into the machine file. Two processes on two allowed cores, each turn goes one way and back, median of rounds.
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
enum { ROUNDS = 15, RING = 112 << 10, MOST = 64 << 10, HUGE_PAGE = 2 << 20, LINE = 64, WAKES = 41 };

struct side {
    _Alignas(128) _Atomic uint64_t told;    // the turn that is there
    _Alignas(128) _Atomic uint64_t go, half;
    _Alignas(128) _Atomic uint32_t bell;
    _Alignas(4096) char ring[RING];
};
static struct shared {
    struct side side[2];
    char *volatile from[2], *volatile to[2];
    volatile pid_t pid[2];
} * sh;
static int me, refused;    // refused: errno of a copy across
static uint64_t turn, at[2];
static char *from, *to;
static double writing, reading;    // seconds spent in them, this round

static void tell(_Atomic uint64_t *word, uint64_t k)
{
    // Release: pairs with the acquire in await(); what was written before is there.
    atomic_store_explicit(word, k, memory_order_release);
}

static void await(_Atomic uint64_t *word, uint64_t k)
{
    // Acquire: pairs with the release in tell().
    while (atomic_load_explicit(word, memory_order_acquire) != k) bench_rest();
}

static void copy_ahead(char *d, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i += LINE) {
#if defined(__x86_64__)
        __asm__ volatile("prefetchw %0" : : "m"(d[i + 8 * LINE]));
#else
        __builtin_prefetch(d + i + 8 * LINE, 1);
#endif
        memcpy(d + i, s + i, LINE);
    }
}

// Past the caches, with the source asked for 2 KiB ahead, as the library does it (src/base/copy.c).
#if defined(__x86_64__)
static const int can_go_past = 1;
static void copy_past(char *d, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        if (i % LINE == 0 && n - i > 2048) _mm_prefetch(s + i + 2048, _MM_HINT_T0);
        _mm_stream_si128((__m128i *)(void *)(d + i), _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
    }
    _mm_sfence();
}
#else
static const int can_go_past = 0;
static void copy_past(char *d, const char *s, size_t n)
{
    memcpy(d, s, n);
}
#endif

static char *place(int side, size_t n)
{
    if (at[side] + n > RING) at[side] = 0;
    char *p = sh->side[side].ring + at[side];
    at[side] += (n + LINE - 1) / LINE * LINE;
    return p;
}

// ---- ways of n bytes from one side to the other ----

typedef void way(size_t n, int sends);

static void one_line(size_t n, int sends)
{
    (void)n;
    if (sends)
        tell(&sh->side[me].told, turn);
    else
        await(&sh->side[!me].told, turn);
}

static void whole(size_t n, int sends, void (*copy)(char *, const char *, size_t))
{
    char *p = place(sends ? me : !me, n);
    if (!sends) await(&sh->side[!me].told, turn);
    double start = bench_now();
    if (sends)
        copy(p, from, n);
    else
        memcpy(to, p, n);
    double end = bench_now();
    *(sends ? &writing : &reading) += end - start;
    if (sends) tell(&sh->side[me].told, turn);
}

static void copy_plain(char *d, const char *s, size_t n)
{
    memcpy(d, s, n);
}

static void whole_plain(size_t n, int sends)
{
    whole(n, sends, copy_plain);
}

static void whole_ahead(size_t n, int sends)
{
    whole(n, sends, copy_ahead);
}

static void whole_past(size_t n, int sends)
{
    whole(n, sends, copy_past);
}

// Of the other side's memory; a write goes the other way.
static void move(size_t skip, size_t n, int writes)
{
    struct iovec mine = {(writes ? from : to) + skip, n}, theirs = {(writes ? sh->to : sh->from)[!me] + skip, n};
    ssize_t got = writes ? process_vm_writev(sh->pid[!me], &mine, 1, &theirs, 1, 0)
                         : process_vm_readv(sh->pid[!me], &mine, 1, &theirs, 1, 0);
    if (got != (ssize_t)n) refused = got < 0 ? errno : EIO;
}

static void across(size_t n, int sends)
{
    one_line(n, sends);
    if (!sends) move(0, n, 0);
}

// The receiver says go, and each side moves a half.
static void across_both(size_t n, int sends)
{
    one_line(n, sends);
    if (sends) {
        await(&sh->side[!me].go, turn);
        move(n / 2, n - n / 2, 1);
        tell(&sh->side[me].half, turn);
    } else {
        tell(&sh->side[me].go, turn);
        move(0, n / 2, 0);
        await(&sh->side[!me].half, turn);
    }
}

// ---- measuring ----

static void there_and_back(way *w, size_t n)
{
    turn++;
    w(n, me == 0);
    turn++;
    w(n, me == 1);
}

// ns one way, the median of rounds; *write_ns, *read_ns: of that, copying (this side's).
static double time_of(way *w, size_t n, double *write_ns, double *read_ns)
{
    double all[ROUNDS], out[ROUNDS], in[ROUNDS];
    int turns = n > 8192 ? 300 : 1500;
    for (int r = 0; r < ROUNDS; r++) {
        writing = reading = 0;
        double start = bench_now();
        for (int i = 0; i < turns; i++) there_and_back(w, n);
        all[r] = (bench_now() - start) / turns / 2;
        out[r] = writing / turns;
        in[r] = reading / turns;
    }
    if (write_ns) *write_ns = 1e9 * bench_median(out, ROUNDS);
    if (read_ns) *read_ns = 1e9 * bench_median(in, ROUNDS);
    return 1e9 * bench_median(all, ROUNDS);
}

// The sleeper has said that it goes to sleep; a while later it does.
static double time_of_wake(void)
{
    double took[WAKES];
    _Atomic uint32_t *bell = &sh->side[1].bell;
    for (uint32_t i = 0; i < WAKES; i++) {
        turn++;
        if (me == 1) {
            tell(&sh->side[1].told, turn);
            // Acquire: pairs with the release below.
            while (atomic_load_explicit(bell, memory_order_acquire) == i) syscall(SYS_futex, bell, FUTEX_WAIT, i, NULL);
            tell(&sh->side[1].half, turn);
            continue;
        }
        await(&sh->side[1].told, turn);
        for (double until = bench_now() + 2e-4; bench_now() < until;) bench_rest();
        double start = bench_now();
        // Release: pairs with the acquire above.
        atomic_store_explicit(bell, i + 1, memory_order_release);
        syscall(SYS_futex, bell, FUTEX_WAKE, 1);
        await(&sh->side[1].half, turn);
        took[i] = bench_now() - start;
    }
    return me ? 0 : 1e9 * bench_median(took, WAKES);
}

// us; 0 where the kernel does not gather.
static double time_of_gathering(void)
{
    double took[5];
    for (int i = 0; i < 5; i++) {
        char *all = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) return 0;
        char *p = (char *)(((uintptr_t)all + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
        madvise(p, HUGE_PAGE, MADV_NOHUGEPAGE);
        memset(p, 1, HUGE_PAGE);
        madvise(p, HUGE_PAGE, MADV_HUGEPAGE);
        double start = bench_now();
        int failed = madvise(p, HUGE_PAGE, MADV_COLLAPSE);
        took[i] = bench_now() - start;
        munmap(all, 2 * HUGE_PAGE);
        if (failed) return 0;
    }
    return 1e6 * bench_median(took, 5);
}

// MiB: the longest buffer, of 4 MiB and its doubles, that one core writes at two thirds of the shortest one's speed.
static double written_in_cache(void)
{
    const size_t least = 4 << 20, most = 256 << 20, step = HUGE_PAGE / 2;
    char *all = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double best = 0, took[5];
    size_t last = 0;
    if (all == MAP_FAILED) return 0;
    for (size_t n = least; n <= most; n *= 2) {
        memset(all, 1, n);
        for (int i = 0; i < 5; i++) {
            double start = bench_now();
            for (size_t k = 0; k < n; k += step) memcpy(all + k, from, step);
            took[i] = bench_now() - start;
        }
        double each = bench_median(took, 5) / (double)n;
        if (n == least) best = each;
        if (each > 1.5 * best) break;
        last = n;
    }
    munmap(all, most);
    return (double)last / (1 << 20);
}

// Both sides' buffers lie in pages of 4 KiB, or in huge ones.
static void use_buffers(int huge)
{
    char *p = bench_huge_buffer(HUGE_PAGE);
    if (!p) exit(1);
    madvise(p, HUGE_PAGE, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(p, 1 + me, HUGE_PAGE);
    from = p;
    to = p + HUGE_PAGE / 2;
    sh->from[me] = from;
    sh->to[me] = to;
    there_and_back(one_line, 0);    // the addresses are there
}

static void line(const char *name, double value, double least)
{
    printf("%s = %.0f\n", name, value > least ? value : least);
}

// A payload beside its line: ns before its first byte, ps per byte to write and to read.
struct payload {
    double start, write, read;
};

static struct payload payload_of(way *w, double stamp)
{
    const double n4 = 4096, n16 = 16384;
    double write, read, t16 = time_of(w, 16384, &write, &read), t4 = time_of(w, 4096, NULL, NULL);
    double slope = (t16 - t4) / (n16 - n4);
    double share = slope / (write / n16 + read / n16);    // the clocks' readings, to what the whole way takes
    return (struct payload){t4 - stamp - slope * n4, 1e3 * share * write / n16, 1e3 * share * read / n16};
}

static void measure_all(void)
{
    const double n4 = 4096, n64 = 65536;
    use_buffers(0);
    double stamp = time_of(one_line, 0, NULL, NULL);
    struct payload plain = payload_of(whole_plain, stamp), ahead = payload_of(whole_ahead, stamp);
    struct payload past = payload_of(whole_past, stamp);
    double a4 = time_of(across, 4096, NULL, NULL), a64 = time_of(across, 65536, NULL, NULL);
    double b64 = time_of(across_both, 65536, NULL, NULL), wake = time_of_wake();
    use_buffers(1);
    double h4 = time_of(across, 4096, NULL, NULL), h64 = time_of(across, 65536, NULL, NULL);
    if (me) return;
    double cross = (a64 - a4) / (n64 - n4), gather = time_of_gathering();
    line("line", stamp, 5);
    line("data", plain.start, 0);
    line("write", plain.write, 1);
    line("write_ahead", ahead.write, 1);
    line("read", plain.read, 1);
    if (!refused) {
        line("call", a4 - stamp - cross * n4, 10);
        line("cross", 1e3 * cross, 1);
        line("page", 4096 * (cross - (h64 - h4) / (n64 - n4)), 1);
        line("meet", b64 - (a64 - cross * n64 / 2), 1);
    }
    if (gather > 0) line("gather", gather, 1);
    line("wake", wake - stamp, 100);
    double cache = written_in_cache();
    if (cache > 0) line("cache", cache, 1);
    line("past", past.start, 0);
    line("past_write", can_go_past ? past.write : 0, can_go_past);
    line("past_read", past.read, 1);
    if (refused) fprintf(stderr, "costs: copies across processes are not allowed here (%s)\n", strerror(refused));
}

int bench_costs(void)
{
    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED) return fprintf(stderr, "unisono-bench: no memory\n"), 1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    sh->pid[0] = getpid();
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return perror("unisono-bench: fork"), 1;
    me = child == 0;
    if (me) prctl(PR_SET_PDEATHSIG, SIGKILL), prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    sh->pid[me] = getpid();
    bench_pin_nth(me);
    measure_all();
    if (me) _exit(0);
    int status;
    waitpid(child, &status, 0);
    return status != 0;
}
