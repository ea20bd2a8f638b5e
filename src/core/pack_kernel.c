// SPDX-License-Identifier: BSD-3-Clause
// Copies of many runs of one length, compiled for each length 1..64 so that a run is a few moves and no call; longer
// ones are memcpy. Runs of 8 bytes are gathered by vector instructions where the processor has them (base/gather.h).
// Called by pack.c. Always holds: exactly the bytes of the runs are read and written.
#include "core/pack_kernel.h"

#include <string.h>

#include "base/gather.h"

#define INLINE static inline __attribute__((always_inline))

// Runs so far apart are each a line, and soon a page, of their own: plain loads have more misses in flight than
// gathers.
#define FAR 1024

static enum uno_isa isa;

enum uno_isa uno_copy_choose(enum uno_isa most)
{
    return isa = uno_isa() < most ? uno_isa() : most;
}

__attribute__((constructor)) static void choose(void)
{
    uno_copy_choose(UNO_ISA_AVX512);
}

// One case a length: `len` is a constant in the loop that is inlined there.
#define EIGHT(CASE, from)                                                                                              \
    CASE((from) + 1)                                                                                                   \
    CASE((from) + 2)                                                                                                   \
    CASE((from) + 3) CASE((from) + 4) CASE((from) + 5) CASE((from) + 6) CASE((from) + 7) CASE((from) + 8)
#define EACH_LENGTH(CASE)                                                                                              \
    EIGHT(CASE, 0)                                                                                                     \
    EIGHT(CASE, 8) EIGHT(CASE, 16) EIGHT(CASE, 24) EIGHT(CASE, 32) EIGHT(CASE, 40) EIGHT(CASE, 48) EIGHT(CASE, 56)

INLINE void runs(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++, dst += ds, src += ss) memcpy(dst, src, len);
}

void uno_copy_runs(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
#define RUNS(constant)                                                                                                 \
    case constant: runs(dst, ds, src, ss, constant, n); return;
    if (len == 8 && ds == 8 && ss < FAR && ss > -FAR) {
        size_t done = uno_gather_stride(isa, dst, src, ss, n);
        dst += 8 * done;
        src += (ptrdiff_t)done * ss;
        n -= done;
    }
    switch (len) {
        EACH_LENGTH(RUNS)
    default: runs(dst, ds, src, ss, len, n);
    }
}

INLINE void gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++) memcpy(packed + i * len, base + disp[i], len);
}

void uno_copy_gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
#define GATHER(constant)                                                                                               \
    case constant: gather(packed, base, disp, constant, n); return;
    if (len == 8) {
        size_t done = uno_gather(isa, packed, base, disp, n);
        packed += 8 * done;
        disp += done;
        n -= done;
    }
    switch (len) {
        EACH_LENGTH(GATHER)
    default: gather(packed, base, disp, len, n);
    }
}

INLINE void scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++) memcpy(base + disp[i], packed + i * len, len);
}

void uno_copy_scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
#define SCATTER(constant)                                                                                              \
    case constant: scatter(packed, base, disp, constant, n); return;
    switch (len) {
        EACH_LENGTH(SCATTER)
    default: scatter(packed, base, disp, len, n);
    }
}
