// SPDX-License-Identifier: BSD-3-Clause
// Entry point of the local reduction.
#include <limits.h>

#include "api/check.h"
#include "core/op.h"
#include "api/twice/twice.h"

// One test that an ordinary call passes; a call that fails it is looked at closely.
static bool plainly_right(const void *in, const void *inout, MPI_Count count, const struct MPI_ABI_Datatype *type,
                          const struct MPI_ABI_Op *op)
{
    return op && (type->flags & UNO_TYPE_READY) == UNO_TYPE_READY && count >= 0 && count <= INT_MAX && in != inout &&
           (uintptr_t)in >= UNO_HANDLE_FIRST && (uintptr_t)inout >= UNO_HANDLE_FIRST;
}

static int check(const void *inbuf, const void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    int err = uno_check_count(count);
    if (!err) err = uno_check_type(datatype);
    if (!err) err = uno_check_op(op);
    if (!err) err = uno_check_reduction(uno_op(op), uno_type(datatype));
    if (!err) err = uno_check_buffer(inbuf, count, uno_type(datatype));
    if (!err) err = uno_check_buffer(inoutbuf, count, uno_type(datatype));
    if (!err && count > 0 && inbuf == inoutbuf)
        err = uno_fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same address (they must not overlap)");
    return err;
}

static int reduce_local(const char *call, const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op)
{
    uno_enter(call);
    struct MPI_ABI_Op *o = uno_op(op);
    struct MPI_ABI_Datatype *t = uno_type(datatype);
    int err = plainly_right(inbuf, inoutbuf, count, t, o) ? uno_check_reduction(o, t)
                                                          : check(inbuf, inoutbuf, count, datatype, op);
    if (err) return uno_raise_self(call, err);
    uno_op_apply(o, inbuf, inoutbuf, count, t);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *inbuf, void *inoutbuf, uno_count count, MPI_Datatype datatype, MPI_Op op)
{
    return reduce_local(__func__, inbuf, inoutbuf, count, datatype, op);
}
