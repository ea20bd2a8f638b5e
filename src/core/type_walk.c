// SPDX-License-Identifier: BSD-3-Clause
// Counting basic elements along a type map, without unrolling it. Called by MPI_Get_elements and
// MPI_Status_set_elements. A pair type counts as two basic elements. Always holds: uno_type_elements(t,
// uno_type_bytes(t, n)) == n for every n.
#include "core/type_make.h"

// Bytes of the value of a predefined pair; all other predefined types are one element.
static MPI_Count value_bytes(const uno_datatype *t)
{
    bool even = t->basic == UNO_BASIC_2INT || t->basic == UNO_BASIC_2REAL || t->basic == UNO_BASIC_2DOUBLE;
    return even ? t->size / 2 : t->size - (MPI_Count)sizeof(int);
}

static bool is_leaf(const uno_datatype *t)
{
    return !t->made || t->made->layout.n == 0;
}

// Elements in the first `bytes` bytes, fewer than t->size, of one t.
static MPI_Count part_elements(const uno_datatype *t, MPI_Count bytes)
{
    if (bytes == 0) return 0;
    if (is_leaf(t)) return t->leaves == 2 && bytes == value_bytes(t) ? 1 : MPI_UNDEFINED;
    const struct uno_layout *l = &t->made->layout;
    if (l->shape != UNO_SHAPE_STRUCT) return uno_type_elements(l->kid[0], bytes);
    MPI_Count before = 0;
    for (MPI_Count i = 0; i < l->n; i++) {
        MPI_Count block = uno_layout_len(l, i) * l->kid[i]->size;
        if (bytes < block) {
            MPI_Count inside = uno_type_elements(l->kid[i], bytes);
            return inside == MPI_UNDEFINED ? MPI_UNDEFINED : before + inside;
        }
        bytes -= block;
        before += uno_layout_len(l, i) * l->kid[i]->leaves;
    }
    return before;
}

MPI_Count uno_type_elements(const uno_datatype *t, MPI_Count bytes)
{
    if (t->size == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
    MPI_Count inside = part_elements(t, bytes % t->size);
    return inside == MPI_UNDEFINED ? MPI_UNDEFINED : bytes / t->size * t->leaves + inside;
}

// Bytes of the first `elements` basic elements, fewer than t->leaves, of one t.
static MPI_Count part_bytes(const uno_datatype *t, MPI_Count elements)
{
    if (elements == 0) return 0;
    if (is_leaf(t)) return value_bytes(t);
    const struct uno_layout *l = &t->made->layout;
    if (l->shape != UNO_SHAPE_STRUCT) return uno_type_bytes(l->kid[0], elements);
    MPI_Count before = 0;
    for (MPI_Count i = 0; i < l->n; i++) {
        MPI_Count block = uno_layout_len(l, i) * l->kid[i]->leaves;
        if (elements < block) return before + uno_type_bytes(l->kid[i], elements);
        elements -= block;
        before += uno_layout_len(l, i) * l->kid[i]->size;
    }
    return before;
}

MPI_Count uno_type_bytes(const uno_datatype *t, MPI_Count elements)
{
    if (t->leaves == 0) return 0;
    MPI_Count whole, part = part_bytes(t, elements % t->leaves);
    if (__builtin_mul_overflow(elements / t->leaves, t->size, &whole) || __builtin_add_overflow(whole, part, &whole))
        return MPI_UNDEFINED;
    return whole;
}
