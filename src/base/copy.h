// SPDX-License-Identifier: BSD-3-Clause
// Copies for the message path: a few bytes without a call (slots), and everything else by the C library's memcpy.
#pragma once
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

// Into memory that another core has read, and out of memory that another core has written: in whole lines by the widest
// instructions there are. For writing, lines are asked for eight ahead, because a store that misses holds up all later
// ones. Together they save a third of a 4 KiB message (bench: lat --sizes 256:8K).
void uno_copy_out(void *dst, const void *src, size_t n);
void uno_copy_in(void *dst, const void *src, size_t n);

// Asks for lines that another core has read and this one will write soon by other means (packing: a fifth faster).
static inline void uno_copy_own(char *dst, size_t n)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < n; i += 64) __asm__ volatile("prefetchw %0" : : "m"(dst[i]));
#else
    (void)dst, (void)n;
#endif
}
