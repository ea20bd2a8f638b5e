// SPDX-License-Identifier: BSD-3-Clause
// Conversion to and from external32, element by element along the type map. Called by MPI_Pack_external.
// Always holds: as the standard's table says, long takes 4 bytes and wchar_t 2 (values that do not fit lose their upper
// bits), long double 16 bytes of IEEE binary128.
#include "core/external.h"

#include <string.h>
#include <wchar.h>

#include "base/float.h"
#include "core/type_made.h"

enum conversion { BYTES, SIGNED_INT, UNSIGNED_INT, LONG_DOUBLE };

// A predefined type: `units` numbers of `native` bytes each, `external` bytes outside; a pair has an int after its
// unit.
struct form {
    enum conversion how;
    uint8_t units, native, external;
    bool index;
};

static struct form form_of(const struct MPI_ABI_Datatype *t)
{
    uint8_t size = (uint8_t)t->size;
    switch (t->basic) {
    case UNO_BASIC_I64:
        if (t->handle == MPI_LONG) return (struct form){SIGNED_INT, 1, 8, 4, false};
        return (struct form){BYTES, 1, 8, 8, false};
    case UNO_BASIC_U64:
        if (t->handle == MPI_UNSIGNED_LONG) return (struct form){UNSIGNED_INT, 1, 8, 4, false};
        return (struct form){BYTES, 1, 8, 8, false};
    case UNO_BASIC_WCHAR: return (struct form){UNSIGNED_INT, 1, sizeof(wchar_t), 2, false};
    case UNO_BASIC_F80: return (struct form){LONG_DOUBLE, 1, sizeof(long double), 16, false};
    case UNO_BASIC_C80: return (struct form){LONG_DOUBLE, 2, sizeof(long double), 16, false};
    case UNO_BASIC_C16:
    case UNO_BASIC_C32:
    case UNO_BASIC_C64:
    case UNO_BASIC_C128:
    case UNO_BASIC_2INT:
    case UNO_BASIC_2REAL:
    case UNO_BASIC_2DOUBLE: return (struct form){BYTES, 2, size / 2, size / 2, false};
    case UNO_BASIC_FLOAT_INT:
    case UNO_BASIC_DOUBLE_INT:
    case UNO_BASIC_SHORT_INT: return (struct form){BYTES, 1, size - 4, size - 4, true};
    case UNO_BASIC_LONG_INT: return (struct form){SIGNED_INT, 1, 8, 4, true};
    case UNO_BASIC_LONG_DOUBLE_INT: return (struct form){LONG_DOUBLE, 1, sizeof(long double), 16, true};
    default: return (struct form){BYTES, 1, size, size, false};
    }
}

// Where the index of a pair stands behind its value.
static size_t index_at(const struct MPI_ABI_Datatype *t)
{
    return (size_t)t->true_extent - sizeof(int);
}

struct mover {
    unsigned char *external;
    size_t room;     // bytes there that may be taken
    size_t moved;    // bytes of the user's
    bool in;
};

// One number of n bytes, reversed where the machine is little-endian.
static void turn(unsigned char *to, const unsigned char *from, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i < n; i++) to[i] = from[n - 1 - i];
#else
    memcpy(to, from, n);
#endif
}

static void out_of(struct mover *m, const struct form *f, const unsigned char *user)
{
    if (f->how == BYTES) {
        turn(m->external, user, f->native);
    } else if (f->how == LONG_DOUBLE) {
        long double v;
        memcpy(&v, user, sizeof v);
        uno_f128 wide = v;
        turn(m->external, (const unsigned char *)&wide, sizeof wide);
    } else {
        uint64_t v = 0;
        memcpy(&v, user, f->native);    // little-endian: the low bytes come first
        unsigned char low[8];
        for (size_t i = 0; i < f->external; i++) low[f->external - 1 - i] = (unsigned char)(v >> 8 * i);
        memcpy(m->external, low, f->external);
    }
}

static void into(struct mover *m, const struct form *f, unsigned char *user)
{
    if (f->how == BYTES) {
        turn(user, m->external, f->native);
    } else if (f->how == LONG_DOUBLE) {
        uno_f128 wide;
        turn((unsigned char *)&wide, m->external, sizeof wide);
        long double v = (long double)wide;
        memcpy(user, &v, sizeof v);
    } else {
        uint64_t v = 0;
        for (size_t i = 0; i < f->external; i++) v = v << 8 | m->external[i];
        unsigned spare = 64 - 8u * f->external;
        if (f->how == SIGNED_INT) v = (uint64_t)((int64_t)(v << spare) >> spare);
        memcpy(user, &v, f->native);
    }
}

static void move_element(struct mover *m, const struct form *f, char *user)
{
    if (f->external > m->room) {
        m->room = 0;    // nor what follows
        return;
    }
    if (m->in)
        into(m, f, (unsigned char *)user);
    else
        out_of(m, f, (const unsigned char *)user);
    m->external += f->external;
    m->room -= f->external;
    m->moved += f->native;
}

static void walk_type(struct mover *m, const struct MPI_ABI_Datatype *t, MPI_Count count, char *base)
{
    if (!t->made) {
        static const struct form index = {BYTES, 1, sizeof(int), sizeof(int), false};
        struct form f = form_of(t);
        for (MPI_Count i = 0; i < count; i++, base += t->extent) {
            for (size_t u = 0; u < f.units; u++) move_element(m, &f, base + u * f.native);
            if (f.index) move_element(m, &index, base + index_at(t));
        }
        return;
    }
    const struct uno_layout *l = &t->made->layout;
    for (MPI_Count i = 0; i < count; i++, base += t->extent) {
        if (l->shape == UNO_SHAPE_SAME) walk_type(m, l->kid[0], 1, base);
        for (MPI_Count k = 0; k < l->n && l->shape != UNO_SHAPE_SAME; k++) {
            MPI_Count at = l->shape == UNO_SHAPE_VECTOR ? k * l->stride : l->disp[k];
            walk_type(m, l->kid[l->shape == UNO_SHAPE_STRUCT ? k : 0], uno_layout_len(l, k), base + at);
        }
    }
}

MPI_Count uno_external_size(const struct MPI_ABI_Datatype *t)
{
    if (!t->made) {
        struct form f = form_of(t);
        return f.units * f.external + (f.index ? (MPI_Count)sizeof(int) : 0);
    }
    const struct uno_layout *l = &t->made->layout;
    if (l->shape == UNO_SHAPE_SAME) return uno_external_size(l->kid[0]);
    if (l->shape == UNO_SHAPE_VECTOR) return l->n * l->blocklen * uno_external_size(l->kid[0]);
    MPI_Count bytes = 0, kid = 0;
    for (MPI_Count i = 0; i < l->n; i++) {
        if (i == 0 || l->shape == UNO_SHAPE_STRUCT) kid = uno_external_size(l->kid[i]);
        bytes += uno_layout_len(l, i) * kid;
    }
    return bytes;
}

MPI_Count uno_external_pack(const void *buf, MPI_Count count, const struct MPI_ABI_Datatype *t, void *external)
{
    struct mover m = {.external = external, .room = SIZE_MAX};
    walk_type(&m, t, count, (char *)(uintptr_t)buf);
    return (char *)m.external - (char *)external;
}

MPI_Count uno_external_unpack(const void *external, void *buf, MPI_Count count, const struct MPI_ABI_Datatype *t)
{
    struct mover m = {.external = (unsigned char *)(uintptr_t)external, .room = SIZE_MAX, .in = true};
    walk_type(&m, t, count, buf);
    return (const char *)m.external - (const char *)external;
}

MPI_Count uno_external_unpack_part(const void *external, size_t bytes, void *buf, const struct MPI_ABI_Datatype *t)
{
    struct mover m = {.external = (unsigned char *)(uintptr_t)external, .room = bytes, .in = true};
    walk_type(&m, t, 1, buf);
    return (MPI_Count)m.moved;
}
