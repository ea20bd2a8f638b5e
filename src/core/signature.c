// SPDX-License-Identifier: BSD-3-Clause
// Hashes of type signatures: a polynomial over the sequence of basic types, so that the hash of a repetition or of a
// concatenation follows from its parts and nothing is unrolled. Called by the checking mode of point-to-point.
// Always holds: equal sequences have equal hashes, however they were constructed.
#include "core/signature.h"

#include "core/type_made.h"

#define BASE 0x9e3779b97f4a7c15u

// A sequence: its hash, and BASE to the power of its length.
struct seq {
    uint64_t hash, power;
};

static const struct seq empty = {0, 1};

static struct seq join(struct seq a, struct seq b)
{
    return (struct seq){a.hash + a.power * b.hash, a.power * b.power};
}

static struct seq repeat(struct seq s, uint64_t n)
{
    struct seq all = empty;
    for (; n > 0; n >>= 1, s = join(s, s))
        if (n & 1) all = join(all, s);
    return all;
}

static struct seq one(enum uno_basic basic)
{
    return (struct seq){((uint64_t)basic + 1) * 0xd6e8feb86659fd93u, BASE};
}

// The two parts of a predefined pair; one of all other types.
static struct seq leaf(const struct MPI_ABI_Datatype *t, uint64_t elements)
{
    static const struct {
        uint8_t value, index;
    } pair[UNO_BASIC_END] = {[UNO_BASIC_FLOAT_INT] = {UNO_BASIC_F32, UNO_BASIC_I32},
                             [UNO_BASIC_DOUBLE_INT] = {UNO_BASIC_F64, UNO_BASIC_I32},
                             [UNO_BASIC_LONG_INT] = {UNO_BASIC_I64, UNO_BASIC_I32},
                             [UNO_BASIC_2INT] = {UNO_BASIC_I32, UNO_BASIC_I32},
                             [UNO_BASIC_SHORT_INT] = {UNO_BASIC_I16, UNO_BASIC_I32},
                             [UNO_BASIC_2REAL] = {UNO_BASIC_F32, UNO_BASIC_F32},
                             [UNO_BASIC_LONG_DOUBLE_INT] = {UNO_BASIC_F80, UNO_BASIC_I32},
                             [UNO_BASIC_2DOUBLE] = {UNO_BASIC_F64, UNO_BASIC_F64}};
    if (elements == 0) return empty;
    if (!pair[t->basic].value) return one((enum uno_basic)t->basic);
    struct seq value = one((enum uno_basic)pair[t->basic].value);
    return elements == 1 ? value : join(value, one((enum uno_basic)pair[t->basic].index));
}

// The first `elements` basic elements of consecutive t.
static struct seq first(const struct MPI_ABI_Datatype *t, uint64_t elements)
{
    uint64_t each = (uint64_t)t->leaves, whole = each ? elements / each : 0;
    if (elements == 0 || each == 0) return empty;
    if (!t->made || t->made->layout.n == 0) return join(repeat(leaf(t, each), whole), leaf(t, elements % each));
    const struct uno_layout *l = &t->made->layout;
    if (l->shape != UNO_SHAPE_STRUCT) return first(l->kid[0], elements);
    struct seq all = empty, part = empty;
    uint64_t rest = elements % each;
    for (MPI_Count i = 0; i < l->n; i++) {
        uint64_t block = (uint64_t)(uno_layout_len(l, i) * l->kid[i]->leaves), some = rest < block ? rest : block;
        part = join(part, first(l->kid[i], some));
        if (whole) all = join(all, first(l->kid[i], block));
        rest -= some;
        if (rest == 0 && !whole) break;
    }
    return join(repeat(all, whole), part);
}

struct uno_signature uno_signature_of(const struct MPI_ABI_Datatype *t, MPI_Count count, uint64_t elements)
{
    uint64_t have = (uint64_t)(count * t->leaves);
    if (elements > have) elements = have;
    bool pair = t->basic >= UNO_BASIC_FLOAT_INT;
    return (struct uno_signature){.hash = first(t, elements).hash,
                                  .elements = elements,
                                  .basic = pair ? UNO_BASIC_NONE : t->basic,
                                  .any = t->handle == MPI_PACKED};
}

bool uno_signature_same(const struct uno_signature *a, const struct uno_signature *b)
{
    return a->any || b->any || (a->elements == b->elements && a->hash == b->hash);
}

const char *uno_signature_text(const struct uno_signature *s)
{
    static const char *const text[UNO_BASIC_END] = {"several types",
                                                    "8-bit int",
                                                    "16-bit int",
                                                    "32-bit int",
                                                    "64-bit int",
                                                    "8-bit unsigned",
                                                    "16-bit unsigned",
                                                    "32-bit unsigned",
                                                    "64-bit unsigned",
                                                    "128-bit int",
                                                    "16-bit float",
                                                    "32-bit float",
                                                    "64-bit float",
                                                    "long double",
                                                    "128-bit float",
                                                    "16-bit complex",
                                                    "32-bit complex",
                                                    "64-bit complex",
                                                    "long double complex",
                                                    "128-bit complex",
                                                    "bool",
                                                    "8-bit logical",
                                                    "16-bit logical",
                                                    "32-bit logical",
                                                    "64-bit logical",
                                                    "128-bit logical",
                                                    "char",
                                                    "wchar_t",
                                                    "byte"};
    return s->basic < UNO_BASIC_END && text[s->basic] ? text[s->basic] : text[0];
}
