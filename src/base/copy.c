// SPDX-License-Identifier: BSD-3-Clause
// Copies between cores (copy.h), one loop inlined into a function for each instruction set; which one runs is chosen at
// load.
#include "base/copy.h"

#include <stdatomic.h>

#include "base/huge.h"
#include "base/isa.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "base/wait.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE 64
#define AHEAD UNO_COPY_AHEAD

// told is asked for as if it were the line after the last. Where that would be at once, it is not: a reader that looks
// at it takes it back before it is written.
static inline __attribute__((always_inline)) void copy_lines(char *d, const char *s, size_t n, bool out,
                                                             const char *told)
{
    if (out) uno_copy_ask(d, n < AHEAD ? n : AHEAD);
    if (n <= AHEAD) told = NULL;
    for (; n >= LINE; n -= LINE, d += LINE, s += LINE) {
        if (out && n > AHEAD)
            uno_copy_ask(d + AHEAD, 1);
        else if (out && told)
            uno_copy_ask(told, 1), told = NULL;
        __builtin_memcpy(d, s, LINE);
    }
    uno_copy_small(d, s, n);
}

static void out_base(char *d, const char *s, size_t n, const char *told)
{
    copy_lines(d, s, n, true, told);
}
static void in_base(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false, NULL);
}
UNO_FOR_AVX2 static void out_avx2(char *d, const char *s, size_t n, const char *told)
{
    copy_lines(d, s, n, true, told);
}
UNO_FOR_AVX2 static void in_avx2(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false, NULL);
}
UNO_FOR_AVX512 static void out_avx512(char *d, const char *s, size_t n, const char *told)
{
    copy_lines(d, s, n, true, told);
}
UNO_FOR_AVX512 static void in_avx512(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false, NULL);
}

static void out_plain(char *d, const char *s, size_t n, const char *told)
{
    (void)told;
    memcpy(d, s, n);
}

// ---- past the caches ----

#if defined(__x86_64__)
static inline size_t whole_lines_from(char **d, const char **s, size_t n)
{
    size_t head = -(uintptr_t)*d % LINE;
    if (head > n) head = n;
    memcpy(*d, *s, head);
    *d += head, *s += head;
    return n - head;
}

// The source is asked for so far ahead: while stores wait for memory the hardware prefetcher falls behind (Zen 3, GB/s
// from the second level, the third, memory: 10 to 17, 7 to 17, 6 to 8; 1 KiB less, 4 KiB as much).
#define SOURCE_AHEAD 2048

static inline __attribute__((always_inline)) void past_lines(char *d, const char *s, size_t n,
                                                             void (*line)(char *, const char *))
{
    n = whole_lines_from(&d, &s, n);
    for (; n >= SOURCE_AHEAD + LINE; n -= LINE, d += LINE, s += LINE) {
        _mm_prefetch(s + SOURCE_AHEAD, _MM_HINT_T0);
        line(d, s);
    }
    for (; n >= LINE; n -= LINE, d += LINE, s += LINE) line(d, s);
    _mm_sfence();    // before others are told
    memcpy(d, s, n);
}

static inline void line_past_base(char *d, const char *s)
{
    for (int i = 0; i < LINE; i += 16)
        _mm_stream_si128((__m128i *)(void *)(d + i), _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
}

UNO_FOR_AVX512 static inline void line_past_avx512(char *d, const char *s)
{
    _mm512_stream_si512((void *)d, _mm512_loadu_si512(s));
}

static void past_base(char *d, const char *s, size_t n)
{
    past_lines(d, s, n, line_past_base);
}

UNO_FOR_AVX512 static void past_avx512(char *d, const char *s, size_t n)
{
    past_lines(d, s, n, line_past_avx512);
}
#else
static void past_base(char *d, const char *s, size_t n)
{
    memcpy(d, s, n);
}
#endif

static void (*out)(char *, const char *, size_t, const char *) = out_base;
static void (*in)(char *, const char *, size_t) = in_base;
static void (*past)(char *, const char *, size_t) = past_base;
bool uno_copy_ahead = true;
size_t uno_copy_past_from = SIZE_MAX;

__attribute__((constructor)) static void choose(void)
{
    enum uno_isa isa = uno_isa();
    out = out_base, in = in_base;
    if (isa == UNO_ISA_AVX2) out = out_avx2, in = in_avx2;
    if (isa == UNO_ISA_AVX512) out = out_avx512, in = in_avx512;
#if defined(__x86_64__)
    if (isa == UNO_ISA_AVX512) past = past_avx512;
#endif
}

// What one core has read and another writes changes by a factor of five with where a hypervisor lets the two cores run,
// from second to second. So some plain copies are timed: `seen` is what they cost of late, and `least` the size from
// which going past the caches is cheaper than that. All of them hints that any thread may overwrite.
//
// A copy of n bytes takes as long as n + begins() bytes do at the cost of a byte, in all sizes and wherever the cores
// are; who reads them then pays half of that again. Past the caches half of the start is hidden behind the header's
// line, which is on its way then, too. (Zen 4, us of a message of 256 B, 1 KiB, 4 KiB: near cores 0.15, 0.23, 0.30,
// past the caches 0.38, 0.42, 0.72; far ones 0.52, 0.86, 1.58 and 0.44, 0.49, 0.85.)
#define TIMED 256             // bytes: of shorter copies the clock is too coarse for
#define TIMED_CROWDED 1024    // where ranks share cores, lines are often still there
#define SOME 61               // of so many plain copies, one is timed; odd, since they come in patterns
#define LONG 8192             // and of so many blocks of this size: a copy counts as often as it has bytes
#define LONGEST 15            // blocks; a fourth of all is enough
#define SEEN_LEAST 16

// What goes past the caches costs its writer start and bytes by the table where memory is at rest, and several times as
// much where other machines on the host use it, too. So it is timed as well, and what exceeds the table counts, for the
// reader likewise. While nothing goes that way, what was seen is forgotten bit by bit.
#define AS_TOLD 1024     // slowness of memory, by the table
#define FORGOTTEN 128    // with each plain copy that is timed, of what exceeds that

// What goes past the caches tells nothing of what lines cost: they lie in memory then, and one plain copy to them costs
// as much as the way that they had gone. So now and then, and first of all, copies are plain until each line of a ring
// has been written and read so, and the next ones are timed (Zen 3, one chiplet, us before and after: 2 ranks,
// allreduce of 4 KiB 1.4 and 0.70; 4 ranks on two cores, reduce-scatter of 128 KiB 40 and 21).
#define TRIAL_BYTES (1 << 20)    // of copies that are not timed yet,
#define TRIAL_COPIES 512         // or so many of them
#define TRIAL_TIMED 8
#define REST_LEAST 4096    // blocks between two trials, twice as many after each one in vain
#define REST_MOST (16 * REST_LEAST)
static struct uno_copy_costs cost;
static uint64_t clock_ticks;    // what timing takes by itself
static _Atomic uint32_t seen, copies = SOME - 1;
static _Atomic size_t least = SIZE_MAX;
static _Atomic uint32_t slowness;    // 0: not known
static struct {
    _Atomic uint32_t bytes, copies, timed;    // that are left
    _Atomic uint32_t rest, rested;            // blocks
} trial;

// Relaxed, both: hints, nothing is read by them.
static uint32_t get(_Atomic uint32_t *of)
{
    return atomic_load_explicit(of, memory_order_relaxed);
}
static void set(_Atomic uint32_t *of, uint32_t value)
{
    atomic_store_explicit(of, value, memory_order_relaxed);
}

static inline uint64_t begins(void)
{
    return cost.data * UINT64_C(1000) / cost.write;
}

static void see(uint32_t ps)
{
    uint32_t slow = get(&slowness);
    if (slow < AS_TOLD) slow = AS_TOLD;
    uint64_t plain = ps + ps / 2, through = (uint64_t)(cost.past_write + cost.past_read) * slow / AS_TOLD,
             starts = begins() * plain, starts_past = cost.past * UINT64_C(1000) / 2 * slow / AS_TOLD,
             lost = starts_past > starts ? starts_past - starts : 0,
             from = plain > through ? lost / (plain - through) : SIZE_MAX,
             fewest = uno_patience.crowded ? TIMED_CROWDED : TIMED;
    set(&seen, ps);
    // Relaxed: as in set().
    atomic_store_explicit(&least, from < fewest ? fewest : from, memory_order_relaxed);
}

// The ticks now, after all that was stored has left the core: up to 4 KiB wait in its store buffer, unpaid.
static uint64_t settled_ticks(void)
{
#if defined(__x86_64__)
    _mm_mfence();
    _mm_lfence();    // the clock is not read earlier
#endif
    return uno_ticks();
}

// What passed since such a time, ps, less what timing takes by itself.
static uint64_t settled_ps(uint64_t start)
{
    uint64_t ticks = settled_ticks() - start;
    return ticks > clock_ticks ? (ticks - clock_ticks) * 1000000 / uno_ticks_per_us() : 0;
}

static uint64_t time_clock(void)
{
    uint64_t fewest = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t start = settled_ticks(), ticks = settled_ticks() - start;
        if (ticks < fewest) fewest = ticks;
    }
    return fewest;
}

// What is copied may lie in memory, and where another rank had this core, the pages that it goes to have left its
// caches: then it is not the lines written that are dear.
static void warm(const char *d, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i += LINE) (void)*(const volatile char *)(s + i);
    for (size_t i = 0; uno_patience.crowded && i < n; i += 4096) (void)*(const volatile char *)(d + i);
}

static void forget(void)
{
    uint32_t slow = get(&slowness);
    if (slow > AS_TOLD) set(&slowness, slow - (slow - AS_TOLD) / FORGOTTEN);
}

static void timed(char *d, const char *s, size_t n, const char *told,
                  void (*copy)(char *, const char *, size_t, const char *))
{
    warm(d, s, n);
    uint64_t start = settled_ticks();
    copy(d, s, n, told);
    uint64_t ps = settled_ps(start) / (n + begins());
    forget();
    see(uno_copy_mean(get(&seen), ps < SEEN_LEAST ? SEEN_LEAST : ps));
}

static void timed_past(char *d, const char *s, size_t n)
{
    warm(d, s, n);
    uint64_t start = settled_ticks();
    past(d, s, n);
    uint64_t ps = settled_ps(start), expected = cost.past * UINT64_C(1000) / 2 + n * cost.past_write;
    set(&slowness, uno_copy_mean(get(&slowness), AS_TOLD * ps / expected));
    see(get(&seen));
}

// Whether this copy is one to time. An allreduce that puts whole contributions into lines that are dear and parts of
// the result into cheap ones, in turns, must not time the parts alone.
static bool is_timed(uint32_t counts)
{
    uint32_t i = get(&copies);
    set(&copies, i + counts);
    return i / SOME != (i + counts) / SOME;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint32_t blocks_of(size_t n)
{
    return (uint32_t)least_of(1 + n / LONG, LONGEST);
}

static void begin_trial(void)
{
    set(&trial.bytes, TRIAL_BYTES);
    set(&trial.copies, TRIAL_COPIES);
    set(&trial.timed, TRIAL_TIMED);
}

// Whether this copy, which would go past the caches, goes plain to see what that costs now.
static bool is_tried(size_t n)
{
    if (get(&trial.timed)) return true;
    uint32_t rested = get(&trial.rested) + blocks_of(n), rest = get(&trial.rest);
    set(&trial.rested, rested < rest ? rested : 0);
    if (rested < rest) return false;
    begin_trial();
    return true;
}

static void try_plain(char *d, const char *s, size_t n, const char *told,
                      void (*copy)(char *, const char *, size_t, const char *))
{
    uint32_t bytes = get(&trial.bytes), copies_left = get(&trial.copies), timed_left = get(&trial.timed);
    if (bytes && copies_left) {
        set(&trial.bytes, bytes > n ? bytes - (uint32_t)n : 0);
        set(&trial.copies, copies_left - 1);
        copy(d, s, n, told);
        return;
    }
    timed(d, s, n, told, copy);
    set(&trial.timed, timed_left ? timed_left - 1 : 0);
    if (timed_left > 1) return;
    // Relaxed: as in get().
    bool in_vain = n >= atomic_load_explicit(&least, memory_order_relaxed);
    set(&trial.rest, !in_vain ? REST_LEAST : (uint32_t)least_of(2 * (size_t)get(&trial.rest), REST_MOST));
}

static void copy_to(char *d, const char *s, size_t n, const char *told,
                    void (*copy)(char *, const char *, size_t, const char *))
{
    // Relaxed: as in get().
    bool plain = n < atomic_load_explicit(&least, memory_order_relaxed);
    if (plain && is_timed(blocks_of(n)))
        timed(d, s, n, told, copy);
    else if (plain)
        copy(d, s, n, told);
    else if (is_tried(n))
        try_plain(d, s, n, told, copy);
    else if (is_timed(blocks_of(n)))
        timed_past(d, s, n);
    else
        past(d, s, n);
}

void uno_copy_decide(bool ahead, size_t past_from, const struct uno_copy_costs *c)
{
    uno_copy_past_from = past_from;
    uno_copy_ahead = ahead;
    cost = *c;
    if (ahead)
        choose();
    else
        out = out_plain;
    if (!cost.past_write) return;
    clock_ticks = time_clock();
    set(&slowness, 0);
    see(cost.write);
    set(&trial.rest, REST_LEAST);
    begin_trial();
}

bool uno_copy_has_past(void)
{
    return cost.past_write != 0;
}

bool uno_copy_is_light(void)
{
    // Relaxed: as in get().
    return cost.past_write && atomic_load_explicit(&least, memory_order_relaxed) == SIZE_MAX;
}

void uno_copy_out(void *dst, const void *src, size_t n, const void *told)
{
    if (__builtin_expect(n >= TIMED && cost.past_write, 0))
        copy_to(dst, src, n, told, out);
    else
        out(dst, src, n, told);
}

void uno_copy_back(void *dst, const void *src, size_t n, const void *told)
{
    out(dst, src, n, told);
}

void uno_copy_over(void *dst, const void *src, size_t n)
{
    if (n >= TIMED && cost.past_write)
        copy_to(dst, src, n, NULL, out_plain);
    else
        memcpy(dst, src, n);
}

// Also where small pages are so dear that messages of any size are streamed (Zen 3, 2 ranks, one chiplet, windows of 64
// messages, plain and past: 2 MiB 7.4 and 5.6 ms, both ways 13.2 and 11.3, 512 KiB both ways 8.3 and 6.6).
#define COLD_FROM (256 << 10)

bool uno_copy_is_past(const void *dst, size_t n)
{
    uint64_t from = uno_thresholds.paged < COLD_FROM ? uno_thresholds.paged : COLD_FROM;
    return n >= uno_copy_past_from || (n > from && uno_huge_is_cold(dst));
}

// ---- out of lines that another core has written ----

// Long copies by string instructions, as the C library's memcpy makes them, take a quarter less than by vector
// registers on one processor (Zen 5, threads of one core) and wait for each line on another (Zen 4, 4 KiB inside a
// chiplet). So both are timed now and then, and the cheaper one copies the rest.
#define STRINGS_FROM 8192
#define LOOKS 61    // of so many long copies each way times one; odd, since messages come in pieces
#define TAKING_MOST (UINT64_C(1) << 30)

enum taking { LINES, STRINGS };

// Hints that any thread may overwrite, so all are relaxed: nothing is read by them.
static _Atomic uint32_t taking_cost[2];    // ticks per MiB; 0: not known
static _Atomic uint32_t takings;

static void take_by(enum taking way, char *d, const char *s, size_t n)
{
    if (way == STRINGS)
        memcpy(d, s, n);
    else
        in(d, s, n);
}

static uint32_t taking_seen(enum taking way)
{
    return atomic_load_explicit(&taking_cost[way], memory_order_relaxed);
}

// Whoever lost the core meanwhile measured that, so one copy raises the mean by an eighth at most.
static void time_taking(enum taking way, char *d, const char *s, size_t n)
{
    uint64_t start = settled_ticks();
    take_by(way, d, s, n);
    uint64_t now = (settled_ticks() - start) * 1024 * 1024 / n, before = taking_seen(way),
             most = before ? 2 * before : TAKING_MOST;
    if (now > most) now = most;
    if (before) now = (7 * before + now) / 8;
    atomic_store_explicit(&taking_cost[way], (uint32_t)(now < TAKING_MOST ? now : TAKING_MOST), memory_order_relaxed);
}

static void take_long(char *d, const char *s, size_t n)
{
    uint32_t i = atomic_load_explicit(&takings, memory_order_relaxed);
    atomic_store_explicit(&takings, i + 1, memory_order_relaxed);
    if (i % LOOKS <= STRINGS)
        time_taking((enum taking)(i % LOOKS), d, s, n);
    else
        take_by(taking_seen(STRINGS) < taking_seen(LINES) ? STRINGS : LINES, d, s, n);
}

void uno_copy_in(void *dst, const void *src, size_t n)
{
    if (__builtin_expect(n >= STRINGS_FROM, 0))
        take_long(dst, src, n);
    else
        in(dst, src, n);
}

void uno_copy_past(void *dst, const void *src, size_t n)
{
    past(dst, src, n);
}
