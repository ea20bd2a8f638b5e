// SPDX-License-Identifier: BSD-3-Clause
// Copies between cores (copy.h), one loop inlined into a function for each instruction set; which one runs is chosen at
// load.
#include "base/copy.h"

#include "base/isa.h"

#define LINE 64
#define AHEAD (8 * LINE)

static inline __attribute__((always_inline)) void copy_lines(char *d, const char *s, size_t n, bool out)
{
#if defined(__x86_64__)
    for (size_t i = 0; out && i < AHEAD && i < n; i += LINE) __asm__ volatile("prefetchw %0" : : "m"(d[i]));
#endif
    for (; n > LINE; n -= LINE, d += LINE, s += LINE) {
#if defined(__x86_64__)
        if (out && n > AHEAD) __asm__ volatile("prefetchw %0" : : "m"(d[AHEAD]));
#endif
        __builtin_memcpy(d, s, LINE);
    }
    memcpy(d, s, n);
}

static void out_base(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, true);
}
static void in_base(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false);
}
UNO_FOR_AVX2 static void out_avx2(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, true);
}
UNO_FOR_AVX2 static void in_avx2(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false);
}
UNO_FOR_AVX512 static void out_avx512(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, true);
}
UNO_FOR_AVX512 static void in_avx512(char *d, const char *s, size_t n)
{
    copy_lines(d, s, n, false);
}

static void (*out)(char *, const char *, size_t) = out_base;
static void (*in)(char *, const char *, size_t) = in_base;

__attribute__((constructor)) static void choose(void)
{
    enum uno_isa isa = uno_isa();
    if (isa == UNO_ISA_AVX2) out = out_avx2, in = in_avx2;
    if (isa == UNO_ISA_AVX512) out = out_avx512, in = in_avx512;
}

void uno_copy_out(void *dst, const void *src, size_t n)
{
    out(dst, src, n);
}

void uno_copy_in(void *dst, const void *src, size_t n)
{
    in(dst, src, n);
}
