// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations: handles, which operation is defined for which type, and the application of one to a block.
// Called by the collectives, one-sided accumulate and MPI_Reduce_local. The loops are in op_kernel.c. Always holds:
// predefined operations run on predefined types (or a type of one basic type without gaps); user's on any.
#include "core/op.h"

#include <limits.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/job.h"
#include "core/op_kernel.h"
#include "core/pack.h"

struct uno_pool uno_op_pool = {.bytes = sizeof(struct MPI_ABI_Op), .magic = UNO_OP_MAGIC};

#define OP(o)                                                                                                          \
    [(uintptr_t)(o)-                                                                                                   \
        UNO_OP_FIRST] = {.head = {UNO_OP_MAGIC, 1, NULL}, .commutative = true, .predefined = true, .handle = o}

static struct MPI_ABI_Op predefined[UNO_OP_END - UNO_OP_FIRST] = {
    OP(MPI_SUM),  OP(MPI_MIN), OP(MPI_MAX),  OP(MPI_PROD),   OP(MPI_BAND),   OP(MPI_BOR),     OP(MPI_BXOR),
    OP(MPI_LAND), OP(MPI_LOR), OP(MPI_LXOR), OP(MPI_MINLOC), OP(MPI_MAXLOC), OP(MPI_REPLACE), OP(MPI_NO_OP),
};

static const char *const names[UNO_OP_END - UNO_OP_FIRST] = {
    [1] = "MPI_SUM",      "MPI_MIN",         "MPI_MAX", "MPI_PROD", [8] = "MPI_BAND",    "MPI_BOR",
    "MPI_BXOR",           [16] = "MPI_LAND", "MPI_LOR", "MPI_LXOR", [24] = "MPI_MINLOC", "MPI_MAXLOC",
    [28] = "MPI_REPLACE", "MPI_NO_OP",
};

struct MPI_ABI_Op *uno_op(MPI_Op op)
{
    uintptr_t v = (uintptr_t)op;
    struct MPI_ABI_Op *o = v - UNO_OP_FIRST < UNO_OP_END - UNO_OP_FIRST ? &predefined[v - UNO_OP_FIRST] : op;
    return uno_head_is(o, UNO_OP_MAGIC) && !o->freed ? o : NULL;
}

void uno_op_hold(struct MPI_ABI_Op *op)
{
    uno_assert(op->predefined || (op->head.magic == UNO_OP_MAGIC && op->head.refs > 0));
    if (!op->predefined) op->head.refs++;
}

void uno_op_drop(struct MPI_ABI_Op *op)
{
    uno_assert(op->predefined || (op->head.magic == UNO_OP_MAGIC && op->head.refs > 0));
    if (!op->predefined && --op->head.refs == 0) uno_pool_put(&uno_op_pool, op);
}

// The loop of a predefined operation; UNO_REDUCE_END for MPI_REPLACE and MPI_NO_OP, which only move.
static enum uno_reduce kernel_of(const struct MPI_ABI_Op *op)
{
    static const uint8_t map[UNO_OP_END - UNO_OP_FIRST] = {
        [1] = UNO_REDUCE_SUM,     UNO_REDUCE_MIN,    UNO_REDUCE_MAX,         UNO_REDUCE_PROD, [8] = UNO_REDUCE_BAND,
        UNO_REDUCE_BOR,           UNO_REDUCE_BXOR,   [16] = UNO_REDUCE_LAND, UNO_REDUCE_LOR,  UNO_REDUCE_LXOR,
        [24] = UNO_REDUCE_MINLOC, UNO_REDUCE_MAXLOC, [28] = UNO_REDUCE_END,  UNO_REDUCE_END};
    return map[(uintptr_t)op->handle - UNO_OP_FIRST];
}

const char *uno_op_name(const struct MPI_ABI_Op *op)
{
    return op->predefined ? names[(uintptr_t)op->handle - UNO_OP_FIRST] : "an operation of the user";
}

int uno_op_check(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type)
{
    if (!op->predefined) return MPI_SUCCESS;
    enum uno_reduce kernel = kernel_of(op);
    if (kernel == UNO_REDUCE_END && type->basic != UNO_BASIC_NONE) return MPI_SUCCESS;
    if (type->flags & UNO_TYPE_PREDEFINED && uno_reduce_defined(kernel, type->basic)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_OP, "op %s is not defined for datatype %s (%s)", uno_op_name(op),
                    type->name[0] ? type->name : "made by the user",
                    type->flags & UNO_TYPE_PREDEFINED ? "the standard lists which are"
                                                      : "predefined datatypes only; use MPI_Op_create");
}

bool uno_op_standard(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type)
{
    return !op->predefined || kernel_of(op) == UNO_REDUCE_END || uno_reduce_standard(kernel_of(op), type->basic);
}

// The user's function takes its count as int or MPI_Count; a longer block goes in pieces.
static void apply_user(const struct MPI_ABI_Op *op, const void *in, void *inout, MPI_Count count,
                       struct MPI_ABI_Datatype *type)
{
    char *a = (char *)(uintptr_t)in, *b = inout;
    MPI_Datatype handle = type->handle;
    if (op->fn_c) {
        op->fn_c(a, b, &count, &handle);
        return;
    }
    while (count > 0) {
        int part = count < INT_MAX ? (int)count : INT_MAX;
        op->fn(a, b, &part, &handle);
        a += part * type->extent;
        b += part * type->extent;
        count -= part;
    }
}

void uno_op_apply(const struct MPI_ABI_Op *op, const void *in, void *inout, MPI_Count count,
                  struct MPI_ABI_Datatype *type)
{
    uno_op_apply3(op, in, inout, inout, count, type);
}

// Elements until the result lies on a line, if it is long and does not: memory of malloc's begins amid a line, and each
// store in two lines costs as much as two (16 KiB of floats, Emerald Rapids: 123 ns, 235 to 255 amid lines).
#define LONG_RESULT 2048

static size_t before_line(const void *out, size_t count, size_t extent)
{
    size_t over = (uintptr_t)out % UNO_LINE;
    if (over == 0 || count * extent < LONG_RESULT || extent > UNO_LINE || over % extent) return 0;
    return (UNO_LINE - over) / extent;
}

static void reduce(enum uno_reduce kernel, const void *a, const void *b, void *out, size_t count,
                   const struct MPI_ABI_Datatype *type)
{
    size_t extent = (size_t)type->extent, head = before_line(out, count, extent), skip = head * extent;
    if (head) uno_reduce(kernel, type->basic, a, b, out, head);
    uno_reduce(kernel, type->basic, (const char *)a + skip, (const char *)b + skip, (char *)out + skip, count - head);
}

void uno_op_apply3(const struct MPI_ABI_Op *op, const void *a, const void *b, void *out, MPI_Count count,
                   struct MPI_ABI_Datatype *type)
{
    if (count <= 0) return;
    if (!op->predefined) {
        uno_pack_same(out, b, count, type);
        apply_user(op, a, out, count, type);
        return;
    }
    enum uno_reduce kernel = kernel_of(op);
    if (kernel != UNO_REDUCE_END)
        reduce(kernel, a, b, out, (size_t)count, type);
    else
        uno_pack_same(out, op->handle == MPI_REPLACE ? a : b, count, type);
}
