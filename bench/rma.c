// SPDX-License-Identifier: BSD-3-Clause
// Windows and epochs for the one-sided rows (rma.h). Flush kinds hold lock_all from setup to teardown; the others open
// and close one epoch per batch. A target of lock and flush kinds has nothing to do: it waits inside MPI, in the
// driver's next barrier.
#include "rma.h"

#include <stdlib.h>
#include <string.h>

static int make_window(struct run *r, struct rma *w)
{
    int code = MPI_SUCCESS;
    MPI_Aint here = 0;
    w->win = MPI_WIN_NULL;
    switch (r->o->win) {
    case 1:
        w->base = malloc(w->size);
        code = MPI_Win_create(w->base, (MPI_Aint)w->size, 1, MPI_INFO_NULL, r->comm, &w->win);
        break;
    case 2:
        w->base = malloc(w->size);
        code = MPI_Win_create_dynamic(MPI_INFO_NULL, r->comm, &w->win);
        if (code == MPI_SUCCESS) code = MPI_Win_attach(w->win, w->base, (MPI_Aint)w->size);
        MPI_Get_address(w->base, &here);
        break;
    case 3: code = MPI_Win_allocate_shared((MPI_Aint)w->size, 1, MPI_INFO_NULL, r->comm, &w->base, &w->win); break;
    default: code = MPI_Win_allocate((MPI_Aint)w->size, 1, MPI_INFO_NULL, r->comm, &w->base, &w->win);
    }
    if (!bench_ok(r, code, "making the window")) return -1;
    memset(w->base, 0, w->size);
    MPI_Sendrecv(&here, 1, MPI_AINT, r->peer, 1, &w->origin, 1, MPI_AINT, r->peer, 1, r->comm, MPI_STATUS_IGNORE);
    return 0;
}

int bench_rma_setup(struct run *r, size_t bytes, int accesses, int target)
{
    struct rma *w = calloc(1, sizeof *w);
    MPI_Group all;
    r->priv = w;
    w->size = bytes + 64;
    w->accesses = accesses;
    w->target = target;
    w->peers = MPI_GROUP_NULL;
    if (bench_buffers(r, bytes + 64, bytes + 64) || make_window(r, w)) return -1;
    MPI_Comm_group(r->comm, &all);
    MPI_Group_incl(all, 1, &r->peer, &w->peers);
    MPI_Group_free(&all);
    w->held = r->variant == RMA_FLUSH || r->variant == RMA_FLUSH_LOCAL;
    if (w->held) MPI_Win_lock_all(0, w->win);
    if (r->variant == RMA_FENCE) MPI_Win_fence(0, w->win);
    return 0;
}

void bench_rma_end(struct run *r)
{
    struct rma *w = r->priv;
    if (!w) return;
    if (w->win != MPI_WIN_NULL) {
        if (w->held) MPI_Win_unlock_all(w->win);
        MPI_Barrier(r->comm);
        if (r->o->win == 2) MPI_Win_detach(w->win, w->base);
        MPI_Win_free(&w->win);
    }
    if (r->o->win == 1 || r->o->win == 2) free(w->base);
    if (w->peers != MPI_GROUP_NULL) MPI_Group_free(&w->peers);
    free(w);
    r->priv = NULL;
}

void bench_rma_begin(struct run *r)
{
    struct rma *w = r->priv;
    if (r->variant == RMA_PSCW) {
        if (w->target) MPI_Win_post(w->peers, 0, w->win);
        if (w->accesses) MPI_Win_start(w->peers, 0, w->win);
    }
    if (!w->accesses) return;
    if (r->variant == RMA_LOCK) MPI_Win_lock(MPI_LOCK_SHARED, r->peer, 0, w->win);
    if (r->variant == RMA_LOCK_ALL) MPI_Win_lock_all(0, w->win);
}

void bench_rma_close(struct run *r)
{
    struct rma *w = r->priv;
    if (r->variant == RMA_FENCE) MPI_Win_fence(0, w->win);
    if (r->variant == RMA_PSCW) {
        if (w->accesses) MPI_Win_complete(w->win);
        if (w->target) MPI_Win_wait(w->win);
    }
    if (!w->accesses) return;
    switch (r->variant) {
    case RMA_FLUSH: MPI_Win_flush(r->peer, w->win); break;
    case RMA_FLUSH_LOCAL: MPI_Win_flush_local(r->peer, w->win); break;
    case RMA_LOCK: MPI_Win_unlock(r->peer, w->win); break;
    case RMA_LOCK_ALL: MPI_Win_unlock_all(w->win); break;
    default: break;
    }
}

void bench_rma_read(struct run *r)
{
    struct rma *w = r->priv;
    if (w->held && w->accesses) MPI_Win_flush_all(w->win);
    MPI_Barrier(r->comm);
    if (w->held)
        MPI_Win_sync(w->win);
    else if (r->variant == RMA_FENCE)
        MPI_Win_fence(0, w->win);
    else {
        MPI_Win_lock(MPI_LOCK_SHARED, r->rank, 0, w->win);
        MPI_Win_unlock(r->rank, w->win);
    }
}
