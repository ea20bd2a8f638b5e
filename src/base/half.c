// SPDX-License-Identifier: BSD-3-Clause
// Blocks of IEEE binary16 to and from float: eight at a time with the F16C instructions where the processor has them
// (every one with AVX2 has them), chosen at load; four at a time with those that every aarch64 has. Called by the
// reduction loops.
#include "base/half.h"

#include "base/isa.h"

static void widen_base(float *out, const void *halves, size_t n)
{
    const uno_half *in = halves;
    for (size_t i = 0; i < n; i++) out[i] = uno_half_to_float(in[i]);
}

static void narrow_base(void *halves, const float *in, size_t n)
{
    uno_half *out = halves;
    for (size_t i = 0; i < n; i++) out[i] = uno_half_from_float(in[i]);
}

static void (*widen)(float *, const void *, size_t) = widen_base;
static void (*narrow)(void *, const float *, size_t) = narrow_base;

#if defined(__x86_64__)
#include <immintrin.h>

UNO_FOR_AVX2 static void widen_f16c(float *out, const void *halves, size_t n)
{
    const uno_half *in = halves;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + i))));
    widen_base(out + i, in + i, n - i);
}

UNO_FOR_AVX2 static void narrow_f16c(void *halves, const float *in, size_t n)
{
    uno_half *out = halves;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    narrow_base(out + i, in + i, n - i);
}

__attribute__((constructor)) static void choose(void)
{
    if (uno_isa() == UNO_ISA_BASE) return;
    widen = widen_f16c;
    narrow = narrow_f16c;
}
#elif defined(__aarch64__)
#include <arm_neon.h>

static void widen_neon(float *out, const void *halves, size_t n)
{
    const uno_half *in = halves;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint16_t four[4];
        memcpy(four, in + i, sizeof four);
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(four))));
    }
    widen_base(out + i, in + i, n - i);
}

static void narrow_neon(void *halves, const float *in, size_t n)
{
    uno_half *out = halves;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint16_t four[4];
        vst1_u16(four, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
        memcpy(out + i, four, sizeof four);
    }
    narrow_base(out + i, in + i, n - i);
}

__attribute__((constructor)) static void choose(void)
{
    widen = widen_neon;
    narrow = narrow_neon;
}
#endif

void uno_half_widen(float *out, const void *halves, size_t n)
{
    widen(out, halves, n);
}

void uno_half_narrow(void *halves, const float *in, size_t n)
{
    narrow(halves, in, n);
}
