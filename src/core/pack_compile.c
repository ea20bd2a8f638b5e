// SPDX-License-Identifier: BSD-3-Clause
// From a type's layout to its pack program: runs that touch are merged, evenly spaced runs become loops, loops of loops
// collapse, short loops inside longer ones are unrolled to a list of runs (which pack.c then copies column by column).
// Called when a type is committed, or used as a part of one that is. The order of the bytes is never changed.
// Always holds: a node is owned by the one type in whose made->nodes it is listed; that type's users hold the type.
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "core/pack_program.h"
#include "core/type_make.h"

#define UNROLL 8        // runs of a loop that is written out when it stands inside another
#define WRITE_OUT 64    // parts of a list up to which small lists inside it are written out
#define SPLIT 4         // units a run may have on average to be copied unit by unit (bench: ddt-lat/indexed)

// A part of a program: a node, or one run of bytes when node is NULL.
struct piece {
    ptrdiff_t at;
    size_t bytes;
    const struct uno_pack *node;
};

struct builder {
    struct uno_type_made *made;    // whose nodes they are
    bool failed;                   // memory ran out
};

struct list {
    struct piece *piece;
    size_t n, room;
};

// The sum of two displacements. The place of a run fits, a part of the way to it may not: so the sum may wrap.
static ptrdiff_t shifted(ptrdiff_t at, ptrdiff_t by)
{
    return (ptrdiff_t)((size_t)at + (size_t)by);
}

// A node with room for n entries in the arrays that its kind has, which the caller sets.
static struct uno_pack *new_node(struct builder *b, enum uno_pack_kind kind, size_t bytes, size_t n)
{
    size_t ndisp = kind >= UNO_PACK_GATHER ? n : 0, noffset = kind >= UNO_PACK_RUNS ? n + 1 : 0,
           nkids = kind == UNO_PACK_SEQ ? n : 0, words = ndisp + noffset + nkids;
    struct uno_type_made *m = b->made;
    struct uno_pack *g = uno_type_room(m, sizeof *g / 8 + words);
    if (!g) {
        b->failed = true;
        return NULL;
    }
    ptrdiff_t *disp = (void *)(g + 1);
    *g = (struct uno_pack){.kind = kind, .bytes = bytes, .n = n, .runs = n, .next = m->nodes};
    if (ndisp) g->disp = disp;
    if (kind >= UNO_PACK_RUNS) g->offset = memset(disp + ndisp, 0, sizeof *g->offset);    // the first one is 0
    if (nkids) g->kids = (const struct uno_pack **)(disp + ndisp + noffset);
    m->nodes = g;
    return g;
}

void uno_pack_free(struct uno_type_made *m)
{
    while (m->nodes) {
        struct uno_pack *g = m->nodes;
        m->nodes = g->next;
        uno_type_give_room(m, g);
    }
}

// The piece as a node; a run becomes one.
static const struct uno_pack *node_of(struct builder *b, const struct piece *p)
{
    return p->node ? p->node : new_node(b, UNO_PACK_RUN, p->bytes, 1);
}

// A piece goes by its three words: copied as a whole it would wait until they are stored.
static void push(struct builder *b, struct list *l, ptrdiff_t at, size_t bytes, const struct uno_pack *node)
{
    if (bytes == 0) return;
    struct piece *last = l->n ? &l->piece[l->n - 1] : NULL;
    if (last && !node && !last->node && last->at + (ptrdiff_t)last->bytes == at) {
        last->bytes += bytes;
        return;
    }
    if (!l->piece || l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        void *grown = realloc(l->piece, room * sizeof *l->piece);
        if (!grown) {
            b->failed = true;
            return;
        }
        l->piece = grown;
        l->room = room;
    }
    l->piece[l->n++] = (struct piece){at, bytes, node};
}

// Whether a node is no more than a few runs, which may be written out where it is used.
static bool is_short(const struct uno_pack *g)
{
    return g->n <= UNROLL && (g->kind == UNO_PACK_RUNS || g->kind == UNO_PACK_GATHER ||
                              (g->kind == UNO_PACK_LOOP && g->kid->kind == UNO_PACK_RUN));
}

// Appends a piece; a short node in a list that is not long goes in run by run, so that its ends can merge with their
// neighbours.
static void append(struct builder *b, struct list *l, ptrdiff_t at, size_t bytes, const struct uno_pack *g)
{
    if (!g || l->n >= WRITE_OUT || !is_short(g)) {
        push(b, l, at, bytes, g);
        return;
    }
    at = shifted(at, g->at);
    for (size_t i = 0; i < g->n; i++) {
        if (g->kind == UNO_PACK_LOOP)
            push(b, l, shifted(shifted(at, g->kid->at), (ptrdiff_t)i * g->stride), g->kid->bytes, NULL);
        else if (g->kind == UNO_PACK_GATHER)
            push(b, l, shifted(at, g->disp[i]), g->len, NULL);
        else
            push(b, l, shifted(at, g->disp[i]), g->offset[i + 1] - g->offset[i], NULL);
    }
}

// n pieces, `stride` apart.
static struct piece loop_of(struct builder *b, struct piece p, size_t n, ptrdiff_t stride)
{
    struct uno_pack *g = new_node(b, UNO_PACK_LOOP, n * p.bytes, n);
    if (!g) return p;
    g->stride = stride;
    g->kid = node_of(b, &p);
    g->runs = g->kid ? n * g->kid->runs : n;
    return (struct piece){p.at, g->bytes, g};
}

// Whether the pieces are the same thing, evenly spaced.
static bool even(const struct piece *p, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (p[i].node != p[0].node || p[i].bytes != p[0].bytes || p[i].at - p[i - 1].at != p[1].at - p[0].at)
            return false;
    return true;
}

// Runs in their order: those of a list, or the blocks of a layout whose part is a run, where those that touch are one.
struct runs {
    const struct piece *piece;     // [n], or NULL
    const struct uno_layout *l;    // of n blocks
    struct piece part;
    size_t n, i;    // i: the next one
};

static inline size_t block_bytes(const struct runs *r, size_t i)
{
    return (size_t)uno_layout_len(r->l, (MPI_Count)i) * r->part.bytes;
}

static inline bool next_run(struct runs *r, struct piece *run)
{
    if (r->piece) {
        if (r->i < r->n) *run = r->piece[r->i];
        return r->i++ < r->n;
    }
    while (r->i < r->n && block_bytes(r, r->i) == 0) r->i++;
    if (r->i == r->n) return false;
    *run = (struct piece){shifted(r->part.at, r->l->disp[r->i]), block_bytes(r, r->i), NULL};
    for (r->i++; r->i < r->n; r->i++) {
        size_t more = block_bytes(r, r->i);
        if (more && shifted(run->at, (ptrdiff_t)run->bytes) != shifted(r->part.at, r->l->disp[r->i])) break;
        run->bytes += more;
    }
    return true;
}

// Whether they are blocks of one length.
static inline bool are_equal(const struct runs *r)
{
    return r->l && !r->l->blocklens;
}

// What all runs are, together.
struct sum {
    size_t n, bytes, unit;    // unit: the largest power of two up to 64 that divides the length of every run
    bool same, even;          // of one length; evenly spaced
    ptrdiff_t stride;
    struct piece first;
};

// As sum_of for blocks of one length, with no branch on which of them touch. False: runs of several blocks may all be
// as long.
static bool sum_of_blocks(const struct runs *r, struct sum *s)
{
    const MPI_Count *disp = r->l->disp;
    size_t each = block_bytes(r, 0), run = each, ended = 1, single = 0, uneven = 0;
    const size_t stride = (size_t)disp[1] - (size_t)disp[0];
    for (size_t i = 1; i < r->n; i++) {
        size_t by = (size_t)disp[i] - (size_t)disp[i - 1], apart = by != each;
        ended += apart;
        single += apart & (run == each);
        run = apart ? each : run + each;
        uneven |= by ^ stride;
    }
    single += run == each;
    *s = (struct sum){.n = ended, .bytes = r->n * each, .unit = (each | 64) & -(each | 64)};
    s->stride = (ptrdiff_t)stride;
    s->first = (struct piece){shifted(r->part.at, disp[0]), each, NULL};
    s->same = single == ended;
    s->even = !uneven;
    return single > 0;
}

static struct sum sum_of(struct runs r)
{
    struct sum s;
    if (are_equal(&r) && r.n > 1 && block_bytes(&r, 0) > 0 && sum_of_blocks(&r, &s)) return s;
    s = (struct sum){.unit = 64, .same = true, .even = true};
    struct piece run, last = {0, 0, NULL};
    for (; next_run(&r, &run); s.n++, last = run) {
        if (s.n == 0) s.first = run;
        if (s.n == 1) s.stride = run.at - s.first.at;
        s.same &= run.bytes == s.first.bytes;
        s.even &= s.n == 0 || run.at - last.at == s.stride;
        s.bytes += run.bytes;
        s.unit |= run.bytes;
    }
    s.unit &= -s.unit;
    return s;
}

// Whether the runs are blocks of len bytes each, which lie where the layout says: its displacements are the program's.
static bool has_blocks_of(const struct runs *r, size_t len)
{
    return are_equal(r) && r->part.at == 0 && block_bytes(r, 0) == len;
}

// Runs of one length, or of a few units of one length each: those go unit by unit, which takes no branch on a length.
static struct piece gather_of(struct builder *b, struct runs r, const struct sum *s, size_t len)
{
    bool shared = has_blocks_of(&r, len);
    struct uno_pack *g = new_node(b, UNO_PACK_GATHER, s->bytes, shared ? 0 : s->bytes / len);
    if (!g) return s->first;
    g->len = len;
    if (shared) {
        g->n = g->runs = r.n;
        g->disp = (const ptrdiff_t *)r.l->disp;
        return (struct piece){0, s->bytes, g};
    }
    ptrdiff_t *disp = (ptrdiff_t *)(uintptr_t)g->disp;
    for (struct piece run; next_run(&r, &run);)
        for (size_t k = 0; k < run.bytes; k += len) *disp++ = run.at + (ptrdiff_t)k;
    return (struct piece){0, s->bytes, g};
}

// All runs as one piece; of one length or of several.
static struct piece runs_of(struct builder *b, struct runs r)
{
    struct sum s = sum_of(r);
    if (s.n <= 1) return s.first;
    if (s.same && s.even) return loop_of(b, s.first, s.n, s.stride);
    if (s.same) return gather_of(b, r, &s, s.first.bytes);
    if (s.n > WRITE_OUT && s.bytes / s.unit <= s.n * SPLIT) return gather_of(b, r, &s, s.unit);
    struct uno_pack *g = new_node(b, UNO_PACK_RUNS, s.bytes, s.n);
    if (!g) return s.first;
    ptrdiff_t *disp = (ptrdiff_t *)(uintptr_t)g->disp;
    size_t *offset = (size_t *)(uintptr_t)g->offset;
    for (struct piece run; next_run(&r, &run); offset++) {
        *disp++ = run.at;
        offset[1] = offset[0] + run.bytes;
    }
    return (struct piece){0, s.bytes, g};
}

// The end of the stretch of plain runs that starts at piece i (i + 1 when it is a node).
static size_t stretch(const struct list *l, size_t i)
{
    size_t end = i + 1;
    if (!l->piece[i].node)
        while (end < l->n && !l->piece[end].node) end++;
    return end;
}

// The list as one piece. Stretches of runs become one node each.
static struct piece finish_list(struct builder *b, struct list *l)
{
    struct piece whole = {0, 0, NULL};
    if (l->n > 0 && stretch(l, 0) == l->n)
        whole = runs_of(b, (struct runs){.piece = l->piece, .n = l->n});
    else if (l->n > 1 && even(l->piece, l->n))
        whole = loop_of(b, l->piece[0], l->n, l->piece[1].at - l->piece[0].at);
    else if (l->n > 0) {
        size_t n = 0, k = 0, bytes = 0, runs = 0;
        for (size_t i = 0; i < l->n; i = stretch(l, i)) n++;
        struct uno_pack *g = new_node(b, UNO_PACK_SEQ, 0, n);
        for (size_t i = 0, end; g && i < l->n; i = end, k++) {
            end = stretch(l, i);
            struct piece part =
                l->piece[i].node ? l->piece[i] : runs_of(b, (struct runs){.piece = l->piece + i, .n = end - i});
            ((ptrdiff_t *)(uintptr_t)g->disp)[k] = part.at;
            ((size_t *)(uintptr_t)g->offset)[k] = bytes;
            ((const struct uno_pack **)(uintptr_t)g->kids)[k] = node_of(b, &part);
            bytes += part.bytes;
            if (g->kids[k]) runs += g->kids[k]->runs;
        }
        if (g) {
            ((size_t *)(uintptr_t)g->offset)[n] = g->bytes = bytes;
            g->runs = runs;
            whole = (struct piece){0, bytes, g};
        }
    }
    free(l->piece);
    return whole;
}

// Whether the next round of a loop starts `stride` bytes after this one.
static bool follows(const struct uno_pack *g, ptrdiff_t stride)
{
    ptrdiff_t all;
    return !__builtin_mul_overflow((ptrdiff_t)g->n, g->stride, &all) && stride == all;
}

static struct piece repeat(struct builder *b, const struct piece *p, MPI_Count count, MPI_Count stride)
{
    size_t n = (size_t)count;
    const struct uno_pack *g = p->node;
    if (n == 0 || p->bytes == 0) return (struct piece){0, 0, NULL};
    if (n == 1) return *p;
    if (!g && (size_t)stride == p->bytes) return (struct piece){p->at, n * p->bytes, NULL};
    if (g && g->kind == UNO_PACK_LOOP && follows(g, stride)) {
        struct piece inner = {shifted(p->at, g->at), g->kid->bytes, g->kid};
        return loop_of(b, inner, n * g->n, g->stride);
    }
    if (g && g->kind == UNO_PACK_LOOP && is_short(g)) {
        struct list l = {0};
        append(b, &l, p->at, p->bytes, g);
        struct uno_pack *runs = new_node(b, UNO_PACK_RUNS, p->bytes, l.n);
        for (size_t i = 0; runs && i < l.n; i++) {
            ((ptrdiff_t *)(uintptr_t)runs->disp)[i] = l.piece[i].at;
            ((size_t *)(uintptr_t)runs->offset)[i + 1] = runs->offset[i] + l.piece[i].bytes;
        }
        free(l.piece);
        if (runs) return loop_of(b, (struct piece){0, p->bytes, runs}, n, stride);
    }
    return loop_of(b, *p, n, stride);
}

// The program of a part. A run inside it is taken over as such, so that it can merge.
static struct piece piece_of(struct builder *b, uno_datatype *kid)
{
    if (kid->flags & UNO_TYPE_PLAIN || kid->size == 0) return (struct piece){0, (size_t)kid->size, NULL};
    const struct uno_pack *g = uno_pack_program(kid);
    if (!g) b->failed = true;
    if (!g || g->kind == UNO_PACK_RUN) return (struct piece){g ? g->at : 0, g ? g->bytes : 0, NULL};
    return (struct piece){0, g->bytes, g};
}

static struct piece compile_blocks(struct builder *b, const struct uno_layout *l)
{
    struct list list = {0};
    struct piece kid = {0, 0, NULL}, block = {0, 0, NULL};
    MPI_Count made = -1;    // length of the block that `block` is
    if (l->n > 0 && l->shape == UNO_SHAPE_BLOCKS) {
        kid = piece_of(b, l->kid[0]);
        if (!kid.node && (size_t)l->kid[0]->extent == kid.bytes)
            return runs_of(b, (struct runs){.l = l, .part = kid, .n = (size_t)l->n});
    }
    for (MPI_Count i = 0; i < l->n && !b->failed; i++) {
        bool first = i == 0 || l->shape == UNO_SHAPE_STRUCT;
        MPI_Count len = uno_layout_len(l, i);
        uno_datatype *type = l->kid[l->shape == UNO_SHAPE_STRUCT ? i : 0];
        if (first) kid = piece_of(b, type);
        if (first || len != made) block = repeat(b, &kid, len, type->extent);
        made = len;
        ptrdiff_t at = shifted(block.at, l->disp[i]);
        if (l->n == 1) return (struct piece){at, block.bytes, block.node};    // nothing beside it to merge with
        append(b, &list, at, block.bytes, block.node);
    }
    return finish_list(b, &list);
}

static struct piece compile(struct builder *b, const struct uno_layout *l)
{
    if (l->shape == UNO_SHAPE_SAME) return piece_of(b, l->kid[0]);
    if (l->shape != UNO_SHAPE_VECTOR) return compile_blocks(b, l);
    struct piece kid = piece_of(b, l->kid[0]), block = repeat(b, &kid, l->blocklen, l->kid[0]->extent);
    return repeat(b, &block, l->n, l->stride);
}

const struct uno_pack *uno_pack_program(uno_datatype *t)
{
    if (t->pack) return t->pack;
    struct builder b = {.made = t->made};
    struct piece p = compile(&b, &t->made->layout);
    const struct uno_pack *g = b.failed ? NULL : node_of(&b, &p);
    if (g && p.at != 0) {    // its own head, with the arrays of the node
        struct uno_pack *head = new_node(&b, UNO_PACK_RUN, g->bytes, 1), *next = head ? head->next : NULL;
        if (head) {
            *head = *g;
            head->at = shifted(p.at, g->at);
            head->next = next;
        }
        g = head;
    }
    if (!g) {
        uno_fail(MPI_ERR_NO_MEM, "no memory for the pack program of a datatype");
        return NULL;
    }
    return t->pack = g;
}

int uno_type_commit(uno_datatype *t)
{
    int err = t->flags & UNO_TYPE_COMMITTED ? MPI_SUCCESS : uno_type_settle(t, "datatype");
    if (err || t->flags & UNO_TYPE_COMMITTED) return err;
    const struct uno_pack *g = uno_pack_program(t);
    if (!g) return MPI_ERR_NO_MEM;
    bool plain = g->kind == UNO_PACK_RUN && (t->size == 0 || (g->at == 0 && t->lb == 0 && t->extent == t->size));
    t->flags |= UNO_TYPE_COMMITTED | (plain ? UNO_TYPE_PLAIN : 0);
    return MPI_SUCCESS;
}
