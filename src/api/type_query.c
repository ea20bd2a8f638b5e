// SPDX-License-Identifier: BSD-3-Clause
// Entry points that ask about a datatype, and its life: commit, duplicate, free, name, size, extents, envelope,
// contents, addresses. Always holds: contents that do not fit the caller's types are an error.
#include <limits.h>
#include <string.h>

#include "api/type_args.h"
#include "base/fail.h"
#include "core/attr.h"

int MPI_Type_commit(MPI_Datatype *datatype)
{
    const char *call = "MPI_Type_commit";
    uno_enter(call);
    int err = uno_check_pointer(datatype, "datatype");
    if (!err) err = uno_check_any_type(*datatype);
    if (!err) err = uno_type_commit(uno_type(*datatype));
    if (err) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *datatype)
{
    const char *call = "MPI_Type_free";
    uno_enter(call);
    int err = uno_check_pointer(datatype, "datatype");
    if (!err) err = uno_check_any_type(*datatype);
    if (!err && uno_type(*datatype)->flags & UNO_TYPE_PREDEFINED)
        err = uno_fail(MPI_ERR_TYPE, "datatype %s is predefined, it cannot be freed", uno_type(*datatype)->name);
    if (err) return uno_raise_self(call, err);
    uno_datatype *t = *datatype;
    if (t->users == 1 && t->attrs) {
        err = uno_attrs_delete(t->attrs, t->handle);
        if (err) return uno_raise_self(call, err);
        uno_attrs_drop(t->attrs);
        t->attrs = NULL;
    }
    if (--t->users == 0) t->flags &= ~(uint32_t)UNO_TYPE_LIVE;
    uno_type_drop(t);
    *datatype = MPI_DATATYPE_NULL;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    const char *call = "MPI_Type_set_name";
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(type_name, "type_name");
    if (err) return uno_raise_self(call, err);
    uno_datatype *t = uno_type(datatype);
    size_t n = strnlen(type_name, MPI_MAX_OBJECT_NAME - 1);
    memcpy(t->name, type_name, n);
    t->name[n] = 0;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    const char *call = "MPI_Type_get_name";
    uno_enter(call);
    // The null handle has a name too (MPI-3.1).
    bool null = datatype == MPI_DATATYPE_NULL;
    int err = null ? uno_check_running() : uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(type_name, "type_name");
    if (!err) err = uno_check_pointer(resultlen, "resultlen");
    if (err) return uno_raise_self(call, err);
    const char *name = null ? "MPI_DATATYPE_NULL" : uno_type(datatype)->name;
    strcpy(type_name, name);
    *resultlen = (int)strlen(name);
    uno_leave();
    return MPI_SUCCESS;
}

int uno_tell_size(const char *call, MPI_Datatype datatype, MPI_Count *size)
{
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(size, "size");
    if (err) return uno_raise_self(call, err);
    *size = uno_type(datatype)->size;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    return uno_tell_size("MPI_Type_size_x", datatype, size);
}

int uno_tell_extent(const char *call, MPI_Datatype datatype, bool true_one, MPI_Count *lb, MPI_Count *extent)
{
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(lb, true_one ? "true_lb" : "lb");
    if (!err) err = uno_check_pointer(extent, true_one ? "true_extent" : "extent");
    if (err) return uno_raise_self(call, err);
    const uno_datatype *t = uno_type(datatype);
    *lb = true_one ? t->true_lb : t->lb;
    *extent = true_one ? t->true_extent : t->extent;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return uno_tell_extent("MPI_Type_get_extent_x", datatype, false, lb, extent);
}

int MPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return uno_tell_extent("MPI_Type_get_true_extent_x", datatype, true, true_lb, true_extent);
}

static int check_small(const uno_datatype *t, const char *other)
{
    if (!t->made || !t->made->large) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "datatype was made with large counts (use %s)", other);
}

int MPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses, int *num_datatypes,
                          int *combiner)
{
    const char *call = "MPI_Type_get_envelope";
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = check_small(uno_type(datatype), "MPI_Type_get_envelope_c");
    if (!err) err = uno_check_pointer(num_integers, "num_integers");
    if (!err) err = uno_check_pointer(num_addresses, "num_addresses");
    if (!err) err = uno_check_pointer(num_datatypes, "num_datatypes");
    if (!err) err = uno_check_pointer(combiner, "combiner");
    if (err) return uno_raise_self(call, err);
    const struct uno_type_made *m = uno_type(datatype)->made;
    *num_integers = m ? (int)m->nints : 0;
    *num_addresses = m ? (int)m->naddrs : 0;
    *num_datatypes = m ? (int)m->ntypes : 0;
    *combiner = m ? m->combiner : MPI_COMBINER_NAMED;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count *num_addresses,
                            MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner)
{
    const char *call = "MPI_Type_get_envelope_c";
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = uno_check_pointer(num_integers, "num_integers");
    if (!err) err = uno_check_pointer(num_addresses, "num_addresses");
    if (!err) err = uno_check_pointer(num_large_counts, "num_large_counts");
    if (!err) err = uno_check_pointer(num_datatypes, "num_datatypes");
    if (!err) err = uno_check_pointer(combiner, "combiner");
    if (err) return uno_raise_self(call, err);
    const struct uno_type_made *m = uno_type(datatype)->made;
    *num_integers = m ? m->nints : 0;
    *num_addresses = m ? m->naddrs : 0;
    *num_large_counts = m ? m->ncounts : 0;
    *num_datatypes = m ? m->ntypes : 0;
    *combiner = m ? m->combiner : MPI_COMBINER_NAMED;
    uno_leave();
    return MPI_SUCCESS;
}

// Where contents go, and for how many there is room.
struct room {
    MPI_Count nints, naddrs, ncounts, ntypes;
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    MPI_Datatype *types;
};

static int check_room(MPI_Count room, const void *array, MPI_Count n, const char *name)
{
    if (room >= n && (array || n == 0)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "%s has room for %lld of %lld", name, array ? (long long)room : 0, (long long)n);
}

static int get_contents(const struct uno_type_made *m, const struct room *r)
{
    if (!m || m->combiner == MPI_COMBINER_NAMED)
        return uno_fail(MPI_ERR_TYPE, "datatype is predefined and has no contents");
    int err = check_room(r->nints, r->ints, m->nints, "array_of_integers");
    if (!err) err = check_room(r->naddrs, r->addrs, m->naddrs, "array_of_addresses");
    if (!err) err = check_room(r->ncounts, r->counts, m->ncounts, "array_of_large_counts");
    if (!err) err = check_room(r->ntypes, r->types, m->ntypes, "array_of_datatypes");
    if (err) return err;
    const MPI_Count *v = m->values;
    for (MPI_Count i = 0; i < m->nints; i++) r->ints[i] = (int)*v++;
    for (MPI_Count i = 0; i < m->naddrs; i++) r->addrs[i] = *v++;
    for (MPI_Count i = 0; i < m->ncounts; i++) r->counts[i] = *v++;
    for (MPI_Count i = 0; i < m->ntypes; i++) {
        uno_datatype *t = m->types[i];
        r->types[i] = t->handle;
        if (t->flags & UNO_TYPE_PREDEFINED) continue;
        uno_type_hold(t);    // a handle more for the user, to be freed by him
        t->users++;
        t->flags |= UNO_TYPE_LIVE;
    }
    return MPI_SUCCESS;
}

int MPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                          int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    const char *call = "MPI_Type_get_contents";
    struct room r = {.nints = max_integers,
                     .naddrs = max_addresses,
                     .ntypes = max_datatypes,
                     .ints = array_of_integers,
                     .addrs = array_of_addresses,
                     .types = array_of_datatypes};
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = check_small(uno_type(datatype), "MPI_Type_get_contents_c");
    if (!err) err = get_contents(uno_type(datatype)->made, &r);
    if (err) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                            MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                            MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                            MPI_Datatype array_of_datatypes[])
{
    const char *call = "MPI_Type_get_contents_c";
    struct room r = {max_integers,      max_addresses,      max_large_counts,      max_datatypes,
                     array_of_integers, array_of_addresses, array_of_large_counts, array_of_datatypes};
    uno_enter(call);
    int err = uno_check_any_type(datatype);
    if (!err) err = get_contents(uno_type(datatype)->made, &r);
    if (err) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    const char *call = "MPI_Type_dup";
    uno_datatype *t = NULL;
    uno_enter(call);
    int err = uno_check_any_type(oldtype);
    if (!err) err = uno_check_pointer(newtype, "newtype");
    if (err) return uno_raise_self(call, err);
    uno_datatype *kid = uno_type(oldtype);
    err = uno_type_copy(kid, &t);
    if (!err && (err = uno_attrs_copy(kid->attrs, &t->attrs, oldtype))) {
        // The call fails with the copy's error; what a second one leaves goes with the type.
        if (uno_attrs_delete(t->attrs, t->handle)) uno_log(1, "%s: a copied attribute refuses to be deleted", call);
        uno_type_drop(t);
    }
    struct uno_contents c = {.combiner = MPI_COMBINER_DUP, .ntypes = 1, .types = &kid};
    return uno_type_deliver(call, err, t, &c, newtype);
}
int MPI_Get_address(const void *location, MPI_Aint *address)
{
    const char *call = "MPI_Get_address";
    if (!address) {
        uno_enter(call);
        return uno_raise_self(call, uno_check_pointer(address, "address"));
    }
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

// Addresses wrap like pointers do: through the unsigned type, where overflow is defined.
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint MPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
