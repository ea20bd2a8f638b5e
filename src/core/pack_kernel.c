// SPDX-License-Identifier: BSD-3-Clause
// Copies of many runs of one length, compiled for each length 1..64 so that a run is a few moves and no call; those up
// to MIDDLE go by whole vector registers, longer ones are memcpy. Runs of 8 bytes are gathered by vector instructions
// where the processor has them and they pay (base/gather.h), every second unit by shuffles (base/pairs.h). Called by
// pack.c. Always holds: exactly the bytes of the runs are read and written.
#include "core/pack_kernel.h"

#include <stdint.h>
#include <string.h>

#include "base/gather.h"
#include "base/pairs.h"

#define INLINE static inline __attribute__((always_inline))

// Runs so far apart are each a line, and soon a page, of their own: plain loads have more misses in flight than
// gathers.
#define FAR 1024
#define AHEAD 2        // runs that are asked for before they are copied (bench: ddt-lat/panel)
#define MIDDLE 4096    // bytes; from there on memcpy is as fast

static enum uno_isa isa, gathers;

enum uno_isa uno_copy_choose(enum uno_isa most)
{
    return gathers = isa = uno_isa() < most ? uno_isa() : most;
}

__attribute__((constructor)) static void choose(void)
{
    uno_copy_choose(UNO_ISA_AVX512);
    if (!uno_isa_gathers_well()) gathers = UNO_ISA_BASE;
}

// One case a length: `len` is a constant in the loop that is inlined there.
#define EIGHT(CASE, from)                                                                                              \
    CASE((from) + 1)                                                                                                   \
    CASE((from) + 2)                                                                                                   \
    CASE((from) + 3) CASE((from) + 4) CASE((from) + 5) CASE((from) + 6) CASE((from) + 7) CASE((from) + 8)
#define EACH_LENGTH(CASE)                                                                                              \
    EIGHT(CASE, 0)                                                                                                     \
    EIGHT(CASE, 8) EIGHT(CASE, 16) EIGHT(CASE, 24) EIGHT(CASE, 32) EIGHT(CASE, 40) EIGHT(CASE, 48) EIGHT(CASE, 56)

// Beyond 64 bytes: runs at dst + ddisp[i] or ds apart, from src + sdisp[i] or ss apart.
struct many {
    char *dst;
    const char *src;
    const ptrdiff_t *ddisp, *sdisp;
    ptrdiff_t ds, ss;
    size_t len, n;
};

// Whole lines in the order of addresses: memcpy goes in loops of its own, which for runs of 512 bytes into far pages
// took 2.5 times as long (bench: ddt-lat/panel).
INLINE void long_runs(const struct many *m)
{
    for (size_t i = 0; i < m->n; i++) {
        char *d = m->dst + (m->ddisp ? m->ddisp[i] : (ptrdiff_t)i * m->ds);
        const char *s = m->src + (m->sdisp ? m->sdisp[i] : (ptrdiff_t)i * m->ss);
        for (size_t k = 0; k + 64 < m->len; k += 64) {
            // Only one side has a stride: the other is the stream.
            if (!m->sdisp && m->ss != (ptrdiff_t)m->len) __builtin_prefetch(s + AHEAD * m->ss + k);
            if (!m->ddisp && m->ds != (ptrdiff_t)m->len) __builtin_prefetch(d + AHEAD * m->ds + k, 1);
            memcpy(d + k, s + k, 64);
        }
        memcpy(d + m->len - 64, s + m->len - 64, 64);
    }
}

UNO_FOR_AVX2 static void long_avx2(const struct many *m)
{
    long_runs(m);
}

UNO_FOR_AVX512 static void long_avx512(const struct many *m)
{
    long_runs(m);
}

static void copy_long(const struct many *m)
{
    if (isa == UNO_ISA_AVX512 && m->len <= MIDDLE) {
        long_avx512(m);
        return;
    }
    if (isa == UNO_ISA_AVX2 && m->len <= MIDDLE) {
        long_avx2(m);
        return;
    }
    for (size_t i = 0; i < m->n; i++)
        memcpy(m->dst + (m->ddisp ? m->ddisp[i] : (ptrdiff_t)i * m->ds),
               m->src + (m->sdisp ? m->sdisp[i] : (ptrdiff_t)i * m->ss), m->len);
}

INLINE uint64_t word_at(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

// Four runs of 8 bytes, all read before the first is written: the compiler, which does not know that they lie apart,
// cannot (Zen 4, 64 KiB of such runs: 2.2 to 1.7 us, gathered 3.4).
INLINE void four(char *const dst[4], const char *const src[4])
{
    uint64_t a = word_at(src[0]), b = word_at(src[1]), c = word_at(src[2]), d = word_at(src[3]);
    memcpy(dst[0], &a, sizeof a);
    memcpy(dst[1], &b, sizeof b);
    memcpy(dst[2], &c, sizeof c);
    memcpy(dst[3], &d, sizeof d);
}

INLINE void runs(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
    size_t i = 0;
    for (; len == 8 && i + 4 <= n; i += 4, dst += 4 * ds, src += 4 * ss)
        four((char *[]){dst, dst + ds, dst + 2 * ds, dst + 3 * ds},
             (const char *[]){src, src + ss, src + 2 * ss, src + 3 * ss});
    for (; i < n; i++, dst += ds, src += ss) memcpy(dst, src, len);
}

void uno_copy_runs(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, size_t len, size_t n)
{
#define RUNS(constant)                                                                                                 \
    case constant: runs(dst, ds, src, ss, constant, n); return;
    ptrdiff_t unit = (ptrdiff_t)len;
    size_t done = 0;
    if (ds == unit && ss == 2 * unit)
        done = uno_pairs_take(isa, dst, src, len, n);
    else if (ss == unit && ds == 2 * unit)
        done = uno_pairs_put(isa, dst, src, len, n);
    else if (len == 8 && ds == 8 && ss < FAR && ss > -FAR)
        done = uno_gather_stride(gathers, dst, src, ss, n);
    dst += (ptrdiff_t)done * ds;
    src += (ptrdiff_t)done * ss;
    n -= done;
    switch (len) {
        EACH_LENGTH(RUNS)
    default: copy_long(&(struct many){.dst = dst, .src = src, .ds = ds, .ss = ss, .len = len, .n = n});
    }
}

INLINE void gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    size_t i = 0;
    for (; len == 8 && i + 4 <= n; i += 4, disp += 4, packed += 4 * len)
        four((char *[]){packed, packed + len, packed + 2 * len, packed + 3 * len},
             (const char *[]){base + disp[0], base + disp[1], base + disp[2], base + disp[3]});
    for (; i < n; i++, disp++, packed += len) memcpy(packed, base + *disp, len);
}

void uno_copy_gather(char *packed, const char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
#define GATHER(constant)                                                                                               \
    case constant: gather(packed, base, disp, constant, n); return;
    if (len == 8) {
        size_t done = uno_gather(gathers, packed, base, disp, n);
        packed += 8 * done;
        disp += done;
        n -= done;
    }
    switch (len) {
        EACH_LENGTH(GATHER)
    default:
        copy_long(&(struct many){.dst = packed, .src = base, .sdisp = disp, .ds = (ptrdiff_t)len, .len = len, .n = n});
    }
}

INLINE void scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
    size_t i = 0;
    for (; len == 8 && i + 4 <= n; i += 4, disp += 4, packed += 4 * len)
        four((char *[]){base + disp[0], base + disp[1], base + disp[2], base + disp[3]},
             (const char *[]){packed, packed + len, packed + 2 * len, packed + 3 * len});
    for (; i < n; i++, disp++, packed += len) memcpy(base + *disp, packed, len);
}

void uno_copy_scatter(const char *packed, char *base, const ptrdiff_t *disp, size_t len, size_t n)
{
#define SCATTER(constant)                                                                                              \
    case constant: scatter(packed, base, disp, constant, n); return;
    switch (len) {
        EACH_LENGTH(SCATTER)
    default:
        copy_long(&(struct many){.dst = base, .src = packed, .ddisp = disp, .ss = (ptrdiff_t)len, .len = len, .n = n});
    }
}

// A run of each column before the next run of any: the line that they share is touched once.
INLINE void grid(const struct uno_grid *g, size_t len, bool in)
{
    for (size_t r = 0; r < g->runs; r++) {
        char *user = g->user + (ptrdiff_t)r * g->down, *packed = g->packed + r * len;
        for (size_t c = 0; c < g->columns; c++, user += g->across, packed += g->runs * len)
            memcpy(in ? user : packed, in ? packed : user, len);
    }
}

void uno_copy_grid(const struct uno_grid *g, bool in)
{
#define GRID(constant)                                                                                                 \
    case constant: grid(g, constant, in); return;
    switch (g->len) {
        GRID(4) GRID(8) GRID(16) default : grid(g, g->len, in);
    }
}
