// SPDX-License-Identifier: BSD-3-Clause
// Copies for the message path: a few bytes without a call (slots), and everything else by the C library's memcpy.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Up to 64 bytes, any alignment, no loop: overlapping moves by size class.
static inline void uno_copy_small(void *dst, const void *src, size_t n)
{
    char *d = dst;
    const char *s = src;
    if (n >= 16) {
        char a[16], b[16];
        if (n > 32) {
            char c[16], e[16];
            memcpy(a, s, 16), memcpy(b, s + 16, 16), memcpy(c, s + n - 32, 16), memcpy(e, s + n - 16, 16);
            memcpy(d, a, 16), memcpy(d + 16, b, 16), memcpy(d + n - 32, c, 16), memcpy(d + n - 16, e, 16);
            return;
        }
        memcpy(a, s, 16), memcpy(b, s + n - 16, 16);
        memcpy(d, a, 16), memcpy(d + n - 16, b, 16);
    } else if (n >= 8) {
        uint64_t a, b;
        memcpy(&a, s, 8), memcpy(&b, s + n - 8, 8);
        memcpy(d, &a, 8), memcpy(d + n - 8, &b, 8);
    } else if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, s, 4), memcpy(&b, s + n - 4, 4);
        memcpy(d, &a, 4), memcpy(d + n - 4, &b, 4);
    } else if (n) {
        char a = s[0], b = s[n / 2], c = s[n - 1];
        d[0] = a, d[n / 2] = b, d[n - 1] = c;
    }
}

// Into memory that another core has read, and out of memory that another core has written. Where the machine gains by
// it (uno_copy_decide): in whole lines by the widest instructions there are, and for writing, lines are asked for eight
// ahead, because a store that misses holds up all later ones; that saves a third of a 4 KiB message (bench: lat --sizes
// 256:8K). Else by the C library's memcpy. told: where the store after the copy tells the reader that it is there; that
// line is asked for ahead, too (2 KiB: a tenth less). NULL: there is none.
#define UNO_COPY_AHEAD 512
//
// Where writing such lines costs more than their way through memory does (Zen 4), copies of some KiB go past the
// caches.
void uno_copy_out(void *dst, const void *src, size_t n, const void *told);
void uno_copy_in(void *dst, const void *src, size_t n);

// As uno_copy_out, into what this core has read last: never past the caches.
void uno_copy_back(void *dst, const void *src, size_t n, const void *told);

// As uno_copy_out, but never line by line: for what is written whole before others are told, of any size.
void uno_copy_over(void *dst, const void *src, size_t n);

// To memory that nobody reads soon, past the caches: a store that misses would read the line first (bench: bcast
// --np 8 --sizes 8M:64M).
void uno_copy_past(void *dst, const void *src, size_t n);

// What copies to other cores cost (base/machine.h): ps per byte; past: ns. past_write 0: they never go past the caches.
struct uno_copy_costs {
    uint32_t write, read, data, past, past_write, past_read;
};

// Whether lines are asked for ahead, and the size of a message that its receiver writes past the caches
// (base/thresholds.h decides, before threads copy).
extern bool uno_copy_ahead;
extern size_t uno_copy_past_from;
void uno_copy_decide(bool ahead, size_t past_from, const struct uno_copy_costs *costs);

// The mean of what copies cost of late with one more; before 0: there was none. Whoever lost the core meanwhile
// measured that, so one copy raises the mean by a quarter at most.
#define UNO_COPY_MEAN_MOST (UINT32_MAX / 4)
static inline uint32_t uno_copy_mean(uint32_t before, uint64_t now)
{
    uint64_t most = before && before < UNO_COPY_MEAN_MOST / 2 ? 2 * (uint64_t)before : UNO_COPY_MEAN_MOST;
    if (now > most) now = most;
    if (!before) return (uint32_t)now;
    return (uint32_t)((now < before ? 2 * (before + now) : 3 * (uint64_t)before + now) / 4);
}

// Whether copies may be cheaper past the caches on this machine.
bool uno_copy_has_past(void);

// Whether plain copies of late were so cheap that none went past the caches; false where they are not timed.
bool uno_copy_is_light(void);

// Whether a message of n bytes is: it is that long, or its buffer lies in memory (base/huge.h).
bool uno_copy_is_past(const void *dst, size_t n);

// Asks for the first lines of what another core has written and this one will copy after it has looked what to do with
// it (a message whose receive must be found: 1 to 4 KiB a tenth less). Volatile, since gcc leaves out calls of a
// function that has nothing but prefetches.
static inline void uno_copy_soon(const char *src, size_t n)
{
    if (n > UNO_COPY_AHEAD) n = UNO_COPY_AHEAD;
#if defined(__x86_64__)
    for (size_t i = 0; i < n; i += 64) __asm__ volatile("prefetcht0 %0" : : "m"(src[i]));
#elif defined(__aarch64__)
    for (size_t i = 0; i < n; i += 64) __asm__ volatile("prfm pldl1keep, %0" : : "Q"(src[i]));
#else
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch(src + i);
#endif
}

// Asks for lines that this core will write.
static inline void uno_copy_ask(const char *lines, size_t n)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < n; i += 64) __asm__ volatile("prefetchw %0" : : "m"(lines[i]));
#elif defined(__aarch64__)
    for (size_t i = 0; i < n; i += 64) __asm__ volatile("prfm pstl1keep, %0" : : "Q"(lines[i]));
#else
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch(lines + i, 1);
#endif
}

// The same where the machine gains by it: lines that another core has read and this one will write soon by other means
// (packing: a fifth faster).
static inline void uno_copy_own(char *dst, size_t n)
{
    if (uno_copy_ahead) uno_copy_ask(dst, n);
}
