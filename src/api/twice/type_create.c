// SPDX-License-Identifier: BSD-3-Clause
// Entry points that make datatypes from blocks of others: contiguous, vector, indexed, struct, resized. The layouts are
// made in core/type_make.c. Arrays and f90 types have files of their own. Always holds: the contents are kept as the
// user gave them.
#include <limits.h>
#include <stdlib.h>

#include "api/type_args.h"
#include "api/twice/twice.h"

static int contiguous(const char *call, MPI_Count count, MPI_Datatype old, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    uno_enter(call);
    int err = uno_check_any_type(old);
    if (!err) err = uno_check_count(count);
    if (!err) err = uno_check_pointer(newtype, "newtype");
    if (err) return uno_raise_self(call, err);
    uno_datatype *kid = uno_type(old);
    err = uno_type_vector(1, count, 0, kid, &t);
    struct uno_contents c = {.combiner = MPI_COMBINER_CONTIGUOUS,
                             .large = UNO_LARGE,
                             .nints = !UNO_LARGE,
                             .ncounts = UNO_LARGE,
                             .ntypes = 1,
                             .values = &count,
                             .types = &kid};
    return uno_type_deliver(call, err, t, &c, newtype);
}

int MPI_Type_contiguous(uno_count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous(__func__, count, oldtype, newtype);
}

// value: count, blocklength, stride; the stride is in elements for MPI_COMBINER_VECTOR, in bytes for
// MPI_COMBINER_HVECTOR.
static int vector(const char *call, int combiner, const MPI_Count value[3], MPI_Datatype old, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    bool bytes = combiner == MPI_COMBINER_HVECTOR;
    uno_enter(call);
    int err = uno_check_any_type(old);
    if (!err) err = uno_check_count(value[0]);
    if (!err && value[1] < 0) err = uno_fail(MPI_ERR_ARG, "blocklength %lld is negative", (long long)value[1]);
    if (!err) err = uno_check_pointer(newtype, "newtype");
    if (err) return uno_raise_self(call, err);
    uno_datatype *kid = uno_type(old);
    MPI_Count stride = value[2];
    if (!bytes && __builtin_mul_overflow(value[2], kid->extent, &stride))
        err = uno_fail(MPI_ERR_VALUE_TOO_LARGE, "stride %lld in bytes does not fit 63 bits", (long long)value[2]);
    if (!err) err = uno_type_vector(value[0], value[1], stride, kid, &t);
    struct uno_contents c = {.combiner = combiner,
                             .large = UNO_LARGE,
                             .nints = UNO_LARGE ? 0
                                      : bytes   ? 2
                                                : 3,
                             .naddrs = !UNO_LARGE && bytes,
                             .ncounts = UNO_LARGE ? 3 : 0,
                             .ntypes = 1,
                             .values = value,
                             .types = &kid};
    return uno_type_deliver(call, err, t, &c, newtype);
}

int MPI_Type_vector(uno_count count, uno_count blocklength, uno_count stride, MPI_Datatype oldtype,
                    MPI_Datatype *newtype)
{
    return vector(__func__, MPI_COMBINER_VECTOR, (MPI_Count[]){count, blocklength, stride}, oldtype, newtype);
}

int MPI_Type_create_hvector(uno_count count, uno_count blocklength, uno_aint stride, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    return vector(__func__, MPI_COMBINER_HVECTOR, (MPI_Count[]){count, blocklength, stride}, oldtype, newtype);
}

#define BLOCKS_MAX (LLONG_MAX / 64)    // whose numbers have a size in bytes

// The arguments of the constructors with a list of displacements.
struct list {
    const char *call;
    int combiner;
    MPI_Count n;
    MPI_Count blocklen;    // of the _block forms, which have no lens
    struct uno_numbers lens, disp;
    const MPI_Datatype *types;    // n of them for a struct, else one
};

static int check_list(const struct list *a, const MPI_Datatype *newtype)
{
    int err = uno_check_running();
    bool is_struct = a->combiner == MPI_COMBINER_STRUCT;
    if (!err) err = uno_check_numbers(a->disp, a->n, "array_of_displacements", true);
    if (!err && a->lens.width) err = uno_check_numbers(a->lens, a->n, "array_of_blocklengths", false);
    if (!err && a->blocklen < 0) err = uno_fail(MPI_ERR_ARG, "blocklength %lld is negative", (long long)a->blocklen);
    if (!err && is_struct && a->n > 0) err = uno_check_pointer(a->types, "array_of_types");
    for (MPI_Count i = 0; !err && i < (is_struct ? a->n : 1); i++) err = uno_check_any_type(a->types[i]);
    return err ? err : uno_check_pointer(newtype, "newtype");
}

// Makes the type out of `values` (count, block lengths or the one block length, displacements), which `c` describes
// too.
static int make_list(const struct list *a, const struct uno_contents *c, MPI_Count *bytes, uno_datatype **t)
{
    MPI_Count n = a->n, nlens = a->lens.width ? n : 1;
    const MPI_Count *disp = c->values + 1 + nlens;
    struct uno_layout l = {.n = n,
                           .blocklen = a->blocklen,
                           .blocklens = a->lens.width ? c->values + 1 : NULL,
                           .disp = disp,
                           .kid = c->types,
                           .kept = c->kept};
    if (a->combiner == MPI_COMBINER_STRUCT) return uno_type_struct(&l, t);
    if (a->combiner == MPI_COMBINER_INDEXED || a->combiner == MPI_COMBINER_INDEXED_BLOCK) {
        for (MPI_Count i = 0; i < n; i++) {
            if (__builtin_mul_overflow(disp[i], c->types[0]->extent, &bytes[i]))
                return uno_fail(MPI_ERR_VALUE_TOO_LARGE, "displacement %lld in bytes does not fit 63 bits",
                                (long long)disp[i]);
        }
        l.disp = bytes;
    }
    return uno_type_blocks(&l, c->types[0], t);
}

static int list(const struct list *a, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    uno_enter(a->call);
    int err = check_list(a, newtype);
    if (!err && a->n > BLOCKS_MAX)
        err = uno_fail(MPI_ERR_COUNT, "count %lld is out of range (0 .. %lld allowed)", (long long)a->n, BLOCKS_MAX);
    if (err) return uno_raise_self(a->call, err);
    MPI_Count n = a->n, nlens = a->lens.width ? n : 1, ntypes = a->combiner == MPI_COMBINER_STRUCT ? n : 1;
    bool elements = a->combiner == MPI_COMBINER_INDEXED || a->combiner == MPI_COMBINER_INDEXED_BLOCK;
    MPI_Count *values = malloc((size_t)(1 + nlens + n + (elements ? n : 0)) * sizeof *values);
    uno_datatype **kid = malloc((size_t)(ntypes + 1) * sizeof *kid);
    struct uno_contents c = {.combiner = a->combiner,
                             .large = UNO_LARGE,
                             .nints = UNO_LARGE ? 0 : 1 + nlens + (elements ? n : 0),
                             .naddrs = UNO_LARGE || elements ? 0 : n,
                             .ncounts = UNO_LARGE ? 1 + nlens + n : 0,
                             .ntypes = ntypes,
                             .values = values,
                             .types = kid,
                             .kept = true};
    if (values && kid) {
        values[0] = n;
        for (MPI_Count i = 0; i < nlens; i++) values[1 + i] = a->lens.width ? uno_number(a->lens, i) : a->blocklen;
        for (MPI_Count i = 0; i < n; i++) values[1 + nlens + i] = uno_number(a->disp, i);
        for (MPI_Count i = 0; i < ntypes; i++) kid[i] = uno_type(a->types[i]);
        err = make_list(a, &c, values + 1 + nlens + n, &t);
    } else {
        err = uno_fail(MPI_ERR_NO_MEM, "no memory for %lld blocks", (long long)n);
    }
    err = uno_type_deliver(a->call, err, t, &c, newtype);
    if (err) free(values);
    free(kid);
    return err;
}

int MPI_Type_indexed(uno_count count, const uno_count array_of_blocklengths[], const uno_count array_of_displacements[],
                     MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return list(&(struct list){.call = __func__,
                               .combiner = MPI_COMBINER_INDEXED,
                               .n = count,
                               .types = &oldtype,
                               .lens = UNO_NUMBERS(array_of_blocklengths),
                               .disp = UNO_NUMBERS(array_of_displacements)},
                newtype);
}

int MPI_Type_create_hindexed(uno_count count, const uno_count array_of_blocklengths[],
                             const uno_aint array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return list(&(struct list){.call = __func__,
                               .combiner = MPI_COMBINER_HINDEXED,
                               .n = count,
                               .types = &oldtype,
                               .lens = UNO_NUMBERS(array_of_blocklengths),
                               .disp = UNO_NUMBERS(array_of_displacements)},
                newtype);
}

int MPI_Type_create_indexed_block(uno_count count, uno_count blocklength, const uno_count array_of_displacements[],
                                  MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return list(&(struct list){.call = __func__,
                               .combiner = MPI_COMBINER_INDEXED_BLOCK,
                               .n = count,
                               .types = &oldtype,
                               .blocklen = blocklength,
                               .disp = UNO_NUMBERS(array_of_displacements)},
                newtype);
}

int MPI_Type_create_hindexed_block(uno_count count, uno_count blocklength, const uno_aint array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return list(&(struct list){.call = __func__,
                               .combiner = MPI_COMBINER_HINDEXED_BLOCK,
                               .n = count,
                               .types = &oldtype,
                               .blocklen = blocklength,
                               .disp = UNO_NUMBERS(array_of_displacements)},
                newtype);
}

int MPI_Type_create_struct(uno_count count, const uno_count array_of_blocklengths[],
                           const uno_aint array_of_displacements[], const MPI_Datatype array_of_types[],
                           MPI_Datatype *newtype)
{
    return list(&(struct list){.call = __func__,
                               .combiner = MPI_COMBINER_STRUCT,
                               .n = count,
                               .types = array_of_types,
                               .lens = UNO_NUMBERS(array_of_blocklengths),
                               .disp = UNO_NUMBERS(array_of_displacements)},
                newtype);
}

static int resized(const char *call, MPI_Datatype old, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype)
{
    uno_datatype *t = NULL;
    uno_enter(call);
    int err = uno_check_any_type(old);
    if (!err) err = uno_check_pointer(newtype, "newtype");
    if (err) return uno_raise_self(call, err);
    uno_datatype *kid = uno_type(old);
    err = uno_type_resized(kid, lb, extent, &t);
    struct uno_contents c = {.combiner = MPI_COMBINER_RESIZED,
                             .large = UNO_LARGE,
                             .naddrs = UNO_LARGE ? 0 : 2,
                             .ncounts = UNO_LARGE ? 2 : 0,
                             .ntypes = 1,
                             .values = (MPI_Count[]){lb, extent},
                             .types = &kid};
    return uno_type_deliver(call, err, t, &c, newtype);
}

int MPI_Type_create_resized(MPI_Datatype oldtype, uno_aint lb, uno_aint extent, MPI_Datatype *newtype)
{
    return resized(__func__, oldtype, lb, extent, newtype);
}
