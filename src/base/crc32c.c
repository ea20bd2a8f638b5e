// SPDX-License-Identifier: BSD-3-Clause
// CRC32C three ways, chosen once for this processor: carry-less products over 512-bit registers (AVX-512), the crc32
// instruction (SSE4.2, 8 bytes in 3 cycles; the one of ARMv8, 8 bytes in 2 or 3), and a table. Inside, crc is the plain
// register: the inversions are done at the door.
//
// Folding: a 128-bit lane with halves lo, hi is worth lo*x^64 + hi; moving it D bits ahead multiplies lo by x^(D+31)
// and hi by x^(D-33) modulo the polynomial (bits are reflected: a product of reflected words carries a factor x, a
// 32-bit constant x^32).
#include "base/crc32c.h"

#include <stdatomic.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u

typedef uint32_t crc_fn(uint32_t crc, const unsigned char *p, size_t n);

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t n)
{
    static _Atomic uint32_t ready;
    static uint32_t table[256];
    // Acquire: pairs with the release below. Two threads may both fill the table, with the same values.
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t v = i;
            for (int k = 0; k < 8; k++) v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
            table[i] = v;
        }
        atomic_store_explicit(&ready, 1, memory_order_release);
    }
    while (n-- > 0) crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
    return crc;
}

uint32_t uno_crc32c_plain(uint32_t crc, const void *data, size_t bytes)
{
    return ~by_table(~crc, data, bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define FOLD_MIN 512    // below, setting up the fold costs more than it saves

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t wide = crc;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n > 0; n--) crc = _mm_crc32_u8(crc, *p++);
    return crc;
}

#define WIDE __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

// x^(D+31) and x^(D-33) modulo the polynomial, reflected (the unit test compares folding with the table).
#define FOLD_2048 0xdcb17aa4, 0xb9e02b86
#define FOLD_512 0x740eef02, 0x9e4addf8

WIDE static inline __m512i fold(__m512i acc, __m512i k, __m512i next)
{
    __m512i lo = _mm512_clmulepi64_epi128(acc, k, 0x00);
    __m512i hi = _mm512_clmulepi64_epi128(acc, k, 0x11);
    return _mm512_ternarylogic_epi64(lo, hi, next, 0x96);
}

WIDE static inline __m512i constant(uint64_t lo, uint64_t hi)
{
    return _mm512_set_epi64((int64_t)hi, (int64_t)lo, (int64_t)hi, (int64_t)lo, (int64_t)hi, (int64_t)lo, (int64_t)hi,
                            (int64_t)lo);
}

WIDE static uint32_t by_folding(uint32_t crc, const unsigned char *p, size_t n)
{
    if (n < FOLD_MIN) return by_instruction(crc, p, n);
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    __m512i b = _mm512_loadu_si512(p + 64), c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
    const __m512i far = constant(FOLD_2048), near = constant(FOLD_512);
    for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
        a = fold(a, far, _mm512_loadu_si512(p));
        b = fold(b, far, _mm512_loadu_si512(p + 64));
        c = fold(c, far, _mm512_loadu_si512(p + 128));
        d = fold(d, far, _mm512_loadu_si512(p + 192));
    }
    d = fold(fold(fold(a, near, b), near, c), near, d);
    unsigned char rest[64];
    _mm512_storeu_si512(rest, d);
    return by_instruction(by_instruction(0, rest, sizeof rest), p, n);
}

static crc_fn *choose(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2")) return by_table;
    int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
    return wide ? by_folding : by_instruction;
}
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

// The instructions by name: what declares them in C differs between compilers.
#define CRC __attribute__((target("+crc")))

CRC static inline uint32_t one_word(uint32_t crc, const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    __asm__("crc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
    return crc;
}

CRC static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) crc = one_word(crc, p);
    for (; n > 0; n--, p++) __asm__("crc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*p));
    return crc;
}

static crc_fn *choose(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32 ? by_instruction : by_table;
}
#else
static crc_fn *choose(void)
{
    return by_table;
}
#endif

uint32_t uno_crc32c(uint32_t crc, const void *data, size_t bytes)
{
    static _Atomic(crc_fn *) chosen;
    // Relaxed: every thread would choose the same.
    crc_fn *fn = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (__builtin_expect(!fn, 0)) {
        fn = choose();
        atomic_store_explicit(&chosen, fn, memory_order_relaxed);
    }
    return ~fn(~crc, data, bytes);
}
