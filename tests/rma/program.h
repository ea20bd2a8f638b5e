// SPDX-License-Identifier: BSD-3-Clause
// What the oracle of one-sided operations draws for a round: the window and its areas, and the program of all ranks,
// which each of them makes up from the same seed.
#pragma once
#include "model.h"

enum { AREAS = 6, SMALL = 24, BIG = 2500, OPS = 10, GAP = 0x5a };
enum flavor { CREATE, ALLOCATE, SHARED, DYNAMIC, ALLOC_MEM, FLAVORS };
enum way { FENCE, PSCW, LOCK, LOCK_ALL, WAYS };
static const char *const flavor_name[] = {"create", "allocate", "allocate_shared", "dynamic", "create on alloc_mem"};
static const char *const way_name[] = {"fence", "pscw", "lock", "lock_all"};

static int me, n;
static uint64_t round_seed;

// ---- the window ----

static MPI_Win win;
static enum flavor flavor;
static int unit, skew;                      // skew: what the memory is off from any alignment
static char *area_at[AREAS];                // here
static MPI_Aint area_disp[RANKS][AREAS];    // bytes, in the sense of the target's displacements

static size_t area_bytes(int a)
{
    return (size_t)(a == 0 ? BIG : SMALL) * ELEMENT;
}

static size_t all_bytes(void)
{
    size_t sum = 0;
    for (int a = 0; a < AREAS; a++) sum += area_bytes(a) + ELEMENT;
    return sum;
}

static void make_window(enum flavor f)
{
    MPI_Aint bytes = (MPI_Aint)all_bytes(), mine[AREAS];
    char *base = NULL;
    flavor = f;
    unit = f == DYNAMIC ? 1 : 1 << rnd(5);
    skew = f == CREATE && rnd(3) == 0 ? 1 + (int)rnd(7) : 0;
    if (f == CREATE) CHECK(posix_memalign((void **)&base, 64, (size_t)bytes + 8) == 0);
    if (f == CREATE) base += skew;
    if (f == ALLOC_MEM) CHECK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &base) == MPI_SUCCESS);
    if (base) MPI_Win_create(base, bytes, unit, MPI_INFO_NULL, world, &win);
    if (f == ALLOCATE) MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, world, &base, &win);
    if (f == SHARED) MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, world, &base, &win);
    if (f == DYNAMIC) MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
    size_t at = 0;
    for (int a = 0; a < AREAS; a++) {
        if (f == DYNAMIC) {
            CHECK(posix_memalign((void **)&area_at[a], 64, area_bytes(a)) == 0);
            CHECK(MPI_Win_attach(win, area_at[a], (MPI_Aint)area_bytes(a)) == MPI_SUCCESS);
            CHECK(MPI_Get_address(area_at[a], &mine[a]) == MPI_SUCCESS);
        } else {
            area_at[a] = base + at;
            mine[a] = (MPI_Aint)at;
        }
        at += area_bytes(a) + ELEMENT;
    }
    MPI_Allgather(mine, AREAS, MPI_AINT, area_disp, AREAS, MPI_AINT, world);
}

static void drop_window(void)
{
    char *base = area_at[0];
    for (int a = 0; flavor == DYNAMIC && a < AREAS; a++) CHECK(MPI_Win_detach(win, area_at[a]) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    for (int a = 0; flavor == DYNAMIC && a < AREAS; a++) free(area_at[a]);
    if (flavor == CREATE) free(base - skew);
    if (flavor == ALLOC_MEM) CHECK(MPI_Free_mem(base) == MPI_SUCCESS);
}

// ---- the program of a round ----

enum layout { PLAIN, VECTOR, RESIZED, SCATTERED, BACKWARDS, LAYOUTS };

struct op {
    enum what what;
    MPI_Op op;
    int target, area, count, first, stride;
    enum layout there, here;
    bool request;
    uint64_t salt;
    int results;    // elements fetched by this origin before
    // Of this rank, while it runs:
    char *origin, *compare, *fetch, *want;    // want: what is fetched, of owned areas
    MPI_Request q;
    bool pending;
};

static struct program {
    enum way way;
    bool nocheck;                 // nobody locks exclusively
    bool access[RANKS][RANKS];    // PSCW: origin, target
    int fences;
    int owner[RANKS][AREAS];    // -1: common
    const struct kind *kind[RANKS][AREAS];
    int used[RANKS][AREAS];    // operations on a common area
    int ops[RANKS], results[RANKS];
    struct op op[RANKS][OPS];
} now;

static int elements(const struct op *o)
{
    return o->area == 0 ? BIG : SMALL;
}

// Where element i of the operation lies in its area.
static int place(const struct op *o, int i)
{
    if (o->there == BACKWARDS) return o->first + (o->count - 1 - i) * o->stride;
    if (o->there == SCATTERED) return o->first + i * o->stride + (int)((uint64_t)i * 7 + o->salt) % o->stride;
    return o->first + i * (o->there == PLAIN ? 1 : o->stride);
}

static void layout_of(struct op *o, const struct kind *k)
{
    bool one = o->what == FETCH_AND_OP || o->what == COMPARE_AND_SWAP || o->what == MODIFY;
    int room = elements(o);
    o->there = one ? PLAIN : (enum layout)rnd(LAYOUTS);
    o->here = one ? PLAIN : (enum layout)rnd(LAYOUTS);
    o->stride = 1 + (int)rnd(3);
    o->count = one ? 1 : 1 + (int)rnd((unsigned)(room / o->stride));
    o->first = (int)rnd((unsigned)(room - o->count * o->stride + 1));
    // Only whole displacement units can be named.
    if (o->first * k->extent % unit == 0) return;
    if (one)
        o->first -= o->first % 16;
    else if (o->there < SCATTERED)
        o->there = SCATTERED;
}

static void random_operation(int r, struct op *o)
{
    o->area = rnd(12) ? 1 + (int)rnd(AREAS - 1) : 0;
    do o->target = (int)rnd((unsigned)n);
    while (now.way == PSCW && !now.access[r][o->target]);
    const struct kind *k = now.kind[o->target][o->area];
    int owner = now.owner[o->target][o->area];
    for (int a = 1; owner != r && owner >= 0 && a < AREAS; a++) {    // another area that is allowed
        o->area = a;
        owner = now.owner[o->target][a];
        k = now.kind[o->target][a];
    }
    o->what = (enum what)(owner == r ? rnd(COMPARE_AND_SWAP + 1) : ACCUMULATE + rnd(COMPARE_AND_SWAP - 1));
    if (owner == r && now.way == LOCK && !now.nocheck && rnd(8) == 0) o->what = MODIFY;
    if (owner < 0 && now.way == LOCK && !now.nocheck && rnd(4) == 0) o->what = MODIFY;
    if (o->what == COMPARE_AND_SWAP && k->shape > BITS) o->what = FETCH_AND_OP;
    o->op = random_op(k);
    if ((o->what == GET_ACCUMULATE || o->what == FETCH_AND_OP) && rnd(4) == 0) o->op = MPI_NO_OP;
    o->request = (now.way == LOCK || now.way == LOCK_ALL) && rnd(3) == 0;
    o->salt = rnd(1 << 30);
    layout_of(o, k);
    bool too_much = now.used[o->target][o->area] >= (o->area == 0 ? 3 : 8);
    if ((owner != r && owner >= 0) || (owner < 0 && too_much)) o->count = 0;
    if (owner < 0 && o->count > 0) now.used[o->target][o->area]++;
}

static void make_program(void)
{
    memset(&now, 0, sizeof now);
    now.way = (enum way)rnd(WAYS);
    now.nocheck = rnd(3) == 0;
    now.fences = (int)rnd(3);
    for (int r = 0; r < n; r++)
        for (int t = 0; t < n; t++) now.access[r][t] = rnd(2) || t == r;
    for (int t = 0; t < n; t++)
        for (int a = 0; a < AREAS; a++) {
            now.kind[t][a] = random_kind();
            now.owner[t][a] = rnd(2) ? -1 : (int)rnd((unsigned)n);
        }
    for (int r = 0; r < n; r++) {
        int ops = (int)rnd(OPS + 1);
        for (int i = 0; i < ops; i++) {
            struct op *o = &now.op[r][now.ops[r]];
            memset(o, 0, sizeof *o);
            random_operation(r, o);
            if (o->count == 0) continue;
            o->results = now.results[r];
            if (fetches(o->what)) now.results[r] += o->count;
            now.ops[r]++;
        }
    }
}

// The value of an element before the round.
static void first_value(int target, int area, int i, char *value)
{
    memset(value, GAP, ELEMENT);
    small_value(now.kind[target][area], value, round_seed + (uint64_t)(target * 1000003 + area * 10007 + i));
}

static struct event event_of(const struct op *o, int i)
{
    const struct kind *k = now.kind[o->target][o->area];
    struct event e = {.what = o->what, .op = o->op};
    small_value(k, e.operand, o->salt + (uint64_t)i);
    small_value(k, e.compare, o->salt + 77 + (uint64_t)i);
    return e;
}
