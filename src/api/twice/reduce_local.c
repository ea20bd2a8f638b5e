// SPDX-License-Identifier: BSD-3-Clause
// Entry point of the local reduction.
#include "api/check.h"
#include "core/op.h"
#include "api/twice/twice.h"

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
    bool plain = uno_is_running() && o && uno_is_plain_data(inbuf, count, t) && uno_is_plain_data(inoutbuf, count, t) &&
                 inbuf != inoutbuf;
    int err = plain ? uno_check_reduction(o, t) : check(inbuf, inoutbuf, count, datatype, op);
    if (err) return uno_raise_self(call, err);
    uno_op_apply(o, inbuf, inoutbuf, count, t);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *inbuf, void *inoutbuf, uno_count count, MPI_Datatype datatype, MPI_Op op)
{
    return reduce_local(__func__, inbuf, inoutbuf, count, datatype, op);
}
