// SPDX-License-Identifier: BSD-3-Clause
// The packer: walks a type's program (pack_program.h) and moves bytes between the user's buffer and a packed stream.
// Called by the protocols of src/p2p, by collectives and by MPI_Pack. The place in the stream is one number, the packed
// position; a walk finds its place in the tree from it, so stopping, resuming and seeking cost one descent. Always
// holds: a call moves min(n, total - pos) bytes, and never touches memory outside the type map.
#include "core/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "core/pack_kernel.h"
#include "core/pack_program.h"

#define BLOCK 64    // elements that a struct is handled in: their source and packed lines stay in the cache
#define FEW 8       // runs in a loop that is so short
#define LINE 64
#define TILE 64    // runs of a column that are handled before those of the next one (bench: ddt-lat/columns)

// One call of uno_pack or uno_unpack under way.
struct mover {
    char *packed;
    size_t left;    // room, or bytes, that remain at `packed`
    bool in;        // unpack
};

static void walk_element(struct mover *m, const struct uno_pack *g, char *base, size_t skip);

// n runs of len bytes in the user's buffer, from `at` on, `stride` apart.
struct runs {
    char *at;
    ptrdiff_t stride;
    size_t len, n;
};

// Moves them from (to) the stream, where they are `pitch` apart. Does not advance.
static void move_runs(struct mover *m, const struct runs *r, char *packed, size_t pitch)
{
    if (m->in)
        uno_copy_runs(r->at, r->stride, packed, (ptrdiff_t)pitch, r->len, r->n);
    else
        uno_copy_runs(packed, (ptrdiff_t)pitch, r->at, r->stride, r->len, r->n);
}

static void advance_mover(struct mover *m, size_t bytes)
{
    m->packed += bytes;
    m->left -= bytes;
}

// One run of len bytes of which the first `skip` are done.
static void walk_run(struct mover *m, char *base, size_t len, size_t skip)
{
    size_t n = len - skip < m->left ? len - skip : m->left;
    if (m->in)
        memcpy(base + skip, m->packed, n);
    else
        memcpy(m->packed, base + skip, n);
    advance_mover(m, n);
}

// The r-th run of a list of runs, or of a loop over one run, in n elements.
static void copy_column(struct mover *m, const struct uno_pack *g, size_t r, struct runs column)
{
    size_t offset;
    if (g->kind == UNO_PACK_LOOP) {
        column.len = g->kid->bytes;
        column.at += g->kid->at + (ptrdiff_t)r * g->stride;
        offset = r * column.len;
    } else {
        offset = g->offset[r];
        column.len = g->offset[r + 1] - offset;
        column.at += g->disp[r];
    }
    move_runs(m, &column, m->packed + offset, g->bytes);
}

// n whole elements that each are the same few runs: run by run over a block of elements, each a strided copy.
static void whole_structs(struct mover *m, const struct uno_pack *g, char *base, ptrdiff_t stride, size_t n)
{
    while (n > 0) {
        size_t block = n < BLOCK ? n : BLOCK;
        for (size_t r = 0; r < g->n; r++) copy_column(m, g, r, (struct runs){base, stride, 0, block});
        advance_mover(m, block * g->bytes);
        base += (ptrdiff_t)block * stride;
        n -= block;
    }
}

// Whether elements of g are few runs each, and so better copied run by run over many elements.
static bool is_struct(const struct uno_pack *g)
{
    return (g->kind == UNO_PACK_RUNS && g->n <= BLOCK) ||
           (g->kind == UNO_PACK_LOOP && g->n <= FEW && g->kid->kind == UNO_PACK_RUN);
}

// n whole elements of g.
static void whole(struct mover *m, const struct uno_pack *g, char *base, ptrdiff_t stride, size_t n)
{
    if (g->kind == UNO_PACK_RUN) {
        move_runs(m, &(struct runs){base + g->at, stride, g->bytes, n}, m->packed, g->bytes);
        advance_mover(m, n * g->bytes);
    } else if (n > 1 && is_struct(g)) {
        whole_structs(m, g, base + g->at, stride, n);
    } else {
        for (size_t i = 0; i < n; i++) walk_element(m, g, base + (ptrdiff_t)i * stride, 0);
    }
}

// n elements of g, `stride` apart, from packed byte `skip` on.
static void walk_many(struct mover *m, const struct uno_pack *g, char *base, ptrdiff_t stride, size_t n, size_t skip)
{
    if (g->bytes == 0) return;
    size_t i = 0;
    if (skip > 0) {
        i = skip / g->bytes;
        skip -= i * g->bytes;
        if (skip > 0 && i < n) walk_element(m, g, base + (ptrdiff_t)i++ * stride, skip);
    }
    size_t fit = m->left / g->bytes;
    if (fit > n - i) fit = n - i;
    if (fit > 0) whole(m, g, base + (ptrdiff_t)i * stride, stride, fit);
    i += fit;
    if (m->left > 0 && i < n) walk_element(m, g, base + (ptrdiff_t)i * stride, 0);
}

static void walk_gather(struct mover *m, const struct uno_pack *g, char *base, size_t skip)
{
    size_t i = 0;
    if (skip > 0) {
        i = skip / g->len;
        skip -= i * g->len;
        if (skip > 0) walk_run(m, base + g->disp[i++], g->len, skip);
    }
    size_t fit = m->left / g->len;
    if (fit > g->n - i) fit = g->n - i;
    if (m->in)
        uno_copy_scatter(m->packed, base, g->disp + i, g->len, fit);
    else
        uno_copy_gather(m->packed, base, g->disp + i, g->len, fit);
    advance_mover(m, fit * g->len);
    i += fit;
    if (m->left > 0 && i < g->n) walk_run(m, base + g->disp[i], g->len, 0);
}

// The part of an irregular list that holds packed byte `skip`.
static size_t find_part(const struct uno_pack *g, size_t skip)
{
    size_t low = 0, high = g->n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (g->offset[middle] <= skip)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void walk_list(struct mover *m, const struct uno_pack *g, char *base, size_t skip)
{
    size_t i = skip > 0 ? find_part(g, skip) : 0;
    if (skip > 0) skip -= g->offset[i];
    for (; i < g->n && m->left > 0; i++, skip = 0) {
        if (g->kind == UNO_PACK_SEQ)
            walk_element(m, g->kids[i], base + g->disp[i], skip);
        else
            walk_run(m, base + g->disp[i], g->offset[i + 1] - g->offset[i], skip);
    }
}

// One element of g from packed byte `skip` (< g->bytes) on, as far as the mover has room.
static void walk_element(struct mover *m, const struct uno_pack *g, char *base, size_t skip)
{
    base += g->at;
    switch (g->kind) {
    case UNO_PACK_RUN: walk_run(m, base, g->bytes, skip); break;
    case UNO_PACK_LOOP: walk_many(m, g->kid, base, g->stride, g->n, skip); break;
    case UNO_PACK_GATHER: walk_gather(m, g, base, skip); break;
    case UNO_PACK_RUNS:
    case UNO_PACK_SEQ: walk_list(m, g, base, skip); break;
    }
}

void uno_packer_init(struct uno_packer *p, const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    p->buf = (char *)(uintptr_t)buf;
    p->count = count;
    p->type = type;
    p->total = (size_t)count * (size_t)type->size;
    uno_assert(count >= 0 && type->head.magic == UNO_TYPE_MAGIC);
    uno_assert(p->total == 0 || type->flags & UNO_TYPE_PLAIN || type->pack);
    p->pos = 0;
    p->ordered = 0;
    p->columns = false;
}

void uno_packer_seek(struct uno_packer *p, size_t pos)
{
    p->pos = pos < p->total ? pos : p->total;
}

// Many of a loop over runs, next to each other: columns of a matrix.
struct columns {
    const struct uno_pack *g;    // one of them
    char *first;
    ptrdiff_t apart;
    size_t n;
};

// Whether the layout is columns that share lines, and long enough for that to matter.
static bool columns_of(const struct uno_packer *p, struct columns *c)
{
    if (p->type->flags & UNO_TYPE_PLAIN) return false;
    *c = (struct columns){p->type->pack, p->buf, p->type->extent, (size_t)p->count};
    if (c->n == 1 && c->g->kind == UNO_PACK_LOOP)
        *c = (struct columns){c->g->kid, c->first + c->g->at, c->g->stride, c->g->n};
    if (c->g->kind != UNO_PACK_LOOP || c->g->kid->kind != UNO_PACK_RUN || c->g->n < 2 * TILE) return false;
    c->first += c->g->at + c->g->kid->at;
    return c->n > 1 && c->apart < LINE && c->apart > -LINE && labs(c->g->stride) >= LINE && c->g->kid->bytes < LINE;
}

struct uno_order uno_packer_likes(const struct uno_packer *p)
{
    struct columns c;
    if (!columns_of(p, &c) || c.g->bytes > UINT32_MAX) return (struct uno_order){0};
    return (struct uno_order){(uint32_t)c.g->bytes, (uint32_t)(TILE * c.g->kid->bytes)};
}

void uno_packer_order(struct uno_packer *p, struct uno_order order, size_t n)
{
    struct uno_order own = uno_packer_likes(p);
    p->order = order;
    p->ordered = order.row ? n / order.row * order.row : 0;
    p->columns = order.row == own.row && order.tile == own.tile;
}

// A place of the stream: where it is in the order of the type map, and how many bytes follow each other there.
struct place {
    size_t at, len;
    size_t rows;    // that have as many bytes at the same place, this one included; 0: in the middle of them
};

static struct place place_of(const struct uno_packer *p)
{
    if (p->pos >= p->ordered) return (struct place){p->pos, p->total - p->pos, 0};
    size_t row = p->order.row, tile = p->order.tile, rows = p->ordered / row;
    size_t t = p->pos / (tile * rows), full = row / tile, rest = p->pos - t * tile * rows;
    size_t width = t < full ? tile : row - full * tile, r = rest / width, done = rest - r * width;
    return (struct place){r * row + t * tile + done, width - done, done ? 0 : rows - r};
}

// Moves n packed bytes from position pos of the type map on.
static void move_at(const struct uno_packer *p, size_t pos, char *packed, size_t n, bool in)
{
    if (p->type->flags & UNO_TYPE_PLAIN) {
        if (in)
            memcpy(p->buf + pos, packed, n);
        else
            memcpy(packed, p->buf + pos, n);
        return;
    }
    struct mover m = {.packed = packed, .left = n, .in = in};
    walk_many(&m, p->type->pack, p->buf, p->type->extent, (size_t)p->count, pos);
    uno_assert(m.left == 0 && m.packed == packed + n);
}

// Moves the place in as many columns as there is room for, run by run over all of them. Returns the bytes.
static size_t move_columns(const struct uno_packer *p, struct place at, char *packed, size_t n, bool in)
{
    struct columns c;
    if (!columns_of(p, &c)) {    // never: the order is that of our columns
        move_at(p, at.at, packed, at.len, in);
        return at.len;
    }
    size_t len = c.g->kid->bytes, row = p->order.row, many = n / at.len < at.rows ? n / at.len : at.rows;
    struct uno_grid grid = {.user = c.first + (ptrdiff_t)(at.at / row) * c.apart +
                                    (ptrdiff_t)(at.at % row / len) * c.g->stride,
                            .packed = packed,
                            .across = c.apart,
                            .down = c.g->stride,
                            .len = len,
                            .columns = many,
                            .runs = at.len / len};
    uno_copy_grid(&grid, in);
    return many * at.len;
}

static size_t move_bytes(struct uno_packer *p, char *packed, size_t n, bool in)
{
    uno_assert(p->pos <= p->total && p->ordered <= p->total);
    if (n > p->total - p->pos) n = p->total - p->pos;
    for (size_t done = 0, k; done < n; done += k) {
        struct place at = place_of(p);
        k = n - done;
        if (p->columns && at.rows > 0 && k >= at.len) {
            k = move_columns(p, at, packed + done, k, in);
        } else {
            if (k > at.len) k = at.len;
            move_at(p, at.at, packed + done, k, in);
        }
        p->pos += k;
    }
    return n;
}

size_t uno_pack(struct uno_packer *p, void *dst, size_t n)
{
    return move_bytes(p, dst, n, false);
}

size_t uno_unpack(struct uno_packer *p, const void *src, size_t n)
{
    return move_bytes(p, (char *)(uintptr_t)src, n, true);
}

size_t uno_pack_copy(struct uno_packer *to, struct uno_packer *from)
{
    if (from->type->flags & UNO_TYPE_PLAIN) return uno_unpack(to, from->buf + from->pos, from->total - from->pos);
    if (to->type->flags & UNO_TYPE_PLAIN) return uno_pack(from, to->buf + to->pos, to->total - to->pos);
    char bounce[4096];
    size_t moved = 0, room, n;
    while ((room = to->total - to->pos) > 0 &&
           (n = uno_pack(from, bounce, room < sizeof bounce ? room : sizeof bounce)) > 0)
        moved += uno_unpack(to, bounce, n);
    return moved;
}

void uno_pack_same(void *to, const void *from, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (to == from) return;
    if (type->flags & UNO_TYPE_PLAIN) {
        memcpy(to, from, (size_t)(count * type->size));
        return;
    }
    struct uno_packer out, in;
    uno_packer_init(&in, from, count, type);
    uno_packer_init(&out, to, count, type);
    uno_pack_copy(&out, &in);
}
