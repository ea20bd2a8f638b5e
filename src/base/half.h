// SPDX-License-Identifier: BSD-3-Clause
// IEEE binary16: one number in integer arithmetic, for compilers and processors without it, and blocks of them with the
// conversion instructions where there are any (half.c). User: the reduction loops.
// Always holds: rounding is to nearest even; infinities, subnormals and NaNs are kept; block and single conversions
// agree.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void uno_half_widen(float *out, const void *halves, size_t n);
void uno_half_narrow(void *halves, const float *in, size_t n);

typedef uint16_t uno_half __attribute__((aligned(1), may_alias));

static inline __attribute__((always_inline)) float uno_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, body = (uint32_t)(h & 0x7fff) << 13, bits;
    float f;
    if (body >= 0x0f800000)
        bits = body | 0x7f800000;    // infinity, NaN
    else
        bits = body + 0x38000000;    // exponent bias 15 -> 127
    if (body < 0x00800000) {         // zero, subnormal: scaled by the float unit
        bits = body + 0x38800000;
        memcpy(&f, &bits, 4);
        f -= 6.103515625e-05f;
        memcpy(&bits, &f, 4);
    }
    bits |= sign;
    memcpy(&f, &bits, 4);
    return f;
}

static inline __attribute__((always_inline)) uint16_t uno_half_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));    // NaN
    if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                          // rounds to infinity
    if (bits < 0x38800000) {    // subnormal or zero: the adder rounds
        memcpy(&f, &bits, 4);
        f += 0.5f;
        memcpy(&bits, &f, 4);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    return (uint16_t)(sign | ((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13));
}
