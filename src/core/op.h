// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations: what the handle points to and how a block is combined.
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/pool.h"
#include "core/type.h"

#define UNO_OP_MAGIC 0x554f5020u
#define UNO_OP_FIRST 32
#define UNO_OP_END 64

struct MPI_ABI_Op {
    struct uno_head head;
    bool commutative, predefined;
    bool freed;    // by the user; a pending collective may still hold it
    MPI_Op handle;
    MPI_User_function *fn;
    MPI_User_function_c *fn_c;
};

extern struct uno_pool uno_op_pool;    // user's operations

struct MPI_ABI_Op *uno_op(MPI_Op op);    // NULL when not a live handle (MPI_OP_NULL too)

// An operation in use by a pending collective outlives MPI_Op_free.
void uno_op_hold(struct MPI_ABI_Op *op);
void uno_op_drop(struct MPI_ABI_Op *op);

// MPI_SUCCESS, or MPI_ERR_OP when op is not defined for the type (reason in uno_fail_text).
int uno_op_check(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type) UNO_MUST_USE;

// Whether the standard defines op for the type, too.
bool uno_op_standard(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type);
const char *uno_op_name(const struct MPI_ABI_Op *op);

// inout[i] = in[i] op inout[i], count elements of type (in is the lower rank's: order matters for non-commutative
// operations). Predefined operations on plain types run a SIMD kernel chosen at load; inputs may be unaligned, must not
// overlap.
void uno_op_apply(const struct MPI_ABI_Op *op, const void *in, void *inout, MPI_Count count,
                  struct MPI_ABI_Datatype *type);

// out[i] = a[i] op b[i]: three addresses, so that the first step of a reduction needs no copy.
void uno_op_apply3(const struct MPI_ABI_Op *op, const void *a, const void *b, void *out, MPI_Count count,
                   struct MPI_ABI_Datatype *type);
