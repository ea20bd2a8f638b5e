// SPDX-License-Identifier: BSD-3-Clause
// Constructors of derived datatypes: the layout in normal form, and from it size, bounds and extent. Called by
// src/api/type*.c. Always holds: sizes and bounds of a type that exists fit 63 bits; a type holds the types it is made
// of.
#include "core/type_make.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/machine.h"
#include "core/attr.h"

// The bounds of a type map while blocks are added to it.
struct bounds {
    MPI_Count lb, ub, true_lb, true_ub;
    MPI_Count size, leaves;
    bool any, marked, data;    // something was added; with marks of the user; with bytes in it
    const char *overflow;    // how the first two numbers whose result does not fit, `wide`, were put together; or NULL
    MPI_Count wide[2];
    int basic;
    uint16_t alignment;
};

static void note(struct bounds *b, const char *how, MPI_Count x, MPI_Count y)
{
    if (b->overflow) return;
    b->overflow = how;
    b->wide[0] = x;
    b->wide[1] = y;
}

static MPI_Count add_checked(struct bounds *b, MPI_Count x, MPI_Count y)
{
    MPI_Count r = 0;
    if (__builtin_add_overflow(x, y, &r)) note(b, "plus", x, y);
    return r;
}

static MPI_Count mul(struct bounds *b, MPI_Count x, MPI_Count y)
{
    MPI_Count r = 0;
    if (__builtin_mul_overflow(x, y, &r)) note(b, "times", x, y);
    return r;
}

static MPI_Count distance(struct bounds *b, MPI_Count low, MPI_Count high)
{
    MPI_Count r = 0;
    if (__builtin_sub_overflow(high, low, &r)) note(b, "minus", high, low);
    return r;
}

static void widen(bool first, MPI_Count low, MPI_Count high, MPI_Count *lb, MPI_Count *ub)
{
    if (first || low < *lb) *lb = low;
    if (first || high > *ub) *ub = high;
}

// A block of len kids at disp: bounds only. Marked bounds outrank the natural ones of other parts.
static void span(struct bounds *b, const uno_datatype *kid, MPI_Count disp, MPI_Count len)
{
    bool marked = kid->flags & UNO_TYPE_MARKED;
    if (len == 0 || (kid->size == 0 && !marked)) return;
    MPI_Count last = mul(b, len - 1, kid->extent), low = add_checked(b, disp, last < 0 ? last : 0),
              high = add_checked(b, disp, last > 0 ? last : 0);
    if (marked || !b->marked) {
        widen(!b->any || marked != b->marked, add_checked(b, low, kid->lb),
              add_checked(b, high, add_checked(b, kid->lb, kid->extent)), &b->lb, &b->ub);
        b->marked = marked;
        b->any = true;
    }
    if (kid->size > 0) {
        widen(!b->data, add_checked(b, low, kid->true_lb),
              add_checked(b, high, add_checked(b, kid->true_lb, kid->true_extent)), &b->true_lb, &b->true_ub);
        b->data = true;
    }
}

// len kids more in the type map: size, and what kind of elements.
static void weigh(struct bounds *b, const uno_datatype *kid, MPI_Count len)
{
    b->size = add_checked(b, b->size, mul(b, len, kid->size));
    b->leaves = add_checked(b, b->leaves, mul(b, len, kid->leaves));
    if (len == 0) return;
    b->basic = b->basic < 0 || b->basic == kid->basic ? kid->basic : UNO_BASIC_NONE;
    if (kid->alignment > b->alignment) b->alignment = kid->alignment;
}

static int too_wide(const struct bounds *b)
{
    return uno_fail(MPI_ERR_VALUE_TOO_LARGE,
                    "size or bounds of the new datatype do not fit 63 bits (%lld %s %lld; up to %lld allowed)",
                    (long long)b->wide[0], b->overflow, (long long)b->wide[1], LLONG_MAX);
}

void *uno_type_room(struct uno_type_made *m, size_t n)
{
    if (n > sizeof m->few / sizeof m->few[0] - m->used) return malloc(n * sizeof m->few[0]);
    m->used += n;
    return m->few + m->used - n;
}

void uno_type_give_room(const struct uno_type_made *m, void *p)
{
    if ((uintptr_t)p - (uintptr_t)m->few > sizeof m->few) free(p);
}

static struct uno_type_made *new_made(void)
{
    struct uno_type_made *m = malloc(sizeof *m);
    if (m) memset(m, 0, offsetof(struct uno_type_made, few));
    return m;
}

// A new type around a layout: copies its arrays, unless they are kept, and holds its kids.
static int make(const struct uno_layout *l, struct bounds *b, uno_datatype **out)
{
    MPI_Count extent = distance(b, b->lb, b->ub), true_extent = distance(b, b->true_lb, b->true_ub);
    if (b->overflow) return too_wide(b);
    size_t n = (size_t)l->n, nlens = l->blocklens && !l->kept ? n : 0, ndisp = l->disp && !l->kept ? n : 0,
           nkids = (size_t)uno_layout_kids(l);
    uno_datatype *t = uno_pool_get(&uno_type_pool);
    struct uno_type_made *m = t ? new_made() : NULL;
    MPI_Count *store = m ? uno_type_room(m, nlens + ndisp + nkids) : NULL;
    if (!store) {
        free(m);
        if (t) uno_pool_put(&uno_type_pool, t);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a datatype of %zu blocks", n);
    }
    MPI_Count *disp = store + nlens;
    uno_datatype **kid = (void *)(disp + ndisp);
    m->layout = *l;
    m->store = store;
    if (nlens) m->layout.blocklens = memcpy(store, l->blocklens, nlens * sizeof *store);
    if (ndisp) m->layout.disp = memcpy(disp, l->disp, ndisp * sizeof *disp);
    if (nkids) m->layout.kid = memcpy(kid, l->kid, nkids * sizeof *kid);
    for (size_t i = 0; i < nkids; i++) uno_type_hold(kid[i]);
    t->flags = UNO_TYPE_LIVE | (b->marked ? UNO_TYPE_MARKED : 0);
    t->users = 1;
    t->basic = (uint16_t)(b->basic < 0 ? UNO_BASIC_NONE : b->basic);
    t->alignment = b->alignment ? b->alignment : 1;
    t->size = b->size;
    t->leaves = b->leaves;
    t->lb = b->lb;
    t->extent = extent;
    t->true_lb = b->true_lb;
    t->true_extent = true_extent;
    t->handle = t;
    t->made = m;
    uno_assert(t->size >= 0 && t->leaves >= 0 && t->true_extent >= 0 && t->head.refs == 1);
    *out = t;
    return MPI_SUCCESS;
}

int uno_type_vector(MPI_Count n, MPI_Count blocklen, MPI_Count stride, uno_datatype *old, uno_datatype **out)
{
    struct bounds b = {.basic = -1};
    struct uno_layout l = {.shape = UNO_SHAPE_VECTOR, .n = n, .blocklen = blocklen, .stride = stride, .kid = &old};
    weigh(&b, old, mul(&b, n, blocklen));
    if (n > 0 && blocklen > 0) {    // the stride between blocks of nothing may be anything
        span(&b, old, 0, blocklen);
        if (n > 1) span(&b, old, mul(&b, n - 1, stride), blocklen);
    }
    return make(&l, &b, out);
}

// All blocks of kids that do not go backwards: where the first and the last kid in memory are, and how many kids there
// are. False: something does not fit, or there are none.
static bool reach(const struct uno_layout *l, MPI_Count extent, MPI_Count *low, MPI_Count *high, MPI_Count *kids)
{
    bool wide = extent < 0;
    *low = LLONG_MAX;
    *high = LLONG_MIN;
    *kids = 0;
    if (!l->blocklens && l->n > 0 && l->blocklen > 0) {
        MPI_Count last;
        for (MPI_Count i = 0; i < l->n; i++) {
            *low = l->disp[i] < *low ? l->disp[i] : *low;
            *high = l->disp[i] > *high ? l->disp[i] : *high;
        }
        wide |= __builtin_mul_overflow(l->blocklen - 1, extent, &last);
        wide |= __builtin_add_overflow(*high, last, high);
        wide |= __builtin_mul_overflow(l->n, l->blocklen, kids);
        return !wide;
    }
    for (MPI_Count i = 0; i < l->n; i++) {
        MPI_Count len = uno_layout_len(l, i), at = l->disp[i], last;
        if (len == 0) continue;
        wide |= __builtin_mul_overflow(len - 1, extent, &last);
        wide |= __builtin_add_overflow(at, last, &last);
        wide |= __builtin_add_overflow(*kids, len, kids);
        if (at < *low) *low = at;
        if (last > *high) *high = last;
    }
    return !wide && *kids > 0;
}

int uno_type_blocks(const struct uno_layout *blocks, uno_datatype *old, uno_datatype **out)
{
    struct bounds b = {.basic = -1};
    struct uno_layout l = *blocks;
    MPI_Count low, high, kids;
    l.shape = UNO_SHAPE_BLOCKS;
    l.kid = &old;
    if (reach(&l, old->extent, &low, &high, &kids)) {
        weigh(&b, old, kids);
        span(&b, old, low, 1);
        span(&b, old, high, 1);
        return make(&l, &b, out);
    }
    for (MPI_Count i = 0; i < l.n; i++) {
        weigh(&b, old, uno_layout_len(&l, i));
        span(&b, old, l.disp[i], uno_layout_len(&l, i));
    }
    return make(&l, &b, out);
}

int uno_type_struct(const struct uno_layout *blocks, uno_datatype **out)
{
    struct bounds b = {.basic = -1};
    struct uno_layout l = *blocks;
    l.shape = UNO_SHAPE_STRUCT;
    for (MPI_Count i = 0; i < l.n; i++) {
        weigh(&b, l.kid[i], uno_layout_len(&l, i));
        span(&b, l.kid[i], l.disp[i], uno_layout_len(&l, i));
    }
    // As a C compiler pads a struct, unless the user has set bounds.
    MPI_Count over = b.alignment > 1 && !b.marked ? distance(&b, b.lb, b.ub) % b.alignment : 0;
    if (over > 0) b.ub = add_checked(&b, b.ub, b.alignment - over);
    return make(&l, &b, out);
}

// A type with the layout of old and other bounds.
static int wrap(uno_datatype *old, MPI_Count lb, MPI_Count ub, bool marked, uno_datatype **out)
{
    struct bounds b = {.lb = lb,
                       .ub = ub,
                       .true_lb = old->true_lb,
                       .true_ub = old->true_lb + old->true_extent,
                       .size = old->size,
                       .leaves = old->leaves,
                       .marked = marked,
                       .basic = old->basic,
                       .alignment = old->alignment};
    struct uno_layout l = {.shape = UNO_SHAPE_SAME, .n = 1, .blocklen = 1, .kid = &old};
    return make(&l, &b, out);
}

int uno_type_resized(uno_datatype *old, MPI_Count lb, MPI_Count extent, uno_datatype **out)
{
    MPI_Count ub;
    if (__builtin_add_overflow(lb, extent, &ub))
        return uno_fail(MPI_ERR_VALUE_TOO_LARGE, "lb %lld + extent %lld does not fit 63 bits", (long long)lb,
                        (long long)extent);
    return wrap(old, lb, ub, true, out);
}

int uno_type_copy(uno_datatype *old, uno_datatype **out)
{
    int err = wrap(old, old->lb, old->lb + old->extent, old->flags & UNO_TYPE_MARKED, out);
    // A predefined one is committed for its user, even if nobody has asked yet whether long double can be.
    if (err == MPI_SUCCESS && old->flags & (UNO_TYPE_COMMITTED | UNO_TYPE_PREDEFINED)) err = uno_type_commit(*out);
    return err;
}

int uno_type_record(uno_datatype *t, const struct uno_contents *c)
{
    struct uno_type_made *m = t->made;
    size_t nvalues = c->kept ? 0 : (size_t)(c->nints + c->naddrs + c->ncounts), ntypes = (size_t)c->ntypes;
    m->values = uno_type_room(m, nvalues);
    m->types = uno_type_room(m, ntypes);
    if (!m->values || !m->types) return uno_fail(MPI_ERR_NO_MEM, "no memory for the contents of a datatype");
    if (nvalues) memcpy(m->values, c->values, nvalues * sizeof *m->values);
    if (c->kept) m->values = (MPI_Count *)(uintptr_t)c->values;
    if (ntypes) memcpy(m->types, c->types, ntypes * sizeof *m->types);
    for (size_t i = 0; i < ntypes; i++) uno_type_hold(m->types[i]);
    m->combiner = c->combiner;
    m->large = c->large;
    m->nints = c->nints;
    m->naddrs = c->naddrs;
    m->ncounts = c->ncounts;
    m->ntypes = c->ntypes;
    return MPI_SUCCESS;
}

// Gives back all that t was made of; t itself stays. Called when the last reference goes.
static void unmake(uno_datatype *t)
{
    struct uno_type_made *m = t->made;
    MPI_Count nkids = uno_layout_kids(&m->layout);
    for (MPI_Count i = 0; i < nkids; i++) uno_type_drop(m->layout.kid[i]);
    for (MPI_Count i = 0; i < m->ntypes; i++) uno_type_drop(m->types[i]);
    uno_pack_free(m);
    uno_attrs_drop(t->attrs);
    uno_type_give_room(m, m->values);
    uno_type_give_room(m, m->types);
    uno_type_give_room(m, m->store);
    free(m);
}

void uno_type_hold(uno_datatype *t)
{
    uno_assert(t->head.magic == UNO_TYPE_MAGIC && t->head.refs > 0);
    if (!(t->flags & UNO_TYPE_PREDEFINED)) t->head.refs++;
}

void uno_type_drop(uno_datatype *t)
{
    uno_assert(t->head.magic == UNO_TYPE_MAGIC && t->head.refs > 0);
    if (t->flags & UNO_TYPE_PREDEFINED || --t->head.refs > 0) return;
    unmake(t);
    uno_pool_put(&uno_type_pool, t);
}

static bool is_long_double(const uno_datatype *t)
{
    return t->basic == UNO_BASIC_F80 || t->basic == UNO_BASIC_C80 || t->basic == UNO_BASIC_LONG_DOUBLE_INT;
}

// Those of long double are committed, or not.
static void mark_predefined(uint32_t committed)
{
    for (size_t i = 0; i < UNO_TYPE_END - UNO_TYPE_FIRST; i++) {
        uno_datatype *t = &uno_predefined_types[i];
        if (is_long_double(t)) t->flags = (t->flags & ~(uint32_t)UNO_TYPE_COMMITTED) | committed;
    }
}

void uno_types_open(void)
{
    mark_predefined(0);
}

static bool holds_long_double(const uno_datatype *t)
{
    if (!t->made) return is_long_double(t);
    const struct uno_layout *l = &t->made->layout;
    bool found = false;
    for (MPI_Count i = 0; i < uno_layout_kids(l) && !found; i++) found = holds_long_double(l->kid[i]);
    return found;
}

int uno_type_settle(const uno_datatype *t, const char *what)
{
    if (!holds_long_double(t)) return MPI_SUCCESS;
    if (!uno_machine_keep_alike())
        return uno_fail(MPI_ERR_TYPE,
                        "%s %s holds long double, whose format differs between the processors of this job's ranks "
                        "(x86-64 and aarch64); double is the same everywhere",
                        what, t->name);
    mark_predefined(UNO_TYPE_COMMITTED);
    return MPI_SUCCESS;
}

int uno_type_ask(const uno_datatype *t, const char *what)
{
    int err = uno_type_settle(t, what);
    if (err || t->flags & UNO_TYPE_COMMITTED) return err;
    return uno_fail(MPI_ERR_TYPE, "%s %s is not committed (call MPI_Type_commit first)", what, t->name);
}
