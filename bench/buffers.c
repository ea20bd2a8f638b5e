// SPDX-License-Identifier: BSD-3-Clause
// Message buffers and their content. Send and receive areas are disjoint, page-aligned (plus --align), kept from one
// size to the next and touched before use. Content is seeded and non-constant; the checks compare every byte and return
// the first wrong offset. Reduction operands are small integers, so that sums and products are exact in every type.
// Also the random numbers of the suite.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct area {
    char *base;
    size_t size;
};
static struct area areas[2];
static struct area walked;

static int area_need(struct area *a, size_t bytes, int huge)
{
    if (a->size >= bytes) return 0;
    if (a->base) munmap(a->base, a->size);
    size_t size = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0);
    a->base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (a->base == MAP_FAILED) {
        *a = (struct area){0};
        return -1;
    }
    a->size = size;
    memset(a->base, 0x5a, size);
    return 0;
}

int bench_buffers(struct run *r, size_t sbytes, size_t rbytes)
{
    int huge = strcmp(r->o->mem, "hugepage") == 0;
    size_t pad = (size_t)r->o->align + 64;
    if (strcmp(r->o->mem, "host") != 0 && !huge) {
        snprintf(r->skip, sizeof r->skip, "--mem %s: this build has no device memory", r->o->mem);
        return -1;
    }
    if (area_need(&areas[0], sbytes + pad, huge) || area_need(&areas[1], rbytes + pad, huge)) {
        snprintf(r->skip, sizeof r->skip, "no memory for %zu bytes of buffers%s", sbytes + rbytes,
                 huge ? " in huge pages (see /proc/sys/vm/nr_hugepages)" : "");
        return -1;
    }
    r->sbuf = areas[0].base + r->o->align;
    r->rbuf = areas[1].base + r->o->align;
    return 0;
}

void bench_buffers_free(void)
{
    for (int i = 0; i < 2; i++)
        if (areas[i].base) munmap(areas[i].base, areas[i].size);
    memset(areas, 0, sizeof areas);
}

// Walks a buffer as large as asked, writing each line, so that message buffers leave the caches.
void bench_flush(size_t bytes)
{
    if (area_need(&walked, bytes, 0)) return;
    for (size_t i = 0; i < bytes; i += 64) walked.base[i]++;
}

static inline uint64_t word(uint64_t i, uint64_t seed)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
    return x ^ (x >> 29);
}

void bench_fill(void *buf, size_t n, unsigned long seed)
{
    char *p = buf;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w = word(i / 8, seed);
        memcpy(p + i, &w, 8);
    }
    uint64_t w = word(i / 8, seed);
    memcpy(p + i, &w, n - i);
}

long bench_check(const void *buf, size_t n, unsigned long seed)
{
    const char *p = buf;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = word(i / 8, seed);
        size_t len = n - i < 8 ? n - i : 8;
        if (memcmp(p + i, &w, len) == 0) continue;
        for (size_t j = 0; j < len; j++)
            if (p[i + j] != ((char *)&w)[j]) return (long)(i + j);
    }
    return -1;
}

// Operand of rank `rank` at element i. Products stay exact: mostly 1, now and then 2.
static double value(const struct run *r, long i, int rank)
{
    if (r->op == MPI_PROD) return (i + rank) % 17 == 0 ? 2 : 1;
    return (double)((i * 3 + rank * 5) % 13);
}

static double combine(const struct run *r, double a, double b)
{
    if (r->op == MPI_PROD) return a * b;
    if (r->op == MPI_MAX) return a > b ? a : b;
    if (r->op == MPI_MIN) return a < b ? a : b;
    if (r->op == MPI_BAND) return (double)((long)a & (long)b);
    if (r->op == MPI_BOR) return (double)((long)a | (long)b);
    if (r->op == MPI_BXOR) return (double)((long)a ^ (long)b);
    return a + b;
}

static void put(const struct run *r, void *buf, long i, double v)
{
    if (r->type == MPI_FLOAT)
        ((float *)buf)[i] = (float)v;
    else if (r->type == MPI_DOUBLE)
        ((double *)buf)[i] = v;
    else if (r->type == MPI_INT64_T)
        ((int64_t *)buf)[i] = (int64_t)v;
    else if (r->type == MPI_INT)
        ((int *)buf)[i] = (int)v;
    else
        ((unsigned char *)buf)[i] = (unsigned char)v;
}

static double get(const struct run *r, const void *buf, long i)
{
    if (r->type == MPI_FLOAT) return ((const float *)buf)[i];
    if (r->type == MPI_DOUBLE) return ((const double *)buf)[i];
    if (r->type == MPI_INT64_T) return (double)((const int64_t *)buf)[i];
    if (r->type == MPI_INT) return ((const int *)buf)[i];
    return ((const unsigned char *)buf)[i];
}

void bench_values(struct run *r, void *buf, long first, long n, int rank)
{
    for (long i = 0; i < n; i++) put(r, buf, i, value(r, first + i, rank));
}

// buf must hold the combination of ranks lo .. hi-1, elements first .. first+n-1.
long bench_values_check(struct run *r, const void *buf, long first, long n, int lo, int hi)
{
    int width = 1;
    MPI_Type_size(r->type, &width);
    for (long i = 0; i < n; i++) {
        double want = value(r, first + i, lo);
        for (int p = lo + 1; p < hi; p++) want = combine(r, want, value(r, first + i, p));
        if (get(r, buf, i) != want) return i * width;
    }
    return -1;
}

unsigned long bench_random(unsigned long *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double bench_uniform(unsigned long *state)
{
    return (double)(bench_random(state) >> 11) / 9007199254740992.0;
}

// Sum of twelve uniforms: mean 0, deviation 1, tails cut at 6 (no libm needed).
double bench_gauss(unsigned long *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += bench_uniform(state);
    return sum;
}
