// SPDX-License-Identifier: BSD-3-Clause
// Put, get and accumulate of plain bytes of mapped memory, looked at once (rma.h). Called by src/api/twice/rma.c.
//
// Always holds: what returns false has done nothing.
#include "rma/direct.h"

#include "rma/combine.h"

static bool is_predefined(MPI_Datatype t)
{
    return (uintptr_t)t >= UNO_TYPE_FIRST && (uintptr_t)t < UNO_TYPE_END;
}

// Where the bytes lie, when the origin has the same type and as many of it; NULL: the long way.
static inline char *find_place(const struct uno_rma_at *at, const void *buf, MPI_Count count, MPI_Datatype type,
                               size_t *n)
{
    const struct uno_rma_part *p = uno_rma_direct(at->win, at->rank);
    if (!p || (uintptr_t)buf < UNO_HANDLE_FIRST || type != at->type || count != at->count || !is_predefined(type))
        return NULL;
    const struct MPI_ABI_Datatype *t = uno_type(type);
    if ((t->flags & UNO_TYPE_READY) != UNO_TYPE_READY || __builtin_mul_overflow((size_t)count, (size_t)t->size, n))
        return NULL;
    return uno_rma_place(p, at->disp, *n);
}

bool uno_rma_put_now(const struct uno_rma_at *at, const void *buf, MPI_Count count, MPI_Datatype type)
{
    size_t n;
    char *place = find_place(at, buf, count, type, &n);
    if (!place) return false;
    uno_rma_unordered |= UNO_RMA_STORED;
    uno_rma_copy(place, buf, n);
    return true;
}

bool uno_rma_get_now(const struct uno_rma_at *at, void *buf, MPI_Count count, MPI_Datatype type)
{
    size_t n;
    const char *place = find_place(at, buf, count, type, &n);
    if (!place) return false;
    uno_rma_order_load();
    uno_rma_copy(buf, place, n);
    return true;
}

// Operations that every type of these has.
static bool is_known(MPI_Op op, const struct MPI_ABI_Datatype *t)
{
    bool number = (t->basic >= UNO_BASIC_I8 && t->basic <= UNO_BASIC_U64) || t->basic == UNO_BASIC_F32 ||
                  t->basic == UNO_BASIC_F64;
    return op == MPI_REPLACE || (number && (op == MPI_SUM || op == MPI_MIN || op == MPI_MAX || op == MPI_PROD));
}

bool uno_rma_accumulate_now(const struct uno_rma_at *at, const void *buf, void *result, MPI_Count count,
                            MPI_Datatype type, MPI_Op op)
{
    size_t n;
    char *place = find_place(at, buf, count, type, &n);
    if (!place || !is_known(op, uno_type(type)) || (result && (uintptr_t)result < UNO_HANDLE_FIRST)) return false;
    const struct uno_rma_part *p = &at->win->part[at->rank];
    const struct uno_rma_flat f = {place, buf, result, n};
    if (result) uno_rma_order_locked();
    uno_rma_unordered |= UNO_RMA_STORED_LOCKED;
    if (op == MPI_SUM && uno_rma_add_few(p, uno_type(type), &f, (size_t)count)) return true;
    uno_rma_combine_flat(p, &(struct uno_rma_combination){.op = uno_op(op), .element = uno_type(type)}, &f);
    return true;
}
