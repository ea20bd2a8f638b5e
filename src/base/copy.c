// SPDX-License-Identifier: BSD-3-Clause
// Copies between cores (copy.h), one loop inlined into a function for each instruction set; which one runs is chosen at
// load.
#include "base/copy.h"

#include "base/isa.h"

#if defined(__x86_64__)
#include <emmintrin.h>
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
    for (; n > LINE; n -= LINE, d += LINE, s += LINE) {
        if (out && n > AHEAD)
            uno_copy_ask(d + AHEAD, 1);
        else if (out && told)
            uno_copy_ask(told, 1), told = NULL;
        __builtin_memcpy(d, s, LINE);
    }
    memcpy(d, s, n);
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
static void in_plain(char *d, const char *s, size_t n)
{
    memcpy(d, s, n);
}

static void (*out)(char *, const char *, size_t, const char *) = out_base;
static void (*in)(char *, const char *, size_t) = in_base;
bool uno_copy_ahead = true;
size_t uno_copy_past_from = SIZE_MAX;

__attribute__((constructor)) static void choose(void)
{
    enum uno_isa isa = uno_isa();
    out = out_base, in = in_base;
    if (isa == UNO_ISA_AVX2) out = out_avx2, in = in_avx2;
    if (isa == UNO_ISA_AVX512) out = out_avx512, in = in_avx512;
}

void uno_copy_decide(bool ahead, size_t past_from)
{
    uno_copy_past_from = past_from;
    uno_copy_ahead = ahead;
    if (ahead)
        choose();
    else
        out = out_plain, in = in_plain;
}

void uno_copy_out(void *dst, const void *src, size_t n, const void *told)
{
    out(dst, src, n, told);
}

void uno_copy_in(void *dst, const void *src, size_t n)
{
    in(dst, src, n);
}

#if defined(__x86_64__)
void uno_copy_past(void *dst, const void *src, size_t n)
{
    char *d = dst;
    const char *s = src;
    size_t head = -(uintptr_t)d % LINE;
    if (head > n) head = n;
    memcpy(d, s, head);
    for (d += head, s += head, n -= head; n >= LINE; n -= LINE, d += LINE, s += LINE)
        for (int i = 0; i < LINE; i += 16)
            _mm_stream_si128((__m128i *)(void *)(d + i), _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
    _mm_sfence();    // before others are told
    memcpy(d, s, n);
}
#else
void uno_copy_past(void *dst, const void *src, size_t n)
{
    memcpy(dst, src, n);
}
#endif
