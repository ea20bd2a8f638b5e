// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations on one element of a predefined type, and the window without memory: entry points without a
// large form.
#include "api/win.h"
#include "core/op.h"
#include "core/info.h"

static int check(MPI_Win win, const struct uno_rma_op *o, MPI_Datatype type)
{
    int err = uno_check_win(win);
    if (err || !uno_world.checks) return err;
    const struct MPI_ABI_Win *w = uno_win(win);
    if (o->rank != MPI_PROC_NULL) err = uno_check_win_rank(w, o->rank, "target_rank");
    if (!err) err = uno_check_type(type);
    if (!err && !(uno_type(type)->flags & UNO_TYPE_PREDEFINED))
        err = uno_fail(MPI_ERR_TYPE, "datatype is not predefined (a predefined one is needed)");
    if (!err && o->disp < 0 && w->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        err = uno_fail(MPI_ERR_DISP, "target_disp %lld is negative", (long long)o->disp);
    if (!err) err = uno_check_memory(o->result.buf, "result_addr");
    return err || o->rank == MPI_PROC_NULL ? err : uno_rma_in_epoch(w, o->rank);
}

static struct uno_rma_op on_element(const void *origin, void *result, struct MPI_ABI_Datatype *type, int rank,
                                    MPI_Aint disp)
{
    return (struct uno_rma_op){.origin = {(void *)(uintptr_t)origin, 1, type},
                               .result = {result, 1, type},
                               .rank = rank,
                               .disp = disp,
                               .count = 1,
                               .type = type};
}

static int check_op(MPI_Op op, const struct MPI_ABI_Datatype *type)
{
    int err = uno_check_op(op);
    if (!err && !uno_op(op)->predefined)
        err = uno_fail(MPI_ERR_OP, "op was made by MPI_Op_create (predefined operations alone are allowed)");
    return err || op == MPI_NO_OP || op == MPI_REPLACE ? err : uno_check_reduction(uno_op(op), type);
}

static int fetch(MPI_Win win, const struct uno_rma_op *o, const void *compare)
{
    struct MPI_ABI_Win *w = uno_win(win);
    int err = w->check ? uno_win_check_op(w, o, true) : MPI_SUCCESS;
    return err ? err : uno_rma_fetch(w, o, compare);
}

int MPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    static const char call[] = "MPI_Fetch_and_op";
    uno_enter(call);
    struct uno_rma_at at = {win, target_rank, target_disp, 1, datatype};
    if (uno_rma_fetch_now(&at, op, origin_addr, result_addr)) return uno_finish_win(win, call, MPI_SUCCESS);
    struct MPI_ABI_Datatype *type = uno_type(datatype);
    struct uno_rma_op o = on_element(origin_addr, result_addr, type, target_rank, target_disp);
    int err = check(win, &o, datatype);
    if (!err) err = check_op(op, type);
    if (!err && op != MPI_NO_OP) err = uno_check_memory(origin_addr, "origin_addr");
    if (!err && target_rank != MPI_PROC_NULL) {
        o.op = uno_op(op);
        err = fetch(win, &o, NULL);
    }
    return uno_finish_win(win, call, err);
}

// Integers, logicals, bytes: what can be compared bit by bit.
static int check_comparable(const struct MPI_ABI_Datatype *type)
{
    if (uno_op_check(uno_op(MPI_BAND), type) == MPI_SUCCESS || uno_op_check(uno_op(MPI_LAND), type) == MPI_SUCCESS)
        return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TYPE, "datatype %s is no integer, logical or byte", type->name);
}

int MPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                         int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    static const char call[] = "MPI_Compare_and_swap";
    uno_enter(call);
    struct uno_rma_at at = {win, target_rank, target_disp, 1, datatype};
    if (uno_rma_swap_now(&at, compare_addr, origin_addr, result_addr)) return uno_finish_win(win, call, MPI_SUCCESS);
    struct MPI_ABI_Datatype *type = uno_type(datatype);
    struct uno_rma_op o = on_element(origin_addr, result_addr, type, target_rank, target_disp);
    int err = check(win, &o, datatype);
    if (!err) err = check_comparable(type);
    if (!err) err = uno_check_memory(origin_addr, "origin_addr");
    if (!err) err = uno_check_memory(compare_addr, "compare_addr");
    if (!err && target_rank != MPI_PROC_NULL) err = fetch(win, &o, compare_addr);
    return uno_finish_win(win, call, err);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    static const char call[] = "MPI_Win_create_dynamic";
    struct MPI_ABI_Win *w;
    uno_enter(call);
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(win, "win");
    struct uno_win_spec s = {.flavor = MPI_WIN_FLAVOR_DYNAMIC, .unit = 1, .info = uno_info(info)};
    if (!err) err = uno_win_make(uno_comm(comm), &s, &w);
    if (!err) *win = w->handle;
    return uno_finish_comm(comm, call, err);
}
