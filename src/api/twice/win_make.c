// SPDX-License-Identifier: BSD-3-Clause
// Making windows, and where the memory of a member lies. Entry points of the chapter on one-sided communication.
#include "api/twice/twice.h"
#include "api/win.h"
#include "core/info.h"

static int check_spec(const struct uno_win_spec *s, MPI_Info info, MPI_Comm comm, const void *out, MPI_Win *win)
{
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(win, "win");
    if (!err) err = uno_check_pointer(out, "baseptr");
    if (!err && s->size < 0) err = uno_fail(MPI_ERR_SIZE, "size %lld is negative", (long long)s->size);
    if (!err && s->unit <= 0) err = uno_fail(MPI_ERR_DISP, "disp_unit %d (1 or more allowed)", s->unit);
    return err;
}

// disp: disp_unit as given; out: where the address goes, or anything for windows on the user's memory.
static int make(const char *call, struct uno_win_spec s, uno_displ disp, MPI_Info info, MPI_Comm comm, void *out,
                MPI_Win *win)
{
    struct MPI_ABI_Win *w = NULL;
    uno_enter(call);
    s.unit = (int)disp;
    s.info = uno_info(info);
    int err = check_spec(&s, info, comm, out, win);
    if (!err && s.unit != disp) err = uno_fail(MPI_ERR_DISP, "disp_unit %lld is too large", (long long)disp);
    if (!err && s.flavor == MPI_WIN_FLAVOR_CREATE && s.size > 0) err = uno_check_memory(s.base, "base");
    if (!err) err = uno_win_make(uno_comm(comm), &s, &w);
    if (err) return uno_raise_comm(comm, call, err);
    if (s.flavor != MPI_WIN_FLAVOR_CREATE) *(void **)out = w->base;
    *win = w->handle;
    return uno_finish_comm(comm, call, MPI_SUCCESS);
}

int MPI_Win_create(void *base, MPI_Aint size, uno_displ disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    struct uno_win_spec s = {.flavor = MPI_WIN_FLAVOR_CREATE, .base = base, .size = size};
    return make(__func__, s, disp_unit, info, comm, &s, win);
}

int MPI_Win_allocate(MPI_Aint size, uno_displ disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    struct uno_win_spec s = {.flavor = MPI_WIN_FLAVOR_ALLOCATE, .size = size};
    return make(__func__, s, disp_unit, info, comm, baseptr, win);
}

int MPI_Win_allocate_shared(MPI_Aint size, uno_displ disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                            MPI_Win *win)
{
    struct uno_win_spec s = {.flavor = MPI_WIN_FLAVOR_SHARED, .size = size};
    return make(__func__, s, disp_unit, info, comm, baseptr, win);
}

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, uno_displ *disp_unit, void *baseptr)
{
    const struct uno_rma_part *p = NULL;
    uno_enter(__func__);
    int err = uno_check_win(win);
    if (err) return uno_raise_win(win, __func__, err);
    const struct MPI_ABI_Win *w = win;
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        err = uno_fail(MPI_ERR_RMA_FLAVOR, "a dynamic window has no memory of its own");
    if (!err) err = uno_check_pointer(size, "size");
    if (!err) err = uno_check_pointer(disp_unit, "disp_unit");
    if (!err) err = uno_check_pointer(baseptr, "baseptr");
    if (!err && rank != MPI_PROC_NULL) err = uno_check_win_rank(w, rank, "rank");
    if (err) return uno_raise_win(win, __func__, err);
    if (rank != MPI_PROC_NULL) p = &w->part[rank];
    // MPI_PROC_NULL: the first member that has memory.
    for (int r = 0; rank == MPI_PROC_NULL && !p && r < w->comm->size; r++)
        if (w->part[r].size > 0) p = &w->part[r];
    bool mapped = p && p->path == UNO_RMA_MAPPED;
    *size = mapped ? (MPI_Aint)p->size : 0;
    *disp_unit = (uno_displ)(mapped ? p->unit : 1);
    *(void **)baseptr = mapped ? p->base : NULL;
    return uno_finish_win(win, __func__, MPI_SUCCESS);
}
