// SPDX-License-Identifier: BSD-3-Clause
// Views (view.h). Called by the file object and by data accesses; the latter hold no lock.
// Always holds: the runs of a filetype come in ascending order, as the standard demands; those of the next copy may
// begin before its last one.
#include "io/view.h"

#include <stdlib.h>

#include "core/pack.h"
#include "core/pack_program.h"
#include "io/datarep.h"

// Where a part of a program begins, where its last run begins and where it ends.
struct reach {
    ptrdiff_t first, last, end;
};

// Parts that follow each other; false: one begins before the other (before its end, when strict).
static bool join(struct reach *all, struct reach next, bool strict, bool begun)
{
    if (!begun) {
        *all = next;
        return true;
    }
    if (next.first < (strict ? all->end : all->last)) return false;
    all->last = next.last;
    if (next.end > all->end) all->end = next.end;
    return true;
}

static struct reach moved(struct reach r, ptrdiff_t by)
{
    return (struct reach){r.first + by, r.last + by, r.end + by};
}

static struct reach run_at(ptrdiff_t at, size_t bytes)
{
    return (struct reach){at, at, at + (ptrdiff_t)bytes};
}

static bool ascends(const struct uno_pack *g, bool strict, struct reach *out);

static bool list_ascends(const struct uno_pack *g, bool strict, struct reach *out)
{
    for (size_t i = 0; i < g->n; i++) {
        struct reach part;
        if (g->kind == UNO_PACK_SEQ) {
            if (!ascends(g->kids[i], strict, &part)) return false;
            part = moved(part, g->disp[i]);
        } else {
            part = run_at(g->disp[i], g->kind == UNO_PACK_GATHER ? g->len : g->offset[i + 1] - g->offset[i]);
        }
        if (!join(out, part, strict, i > 0)) return false;
    }
    return true;
}

static bool ascends(const struct uno_pack *g, bool strict, struct reach *out)
{
    if (g->kind == UNO_PACK_RUN) {
        *out = run_at(0, g->bytes);
    } else if (g->kind == UNO_PACK_LOOP) {
        struct reach kid;
        if (!ascends(g->kid, strict, &kid)) return false;
        *out = kid;
        if (g->n > 1 && !join(out, moved(kid, g->stride), strict, true)) return false;
        *out = moved(kid, (ptrdiff_t)(g->n - 1) * g->stride);
        out->first = kid.first;
    } else if (!list_ascends(g, strict, out)) {
        return false;
    }
    *out = moved(*out, g->at);
    return true;
}

static int check_layout(struct uno_view *v, bool writable)
{
    struct MPI_ABI_Datatype *t = v->layout;
    v->strict = v->orderly = true;
    if (t->size == 0 || t->flags & UNO_TYPE_PLAIN) return MPI_SUCCESS;
    if (t->extent <= 0)
        return uno_fail(MPI_ERR_TYPE, "filetype has extent %lld (more than 0 needed)", (long long)t->extent);
    if (t->true_lb < 0)
        return uno_fail(MPI_ERR_TYPE, "filetype begins at displacement %lld (none below 0 allowed)",
                        (long long)t->true_lb);
    const struct uno_pack *g = uno_pack_program(t);
    if (!g) return uno_fail(MPI_ERR_NO_MEM, "no memory for a view");
    struct reach tile, next;
    if (!ascends(g, false, &tile)) return uno_fail(MPI_ERR_TYPE, "the displacements of filetype do not ascend");
    next = moved(tile, t->extent);
    v->strict = ascends(g, true, &tile);
    v->orderly = v->strict && join(&tile, next, true, true);
    // More data than extent: what one copy does not hold twice, two copies do.
    if ((v->strict && t->size <= t->extent) || !writable) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "filetype, or two copies of it, hold a byte twice, and the file is open for writing");
}

// What most views are: one run in each copy of the filetype, or a loop over one.
static void find_rows(struct uno_view *v, const struct uno_pack *g)
{
    const struct uno_pack *run = g->kind == UNO_PACK_LOOP ? g->kid : g;
    int64_t apart = g->kind == UNO_PACK_LOOP ? g->stride : v->layout->extent;
    if (run->kind != UNO_PACK_RUN || apart <= (int64_t)run->bytes) return;
    v->even = run->bytes;
    v->apart = apart;
    v->rows = g->kind == UNO_PACK_LOOP ? g->n : 0;
    v->lead = (uint64_t)(g->at + (g == run ? 0 : run->at));
}

static int fill(struct uno_view *v, const struct uno_view_spec *s)
{
    v->disp = s->disp;
    v->rep = s->rep;
    int err = uno_datarep_size(s->rep, v->etype, &v->unit);
    if (!err) err = uno_datarep_layout(s->rep, v->filetype, &v->layout);
    if (!err) err = check_layout(v, s->writable);
    if (err) return err;
    if (v->unit == 0) return uno_fail(MPI_ERR_TYPE, "etype has no data");
    if (v->layout->size % v->unit)
        return uno_fail(MPI_ERR_TYPE, "filetype has %lld bytes of data, no multiple of the etype's %lld",
                        (long long)v->layout->size, (long long)v->unit);
    const struct uno_pack *g = v->layout->flags & UNO_TYPE_PLAIN ? NULL : v->layout->pack;
    v->plain = v->layout->size > 0 && v->layout->extent == v->layout->size && (!g || g->kind == UNO_PACK_RUN);
    v->lead = v->plain && g ? (uint64_t)g->at : 0;
    if (!v->plain && g) find_rows(v, g);
    return MPI_SUCCESS;
}

int uno_view_make(const struct uno_view_spec *spec, struct uno_view **view)
{
    struct uno_view *v = calloc(1, sizeof *v);
    if (!v) return uno_fail(MPI_ERR_NO_MEM, "no memory for a view");
    v->refs = 1;
    v->etype = uno_type(spec->etype);
    v->filetype = uno_type(spec->filetype);
    uno_type_hold(v->etype);
    uno_type_hold(v->filetype);
    int err = fill(v, spec);
    if (err)
        uno_view_drop(v);
    else
        *view = v;
    return err;
}

void uno_view_drop(struct uno_view *v)
{
    if (--v->refs > 0) return;
    uno_type_drop(v->etype);
    uno_type_drop(v->filetype);
    if (v->layout) uno_type_drop(v->layout);
    free(v);
}

struct uno_view_rows uno_view_rows(const struct uno_view *v, uint64_t pos, size_t most)
{
    struct uno_view_rows r = {.n = 1};
    if (!v->even) {
        r.len = uno_view_run(v, pos, most, &r.at);
        return r;
    }
    uint64_t tile = v->rows ? pos / (uint64_t)v->layout->size : 0;
    uint64_t in = pos - tile * (uint64_t)v->layout->size, row = in / v->even, skip = in - row * v->even;
    r.at = v->disp + (int64_t)tile * v->layout->extent + (int64_t)(v->lead + skip) + (int64_t)row * v->apart;
    r.len = v->even - skip;
    r.apart = v->apart;
    if (r.len > most) r.len = most;
    if (skip > 0 || most < 2 * v->even) return r;
    r.n = most / v->even;
    if (v->rows && r.n > v->rows - row) r.n = (size_t)(v->rows - row);
    return r;
}

// The run of one tile alone. Displacements are told from an address that is not NULL, where nothing is looked at.
static size_t tile_run(const struct uno_view *v, uint64_t pos, int64_t *at)
{
    static char origin[1];
    if (v->even) {
        struct uno_view_rows r = uno_view_rows(v, pos, v->even);
        *at = r.at;
        return r.len;
    }
    size_t len, size = (size_t)v->layout->size;
    struct uno_packer p = {.buf = origin, .count = 1, .type = v->layout, .total = size};
    const char *where = uno_packer_run(&p, pos % size, &len);
    *at = v->disp + (int64_t)(pos / size) * v->layout->extent + (where - p.buf);
    return len;
}

size_t uno_view_run(const struct uno_view *v, uint64_t pos, size_t most, int64_t *at)
{
    if (v->plain) {
        *at = v->disp + (int64_t)(v->lead + pos);
        return most;
    }
    size_t n = tile_run(v, pos, at);
    while (n < most) {    // runs that touch are one
        int64_t next;
        size_t len = tile_run(v, pos + n, &next);
        if (next != *at + (int64_t)n) break;
        n += len;
    }
    return n < most ? n : most;
}

int uno_view_fits(const struct uno_view *v, uint64_t pos, uint64_t n)
{
    if (n == 0) return MPI_SUCCESS;
    if (v->layout->size == 0) return uno_fail(MPI_ERR_ARG, "the view's filetype has no data");
    int64_t tiles, end;
    if (!__builtin_add_overflow(pos, n, &tiles) &&
        !__builtin_mul_overflow(tiles / v->layout->size + 1, v->layout->extent, &end) &&
        !__builtin_add_overflow(end, v->disp, &end) && !__builtin_add_overflow(end, v->layout->true_extent, &end))
        return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "the access ends beyond 63 bits in the file");
}

uint64_t uno_view_runs(const struct uno_view *v, uint64_t bytes)
{
    if (v->plain || v->layout->size == 0) return 1;
    const struct uno_pack *g = v->layout->flags & UNO_TYPE_PLAIN ? NULL : v->layout->pack;
    uint64_t tile = (uint64_t)v->layout->size, run = g && g->runs > 1 ? tile / g->runs : tile;
    return run > 0 ? (bytes + run - 1) / run : bytes;
}

uint64_t uno_view_find(const struct uno_view *v, uint64_t low, uint64_t high, int64_t at)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t there;
        uno_view_run(v, middle, 1, &there);
        if (there < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t uno_view_place(const struct uno_view *v, int64_t at)
{
    uint64_t size = (uint64_t)v->layout->size;
    if (at <= v->disp || size == 0) return 0;
    uint64_t tiles = (uint64_t)(at - v->disp) / (uint64_t)v->layout->extent;
    uint64_t place = uno_view_find(v, 0, (tiles + 1) * size, at);    // a tile may lie behind any number of extents
    return (place + (uint64_t)v->unit - 1) / (uint64_t)v->unit * (uint64_t)v->unit;
}

bool uno_view_ascends(const struct uno_view *v, uint64_t pos, uint64_t n)
{
    uint64_t size = (uint64_t)v->layout->size;
    return v->orderly || (v->strict && (n == 0 || pos / size == (pos + n - 1) / size));
}
