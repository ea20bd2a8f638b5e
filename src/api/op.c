// SPDX-License-Identifier: BSD-3-Clause
// Entry points for reduction operations: create, free, commutative, and the local reduction.
// Always holds: predefined operations cannot be freed; an operation in use by a collective outlives MPI_Op_free.
#include "core/op.h"

#include "api/check.h"

static int check_op(MPI_Op op)
{
    int err = uno_check_running();
    if (err || uno_op(op)) return err;
    if (op == MPI_OP_NULL) return uno_fail(MPI_ERR_OP, "op is MPI_OP_NULL");
    return uno_fail(MPI_ERR_OP, "op %p is not an operation (was it freed?)", (void *)op);
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
    if (!err) err = check_op(*op);
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
    int err = check_op(op);
    if (!err) err = uno_check_pointer(commute, "commute");
    if (err) return uno_raise_self(call, err);
    *commute = uno_op(op)->commutative;
    uno_leave();
    return MPI_SUCCESS;
}

static int reduce_local(const char *call, const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op)
{
    uno_enter(call);
    int err = uno_check_count(count);
    if (!err) err = uno_check_type(datatype);
    if (!err) err = check_op(op);
    if (!err) err = uno_op_check(uno_op(op), uno_type(datatype));
    if (!err) err = uno_check_buffer(inbuf, count, uno_type(datatype));
    if (!err) err = uno_check_buffer(inoutbuf, count, uno_type(datatype));
    if (!err && count > 0 && inbuf == inoutbuf) err = uno_fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same");
    if (err) return uno_raise_self(call, err);
    uno_op_apply(uno_op(op), inbuf, inoutbuf, count, uno_type(datatype));
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)
{
    return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}

int MPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}
