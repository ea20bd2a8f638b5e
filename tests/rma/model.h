// SPDX-License-Identifier: BSD-3-Clause
// The sequential model of the oracle (oracle.c): kinds of elements, their values, operations on one element, and the
// search for an order of all operations on an element that explains what each of them fetched and what was left.
#ifndef UNO_TESTS_RMA_MODEL_H
#define UNO_TESTS_RMA_MODEL_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

enum { ELEMENT = 32, EVENTS = 16, RANKS = 8 };    // bytes of the largest element; limits of a history

// Random numbers, the same on all ranks.
static uint64_t seed_state;

static inline unsigned rnd(unsigned n)
{
    uint64_t z = seed_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) >> 33) % n;
}

enum shape { INTEGER, LOGICAL, BITS, REAL, COMPLEX, PAIR };

enum { LONG_BYTES = LDBL_MANT_DIG == 64 ? 10 : (int)sizeof(long double) };    // of x86's the rest is padding

// The bytes of an element that mean something are `bytes` from its start and, of a pair, 4 from `index`.
struct kind {
    MPI_Datatype type;
    enum shape shape;
    int extent, bytes, index;
};

static const struct kind kinds[] = {
    {MPI_INT8_T, INTEGER, 1, 1, 0},
    {MPI_UINT16_T, INTEGER, 2, 2, 0},
    {MPI_INT, INTEGER, 4, 4, 0},
    {MPI_UNSIGNED, INTEGER, 4, 4, 0},
    {MPI_INT64_T, INTEGER, 8, 8, 0},
    {MPI_UINT64_T, INTEGER, 8, 8, 0},
    {MPI_AINT, INTEGER, 8, 8, 0},
    {MPI_C_BOOL, LOGICAL, 1, 1, 0},
    {MPI_BYTE, BITS, 1, 1, 0},
    {MPI_FLOAT, REAL, 4, 4, 0},
    {MPI_DOUBLE, REAL, 8, 8, 0},
    {MPI_LONG_DOUBLE, REAL, 16, LONG_BYTES, 0},
    {MPI_C_FLOAT_COMPLEX, COMPLEX, 8, 8, 0},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, 16, 16, 0},
    {MPI_2INT, PAIR, 8, 4, 4},
    {MPI_FLOAT_INT, PAIR, 8, 4, 4},
    {MPI_DOUBLE_INT, PAIR, 16, 8, 8},
    {MPI_LONG_INT, PAIR, 16, 8, 8},
    {MPI_SHORT_INT, PAIR, 8, 2, 4},
    {MPI_LONG_DOUBLE_INT, PAIR, 32, LONG_BYTES, 16},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static inline const struct kind *random_kind(void)
{
    return &kinds[rnd(KINDS)];
}

// An operation that is defined for the kind, or MPI_REPLACE.
static inline MPI_Op random_op(const struct kind *k)
{
    static const MPI_Op number[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
    static const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
    static const MPI_Op logic[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    if (rnd(6) == 0) return MPI_REPLACE;
    switch (k->shape) {
    case INTEGER: {
        unsigned i = rnd(10);
        return i < 4 ? number[i] : i < 7 ? bits[i - 4] : logic[i - 7];
    }
    case LOGICAL: return logic[rnd(3)];
    case BITS: return bits[rnd(3)];
    case REAL: return number[rnd(4)];
    case COMPLEX: return number[rnd(2)];
    default: return rnd(2) ? MPI_MAXLOC : MPI_MINLOC;
    }
}

static inline void real_value(char *at, int bytes, int v)
{
    if (bytes == 4) memcpy(at, &(float){(float)v}, 4);
    if (bytes == 8) memcpy(at, &(double){(double)v}, 8);
    if (bytes == LONG_BYTES) memcpy(at, &(long double){(long double)v}, LONG_BYTES);
}

// A small value of the kind, so that sums and products stay exact and comparisons hit. The gaps of `at` stay.
static inline void small_value(const struct kind *k, char *at, uint64_t salt)
{
    uint64_t z = (salt + 1) * 0x9e3779b97f4a7c15u;
    int v = (int)((z >> 60) % 3), w = (int)((z >> 50) % 3);
    bool real =
        k->shape == REAL || k->type == MPI_FLOAT_INT || k->type == MPI_DOUBLE_INT || k->type == MPI_LONG_DOUBLE_INT;
    if (k->shape == COMPLEX) {
        real_value(at, k->bytes / 2, v);
        real_value(at + k->bytes / 2, k->bytes / 2, w);
    } else if (real) {
        real_value(at, k->bytes, v);
    } else {
        memcpy(at, &(int64_t){k->shape == LOGICAL ? v & 1 : v}, (size_t)k->bytes);
    }
    if (k->shape == PAIR) memcpy(at + k->index, &w, sizeof w);
}

static inline bool same_value(const struct kind *k, const char *a, const char *b)
{
    if (memcmp(a, b, (size_t)k->bytes) != 0) return false;
    return k->shape != PAIR || memcmp(a + k->index, b + k->index, sizeof(int)) == 0;
}

// ---- one element and what is done to it ----

enum what { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, MODIFY };

struct event {
    enum what what;    // MODIFY: get, combine, put under an exclusive lock
    MPI_Op op;
    char operand[ELEMENT], compare[ELEMENT];
    const char *fetched;    // NULL: nothing
};

static inline bool fetches(enum what w)
{
    return w != PUT && w != ACCUMULATE;
}

static inline void apply(const struct kind *k, const struct event *e, char *value)
{
    _Alignas(16) char in[ELEMENT], out[ELEMENT];
    if (e->what == GET || e->op == MPI_NO_OP) return;
    if (e->what == COMPARE_AND_SWAP && !same_value(k, value, e->compare)) return;
    if (e->what == PUT || e->what == COMPARE_AND_SWAP || e->op == MPI_REPLACE) {
        memcpy(value, e->operand, ELEMENT);
        return;
    }
    memcpy(in, e->operand, ELEMENT);
    memcpy(out, value, ELEMENT);
    CHECK(MPI_Reduce_local(in, out, 1, k->type, e->op) == MPI_SUCCESS);
    memcpy(value, out, ELEMENT);
}

// All events on one element, in the order of each origin.
struct history {
    const struct kind *kind;
    int ranks, count[RANKS], total;
    struct event *event[RANKS];
    char last[ELEMENT];    // what was left
};

// States of the search that lead nowhere: how far each origin is, and the value.
struct dead {
    int at[RANKS];
    char value[ELEMENT];
};
enum { DEAD = 1 << 14 };
static struct dead dead[DEAD];
static int deads;

static inline bool is_dead(const struct history *h, const int *at, const char *value)
{
    for (int i = 0; i < deads; i++)
        if (memcmp(dead[i].at, at, (size_t)h->ranks * sizeof *at) == 0 && same_value(h->kind, dead[i].value, value))
            return true;
    return false;
}

static inline bool explain(const struct history *h, int *at, int done, const char *value)
{
    if (done == h->total) return same_value(h->kind, value, h->last);
    if (is_dead(h, at, value)) return false;
    for (int r = 0; r < h->ranks; r++) {
        char next[ELEMENT];
        const struct event *e = &h->event[r][at[r]];
        if (at[r] == h->count[r] || (e->fetched && !same_value(h->kind, value, e->fetched))) continue;
        memcpy(next, value, ELEMENT);
        apply(h->kind, e, next);
        at[r]++;
        bool found = explain(h, at, done + 1, next);
        at[r]--;
        if (found) return true;
    }
    if (deads < DEAD) {
        memcpy(dead[deads].at, at, (size_t)h->ranks * sizeof *at);
        memcpy(dead[deads++].value, value, ELEMENT);
    }
    return false;
}

// Whether some order that keeps each origin's own explains everything.
static inline bool is_explained(const struct history *h, const char *first)
{
    int at[RANKS] = {0};
    deads = 0;
    return explain(h, at, 0, first);
}

#endif
