// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays: built from vectors and blocks, dimension by dimension from the fastest one on.
// Called by src/api/twice/type_array.c. Always holds: lb is 0 and the extent that of the whole array.
#include <limits.h>
#include <stdlib.h>

#include "base/fail.h"
#include "core/type_make.h"

// The i-th dimension counted from the one whose elements are consecutive.
static int dimension(int i, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

// Puts `inner` at disp inside an array of `bytes` bytes; gives inner up in any case.
static int place_inner(uno_datatype *inner, MPI_Count disp, MPI_Count bytes, uno_datatype **out)
{
    struct uno_layout l = {.n = 1, .blocklen = 1, .disp = &disp};
    int err = uno_type_blocks(&l, inner, out);
    uno_type_drop(inner);
    if (err) return err;
    (*out)->flags |= UNO_TYPE_MARKED;
    (*out)->lb = 0;
    (*out)->extent = bytes;
    return MPI_SUCCESS;
}

static int too_large(MPI_Count size, MPI_Count stride)
{
    return uno_fail(
        MPI_ERR_VALUE_TOO_LARGE,
        "the array has more bytes than fit 63 bits (a dimension of %lld times %lld bytes; up to %lld allowed)",
        (long long)size, (long long)stride, LLONG_MAX);
}

int uno_type_subarray(const struct uno_subarray *a, uno_datatype *old, uno_datatype **out)
{
    MPI_Count stride = old->extent, disp = 0, len = 1;
    uno_datatype *inner = old;
    uno_type_hold(inner);
    for (int i = 0; i < a->ndims; i++) {
        int d = dimension(i, a->ndims, a->order);
        MPI_Count start, bytes;
        if (i == 0 && a->ndims > 1) {    // blocks of the vector that the next dimension is
            len = a->subsizes[d];
        } else {
            uno_datatype *next = NULL;
            int err = uno_type_vector(a->subsizes[d], len, stride, inner, &next);
            uno_type_drop(inner);
            if (err) return err;
            inner = next;
            len = 1;
        }
        if (__builtin_mul_overflow(a->starts[d], stride, &start) || __builtin_add_overflow(disp, start, &disp) ||
            __builtin_mul_overflow(stride, a->sizes[d], &bytes)) {
            uno_type_drop(inner);
            return too_large(a->sizes[d], stride);
        }
        stride = bytes;
    }
    return place_inner(inner, disp, stride, out);
}

// The indices of one dimension that process `coord` of `procs` holds: n blocks of `len`, `step` apart, from `start`;
// the last one has `last` instead.
struct share {
    MPI_Count start, n, len, step, last;
};

static struct share share_of(MPI_Count size, int distrib, MPI_Count darg, MPI_Count procs, MPI_Count coord)
{
    if (distrib == MPI_DISTRIBUTE_NONE) return (struct share){.n = size > 0, .len = size, .last = size};
    if (distrib == MPI_DISTRIBUTE_BLOCK) {
        MPI_Count len = darg == MPI_DISTRIBUTE_DFLT_DARG ? size / procs + (size % procs != 0) : darg, start;
        if (__builtin_mul_overflow(coord, len, &start) || start >= size) return (struct share){0};
        MPI_Count mine = size - start < len ? size - start : len;
        return (struct share){.start = start, .n = 1, .len = mine, .last = mine};
    }
    MPI_Count len = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg, start = coord * len, step = len * procs;
    if (start >= size) return (struct share){0};
    MPI_Count n = (size - start - 1) / step + 1, rest = size - start - (n - 1) * step;
    return (struct share){.start = start, .n = n, .len = len, .step = step, .last = rest < len ? rest : len};
}

// One dimension: the elements of `inner`, `stride` bytes apart, that the share names. Whole blocks are a vector however
// many there are, and a shorter last one stands behind it. What lies inside the array, whose bytes fit, is computed
// alone.
static int spread(const struct share *s, MPI_Count stride, uno_datatype *inner, uno_datatype **out)
{
    bool shorter = s->last < s->len;
    MPI_Count whole = s->n - shorter, len[] = {1, s->last};
    MPI_Count disp[] = {s->start * stride, shorter ? (s->start + whole * s->step) * stride : 0};
    uno_datatype *spaced = NULL, *blocks = NULL;
    int err = uno_type_resized(inner, 0, stride, &spaced);
    if (err) return err;
    err = uno_type_vector(whole, s->len, whole > 1 ? s->step * stride : 0, spaced, &blocks);
    if (!err) {
        struct uno_layout l = {
            .n = 1 + shorter, .blocklens = len, .disp = disp, .kid = (uno_datatype *[]){blocks, spaced}};
        err = uno_type_struct(&l, out);
        uno_type_drop(blocks);
    }
    uno_type_drop(spaced);
    return err;
}

int uno_type_darray(const struct uno_darray *a, uno_datatype *old, uno_datatype **out)
{
    // The process grid is row-major whatever the order of the array.
    int *coord = malloc((size_t)a->ndims * sizeof *coord + 1), rest = a->rank, procs = a->size;
    if (!coord) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", a->ndims);
    for (int d = 0; d < a->ndims; d++) {
        procs /= a->psizes[d];
        coord[d] = rest / procs;
        rest %= procs;
    }
    MPI_Count stride = old->extent;
    uno_datatype *inner = old;
    uno_type_hold(inner);
    int err = MPI_SUCCESS;
    for (int i = 0; i < a->ndims && !err; i++) {
        int d = dimension(i, a->ndims, a->order);
        MPI_Count bytes;
        struct share s = share_of(a->gsizes[d], a->distribs[d], a->dargs[d], a->psizes[d], coord[d]);
        uno_datatype *next = inner;
        if (__builtin_mul_overflow(stride, a->gsizes[d], &bytes))
            err = too_large(a->gsizes[d], stride);
        else
            err = spread(&s, stride, inner, &next);
        if (err) break;
        uno_type_drop(inner);
        inner = next;
        stride = bytes;
    }
    free(coord);
    if (!err) return place_inner(inner, 0, stride, out);
    uno_type_drop(inner);
    return err;
}
