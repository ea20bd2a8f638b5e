// SPDX-License-Identifier: BSD-3-Clause
// Entry points for subarrays and distributed arrays. The types are made in core/type_array.c.
// Always holds: contents of a large type keep the integers (dimensions, distributions, order) as integers.
#include <stdlib.h>

#include "api/type_args.h"
#include "api/twice/twice.h"

#define DIMS_MAX 1024    // more dimensions than any array has; keeps the arrays below on the stack's safe side

static int check_order(int order)
{
    if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

static int check_ndims(int ndims)
{
    if (ndims >= 1 && ndims <= DIMS_MAX) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "ndims %d is out of range (1 .. %d allowed)", ndims, DIMS_MAX);
}

struct subarray {
    const char *call;
    int ndims, order;
    struct uno_numbers sizes, subsizes, starts;
    MPI_Datatype old;
};

static int check_subarray(const struct subarray *a, const MPI_Datatype *newtype)
{
    int err = uno_check_any_type(a->old);
    if (!err) err = check_ndims(a->ndims);
    if (!err) err = check_order(a->order);
    if (!err) err = uno_check_numbers(a->sizes, a->ndims, "array_of_sizes", false);
    if (!err) err = uno_check_numbers(a->subsizes, a->ndims, "array_of_subsizes", false);
    if (!err) err = uno_check_numbers(a->starts, a->ndims, "array_of_starts", false);
    for (int d = 0; !err && d < a->ndims; d++) {
        long long size = uno_number(a->sizes, d), sub = uno_number(a->subsizes, d), start = uno_number(a->starts, d);
        if (size < 1)
            err = uno_fail(MPI_ERR_ARG, "array_of_sizes[%d] is %lld (1 or more allowed)", d, size);
        else if (sub < 1 || sub > size)
            err = uno_fail(MPI_ERR_ARG, "array_of_subsizes[%d] is %lld (1 .. %lld allowed)", d, sub, size);
        else if (start > size - sub)
            err = uno_fail(MPI_ERR_ARG, "array_of_starts[%d] is %lld (0 .. %lld allowed)", d, start, size - sub);
    }
    return err ? err : uno_check_pointer(newtype, "newtype");
}

static int subarray(const struct subarray *a, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    uno_enter(a->call);
    int err = check_subarray(a, newtype), n = a->ndims;
    MPI_Count *values = err ? NULL : malloc((size_t)(3 * n + 2) * sizeof *values);
    if (!err && !values) err = uno_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", n);
    if (err) return uno_raise_self(a->call, err);
    // Small: ndims, sizes, subsizes, starts, order. Large: the integers ndims and order first.
    MPI_Count *dims = values + (UNO_LARGE ? 2 : 1);
    values[0] = n;
    values[UNO_LARGE ? 1 : 3 * n + 1] = a->order;
    for (int d = 0; d < n; d++) {
        dims[d] = uno_number(a->sizes, d);
        dims[n + d] = uno_number(a->subsizes, d);
        dims[2 * n + d] = uno_number(a->starts, d);
    }
    uno_datatype *kid = uno_type(a->old);
    struct uno_subarray s = {n, a->order, dims, dims + n, dims + 2 * n};
    err = uno_type_subarray(&s, kid, &t);
    struct uno_contents c = {.combiner = MPI_COMBINER_SUBARRAY,
                             .large = UNO_LARGE,
                             .nints = UNO_LARGE ? 2 : 3 * n + 2,
                             .ncounts = UNO_LARGE ? 3 * n : 0,
                             .ntypes = 1,
                             .values = values,
                             .types = &kid};
    err = uno_type_deliver(a->call, err, t, &c, newtype);
    free(values);
    return err;
}

int MPI_Type_create_subarray(int ndims, const uno_count array_of_sizes[], const uno_count array_of_subsizes[],
                             const uno_count array_of_starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return subarray(&(struct subarray){__func__, ndims, order, UNO_NUMBERS(array_of_sizes),
                                       UNO_NUMBERS(array_of_subsizes), UNO_NUMBERS(array_of_starts), oldtype},
                    newtype);
}

struct darray {
    const char *call;
    int size, rank, ndims, order;
    struct uno_numbers gsizes;
    const int *distribs, *dargs, *psizes;
    MPI_Datatype old;
};

static int check_dimension(const struct darray *a, int d)
{
    long long size = uno_number(a->gsizes, d), darg = a->dargs[d], procs = a->psizes[d];
    int distrib = a->distribs[d];
    if (size < 1) return uno_fail(MPI_ERR_ARG, "array_of_gsizes[%d] is %lld (1 or more allowed)", d, size);
    if (procs < 1) return uno_fail(MPI_ERR_ARG, "array_of_psizes[%d] is %lld (1 or more allowed)", d, procs);
    if (distrib == MPI_DISTRIBUTE_NONE) {
        if (procs == 1) return MPI_SUCCESS;
        return uno_fail(MPI_ERR_ARG, "array_of_psizes[%d] is %lld (1 with MPI_DISTRIBUTE_NONE)", d, procs);
    }
    if (distrib != MPI_DISTRIBUTE_BLOCK && distrib != MPI_DISTRIBUTE_CYCLIC)
        return uno_fail(MPI_ERR_ARG, "array_of_distribs[%d] is %d (MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE)", d,
                        distrib);
    if (darg == MPI_DISTRIBUTE_DFLT_DARG) return MPI_SUCCESS;
    if (darg < 1) return uno_fail(MPI_ERR_ARG, "array_of_dargs[%d] is %lld (1 or more allowed)", d, darg);
    if (distrib == MPI_DISTRIBUTE_BLOCK && darg < size / procs + (size % procs != 0))
        return uno_fail(MPI_ERR_ARG, "array_of_dargs[%d] is %lld: %lld blocks of it do not cover %lld", d, darg, procs,
                        size);
    return MPI_SUCCESS;
}

static int check_darray(const struct darray *a, const MPI_Datatype *newtype)
{
    int err = uno_check_any_type(a->old);
    if (!err) err = check_ndims(a->ndims);
    if (!err) err = check_order(a->order);
    if (!err) err = uno_check_numbers(a->gsizes, a->ndims, "array_of_gsizes", false);
    if (!err) err = uno_check_pointer(a->distribs, "array_of_distribs");
    if (!err) err = uno_check_pointer(a->dargs, "array_of_dargs");
    if (!err) err = uno_check_pointer(a->psizes, "array_of_psizes");
    long long procs = 1;
    for (int d = 0; !err && d < a->ndims; d++) {
        err = check_dimension(a, d);
        if (procs <= a->size) procs *= a->psizes[d];
    }
    if (!err && procs != a->size) err = uno_fail(MPI_ERR_ARG, "size %d is not the product of array_of_psizes", a->size);
    if (!err && (a->rank < 0 || a->rank >= a->size))
        err = uno_fail(MPI_ERR_ARG, "rank %d is out of range (0 .. %d allowed)", a->rank, a->size - 1);
    return err ? err : uno_check_pointer(newtype, "newtype");
}

// The contents: size, rank, ndims, gsizes, distribs, dargs, psizes, order; in large types gsizes come last, as counts.
static MPI_Count *darray_values(const struct darray *a)
{
    int n = a->ndims;
    MPI_Count *values = malloc((size_t)(4 * n + 4) * sizeof *values), *to = values;
    if (!values) return NULL;
    *to++ = a->size, *to++ = a->rank, *to++ = n;
    for (int d = 0; d < n && !UNO_LARGE; d++) *to++ = uno_number(a->gsizes, d);
    for (int d = 0; d < n; d++) *to++ = a->distribs[d];
    for (int d = 0; d < n; d++) *to++ = a->dargs[d];
    for (int d = 0; d < n; d++) *to++ = a->psizes[d];
    *to++ = a->order;
    for (int d = 0; d < n && UNO_LARGE; d++) *to++ = uno_number(a->gsizes, d);
    return values;
}

static int darray(const struct darray *a, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    uno_enter(a->call);
    int err = check_darray(a, newtype), n = a->ndims;
    MPI_Count *values = err ? NULL : darray_values(a);
    if (!err && !values) err = uno_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", n);
    if (err) return uno_raise_self(a->call, err);
    uno_datatype *kid = uno_type(a->old);
    struct uno_darray s = {a->size,     a->rank,  n,        a->order, values + (UNO_LARGE ? 3 * n + 4 : 3),
                           a->distribs, a->dargs, a->psizes};
    err = uno_type_darray(&s, kid, &t);
    struct uno_contents c = {.combiner = MPI_COMBINER_DARRAY,
                             .large = UNO_LARGE,
                             .nints = (UNO_LARGE ? 3 : 4) * n + 4,
                             .ncounts = UNO_LARGE ? n : 0,
                             .ntypes = 1,
                             .values = values,
                             .types = &kid};
    err = uno_type_deliver(a->call, err, t, &c, newtype);
    free(values);
    return err;
}

int MPI_Type_create_darray(int size, int rank, int ndims, const uno_count array_of_gsizes[],
                           const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[],
                           int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return darray(&(struct darray){__func__, size, rank, ndims, order, UNO_NUMBERS(array_of_gsizes), array_of_distribs,
                                   array_of_dargs, array_of_psizes, oldtype},
                  newtype);
}
