// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays: built from vectors and blocks, dimension by dimension from the fastest one on.
// Called by src/api/twice/type_array.c. Always holds: lb is 0 and the extent that of the whole array.
#include <stdlib.h>

#include "base/fail.h"
#include "core/type_make.h"

// The i-th dimension counted from the one whose elements are consecutive.
static int dimension(int i, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

// Puts `inner` at disp inside an array of `bytes` bytes; gives inner up in any case.
static int place(uno_datatype *inner, MPI_Count disp, MPI_Count bytes, uno_datatype **out)
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

static int too_large(void)
{
    return uno_fail(MPI_ERR_VALUE_TOO_LARGE, "the array has more bytes than fit 63 bits");
}

int uno_type_subarray(const struct uno_subarray *a, uno_datatype *old, uno_datatype **out)
{
    MPI_Count stride = old->extent, disp = 0;
    uno_datatype *inner = old;
    uno_type_hold(inner);
    for (int i = 0; i < a->ndims; i++) {
        int d = dimension(i, a->ndims, a->order);
        MPI_Count start;
        uno_datatype *next = NULL;
        int err = uno_type_vector(a->subsizes[d], 1, stride, inner, &next);
        uno_type_drop(inner);
        if (err) return err;
        inner = next;
        if (__builtin_mul_overflow(a->starts[d], stride, &start) || __builtin_add_overflow(disp, start, &disp) ||
            __builtin_mul_overflow(stride, a->sizes[d], &stride)) {
            uno_type_drop(inner);
            return too_large();
        }
    }
    return place(inner, disp, stride, out);
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
        MPI_Count len = darg == MPI_DISTRIBUTE_DFLT_DARG ? (size + procs - 1) / procs : darg, start = coord * len;
        MPI_Count mine = start >= size ? 0 : size - start < len ? size - start : len;
        return (struct share){.start = start, .n = mine > 0, .len = mine, .last = mine};
    }
    MPI_Count len = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg, start = coord * len, step = len * procs;
    if (start >= size) return (struct share){0};
    MPI_Count n = (size - start + step - 1) / step, rest = size - start - (n - 1) * step;
    return (struct share){.start = start, .n = n, .len = len, .step = step, .last = rest < len ? rest : len};
}

// One dimension: the elements of `inner`, `stride` bytes apart, that the share names.
static int spread(const struct share *s, MPI_Count stride, uno_datatype *inner, uno_datatype **out)
{
    size_t n = (size_t)s->n;
    MPI_Count *array = malloc((2 * n + 1) * sizeof *array), *disp = array + n;
    uno_datatype *spaced = NULL;
    if (!array) return uno_fail(MPI_ERR_NO_MEM, "no memory for a distributed array of %zu blocks", n);
    for (size_t i = 0; i < n; i++) {
        array[i] = i + 1 < n ? s->len : s->last;
        disp[i] = (s->start + (MPI_Count)i * s->step) * stride;
    }
    struct uno_layout l = {.n = s->n, .blocklens = array, .disp = disp};
    int err = uno_type_resized(inner, 0, stride, &spaced);
    if (!err) {
        err = uno_type_blocks(&l, spaced, out);
        uno_type_drop(spaced);
    }
    free(array);
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
            err = too_large();
        else
            err = spread(&s, stride, inner, &next);
        if (err) break;
        uno_type_drop(inner);
        inner = next;
        stride = bytes;
    }
    free(coord);
    if (!err) return place(inner, 0, stride, out);
    uno_type_drop(inner);
    return err;
}
