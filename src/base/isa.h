// SPDX-License-Identifier: BSD-3-Clause
// Instruction sets that hot loops are compiled for besides the baseline. A loop is written once, inlined into one
// function per instruction set (UNO_FOR_AVX2, UNO_FOR_AVX512), and the function is chosen once at load by uno_isa().
// Always holds: on other processors the attributes are empty and uno_isa() is 0.
#pragma once
#include <stdbool.h>

enum uno_isa { UNO_ISA_BASE, UNO_ISA_AVX2, UNO_ISA_AVX512 };

#if !defined(__x86_64__)
#define UNO_FOR_AVX2
#define UNO_FOR_AVX512
#elif defined(__clang__)
#define UNO_FOR_AVX2 __attribute__((target("avx2,f16c")))
#define UNO_FOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#else
#define UNO_FOR_AVX2 __attribute__((target("avx2,f16c")))
#define UNO_FOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,prefer-vector-width=512")))
#endif

// The widest one that this processor has.
static inline enum uno_isa uno_isa(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool wide =
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wide) return UNO_ISA_AVX512;
    if (__builtin_cpu_supports("avx2")) return UNO_ISA_AVX2;
#endif
    return UNO_ISA_BASE;
}

// Whether its gather instructions beat plain loads: AMD's are made of more steps than the loads they stand for (Zen 4).
static inline bool uno_isa_gathers_well(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
#else
    return false;
#endif
}
