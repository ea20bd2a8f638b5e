// SPDX-License-Identifier: BSD-3-Clause
// Entry points for reduction operations: create, free, commutative.
// Always holds: predefined operations cannot be freed; an operation in use by a collective outlives MPI_Op_free.
#include "core/op.h"

#include "api/check.h"
#include "coll/agree.h"
#include "p2p/sign.h"

int uno_check_op(MPI_Op op)
{
    int err = uno_check_running();
    if (err || uno_op(op)) return err;
    if (op == MPI_OP_NULL) return uno_fail(MPI_ERR_OP, "op is MPI_OP_NULL");
    return uno_fail(MPI_ERR_OP, "op %p is not an operation (was it freed?)", (void *)op);
}

// Characters and bytes are reduced as integers, as other libraries do: a checking mode says that it is not portable.
static void say_undefined(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type)
{
    static bool said;    // once per process; the library's lock is held
    if (said || !(uno_agree_on() || uno_signing.num)) return;
    said = true;
    uno_log(0, "%s on %s is not defined by the standard: it is computed as on an integer of %lld bits", uno_op_name(op),
            type->name, 8 * (long long)type->size);
}

int uno_check_reduction(const struct MPI_ABI_Op *op, const struct MPI_ABI_Datatype *type)
{
    if (op->predefined && type->flags & UNO_TYPE_PREDEFINED && uno_op_standard(op, type)) return MPI_SUCCESS;
    int err = uno_op_check(op, type);
    if (!err && !uno_op_standard(op, type)) say_undefined(op, type);
    return err;
}

static int create(const char *call, MPI_User_function *fn, MPI_User_function_c *fn_c, int commute, MPI_Op *op)
{
    uno_enter(call);
    int err = uno_check_running();
    if (!err && !fn && !fn_c) err = uno_fail(MPI_ERR_ARG, "user_fn is NULL");
    if (!err) err = uno_check_pointer(op, "op");
    struct MPI_ABI_Op *o = err ? NULL : uno_pool_get(&uno_op_pool);
    if (!err && !o) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an operation");
    if (err) return uno_raise_self(call, err);
    o->commutative = commute;
    o->handle = o;
    o->fn = fn;
    o->fn_c = fn_c;
    *op = o;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    return create("MPI_Op_create", user_fn, NULL, commute, op);
}

int MPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    return create("MPI_Op_create_c", NULL, user_fn, commute, op);
}

int MPI_Op_free(MPI_Op *op)
{
    const char *call = "MPI_Op_free";
    uno_enter(call);
    int err = uno_check_pointer(op, "op");
    if (!err) err = uno_check_op(*op);
    if (!err && uno_op(*op)->predefined) err = uno_fail(MPI_ERR_OP, "op is predefined, it cannot be freed");
    if (err) return uno_raise_self(call, err);
    uno_op_drop(*op);
    *op = MPI_OP_NULL;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op op, int *commute)
{
    const char *call = "MPI_Op_commutative";
    uno_enter(call);
    int err = uno_check_op(op);
    if (!err) err = uno_check_pointer(commute, "commute");
    if (err) return uno_raise_self(call, err);
    *commute = uno_op(op)->commutative;
    uno_leave();
    return MPI_SUCCESS;
}
