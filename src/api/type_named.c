// SPDX-License-Identifier: BSD-3-Clause
// Entry points that hand out predefined datatypes: by size, by Fortran precision and range, and as pairs of value and
// index. Always holds: asked again with the same arguments they return the same handle; it is committed and cannot be
// freed.
#include <stdlib.h>

#include "api/type_args.h"

int MPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    const char *call = "MPI_Type_match_size";
    static const struct {
        int typeclass, size;
        MPI_Datatype type;
    } table[] = {{MPI_TYPECLASS_REAL, 2, MPI_REAL2},         {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
                 {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
                 {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
                 {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
                 {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
                 {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
                 {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
                 {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},  {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
                 {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},  {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16}};
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(datatype, "datatype");
    for (size_t i = 0; !err && i < sizeof table / sizeof *table; i++) {
        if (table[i].typeclass != typeclass || table[i].size != size) continue;
        *datatype = table[i].type;
        uno_leave();
        return MPI_SUCCESS;
    }
    if (!err) err = uno_fail(MPI_ERR_ARG, "no datatype of class %d has %d bytes", typeclass, size);
    return uno_raise_self(call, err);
}

// The types made here, found again by what they were made from. They live as long as the process.
struct made {
    struct made *next;
    uno_datatype *type;
};
static struct made *made_types;

static bool same_contents(const uno_datatype *t, const struct uno_contents *c)
{
    const struct uno_type_made *m = t->made;
    if (m->combiner != c->combiner || m->nints != c->nints) return false;
    for (MPI_Count i = 0; i < c->nints; i++)
        if (m->values[i] != c->values[i]) return false;
    return true;
}

static uno_datatype *find_made(const struct uno_contents *c)
{
    for (struct made *m = made_types; m; m = m->next)
        if (same_contents(m->type, c)) return m->type;
    return NULL;
}

// Turns a fresh type into a predefined one without a name. t is dropped when that fails.
static int keep_type(uno_datatype *t, const struct uno_contents *c)
{
    struct made *m = malloc(sizeof *m);
    int err = m ? uno_type_record(t, c) : uno_fail(MPI_ERR_NO_MEM, "no memory for a datatype");
    if (!err) err = uno_type_commit(t);
    if (err) {
        free(m);
        uno_type_drop(t);
        return err;
    }
    t->flags |= UNO_TYPE_PREDEFINED;
    uno_type_pool.live--;    // never freed: not one that the user forgot
    *m = (struct made){made_types, t};
    made_types = m;
    return MPI_SUCCESS;
}

// A Fortran type: base under the combiner, with the user's arguments p and r, or r alone.
static int f90(const char *call, int combiner, const int args[2], MPI_Datatype base, MPI_Datatype *newtype)
{
    bool both = combiner != MPI_COMBINER_F90_INTEGER;
    MPI_Count values[2] = {both ? args[0] : args[1], args[1]};
    struct uno_contents c = {.combiner = combiner, .nints = both ? 2 : 1, .values = values};
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(newtype, "newtype");
    if (!err && base == MPI_DATATYPE_NULL)
        err = uno_fail(MPI_ERR_ARG, "no Fortran type has precision %d and range %d", args[0], args[1]);
    if (err) return uno_raise_self(call, err);
    uno_datatype *t = find_made(&c);
    if (!t) {
        err = uno_type_copy(uno_type(base), &t);
        if (!err) err = keep_type(t, &c);
    }
    if (err) return uno_raise_self(call, err);
    *newtype = t->handle;
    uno_leave();
    return MPI_SUCCESS;
}

// Precision and decimal exponent range of the real kinds that Fortran compilers have; MPI_UNDEFINED asks for any. The
// middle one is the 80-bit extended format, REAL(10) of gfortran on x86.
static int real_kind(int p, int r)
{
    static const struct {
        int p, r;
    } kind[] = {{6, 37}, {15, 307}, {18, 4931}, {33, 4931}};
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED) return -1;
    for (int i = 0; i < 4; i++)
        if ((p == MPI_UNDEFINED || p <= kind[i].p) && (r == MPI_UNDEFINED || r <= kind[i].r)) return i;
    return -1;
}

int MPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    static const MPI_Datatype base[] = {MPI_REAL4, MPI_REAL8, MPI_LONG_DOUBLE, MPI_REAL16};
    const char *call = "MPI_Type_create_f90_real";
    int kind = real_kind(p, r);
    uno_enter(call);
    return f90(call, MPI_COMBINER_F90_REAL, (int[]){p, r}, kind < 0 ? MPI_DATATYPE_NULL : base[kind], newtype);
}

int MPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    static const MPI_Datatype base[] = {MPI_COMPLEX8, MPI_COMPLEX16, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX32};
    const char *call = "MPI_Type_create_f90_complex";
    int kind = real_kind(p, r);
    uno_enter(call);
    return f90(call, MPI_COMBINER_F90_COMPLEX, (int[]){p, r}, kind < 0 ? MPI_DATATYPE_NULL : base[kind], newtype);
}

int MPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    static const struct {
        int r;
        MPI_Datatype base;
    } kind[] = {{2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}, {38, MPI_INTEGER16}};
    const char *call = "MPI_Type_create_f90_integer";
    MPI_Datatype base = MPI_DATATYPE_NULL;
    for (int i = 4; i >= 0; i--)
        if (r <= kind[i].r) base = kind[i].base;
    uno_enter(call);
    return f90(call, MPI_COMBINER_F90_INTEGER, (int[]){MPI_UNDEFINED, r}, base, newtype);
}

// Other pairs have no predefined type: the standard's answer is the null handle.
int MPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type)
{
    static const MPI_Datatype named[][3] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                                            {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                                            {MPI_LONG, MPI_INT, MPI_LONG_INT},
                                            {MPI_INT, MPI_INT, MPI_2INT},
                                            {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                                            {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                                            {MPI_REAL, MPI_REAL, MPI_2REAL},
                                            {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
                                            {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION}};
    const char *call = "MPI_Type_get_value_index";
    uno_enter(call);
    int err = uno_check_any_type(value_type);
    if (!err) err = uno_check_any_type(index_type);
    if (!err) err = uno_check_pointer(pair_type, "pair_type");
    if (err) return uno_raise_self(call, err);
    MPI_Datatype found = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i][0] == value_type && named[i][1] == index_type) found = named[i][2];
    *pair_type = found;
    uno_leave();
    return MPI_SUCCESS;
}
