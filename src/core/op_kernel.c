// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined reductions for each operation and machine type, compiled three times from the same text
// (baseline, AVX2, AVX-512) by inlining into functions with a target attribute, and chosen once at load. Own table
// instead of target_clones: no ifunc (which sanitizers and static linking trip over), and gcc and clang do the same.
// Always holds: results do not depend on the instruction set (no contraction, element by element).
#include "core/op_kernel.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <wchar.h>

#include "base/float.h"
#include "base/half.h"
#include "core/few.h"

#define INLINE static inline __attribute__((always_inline))
// NO_CARRY: out may be b itself, which the compiler's own overlap test would send to the slow loop.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"    // some loops (128 bits, long double) have no vector form
#define NO_CARRY _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")    // at O2 gcc 12 leaves loops of unknown length scalar
#define NO_CARRY _Pragma("GCC ivdep")
#endif

struct args {
    const void *a, *b;
    void *out;
    size_t n;
};

// One loop: x and y are the operands, E the result. Types may be unaligned and alias what the user has there.
#define LOOP(T, E)                                                                                                     \
    do {                                                                                                               \
        typedef T unaligned __attribute__((aligned(1), may_alias));                                                    \
        const unaligned *a = k.a, *b = k.b;                                                                            \
        unaligned *out = k.out;                                                                                        \
        NO_CARRY for (size_t i = 0; i < k.n; i++)                                                                      \
        {                                                                                                              \
            T x = a[i], y = b[i];                                                                                      \
            out[i] = (T)(E);                                                                                           \
        }                                                                                                              \
    } while (0)

// The families of the standard's table. Sums and products of signed integers wrap: their loops run unsigned.
#define SIGNED(E)                                                                                                      \
    case UNO_BASIC_I8: LOOP(int8_t, E); break;                                                                         \
    case UNO_BASIC_I16: LOOP(int16_t, E); break;                                                                       \
    case UNO_BASIC_I32: LOOP(int32_t, E); break;                                                                       \
    case UNO_BASIC_I64: LOOP(int64_t, E); break;                                                                       \
    case UNO_BASIC_I128:                                                                                               \
        LOOP(uno_i128, E);                                                                                             \
        break;
#define UNSIGNED(E)                                                                                                    \
    case UNO_BASIC_U8: LOOP(uint8_t, E); break;                                                                        \
    case UNO_BASIC_U16: LOOP(uint16_t, E); break;                                                                      \
    case UNO_BASIC_U32: LOOP(uint32_t, E); break;                                                                      \
    case UNO_BASIC_U64:                                                                                                \
        LOOP(uint64_t, E);                                                                                             \
        break;
#define MODULAR(E)                                                                                                     \
    case UNO_BASIC_I8:                                                                                                 \
    case UNO_BASIC_U8: LOOP(uint8_t, E); break;                                                                        \
    case UNO_BASIC_I16:                                                                                                \
    case UNO_BASIC_U16: LOOP(uint16_t, E); break;                                                                      \
    case UNO_BASIC_I32:                                                                                                \
    case UNO_BASIC_U32: LOOP(uint32_t, E); break;                                                                      \
    case UNO_BASIC_I64:                                                                                                \
    case UNO_BASIC_U64: LOOP(uint64_t, E); break;                                                                      \
    case UNO_BASIC_I128:                                                                                               \
        LOOP(uno_u128, E);                                                                                             \
        break;
#define FLOATS(E)                                                                                                      \
    case UNO_BASIC_F32: LOOP(float, E); break;                                                                         \
    case UNO_BASIC_F64: LOOP(double, E); break;                                                                        \
    case UNO_BASIC_F80: LOOP(long double, E); break;                                                                   \
    case UNO_BASIC_F128:                                                                                               \
        LOOP(uno_f128, E);                                                                                             \
        break;
#define LOGICALS(E)                                                                                                    \
    case UNO_BASIC_BOOL:                                                                                               \
    case UNO_BASIC_L8: LOOP(uint8_t, E); break;                                                                        \
    case UNO_BASIC_L16: LOOP(uint16_t, E); break;                                                                      \
    case UNO_BASIC_L32: LOOP(uint32_t, E); break;                                                                      \
    case UNO_BASIC_L64: LOOP(uint64_t, E); break;                                                                      \
    case UNO_BASIC_L128: LOOP(uno_u128, E); break;

// Half floats: widened, combined as float and rounded, which gives the correctly rounded half result for one operation.
#define HALF(E)                                                                                                        \
    case UNO_BASIC_F16:                                                                                                \
        LOOP16(E);                                                                                                     \
        break;
#define HALVES 256    // in a block: its floats stay in the first cache
#define LOOP16(E)                                                                                                      \
    do {                                                                                                               \
        float left[HALVES], right[HALVES];                                                                             \
        for (size_t at = 0; at < k.n; at += HALVES) {                                                                  \
            size_t some = k.n - at < HALVES ? k.n - at : HALVES;                                                       \
            uno_half_widen(left, (const uno_half *)k.a + at, some);                                                    \
            uno_half_widen(right, (const uno_half *)k.b + at, some);                                                   \
            for (size_t i = 0; i < some; i++) {                                                                        \
                float x = left[i], y = right[i];                                                                       \
                left[i] = (E);                                                                                         \
            }                                                                                                          \
            uno_half_narrow((uno_half *)k.out + at, left, some);                                                       \
        }                                                                                                              \
    } while (0)

INLINE void sum(enum uno_basic basic, struct args k)
{
    switch (basic) {
        MODULAR(x + y)
        HALF(x + y)
    case UNO_BASIC_C16:
        k.n *= 2;
        LOOP16(x + y);
        break;
    case UNO_BASIC_C32:
        k.n *= 2;
        LOOP(float, x + y);
        break;
    case UNO_BASIC_C64:
        k.n *= 2;
        LOOP(double, x + y);
        break;
    case UNO_BASIC_C80:
        k.n *= 2;
        LOOP(long double, x + y);
        break;
    case UNO_BASIC_C128:
        k.n *= 2;
        LOOP(uno_f128, x + y);
        break;
        FLOATS(x + y)
    default: break;
    }
}

INLINE void min(enum uno_basic basic, struct args k)
{
    switch (basic) {
        SIGNED(x < y ? x : y)
        UNSIGNED(x < y ? x : y)
        HALF(x < y ? x : y)
        FLOATS(x < y ? x : y)
    default: break;
    }
}

INLINE void max(enum uno_basic basic, struct args k)
{
    switch (basic) {
        SIGNED(x > y ? x : y)
        UNSIGNED(x > y ? x : y)
        HALF(x > y ? x : y)
        FLOATS(x > y ? x : y)
    default: break;
    }
}

// Products of complex numbers; W is the type computed in.
#define COMPLEX_LOOP(T, W, get, put)                                                                                   \
    do {                                                                                                               \
        typedef T unaligned __attribute__((aligned(1), may_alias));                                                    \
        const unaligned *a = k.a, *b = k.b;                                                                            \
        unaligned *out = k.out;                                                                                        \
        NO_CARRY for (size_t i = 0; i < 2 * k.n; i += 2)                                                               \
        {                                                                                                              \
            W ar = get(a[i]), ai = get(a[i + 1]);                                                                      \
            W br = get(b[i]), bi = get(b[i + 1]);                                                                      \
            W re = ar * br - ai * bi, im = ar * bi + ai * br;                                                          \
            out[i] = put(re);                                                                                          \
            out[i + 1] = put(im);                                                                                      \
        }                                                                                                              \
    } while (0)
#define SAME(v) (v)

INLINE void prod(enum uno_basic basic, struct args k)
{
    switch (basic) {
        MODULAR(1u * x * y)
        HALF(x * y)
        FLOATS(x * y)
    case UNO_BASIC_C16: COMPLEX_LOOP(uint16_t, float, uno_half_to_float, uno_half_from_float); break;
    case UNO_BASIC_C32: COMPLEX_LOOP(float, float, SAME, SAME); break;
    case UNO_BASIC_C64: COMPLEX_LOOP(double, double, SAME, SAME); break;
    case UNO_BASIC_C80: COMPLEX_LOOP(long double, long double, SAME, SAME); break;
    case UNO_BASIC_C128: COMPLEX_LOOP(uno_f128, uno_f128, SAME, SAME); break;
    default: break;
    }
}

INLINE void bitwise(enum uno_reduce op, enum uno_basic basic, struct args k)
{
    static const uint8_t width[UNO_BASIC_END] = {
        [UNO_BASIC_I8] = 1,  [UNO_BASIC_U8] = 1,  [UNO_BASIC_I16] = 2, [UNO_BASIC_U16] = 2,  [UNO_BASIC_I32] = 4,
        [UNO_BASIC_U32] = 4, [UNO_BASIC_I64] = 8, [UNO_BASIC_U64] = 8, [UNO_BASIC_I128] = 16};
    k.n *= width[basic];
    if (op == UNO_REDUCE_BAND)
        LOOP(uint8_t, x & y);
    else if (op == UNO_REDUCE_BOR)
        LOOP(uint8_t, x | y);
    else
        LOOP(uint8_t, x ^ y);
}

INLINE void logical(enum uno_reduce op, enum uno_basic basic, struct args k)
{
    if (op == UNO_REDUCE_LAND) switch (basic) {
            MODULAR((x != 0) & (y != 0)) LOGICALS((x != 0) & (y != 0)) default : break;
        }
    else if (op == UNO_REDUCE_LOR)
        switch (basic) {
            MODULAR((x != 0) | (y != 0)) LOGICALS((x != 0) | (y != 0)) default : break;
        }
    else
        switch (basic) {
            MODULAR((x != 0) ^ (y != 0)) LOGICALS((x != 0) ^ (y != 0)) default : break;
        }
}

// Value and index: the better value wins, of equal ones the smaller index.
#define PAIRS(V, I)                                                                                                    \
    do {                                                                                                               \
        struct pair {                                                                                                  \
            V v;                                                                                                       \
            I i;                                                                                                       \
        } p, q;                                                                                                        \
        const char *a = k.a, *b = k.b;                                                                                 \
        char *out = k.out;                                                                                             \
        for (size_t n = k.n; n > 0; n--) {                                                                             \
            memcpy(&p, a, sizeof p);                                                                                   \
            memcpy(&q, b, sizeof q);                                                                                   \
            bool first = least ? p.v < q.v : p.v > q.v;                                                                \
            I lower = p.i < q.i ? p.i : q.i;                                                                           \
            I index = p.v == q.v ? lower : first ? p.i : q.i;                                                          \
            memmove(out, first ? a : b, sizeof p.v);                                                                   \
            memcpy(out + offsetof(struct pair, i), &index, sizeof index);                                              \
            a += sizeof p, b += sizeof p, out += sizeof p;                                                             \
        }                                                                                                              \
    } while (0)

// The same of a value and an index in a word each (W; value and index say what a word is), which the compiler takes
// many at a time. kept: the bits of both words that belong to neither, and stay those of b: for reductions into b.
#define WORD_PAIRS(W, value, index, kept_of_value, kept_of_index)                                                      \
    do {                                                                                                               \
        typedef W unaligned __attribute__((aligned(1), may_alias));                                                    \
        const unaligned *a = k.a, *b = k.b;                                                                            \
        unaligned *out = k.out;                                                                                        \
        NO_CARRY for (size_t i = 0; i < k.n; i++)                                                                      \
        {                                                                                                              \
            W av = a[2 * i], ai = a[2 * i + 1], bv = b[2 * i], bi = b[2 * i + 1];                                      \
            W first = -(W)(least ? value(av) < value(bv) : value(av) > value(bv));                                     \
            W lower = -(W)(value(av) == value(bv)) & -(W)(index(ai) < index(bi));                                      \
            out[2 * i] = bv ^ ((av ^ bv) & first & ~(W)(kept_of_value));                                               \
            out[2 * i + 1] = bi ^ ((ai ^ bi) & (first | lower) & ~(W)(kept_of_index));                                 \
        }                                                                                                              \
    } while (0)
#define INT(word) ((int32_t)(word))
#define SHORT(word) ((int32_t)((word) << 16) >> 16)
#define LONG(word) ((int64_t)(word))
#define REST_OF_SHORT 0xffff0000u
#define REST_OF_INT 0xffffffff00000000u

INLINE float FLOAT(uint32_t word)
{
    float v;
    memcpy(&v, &word, sizeof v);
    return v;
}

INLINE double DOUBLE(uint64_t word)
{
    double v;
    memcpy(&v, &word, sizeof v);
    return v;
}

// Pairs with gaps, which are left alone.
INLINE void located_apart(bool least, enum uno_basic basic, struct args k)
{
    bool onto = k.out == k.b;
    switch (basic) {
    case UNO_BASIC_SHORT_INT:
        if (onto)
            WORD_PAIRS(uint32_t, SHORT, INT, REST_OF_SHORT, 0);
        else
            PAIRS(short, int);
        break;
    case UNO_BASIC_DOUBLE_INT:
        if (onto)
            WORD_PAIRS(uint64_t, DOUBLE, INT, 0, REST_OF_INT);
        else
            PAIRS(double, int);
        break;
    case UNO_BASIC_LONG_INT:
        if (onto)
            WORD_PAIRS(uint64_t, LONG, INT, 0, REST_OF_INT);
        else
            PAIRS(long, int);
        break;
    default: PAIRS(long double, int);
    }
}

INLINE void located(bool least, enum uno_basic basic, struct args k)
{
    switch (basic) {
    case UNO_BASIC_FLOAT_INT: WORD_PAIRS(uint32_t, FLOAT, INT, 0, 0); break;
    case UNO_BASIC_2INT: WORD_PAIRS(uint32_t, INT, INT, 0, 0); break;
    case UNO_BASIC_2REAL: WORD_PAIRS(uint32_t, FLOAT, FLOAT, 0, 0); break;
    case UNO_BASIC_2DOUBLE: WORD_PAIRS(uint64_t, DOUBLE, DOUBLE, 0, 0); break;
    default: located_apart(least, basic, k);
    }
}

INLINE void reduce(enum uno_reduce op, enum uno_basic basic, struct args k)
{
    switch (op) {
    case UNO_REDUCE_SUM: sum(basic, k); break;
    case UNO_REDUCE_MIN: min(basic, k); break;
    case UNO_REDUCE_MAX: max(basic, k); break;
    case UNO_REDUCE_PROD: prod(basic, k); break;
    case UNO_REDUCE_BAND:
    case UNO_REDUCE_BOR:
    case UNO_REDUCE_BXOR: bitwise(op, basic, k); break;
    case UNO_REDUCE_LAND:
    case UNO_REDUCE_LOR:
    case UNO_REDUCE_LXOR: logical(op, basic, k); break;
    case UNO_REDUCE_MINLOC: located(true, basic, k); break;
    case UNO_REDUCE_MAXLOC: located(false, basic, k); break;
    case UNO_REDUCE_END: break;
    }
}

// Six arguments in registers: a struct of them, written in words and read wider, would wait for all earlier stores,
// those into lines of other ranks too.
typedef void loops(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b, void *out, size_t n);

static void reduce_base(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b, void *out, size_t n)
{
    reduce(op, basic, (struct args){a, b, out, n});
}

UNO_FOR_AVX2 static void reduce_avx2(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b, void *out,
                                     size_t n)
{
    reduce(op, basic, (struct args){a, b, out, n});
}

UNO_FOR_AVX512 static void reduce_avx512(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b,
                                         void *out, size_t n)
{
    reduce(op, basic, (struct args){a, b, out, n});
}

static loops *chosen = reduce_base;

enum uno_isa uno_reduce_choose(enum uno_isa most)
{
    enum uno_isa level = uno_isa() < most ? uno_isa() : most;
    chosen = level == UNO_ISA_AVX512 ? reduce_avx512 : level == UNO_ISA_AVX2 ? reduce_avx2 : reduce_base;
    return level;
}

__attribute__((constructor)) static void choose(void)
{
    uno_reduce_choose(UNO_ISA_AVX512);
}

// The integer that a character or a byte is.
static enum uno_basic number_of(enum uno_basic basic)
{
    _Static_assert(sizeof(wchar_t) == 4, "wide characters are reduced as 32-bit integers");
    if (basic == UNO_BASIC_CHAR) return CHAR_MIN < 0 ? UNO_BASIC_I8 : UNO_BASIC_U8;
    if (basic == UNO_BASIC_WCHAR) return WCHAR_MIN < 0 ? UNO_BASIC_I32 : UNO_BASIC_U32;
    return basic == UNO_BASIC_BYTE ? UNO_BASIC_U8 : basic;
}

void uno_reduce(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b, void *out, size_t n)
{
    if (op == UNO_REDUCE_SUM && uno_adds_few(basic, n))
        uno_add_few(basic, a, b, out, n);
    else
        chosen(op, number_of(basic), a, b, out, n);
}

#define BASICS(first, last) ((UINT64_C(2) << UNO_BASIC_##last) - (UINT64_C(1) << UNO_BASIC_##first))
#define INTEGERS BASICS(I8, I128)
#define REALS BASICS(F16, F128)
#define NUMBERS (INTEGERS | REALS | BASICS(C16, C128))
#define BITS (INTEGERS | BASICS(BYTE, BYTE))
#define TRUTHS (INTEGERS | BASICS(BOOL, L128))
#define LOCATED BASICS(FLOAT_INT, 2DOUBLE)
_Static_assert(UNO_BASIC_END < 64, "a bit for each machine type");

// The machine types that the standard's table has for each operation.
static const uint64_t standard[UNO_REDUCE_END + 1] = {
    [UNO_REDUCE_SUM] = NUMBERS, [UNO_REDUCE_PROD] = NUMBERS,   [UNO_REDUCE_MIN] = INTEGERS | REALS,
    [UNO_REDUCE_BAND] = BITS,   [UNO_REDUCE_BOR] = BITS,       [UNO_REDUCE_MAX] = INTEGERS | REALS,
    [UNO_REDUCE_BXOR] = BITS,   [UNO_REDUCE_LAND] = TRUTHS,    [UNO_REDUCE_LOR] = TRUTHS,
    [UNO_REDUCE_LXOR] = TRUTHS, [UNO_REDUCE_MINLOC] = LOCATED, [UNO_REDUCE_MAXLOC] = LOCATED,
};

bool uno_reduce_defined(enum uno_reduce op, enum uno_basic basic)
{
    return uno_reduce_standard(op, number_of(basic));
}

bool uno_reduce_standard(enum uno_reduce op, enum uno_basic basic)
{
    return standard[op] >> basic & 1;
}
