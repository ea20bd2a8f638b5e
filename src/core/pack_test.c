// SPDX-License-Identifier: BSD-3-Clause
// The packer against a naive one: random nested types, each also kept as the plain list of the byte addresses of its
// type map. A million types with a fixed seed and as many with a seed of the day, which is printed (UNISONO_SEED
// repeats it, UNISONO_TYPES sets how many, without a limit of time). Else ends early, and says so, when its time is up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/pack.h"
#include "core/type_make.h"

#define MAP_MAX 400      // bytes in a type map
#define SPAN_MAX 3000    // farthest byte from the origin
#define ARENA (8 * SPAN_MAX)
#define ORIGIN (ARENA / 2)
#define SECONDS 20    // for each of the two seeds

struct model {
    uno_datatype *type;
    int n;    // bytes in the map
    int at[MAP_MAX];
};

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static void must(int err)
{
    if (err) fail_msg("seed %llu: error %d from a constructor", (unsigned long long)state, err);
}

// Adds a block of `len` kids at disp to the model; false when it grows out of bounds.
static bool put(struct model *m, const struct model *kid, long disp, long len)
{
    for (long i = 0; i < len; i++) {
        for (int k = 0; k < kid->n; k++) {
            long at = disp + i * (long)kid->type->extent + kid->at[k];
            if (m->n == MAP_MAX || at < -SPAN_MAX || at > SPAN_MAX) return false;
            m->at[m->n++] = (int)at;
        }
    }
    return true;
}

static bool grow(struct model *m, int depth);

static bool grow_vector(struct model *m, const struct model *kid)
{
    long n = draw(5), len = draw(4), stride = draw(3) ? len * (long)kid->type->extent + draw(9) : (long)draw(200) - 60;
    must(uno_type_vector(n, len, stride, kid->type, &m->type));
    for (long i = 0; i < n; i++)
        if (!put(m, kid, i * stride, len)) return false;
    return true;
}

static bool grow_blocks(struct model *m, const struct model *kid)
{
    MPI_Count lens[8], disp[8];
    long at = (long)draw(40) - 20;
    struct uno_layout l = {.n = draw(8), .blocklen = draw(4), .disp = disp, .blocklens = draw(2) ? lens : NULL};
    for (int i = 0; i < l.n; i++) {
        lens[i] = draw(4);
        disp[i] = at;
        MPI_Count len = uno_layout_len(&l, i);
        at += (draw(4) ? len * kid->type->extent : 0) + (draw(3) ? 0 : draw(30));
        if (!draw(6)) at = (long)draw(400) - 200;
    }
    must(uno_type_blocks(&l, kid->type, &m->type));
    for (int i = 0; i < l.n; i++)
        if (!put(m, kid, (long)disp[i], (long)uno_layout_len(&l, i))) return false;
    return true;
}

static bool grow_struct(struct model *m, const struct model *first, int depth)
{
    static struct model pool[8][4];
    struct model *kid = pool[depth];
    MPI_Count lens[4], disp[4];
    uno_datatype *types[4];
    long at = 0;
    int n = 1 + (int)draw(4), made = 1;
    kid[0] = *first;
    uno_type_hold(first->type);
    bool fits = true;
    for (; made < n && fits; made++) fits = grow(&kid[made], depth - 1);
    for (int i = 0; i < made; i++) {
        types[i] = kid[i].type;
        lens[i] = draw(4);
        disp[i] = at;
        at += draw(4) ? (long)(lens[i] * kid[i].type->extent) + draw(9) : (long)draw(160) - 80;
    }
    struct uno_layout l = {.n = made, .blocklens = lens, .disp = disp, .kid = types};
    must(uno_type_struct(&l, &m->type));
    for (int i = 0; i < made; i++) {
        fits = fits && put(m, &kid[i], (long)disp[i], (long)lens[i]);
        uno_type_drop(kid[i].type);
    }
    return fits;
}

static bool grow_resized(struct model *m, const struct model *kid)
{
    long lb = (long)draw(20) - 10, extent = draw(3) ? (long)kid->type->extent + draw(20) : (long)draw(100) - 30;
    must(uno_type_resized(kid->type, lb, extent, &m->type));
    return put(m, kid, 0, 1);
}

// The elements of an array that a process holds, by asking of each one: index d of it is owned[d] of the dimension.
struct grid {
    int ndims, order, size[3];
    bool owned[3][8];
};

static void marks(const struct grid *g, const struct model *kid, struct model *m)
{
    long whole = kid->type->extent;
    for (int d = 0; d < g->ndims; d++) whole *= g->size[d];
    assert_int_equal(m->type->lb, 0);
    assert_int_equal(m->type->extent, whole);
}

static bool put_grid(struct model *m, const struct model *kid, const struct grid *g)
{
    int all = 1;
    for (int d = 0; d < g->ndims; d++) all *= g->size[d];
    for (int k = 0; k < all; k++) {    // k: place in memory
        bool mine = true;
        for (int i = 0, rest = k; i < g->ndims; i++) {
            int d = g->order == MPI_ORDER_C ? g->ndims - 1 - i : i;
            mine &= g->owned[d][rest % g->size[d]];
            rest /= g->size[d];
        }
        if (mine && !put(m, kid, k * (long)kid->type->extent, 1)) return false;
    }
    marks(g, kid, m);
    return true;
}

static struct grid draw_grid(void)
{
    struct grid g = {.ndims = 1 + (int)draw(3), .order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN};
    for (int d = 0; d < g.ndims; d++) g.size[d] = 1 + (int)draw(g.ndims == 1 ? 8 : 4);
    return g;
}

static bool grow_subarray(struct model *m, const struct model *kid)
{
    struct grid g = draw_grid();
    MPI_Count sizes[3], subs[3], starts[3];
    for (int d = 0; d < g.ndims; d++) {
        sizes[d] = g.size[d];
        subs[d] = 1 + draw((uint32_t)g.size[d]);
        starts[d] = draw((uint32_t)(sizes[d] - subs[d] + 1));
        for (int i = 0; i < g.size[d]; i++) g.owned[d][i] = i >= starts[d] && i < starts[d] + subs[d];
    }
    struct uno_subarray a = {g.ndims, g.order, sizes, subs, starts};
    must(uno_type_subarray(&a, kid->type, &m->type));
    return put_grid(m, kid, &g);
}

static bool grow_darray(struct model *m, const struct model *kid)
{
    struct grid g = draw_grid();
    MPI_Count gsizes[3];
    int distribs[3], dargs[3], psizes[3], coord[3], rank = 0, size = 1;
    for (int d = 0; d < g.ndims; d++) {
        gsizes[d] = g.size[d];
        distribs[d] = (int[]){MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}[draw(3)];
        psizes[d] = distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + (int)draw(3);
        coord[d] = (int)draw((uint32_t)psizes[d]);
        int least = (g.size[d] + psizes[d] - 1) / psizes[d], block = 1;
        if (distribs[d] == MPI_DISTRIBUTE_BLOCK) block = least + (int)draw(2);
        if (distribs[d] == MPI_DISTRIBUTE_CYCLIC) block = 1 + (int)draw(3);
        dargs[d] = block;
        if (block == (distribs[d] == MPI_DISTRIBUTE_BLOCK ? least : 1) && draw(2)) dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
        for (int i = 0; i < g.size[d]; i++)
            g.owned[d][i] = distribs[d] == MPI_DISTRIBUTE_NONE || i / block % psizes[d] == coord[d];
        rank = rank * psizes[d] + coord[d];
        size *= psizes[d];
    }
    struct uno_darray a = {size, rank, g.ndims, g.order, gsizes, distribs, dargs, psizes};
    must(uno_type_darray(&a, kid->type, &m->type));
    return put_grid(m, kid, &g);
}

// A random type and its map. Always makes a type; false when it is too large to be tested.
static bool grow(struct model *m, int depth)
{
    static const MPI_Datatype leaf[] = {MPI_CHAR,      MPI_SHORT,           MPI_INT,
                                        MPI_DOUBLE,    MPI_SHORT_INT,       MPI_DOUBLE_INT,
                                        MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT, MPI_C_DOUBLE_COMPLEX};
    m->n = 0;
    if (depth == 0 || !draw(5)) {
        m->type = uno_type(leaf[draw(sizeof leaf / sizeof *leaf)]);
        for (int i = 0; i < m->type->size; i++)
            m->at[m->n++] = i + (m->type->basic == UNO_BASIC_SHORT_INT && i >= 2 ? 2 : 0);
        return true;
    }
    struct model *kid = malloc(sizeof *kid);
    bool fits = grow(kid, depth - 1);
    uint32_t shape = draw(7);
    if (shape > 4 && kid->type->extent < 1) shape = 3;    // arrays of what has no extent are not asked for
    switch (shape) {
    case 0: fits = grow_blocks(m, kid) && fits; break;
    case 5: fits = grow_subarray(m, kid) && fits; break;
    case 6: fits = grow_darray(m, kid) && fits; break;
    case 1: fits = grow_struct(m, kid, depth) && fits; break;
    case 2: fits = grow_resized(m, kid) && fits; break;
    default: fits = grow_vector(m, kid) && fits; break;
    }
    uno_type_drop(kid->type);
    free(kid);
    return fits;
}

static unsigned char source[ARENA], target[ARENA], naive[ARENA], stream[4 * MAP_MAX], wanted[4 * MAP_MAX];

static void check_bounds(const struct model *m)
{
    long low = 0, high = 0;
    for (int i = 0; i < m->n; i++) {
        if (i == 0 || m->at[i] < low) low = m->at[i];
        if (i == 0 || m->at[i] >= high) high = m->at[i] + 1;
    }
    assert_int_equal(m->type->size, m->n);
    assert_int_equal(m->type->true_lb, low);
    assert_int_equal(m->type->true_extent, high - low);
}

// Pack in pieces, then unpack them in another order, and compare all memory.
static void check_packing(const struct model *m, int count)
{
    struct uno_packer p;
    size_t total = (size_t)count * (size_t)m->n, pos = 0;
    long extent = (long)m->type->extent;
    bool overlap = false;
    memset(naive, 0, ARENA);
    for (size_t i = 0; i < total; i++) {
        long at = ORIGIN + m->at[i % (size_t)m->n] + (long)(i / (size_t)m->n) * extent;
        wanted[i] = source[at];
        overlap |= naive[at] != 0;
        naive[at] = source[at];
    }
    uno_packer_init(&p, source + ORIGIN, count, m->type);
    while (pos < total) {
        size_t part = draw(3) ? 1 + draw(40) : total;
        size_t got = uno_pack(&p, stream + pos, part);
        assert_int_equal(got, part < total - pos ? part : total - pos);
        pos += got;
    }
    assert_int_equal(uno_pack(&p, stream, 1), 0);
    assert_memory_equal(stream, wanted, total);
    if (overlap) return;
    size_t cut = total ? draw((uint32_t)total) : 0, middle = cut + (total - cut) / 2;
    memset(target, 0, ARENA);
    uno_packer_init(&p, target + ORIGIN, count, m->type);
    uno_packer_seek(&p, cut);
    assert_int_equal(uno_unpack(&p, stream + cut, middle - cut), middle - cut);
    assert_int_equal(uno_unpack(&p, stream + middle, total), total - middle);
    uno_packer_seek(&p, 0);
    assert_int_equal(uno_unpack(&p, stream, cut), cut);
    assert_memory_equal(target, naive, ARENA);
}

// In another order, as a rendezvous may ask for: the same bytes, permuted.
static void check_order(const struct model *m, int count)
{
    struct uno_packer p;
    size_t total = (size_t)count * (size_t)m->n, at = 0;
    if (total < 2) return;
    struct uno_order order = {.row = 1 + draw((uint32_t)total - 1)};
    order.tile = 1 + draw(order.row);
    size_t rows = total / order.row;
    uno_packer_init(&p, source + ORIGIN, count, m->type);
    uno_packer_order(&p, order, total);
    for (size_t done = 0; done < total;) done += uno_pack(&p, stream + done, 1 + draw(60));
    for (size_t t = 0; t < order.row; t += order.tile)
        for (size_t r = 0; r < rows; r++)
            for (size_t i = t; i < t + order.tile && i < order.row; i++)
                assert_int_equal(stream[at++], wanted[r * order.row + i]);
    assert_memory_equal(stream + at, wanted + at, total - at);
    uno_packer_init(&p, naive, (MPI_Count)total, uno_type(MPI_BYTE));
    uno_packer_order(&p, order, total);
    for (size_t done = 0; done < total;) done += uno_unpack(&p, stream + done, 1 + draw(60));
    assert_memory_equal(naive, wanted, total);
}

static void check_elements(const struct model *m)
{
    MPI_Count n = m->type->leaves ? draw((uint32_t)m->type->leaves * 3) : 0;
    assert_int_equal(uno_type_elements(m->type, uno_type_bytes(m->type, n)), n);
    assert_int_equal(uno_type_bytes(m->type, m->type->leaves * 2), m->type->size * 2);
}

static void sweep(uint64_t seed)
{
    static struct model m;
    const char *many = getenv("UNISONO_TYPES");
    long rounds = many ? atol(many) : 1000000, done = 0, plain = 0;
    time_t end = time(NULL) + (many ? 24 * 3600 : SECONDS);
    state = seed;
    for (long i = 0; i < rounds && (i % 256 || time(NULL) < end); i++) {
        int count = 1 + (int)draw(4);
        if (grow(&m, 1 + (int)draw(4)) && labs((long)m.type->extent) < SPAN_MAX / 2) {
            must(uno_type_commit(m.type));
            check_bounds(&m);
            check_packing(&m, count);
            if (i % 4 == 0) check_order(&m, count);
            check_elements(&m);
            plain += m.type->flags & UNO_TYPE_PLAIN ? 1 : 0;
            done++;
        }
        uno_type_drop(m.type);
    }
    print_message("seed %llu: %ld types checked, %ld of them plain\n", (unsigned long long)seed, done, plain);
    assert_true(done > rounds / 1000);
}

static void fixed_seed(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARENA; i++) source[i] = (unsigned char)(i * 2654435761u >> 13 | 1);
    sweep(88172645463325252u);
    assert_int_equal(uno_type_pool.live, 0);
}

static void todays_seed(void **unused)
{
    (void)unused;
    const char *given = getenv("UNISONO_SEED");
    sweep(given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 6364136223846793005u | 1);
}

enum { ROWS = 300, COLUMNS = 9, PITCH = 200 };

// Columns that like an order: packed by the layout itself, unpacked by one that knows nothing of columns, and back.
static void check_columns(uno_datatype *t, MPI_Count count, size_t total)
{
    static char in[ROWS * PITCH], out[ROWS * PITCH], packed[ROWS * PITCH], plain[ROWS * PITCH], again[ROWS * PITCH];
    struct uno_packer p, q;
    for (size_t i = 0; i < sizeof in; i++) in[i] = (char)(i * 2654435761u >> 11 | 1);
    for (size_t n = total; n > total / 2; n -= total / 5) {    // n: a receiver may have less room
        memset(out, 0, sizeof out);
        memset(plain, 0, sizeof plain);
        uno_packer_init(&p, in, count, t);
        assert_int_equal(p.total, total);
        assert_int_equal(uno_pack(&p, again, n), n);
        struct uno_order order = uno_packer_likes(&p);
        assert_true(order.row == total / COLUMNS && order.tile > 0);
        uno_packer_init(&p, in, count, t);
        uno_packer_order(&p, order, n);
        uno_packer_init(&q, plain, (MPI_Count)n, uno_type(MPI_BYTE));
        uno_packer_order(&q, order, n);
        for (size_t at = 0, k; at < n; at += k) {
            k = 1 + draw(3000);
            if (k > n - at) k = n - at;
            assert_int_equal(uno_pack(&p, packed, k), k);
            assert_int_equal(uno_unpack(&q, packed, k), k);
        }
        assert_memory_equal(plain, again, n);
        uno_packer_init(&p, out, count, t);
        uno_packer_order(&p, order, n);
        uno_packer_seek(&q, 0);
        for (size_t at = 0, k; at < n; at += k) {
            k = 1 + draw(3000);
            if (k > n - at) k = n - at;
            assert_int_equal(uno_pack(&q, packed, k), k);
            assert_int_equal(uno_unpack(&p, packed, k), k);
        }
        memset(packed, 0, sizeof packed);
        uno_packer_init(&p, out, count, t);
        uno_pack(&p, packed, total);
        assert_memory_equal(packed, again, n);
        for (size_t i = n; i < total; i++) assert_true(packed[i] == 0);
    }
}

static void columns(void **unused)
{
    (void)unused;
    const MPI_Datatype part[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    state = 88172645463325252u;
    for (int k = 0; k < 4; k++) {
        uno_datatype *column, *spaced, *all, *old = uno_type(part[k]);
        size_t total = (size_t)ROWS * COLUMNS * (size_t)old->size;
        must(uno_type_vector(ROWS, 1, PITCH, old, &column));
        must(uno_type_resized(column, 0, old->size, &spaced));
        must(uno_type_vector(1, COLUMNS, 0, spaced, &all));
        must(uno_type_commit(spaced));
        must(uno_type_commit(all));
        check_columns(spaced, COLUMNS, total);
        check_columns(all, 1, total);
        uno_type_drop(column), uno_type_drop(spaced), uno_type_drop(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns), cmocka_unit_test(fixed_seed),
                                       cmocka_unit_test(todays_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
