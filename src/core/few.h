// SPDX-License-Identifier: BSD-3-Clause
// Sums of one or two numbers, in words as wide as the numbers. Who adds to the result again finds it in the store
// buffer; a vector that is not full is stored under a mask, which later loads wait for. For op_kernel.c and one-sided
// accumulates.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/type.h"

#define UNO_FEW 2

static inline bool uno_adds_few(enum uno_basic basic, size_t n)
{
    const uint64_t known = UINT64_C(1) << UNO_BASIC_I32 | UINT64_C(1) << UNO_BASIC_U32 | UINT64_C(1) << UNO_BASIC_I64 |
                           UINT64_C(1) << UNO_BASIC_U64 | UINT64_C(1) << UNO_BASIC_F32 | UINT64_C(1) << UNO_BASIC_F64;
    return n - 1 < UNO_FEW && known >> basic & 1;
}

#define UNO_FEW_OF(T)                                                                                                  \
    do {                                                                                                               \
        typedef T unaligned __attribute__((aligned(1), may_alias));                                                    \
        const unaligned *x = a, *y = b;                                                                                \
        unaligned *sum = out;                                                                                          \
        if (n == UNO_FEW) sum[1] = (T)(x[1] + y[1]);                                                                   \
        sum[0] = (T)(x[0] + y[0]);                                                                                     \
    } while (0)

// out[i] = a[i] + b[i], where uno_adds_few says so. out may be b (or a) exactly. Signed integers wrap.
static inline void uno_add_few(enum uno_basic basic, const void *a, const void *b, void *out, size_t n)
{
    switch (basic) {
    case UNO_BASIC_I32:
    case UNO_BASIC_U32: UNO_FEW_OF(uint32_t); break;
    case UNO_BASIC_I64:
    case UNO_BASIC_U64: UNO_FEW_OF(uint64_t); break;
    case UNO_BASIC_F32: UNO_FEW_OF(float); break;
    default: UNO_FEW_OF(double);
    }
}
