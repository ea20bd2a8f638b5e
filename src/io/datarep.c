// SPDX-License-Identifier: BSD-3-Clause
// Data representations (datarep.h). Called by views and by data accesses.
// Always holds: a representation, once registered, stays and does not move.
#include "io/datarep.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/external.h"
#include "core/pack_program.h"
#include "core/type_make.h"

const struct uno_datarep uno_datarep_native = {.kind = UNO_REP_NATIVE, .name = "native"};
static const struct uno_datarep external = {.kind = UNO_REP_EXTERNAL, .name = "external32"};
static const struct uno_datarep internal = {.kind = UNO_REP_EXTERNAL, .name = "internal"};
static struct uno_datarep *registered;

const struct uno_datarep *uno_datarep_find(const char *name)
{
    const struct uno_datarep *const standard[] = {&uno_datarep_native, &external, &internal};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (strcmp(standard[i]->name, name) == 0) return standard[i];
    const struct uno_datarep *r = registered;
    while (r && strcmp(r->name, name) != 0) r = r->next;
    return r;
}

int uno_datarep_add(const struct uno_datarep *rep)
{
    if (uno_datarep_find(rep->name))
        return uno_fail(MPI_ERR_DUP_DATAREP, "datarep %s is there already (another name needed)", rep->name);
    struct uno_datarep *copy = malloc(sizeof *copy);
    if (!copy) return uno_fail(MPI_ERR_NO_MEM, "no memory for a data representation");
    *copy = *rep;
    copy->next = registered;
    registered = copy;
    return MPI_SUCCESS;
}

// Adds up what the predefined types of a type map take by the user's function, and counts them.
struct census {
    const struct uno_datarep *rep;
    MPI_Count bytes, items;
    MPI_Count item;    // bytes of each in the file; -1: they differ
    int err;
};

static void count_items(struct census *c, const struct MPI_ABI_Datatype *t, MPI_Count n)
{
    if (c->err || n == 0 || t->size == 0) return;
    if (!t->made) {
        MPI_Aint extent = (MPI_Aint)t->size;
        if (c->rep->extent) c->err = c->rep->extent(t->handle, &extent, c->rep->extra);
        if (c->err) uno_fail(c->err, "the extent function of datarep %s returned %d", c->rep->name, c->err);
        MPI_Count bytes;
        if (!c->err && (extent < 0 || __builtin_mul_overflow(n, (MPI_Count)extent, &bytes) ||
                        __builtin_add_overflow(c->bytes, bytes, &c->bytes)))
            c->err = uno_fail(MPI_ERR_CONVERSION,
                              "the extent function of datarep %s gave %lld bytes for each of %lld elements (0 or more "
                              "allowed, fewer than 2^63 in all)",
                              c->rep->name, (long long)extent, (long long)n);
        c->item = c->items == 0 || c->item == extent ? extent : -1;
        c->items += n;
        return;
    }
    const struct uno_layout *l = &t->made->layout;
    if (l->shape == UNO_SHAPE_SAME) {
        count_items(c, l->kid[0], n);
    } else if (l->shape == UNO_SHAPE_VECTOR) {
        count_items(c, l->kid[0], n * l->n * l->blocklen);
    } else {
        for (MPI_Count i = 0; i < l->n; i++)
            count_items(c, l->kid[l->shape == UNO_SHAPE_STRUCT ? i : 0], n * uno_layout_len(l, i));
    }
}

static struct census census_of(const struct uno_datarep *rep, const struct MPI_ABI_Datatype *t)
{
    struct census c = {.rep = rep};
    count_items(&c, t, 1);
    return c;
}

int uno_datarep_size(const struct uno_datarep *rep, const struct MPI_ABI_Datatype *t, MPI_Count *bytes)
{
    if (rep->kind == UNO_REP_USER) {
        struct census c = census_of(rep, t);
        *bytes = c.bytes;
        return c.err;
    }
    *bytes = rep->kind == UNO_REP_NATIVE ? t->size : uno_external_size(t);
    return MPI_SUCCESS;
}

int uno_datarep_extent(const struct uno_datarep *rep, const struct MPI_ABI_Datatype *t, MPI_Count *bytes)
{
    int err = uno_datarep_size(rep, t, bytes);
    // The gaps of a type stay as they are where its data keeps its size.
    if (!err && (*bytes == t->size && t->made)) *bytes = t->extent;
    return err;
}

int uno_datarep_layout(const struct uno_datarep *rep, struct MPI_ABI_Datatype *t, struct MPI_ABI_Datatype **layout)
{
    MPI_Count bytes;
    int err = uno_datarep_size(rep, t, &bytes);
    if (err) return err;
    if (bytes == t->size) {
        uno_type_hold(t);
        *layout = t;
        return MPI_SUCCESS;
    }
    if (t->made && t->size != t->extent)
        return uno_fail(MPI_ERR_UNSUPPORTED_DATAREP,
                        "datarep %s changes the size of the filetype's data, which has gaps (types whose size stays, "
                        "or no gaps, allowed)",
                        rep->name);
    err = uno_type_vector(1, bytes, bytes, uno_type(MPI_BYTE), layout);
    if (!err) err = uno_type_commit(*layout);
    return err;
}

// So many basic elements, from the first one of element `first` on.
static int by_user(const struct uno_conversion *c, MPI_Count count, MPI_Count position)
{
    const struct uno_datarep *r = c->rep;
    MPI_Datarep_conversion_function *fn = c->in ? r->read : r->write;
    MPI_Datarep_conversion_function_c *fn_c = c->in ? r->read_c : r->write_c;
    int err;
    if (fn && count > INT_MAX) return uno_fail(MPI_ERR_CONVERSION, "an element has more items than fit an int");
    if (fn)
        err = fn(c->user, c->type->handle, (int)count, c->file, position, r->extra);
    else if (fn_c)
        err = fn_c(c->user, c->type->handle, count, c->file, position, r->extra);
    else
        return uno_fail(MPI_ERR_CONVERSION, "datarep %s has no %s function, and other sizes than memory", r->name,
                        c->in ? "read" : "write");
    return err ? uno_fail(MPI_ERR_CONVERSION, "the conversion function of datarep %s returned %d", r->name, err) : 0;
}

int uno_datarep_convert(const struct uno_conversion *c)
{
    if (c->rep->kind == UNO_REP_USER) {
        MPI_Count items = census_of(c->rep, c->type).items;
        return by_user(c, c->n * items, c->first * items);
    }
    char *at = c->user + c->first * c->type->extent;
    if (c->in)
        uno_external_unpack(c->file, at, c->n, c->type);
    else
        uno_external_pack(at, c->n, c->type, c->file);
    return MPI_SUCCESS;
}

int uno_datarep_convert_part(const struct uno_conversion *c, MPI_Count bytes, MPI_Count *moved)
{
    *moved = 0;
    if (c->rep->kind != UNO_REP_USER) {
        char *at = c->user + c->first * c->type->extent;
        *moved = uno_external_unpack_part(c->file, (size_t)bytes, at, c->type);
        return MPI_SUCCESS;
    }
    struct census all = census_of(c->rep, c->type);
    if (all.err || all.items == 0 || all.item <= 0) return all.err;    // of unlike ones nobody knows which are whole
    MPI_Count n = bytes / all.item;
    int err = n ? by_user(c, n, c->first * all.items) : MPI_SUCCESS;
    if (!err) *moved = n * (c->type->size / all.items);
    return err;
}
