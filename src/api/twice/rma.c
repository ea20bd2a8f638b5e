// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations: entry points. What is checked here is what the arguments say by themselves; whether they fit
// the window is checked on the way (rma/op.c).
#include "api/twice/twice.h"
#include "api/win.h"
#include "core/op.h"

// An operation as called.
struct args {
    const char *call;
    const void *origin;
    MPI_Count origin_count;
    MPI_Datatype origin_type;
    void *result;
    MPI_Count result_count;
    MPI_Datatype result_type;
    int rank;
    MPI_Aint disp;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Win win;
    bool get, fetch;    // fetch: there is a result
};

static int check_side(const void *buf, MPI_Count count, MPI_Datatype type)
{
    int err = uno_check_count(count);
    if (!err) err = uno_check_type(type);
    return err ? err : uno_check_buffer(buf, count, uno_type(type));
}

static bool is_empty(const struct args *a)
{
    return a->count == 0 || uno_type(a->type)->size == 0;
}

// Elements of one predefined type, the same at the origin and the target, if there are any.
static int check_elements(const struct args *a)
{
    bool empty = is_empty(a);
    struct MPI_ABI_Datatype *e = uno_rma_element(uno_type(a->type));
    int err = uno_check_op(a->op);
    if (!err && !uno_op(a->op)->predefined)
        err = uno_fail(MPI_ERR_OP, "op was made by MPI_Op_create (predefined operations alone are allowed)");
    if (!err && a->op == MPI_NO_OP && !a->fetch)
        err = uno_fail(MPI_ERR_OP, "MPI_NO_OP fetches only (use MPI_Get_accumulate)");
    if (!err && !e && !empty)
        err = uno_fail(MPI_ERR_TYPE, "target_datatype is made of several basic types (one alone is allowed)");
    if (err || empty) return err;
    if (a->op != MPI_NO_OP && uno_rma_element(uno_type(a->origin_type)) != e)
        return uno_fail(MPI_ERR_TYPE, "origin_datatype and target_datatype have different elements (%s, %s)",
                        uno_type(a->origin_type)->name, uno_type(a->type)->name);
    return a->op == MPI_NO_OP || a->op == MPI_REPLACE ? MPI_SUCCESS : uno_check_reduction(uno_op(a->op), e);
}

static int check_sizes(const struct args *a)
{
    MPI_Count here = a->get || a->op != MPI_NO_OP ? a->origin_count * uno_type(a->origin_type)->size : -1;
    MPI_Count there = a->count * uno_type(a->type)->size;
    if (here >= 0 && here != there)
        return uno_fail(MPI_ERR_COUNT, "the origin has %lld bytes, the target %lld", (long long)here, (long long)there);
    MPI_Count back = a->fetch ? a->result_count * uno_type(a->result_type)->size : there;
    if (back == there) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_COUNT, "the result has %lld bytes, the target %lld", (long long)back, (long long)there);
}

static int check(const struct args *a)
{
    int err = uno_check_win(a->win);
    if (err || !uno_world.checks) return err;
    const struct MPI_ABI_Win *w = uno_win(a->win);
    if (a->rank != MPI_PROC_NULL) err = uno_check_win_rank(w, a->rank, "target_rank");
    if (!err && (a->op != MPI_NO_OP)) err = check_side(a->origin, a->origin_count, a->origin_type);
    if (!err && a->fetch) err = check_side(a->result, a->result_count, a->result_type);
    if (!err) err = uno_check_count(a->count);
    if (!err) err = uno_check_type(a->type);
    if (!err && a->disp < 0 && w->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        err = uno_fail(MPI_ERR_DISP, "target_disp %lld is negative", (long long)a->disp);
    if (!err && a->op != MPI_OP_NULL) err = check_elements(a);
    if (!err) err = check_sizes(a);
    return err || a->rank == MPI_PROC_NULL ? err : uno_rma_in_epoch(w, a->rank);
}

static struct uno_rma_op operation(const struct args *a)
{
    struct uno_rma_op o = {.origin = {(void *)(uintptr_t)a->origin, a->origin_count, uno_type(a->origin_type)},
                           .rank = a->rank,
                           .disp = a->disp,
                           .count = a->count,
                           .type = uno_type(a->type),
                           .op = a->op == MPI_OP_NULL ? NULL : uno_op(a->op),
                           .get = a->get};
    if (a->fetch) o.result = (struct uno_rma_side){a->result, a->result_count, uno_type(a->result_type)};
    return o;
}

// By address: copied in wide words, the arguments would wait for all stores before, those to other ranks too.
static int run(const struct args *a, MPI_Request *req)
{
    uno_enter(a->call);
    int err = check(a);
    if (!err && (a->rank == MPI_PROC_NULL || is_empty(a))) {    // nothing to do
        if (req) *req = &uno_request_sent;
        return uno_finish_win(a->win, a->call, MPI_SUCCESS);
    }
    if (!err) {
        struct uno_rma_op o = operation(a);
        if (uno_win(a->win)->check) err = uno_win_check_op(uno_win(a->win), &o, !req);
        if (!err) err = uno_rma_start(uno_win(a->win), &o, req);
    }
    return uno_finish_win(a->win, a->call, err);
}

// The same with a request.
static int run_request(const struct args *a, MPI_Request *req)
{
    if (req) return run(a, req);
    uno_enter(a->call);
    return uno_raise_win(a->win, a->call, uno_check_pointer(req, "request"));
}

static struct args plain(const char *call, const void *buf, MPI_Count n, MPI_Datatype type, bool get, MPI_Op op)
{
    return (struct args){.call = call, .origin = buf, .origin_count = n, .origin_type = type, .get = get, .op = op};
}

static const struct args *at(struct args *a, int rank, MPI_Aint disp, MPI_Count n, MPI_Datatype type, MPI_Win win)
{
    a->rank = rank;
    a->disp = disp;
    a->count = n;
    a->type = type;
    a->win = win;
    return a;
}

static void into(struct args *a, void *result, MPI_Count n, MPI_Datatype type)
{
    a->result = result;
    a->result_count = n;
    a->result_type = type;
    a->fetch = true;
}

int MPI_Put(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (uno_rma_put_now(&place, origin_addr, origin_count, origin_datatype))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, MPI_OP_NULL);
    return run(at(&a, target_rank, target_disp, target_count, target_datatype, win), NULL);
}

int MPI_Get(void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (uno_rma_get_now(&place, origin_addr, origin_count, origin_datatype))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, true, MPI_OP_NULL);
    return run(at(&a, target_rank, target_disp, target_count, target_datatype, win), NULL);
}

int MPI_Accumulate(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
                   MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (uno_rma_accumulate_now(&place, origin_addr, NULL, origin_count, origin_datatype, op))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, op);
    return run(at(&a, target_rank, target_disp, target_count, target_datatype, win), NULL);
}

int MPI_Get_accumulate(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, void *result_addr,
                       uno_count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       uno_count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    bool alike = result_addr && result_count == origin_count && result_datatype == origin_datatype;
    uno_enter(__func__);
    if (alike && uno_rma_accumulate_now(&place, origin_addr, result_addr, origin_count, origin_datatype, op))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, op);
    into(&a, result_addr, result_count, result_datatype);
    return run(at(&a, target_rank, target_disp, target_count, target_datatype, win), NULL);
}

// A request-based operation on mapped memory is over when it returns, as all there.
static bool is_over(bool now, MPI_Request *request)
{
    if (now) *request = &uno_request_sent;
    return now;
}

int MPI_Rput(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request *request)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (request && is_over(uno_rma_put_now(&place, origin_addr, origin_count, origin_datatype), request))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, MPI_OP_NULL);
    return run_request(at(&a, target_rank, target_disp, target_count, target_datatype, win), request);
}

int MPI_Rget(void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request *request)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (request && is_over(uno_rma_get_now(&place, origin_addr, origin_count, origin_datatype), request))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, true, MPI_OP_NULL);
    return run_request(at(&a, target_rank, target_disp, target_count, target_datatype, win), request);
}

int MPI_Raccumulate(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                    MPI_Request *request)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    uno_enter(__func__);
    if (request &&
        is_over(uno_rma_accumulate_now(&place, origin_addr, NULL, origin_count, origin_datatype, op), request))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, op);
    return run_request(at(&a, target_rank, target_disp, target_count, target_datatype, win), request);
}

int MPI_Rget_accumulate(const void *origin_addr, uno_count origin_count, MPI_Datatype origin_datatype,
                        void *result_addr, uno_count result_count, MPI_Datatype result_datatype, int target_rank,
                        MPI_Aint target_disp, uno_count target_count, MPI_Datatype target_datatype, MPI_Op op,
                        MPI_Win win, MPI_Request *request)
{
    struct uno_rma_at place = {win, target_rank, target_disp, target_count, target_datatype};
    bool alike = request && result_addr && result_count == origin_count && result_datatype == origin_datatype;
    uno_enter(__func__);
    if (alike &&
        is_over(uno_rma_accumulate_now(&place, origin_addr, result_addr, origin_count, origin_datatype, op), request))
        return uno_finish_win(win, __func__, MPI_SUCCESS);
    uno_leave();
    struct args a = plain(__func__, origin_addr, origin_count, origin_datatype, false, op);
    into(&a, result_addr, result_count, result_datatype);
    return run_request(at(&a, target_rank, target_disp, target_count, target_datatype, win), request);
}
