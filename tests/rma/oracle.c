// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,4 chan=shm,tcp args=1
// run: np=3,6 set=shm_cma=0 args=2000
// run: np=3,6 set=rma_path=2 args=3000
// run: np=3 args=4000,100,forbid
// run: np=2,3 chan=shm,tcp env=TEST_SPAWN=2 args=5000,100
// Random programs of one-sided operations and synchronisation against a sequential model (model.h). Usage: oracle
// [SEED [ROUNDS [forbid]]]; seed 0 is taken from the clock; with forbid rank 1 may not copy across memory. The seed of
// the round that failed is printed: with it as SEED, and the same ranks and parameters, the round comes first.
//
// All ranks make up the whole program of a round from one seed. In a round an area of a part belongs to one origin,
// which may do anything there and sees its operations done in the order called, or is common, and all origins
// accumulate there: then some order of all operations on an element explains all that was fetched and what is left.
#include <sys/time.h>

#include "../forbid.h"
#include "../grown.h"
#include "program.h"

// ---- running it ----

// The type of a layout whose first element, when it is named by the type, is `first`.
static MPI_Datatype type_of(const struct op *o, enum layout l, const struct kind *k, int first)
{
    MPI_Datatype t;
    MPI_Aint *at = malloc(sizeof *at * (size_t)o->count);
    struct op as = *o;
    as.there = l;
    as.first = first;
    for (int i = 0; i < o->count; i++) at[i] = (MPI_Aint)place(&as, i) * k->extent;
    if (l == PLAIN) MPI_Type_dup(k->type, &t);
    if (l == VECTOR) MPI_Type_vector(o->count, 1, o->stride, k->type, &t);
    if (l == RESIZED) MPI_Type_create_resized(k->type, 0, (MPI_Aint)o->stride * k->extent, &t);
    if (l >= SCATTERED) MPI_Type_create_hindexed_block(o->count, 1, at, k->type, &t);
    free(at);
    CHECK(MPI_Type_commit(&t) == MPI_SUCCESS);
    return t;
}

static int count_of(const struct op *o, enum layout l)
{
    return l == PLAIN || l == RESIZED ? o->count : 1;
}

static size_t here_bytes(const struct op *o)
{
    return (size_t)o->count * (size_t)o->stride * ELEMENT + ELEMENT;
}

// Where element i of the operation lies in a buffer of the origin.
static size_t here(const struct op *o, const struct kind *k, int i)
{
    struct op as = *o;
    as.there = o->here;
    as.first = 0;
    return (size_t)place(&as, i) * (size_t)k->extent;
}

static char *buffer_of(const struct op *o)
{
    char *p = NULL;
    CHECK(posix_memalign((void **)&p, 64, here_bytes(o)) == 0);
    memset(p, GAP, here_bytes(o));
    return p;
}

static void fill(struct op *o, const struct kind *k)
{
    o->origin = buffer_of(o);
    o->compare = buffer_of(o);
    o->fetch = buffer_of(o);
    for (int i = 0; i < o->count; i++) {
        struct event e = event_of(o, i);
        char *at = o->origin + here(o, k, i);
        memcpy(at, e.operand, (size_t)k->bytes);
        if (k->shape == PAIR) memcpy(at + k->index, e.operand + k->index, sizeof(int));
        memcpy(o->compare + here(o, k, i), e.compare, (size_t)k->bytes);
    }
}

// Get, combine, put under the exclusive lock that is held.
static void modify(struct op *o, const struct kind *k, MPI_Aint disp)
{
    struct event e = event_of(o, 0);
    char value[ELEMENT];
    MPI_Get(o->fetch, 1, k->type, o->target, disp, 1, k->type, win);
    MPI_Win_flush(o->target, win);
    memcpy(value, o->fetch, ELEMENT);
    apply(k, &e, value);
    memcpy(o->origin, value, (size_t)k->extent);
    MPI_Put(o->origin, 1, k->type, o->target, disp, 1, k->type, win);
}

static void start(struct op *o)
{
    const struct kind *k = now.kind[o->target][o->area];
    int c = count_of(o, o->here), tc = count_of(o, o->there), t = o->target;
    fill(o, k);
    MPI_Aint at = area_disp[t][o->area];
    if (o->there < SCATTERED) at += (MPI_Aint)o->first * k->extent;
    CHECK(at % unit == 0);
    MPI_Aint disp = at / unit;
    MPI_Datatype mine = type_of(o, o->here, k, 0), its = type_of(o, o->there, k, o->first);
    if (o->what == PUT && o->request)
        MPI_Rput(o->origin, c, mine, t, disp, tc, its, win, &o->q);
    else if (o->what == PUT)
        MPI_Put(o->origin, c, mine, t, disp, tc, its, win);
    else if (o->what == GET && o->request)
        MPI_Rget(o->fetch, c, mine, t, disp, tc, its, win, &o->q);
    else if (o->what == GET)
        MPI_Get(o->fetch, c, mine, t, disp, tc, its, win);
    else if (o->what == ACCUMULATE && o->request)
        MPI_Raccumulate(o->origin, c, mine, t, disp, tc, its, o->op, win, &o->q);
    else if (o->what == ACCUMULATE)
        MPI_Accumulate(o->origin, c, mine, t, disp, tc, its, o->op, win);
    else if (o->what == GET_ACCUMULATE && o->request)
        MPI_Rget_accumulate(o->origin, c, mine, o->fetch, c, mine, t, disp, tc, its, o->op, win, &o->q);
    else if (o->what == GET_ACCUMULATE)
        MPI_Get_accumulate(o->origin, c, mine, o->fetch, c, mine, t, disp, tc, its, o->op, win);
    else if (o->what == FETCH_AND_OP)
        MPI_Fetch_and_op(o->origin, o->fetch, k->type, t, disp, o->op, win);
    else if (o->what == COMPARE_AND_SWAP)
        MPI_Compare_and_swap(o->origin, o->compare, o->fetch, k->type, t, disp, win);
    else
        modify(o, k, disp);
    o->request &= o->what <= GET_ACCUMULATE;
    o->pending = true;
    MPI_Type_free(&mine);
    MPI_Type_free(&its);
}

// The origin has it all: what was fetched is there, and its buffers may be written.
static void finished(struct op *o)
{
    const struct kind *k = now.kind[o->target][o->area];
    if (!o->pending) return;
    if (o->request) CHECK(MPI_Wait(&o->q, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    o->pending = false;
    memset(o->origin, 0xee, here_bytes(o));
    for (int i = 0; o->want && fetches(o->what) && i < o->count; i++) {
        bool right = same_value(k, o->fetch + here(o, k, i), o->want + (size_t)i * ELEMENT);
        if (!right)
            fprintf(stderr, "rank %d: %s, %s: element %d of %d that %s %d fetched from rank %d is wrong\n", me,
                    flavor_name[flavor], way_name[now.way], i, o->count, o->request ? "request" : "operation",
                    (int)o->what, o->target);
        CHECK(right);
    }
}

static void finished_at(int target)
{
    for (int i = 0; i < now.ops[me]; i++)
        if (target < 0 || now.op[me][i].target == target) finished(&now.op[me][i]);
}

// What this rank's operations on areas of its own fetch.
static void foresee(void)
{
    static char value[RANKS][AREAS][BIG][ELEMENT];
    for (int t = 0; t < n; t++)
        for (int a = 0; a < AREAS; a++)
            for (int i = 0; i < (a ? SMALL : BIG) && now.owner[t][a] == me; i++) first_value(t, a, i, value[t][a][i]);
    for (int i = 0; i < now.ops[me]; i++) {
        struct op *o = &now.op[me][i];
        if (now.owner[o->target][o->area] != me) continue;
        o->want = malloc((size_t)o->count * ELEMENT);
        for (int j = 0; j < o->count; j++) {
            char *v = value[o->target][o->area][place(o, j)];
            struct event e = event_of(o, j);
            memcpy(o->want + (size_t)j * ELEMENT, v, ELEMENT);
            apply(now.kind[o->target][o->area], &e, v);
        }
    }
}

static void maybe_flush(struct op *o)
{
    switch (rnd(7)) {
    case 0: MPI_Win_flush(o->target, win); break;
    case 1: MPI_Win_flush_local(o->target, win); break;
    case 2: MPI_Win_flush_all(win); break;
    case 3: MPI_Win_flush_local_all(win); break;
    case 4:
        if (o->request) finished(o);
        return;
    default: return;
    }
    finished_at(o->target);
}

static MPI_Group group_of(bool origins)
{
    int list[RANKS], k = 0;
    MPI_Group all, g;
    for (int r = 0; r < n; r++)
        if (origins ? now.access[r][me] : now.access[me][r]) list[k++] = r;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, k, list, &g);
    MPI_Group_free(&all);
    return g;
}

static void run_fence(void)
{
    MPI_Win_fence(rnd(2) ? MPI_MODE_NOPRECEDE : 0, win);
    for (int f = 0, i = 0; f <= now.fences; f++) {
        for (int until = now.ops[me] * (f + 1) / (now.fences + 1); i < until; i++) start(&now.op[me][i]);
        MPI_Win_fence(f == now.fences ? MPI_MODE_NOSUCCEED : 0, win);
        for (int j = 0; j < i; j++) finished(&now.op[me][j]);
    }
}

static void run_pscw(void)
{
    MPI_Group origins = group_of(true), targets = group_of(false);
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    for (int i = 0; i < now.ops[me]; i++) start(&now.op[me][i]);
    MPI_Win_complete(win);
    finished_at(-1);
    int done = 0;
    if (rnd(2)) MPI_Win_wait(win), done = 1;
    while (!done) MPI_Win_test(win, &done);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void unlock_all_held(bool *held)
{
    for (int r = 0; r < n; r++) {
        if (!held[r]) continue;
        MPI_Win_unlock(r, win);
        finished_at(r);
        held[r] = false;
    }
}

// Shared locks are added in ascending order and an exclusive one is held alone, so no circle of waiters can form.
static void run_lock(void)
{
    bool held[RANKS] = {false};
    int last = -1, alone = -1;
    for (int i = 0; i < now.ops[me]; i++) {
        struct op *o = &now.op[me][i];
        bool exclusive = o->what == MODIFY || (!now.nocheck && rnd(3) == 0), keep = held[o->target] && rnd(3);
        if (!keep || (o->what == MODIFY && alone != o->target)) {
            if (exclusive || alone >= 0 || o->target <= last) {
                unlock_all_held(held);
                alone = -1;
            }
            MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, o->target,
                         now.nocheck ? MPI_MODE_NOCHECK : 0, win);
            held[o->target] = true;
            last = o->target;
            if (exclusive) alone = o->target;
        }
        start(o);
        maybe_flush(o);
    }
    unlock_all_held(held);
}

static void run_lock_all(void)
{
    MPI_Win_lock_all(now.nocheck ? MPI_MODE_NOCHECK : 0, win);
    for (int i = 0; i < now.ops[me]; i++) {
        start(&now.op[me][i]);
        if (rnd(3) == 0) maybe_flush(&now.op[me][i]);
    }
    MPI_Win_unlock_all(win);
    finished_at(-1);
}

// ---- checking it ----

// What all ranks fetched, their elements in the order of their operations.
static char *results[RANKS];

static void exchange_results(void)
{
    for (int r = 0; r < n; r++) {
        results[r] = calloc((size_t)now.results[r] + 1, ELEMENT);
        for (int i = 0; r == me && i < now.ops[r]; i++) {
            struct op *o = &now.op[r][i];
            const struct kind *k = now.kind[o->target][o->area];
            for (int j = 0; fetches(o->what) && j < o->count; j++)
                memcpy(results[r] + (size_t)(o->results + j) * ELEMENT, o->fetch + here(o, k, j), (size_t)k->extent);
        }
        MPI_Bcast(results[r], now.results[r] * ELEMENT, MPI_BYTE, r, world);
    }
}

static void tell_of(const struct history *h, int area, int i, const char *first)
{
    const unsigned char *f = (const unsigned char *)first, *l = (const unsigned char *)h->last;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(h->kind->type, name, &length);
    fprintf(stderr, "rank %d: %s, %s: area %d (%s) element %d: from %02x%02x%02x%02x to %02x%02x%02x%02x, by\n", me,
            flavor_name[flavor], way_name[now.way], area, name, i, f[0], f[1], f[2], f[3], l[0], l[1], l[2], l[3]);
    for (int r = 0; r < h->ranks; r++)
        for (int j = 0; j < h->count[r]; j++) {
            const struct event *e = &h->event[r][j];
            const unsigned char *x = (const unsigned char *)e->operand, *g = (const unsigned char *)e->fetched;
            MPI_Op op = e->op;
            fprintf(stderr, "  origin %d: what %d op %#lx operand %02x%02x%02x%02x", r, (int)e->what,
                    (unsigned long)(uintptr_t)op, x[0], x[1], x[2], x[3]);
            if (g) fprintf(stderr, " fetched %02x%02x%02x%02x", g[0], g[1], g[2], g[3]);
            fprintf(stderr, "\n");
        }
}

static void check_area(int a)
{
    static struct event event[RANKS][SMALL > BIG ? SMALL : BIG][OPS];
    static int count[RANKS][BIG];
    const struct kind *k = now.kind[me][a];
    int size = a ? SMALL : BIG;
    memset(count, 0, sizeof count);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < now.ops[r]; i++) {
            const struct op *o = &now.op[r][i];
            for (int j = 0; o->target == me && o->area == a && j < o->count; j++) {
                int at = place(o, j);
                struct event *e = &event[r][at][count[r][at]++];
                *e = event_of(o, j);
                if (fetches(o->what)) e->fetched = results[r] + (size_t)(o->results + j) * ELEMENT;
            }
        }
    for (int i = 0; i < size; i++) {
        struct history h = {.kind = k, .ranks = n};
        char first[ELEMENT];
        first_value(me, a, i, first);
        memcpy(h.last, area_at[a] + (size_t)i * (size_t)k->extent, (size_t)k->extent);
        for (int r = 0; r < n; r++) {
            h.event[r] = event[r][i];
            h.count[r] = count[r][i];
            h.total += count[r][i];
        }
        bool right = is_explained(&h, first);
        if (!right) tell_of(&h, a, i, first);
        CHECK(right);
    }
    for (size_t i = (size_t)size * (size_t)k->extent; i < area_bytes(a); i++) CHECK(area_at[a][i] == GAP);
}

static void play_round(void)
{
    make_program();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
    for (int a = 0; a < AREAS; a++) {
        memset(area_at[a], GAP, area_bytes(a));
        for (int i = 0; i < (a ? SMALL : BIG); i++) {
            char value[ELEMENT];
            first_value(me, a, i, value);
            memcpy(area_at[a] + (size_t)i * (size_t)now.kind[me][a]->extent, value, (size_t)now.kind[me][a]->extent);
        }
    }
    MPI_Win_unlock(me, win);
    foresee();
    seed_state = round_seed + (uint64_t)me * 999983;    // from here on each rank chooses for itself
    MPI_Barrier(world);
    if (now.way == FENCE) run_fence();
    if (now.way == PSCW) run_pscw();
    if (now.way == LOCK) run_lock();
    if (now.way == LOCK_ALL) run_lock_all();
    MPI_Barrier(world);
    exchange_results();
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    for (int a = 0; a < AREAS; a++) check_area(a);
    MPI_Win_unlock(me, win);
    for (int r = 0; r < n; r++) free(results[r]);
    for (int i = 0; i < now.ops[me]; i++) {
        struct op *o = &now.op[me][i];
        free(o->origin);
        free(o->compare);
        free(o->fetch);
        free(o->want);
    }
    MPI_Barrier(world);
}

static bool one_host(void)
{
    MPI_Comm node;
    int size;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == n;
}

int main(int argc, char **argv)
{
    const char *r = getenv("UNISONO_RANK");
    bool one = argc > 3 && r && atoi(r) == 1;    // one rank alone: all must agree on it
    int forbidden = one ? forbid_copies() : 0;
    MPI_Init(&argc, &argv);
    grow_world(argv);
    MPI_Allreduce(MPI_IN_PLACE, &forbidden, 1, MPI_INT, MPI_MIN, world);
    if (forbidden < 0) skip("seccomp filters are not allowed here");
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    CHECK(n <= RANKS);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 200;
    struct timeval t;
    gettimeofday(&t, NULL);
    if (seed == 0) seed = (uint64_t)t.tv_sec * 1000003 + (uint64_t)t.tv_usec;
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, world);
    bool shared = one_host();
    for (int i = 0; i < rounds; i++) {
        round_seed = seed + (uint64_t)i;
        seed_state = round_seed * 1000003;
        if (me == 0) printf("seed %llu\n", (unsigned long long)round_seed);
        fflush(stdout);
        enum flavor f = (enum flavor)rnd(FLAVORS);
        make_window(f == SHARED && !shared ? ALLOCATE : f);
        play_round();
        drop_window();
    }
    leave_world();
    MPI_Finalize();
    return 0;
}
