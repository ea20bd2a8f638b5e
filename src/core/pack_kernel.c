// SPDX-License-Identifier: BSD-3-Clause
// Copies of many runs of one length, compiled for each length 1..64 so that a run is a few moves and no call; longer
// ones are memcpy. Called by pack.c. Always holds: exactly the bytes of the runs are written.
#include "core/pack_kernel.h"

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// EACH(f) calls f with a constant length for the common ones; a length that is none of them is put together from two
// overlapping moves of the power of two below it.
INLINE void copy_const(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++, dst += ds, src += ss) memcpy(dst, src, len);
}

// A run of half < len <= 2 * half bytes is two moves of half bytes that overlap.
INLINE void copy_pair(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t half, size_t n)
{
    for (size_t i = 0; i < n; i++, dst += ds, src += ss) {
        char a[32], b[32];
        memcpy(a, src, half);
        memcpy(b, src + len - half, half);
        memcpy(dst, a, half);
        memcpy(dst + len - half, b, half);
    }
}

void uno_copy_runs(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
    switch (len) {
    case 1: copy_const(dst, ds, src, ss, 1, n); return;
    case 2: copy_const(dst, ds, src, ss, 2, n); return;
    case 3: copy_const(dst, ds, src, ss, 3, n); return;
    case 4: copy_const(dst, ds, src, ss, 4, n); return;
    case 8: copy_const(dst, ds, src, ss, 8, n); return;
    case 12: copy_const(dst, ds, src, ss, 12, n); return;
    case 16: copy_const(dst, ds, src, ss, 16, n); return;
    case 24: copy_const(dst, ds, src, ss, 24, n); return;
    case 32: copy_const(dst, ds, src, ss, 32, n); return;
    case 64: copy_const(dst, ds, src, ss, 64, n); return;
    default: break;
    }
    if (len < 8)
        copy_pair(dst, ds, src, ss, len, 4, n);
    else if (len < 16)
        copy_pair(dst, ds, src, ss, len, 8, n);
    else if (len < 32)
        copy_pair(dst, ds, src, ss, len, 16, n);
    else if (len < 64)
        copy_pair(dst, ds, src, ss, len, 32, n);
    else
        copy_const(dst, ds, src, ss, len, n);
}

INLINE void gather_const(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++) memcpy(packed + i * len, base + disp[i], len);
}

void uno_copy_gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    switch (len) {
    case 1: gather_const(packed, base, disp, 1, n); return;
    case 2: gather_const(packed, base, disp, 2, n); return;
    case 4: gather_const(packed, base, disp, 4, n); return;
    case 8: gather_const(packed, base, disp, 8, n); return;
    case 12: gather_const(packed, base, disp, 12, n); return;
    case 16: gather_const(packed, base, disp, 16, n); return;
    case 24: gather_const(packed, base, disp, 24, n); return;
    case 32: gather_const(packed, base, disp, 32, n); return;
    case 64: gather_const(packed, base, disp, 64, n); return;
    default: gather_const(packed, base, disp, len, n); return;
    }
}

INLINE void scatter_const(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++) memcpy(base + disp[i], packed + i * len, len);
}

void uno_copy_scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    switch (len) {
    case 1: scatter_const(packed, base, disp, 1, n); return;
    case 2: scatter_const(packed, base, disp, 2, n); return;
    case 4: scatter_const(packed, base, disp, 4, n); return;
    case 8: scatter_const(packed, base, disp, 8, n); return;
    case 12: scatter_const(packed, base, disp, 12, n); return;
    case 16: scatter_const(packed, base, disp, 16, n); return;
    case 24: scatter_const(packed, base, disp, 24, n); return;
    case 32: scatter_const(packed, base, disp, 32, n); return;
    case 64: scatter_const(packed, base, disp, 64, n); return;
    default: scatter_const(packed, base, disp, len, n); return;
    }
}
