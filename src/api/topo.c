// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies: Cartesian grids; and what is known about the real topology. Graphs are in graph.c.
// Always holds: a call on a communicator of another kind is MPI_ERR_TOPOLOGY; outputs are written on success only.
#include <limits.h>
#include <stdlib.h>

#include "api/check.h"
#include "coll/construct.h"
#include "core/info.h"
#include "topo/hw.h"
#include "topo/order.h"
#include "topo/parts.h"
#include "topo/topo.h"

// The grid of comm, or an error.
static int get_cart(MPI_Comm comm, struct uno_topo **t)
{
    int err = uno_check_comm(comm);
    if (err) return err;
    *t = uno_comm(comm)->topo;
    if (*t && (*t)->kind == MPI_CART) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TOPOLOGY, "comm has no Cartesian topology");
}

int MPI_Topo_test(MPI_Comm comm, int *status)
{
    static const char call[] = "MPI_Topo_test";
    uno_enter(call);
    int err = uno_check_comm(comm);
    if (!err) err = uno_check_pointer(status, "status");
    if (!err) *status = uno_comm(comm)->topo ? uno_comm(comm)->topo->kind : MPI_UNDEFINED;
    return uno_finish_comm(comm, call, err);
}

int MPI_Dims_create(int nnodes, int ndims, int dims[])
{
    static const char call[] = "MPI_Dims_create";
    int err = MPI_SUCCESS;
    if (nnodes < 1) err = uno_fail(MPI_ERR_ARG, "nnodes %d is not positive", nnodes);
    if (!err && ndims < 0) err = uno_fail(MPI_ERR_DIMS, "ndims %d is negative", ndims);
    if (!err && ndims > 0) err = uno_check_pointer(dims, "dims");
    if (!err && ndims > 0) err = uno_dims_create(nnodes, ndims, dims);
    return uno_finish_any(call, err);
}

// The number of processes in the grid.
static int check_grid(const struct MPI_ABI_Comm *c, int ndims, const int *dims, const int *periods, int *nodes)
{
    if (ndims < 0) return uno_fail(MPI_ERR_DIMS, "ndims %d is negative", ndims);
    int err = ndims ? uno_check_pointer(dims, "dims") : MPI_SUCCESS;
    if (!err && ndims) err = uno_check_pointer(periods, "periods");
    long n = 1;
    for (int d = 0; d < ndims && !err; d++) {
        if (dims[d] < 1)
            err = uno_fail(MPI_ERR_DIMS, "dims[%d] is %d (1 or more allowed)", d, dims[d]);
        else
            n = n * dims[d] > INT_MAX ? INT_MAX : n * dims[d];
    }
    if (!err && n > c->size) {
        err = uno_fail(MPI_ERR_DIMS, "the grid has %ld places, but comm only %d processes", n, c->size);
    }
    *nodes = (int)n;
    return err;
}

// The communicator of a grid with n places: if the user allows it, in an order that keeps neighbours together, on the
// hosts or on the widest parts of one host that the processes are divided over.
static int cart_group(struct MPI_ABI_Comm *c, const struct uno_grid *g, int n, bool reorder, struct MPI_ABI_Comm **out)
{
    if (!reorder || c->size < 4) return uno_comm_reorder(c, n, NULL, out);
    int err, *part = NULL, *order = NULL;
    struct uno_spot *spot = uno_spots(c, uno_spot_if_bound(), &err);
    if (!err) {
        part = malloc((size_t)c->size * sizeof *part);
        order = malloc(((size_t)n + 1) * sizeof *order);
    }
    if (!err && !(part && order)) err = uno_fail(MPI_ERR_NO_MEM, "no memory for the order of a grid");
    if (!err) {
        int level = uno_spot_level(spot, n);
        for (int r = 0; r < n && level < UNO_HW_LEVELS; r++) part[r] = uno_spot_part(&spot[r], level);
        bool better = level < UNO_HW_LEVELS && uno_cart_order(g, n, part, order);
        err = uno_comm_reorder(c, n, better ? order : NULL, out);
    }
    free(spot);
    free(part);
    free(order);
    return err;
}

int MPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm *comm_cart)
{
    static const char call[] = "MPI_Cart_create";
    uno_enter(call);
    int n = 0, err = uno_check_intracomm(comm_old);
    if (!err) err = check_grid(uno_comm(comm_old), ndims, dims, periods, &n);
    if (!err) err = uno_check_pointer(comm_cart, "comm_cart");
    struct MPI_ABI_Comm *child = NULL;
    if (!err) err = cart_group(uno_comm(comm_old), &(struct uno_grid){ndims, dims}, n, reorder != 0, &child);
    if (!err && child) err = uno_topo_cart(child, ndims, dims, periods);
    if (!err) *comm_cart = child ? child->handle : MPI_COMM_NULL;
    return uno_finish_comm(comm_old, call, err);
}

int MPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
    static const char call[] = "MPI_Cart_map";
    uno_enter(call);
    int n = 0, err = uno_check_intracomm(comm);
    if (!err) err = check_grid(uno_comm(comm), ndims, dims, periods, &n);
    if (!err) err = uno_check_pointer(newrank, "newrank");
    if (!err) *newrank = uno_comm(comm)->rank < n ? uno_comm(comm)->rank : MPI_UNDEFINED;
    return uno_finish_comm(comm, call, err);
}

int MPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    static const char call[] = "MPI_Cartdim_get";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err) err = uno_check_pointer(ndims, "ndims");
    if (!err) *ndims = t->ndims;
    return uno_finish_comm(comm, call, err);
}

static int check_room(const struct uno_topo *t, int maxdims)
{
    if (maxdims >= t->ndims) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "maxdims %d is too small (%d dimensions)", maxdims, t->ndims);
}

int MPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    static const char call[] = "MPI_Cart_get";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err) err = check_room(t, maxdims);
    int n = err ? 0 : t->ndims;
    if (!err && n) err = uno_check_pointer(dims, "dims");
    if (!err && n) err = uno_check_pointer(periods, "periods");
    if (!err && n) err = uno_check_pointer(coords, "coords");
    for (int d = 0; d < n && !err; d++) {
        dims[d] = uno_cart_dims(t)[d];
        periods[d] = uno_cart_periods(t)[d];
        coords[d] = uno_cart_coords(t)[d];
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    static const char call[] = "MPI_Cart_rank";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err && t->ndims) err = uno_check_pointer(coords, "coords");
    if (!err) err = uno_check_pointer(rank, "rank");
    for (int d = 0; !err && d < t->ndims; d++) {
        if (uno_cart_periods(t)[d] || (coords[d] >= 0 && coords[d] < uno_cart_dims(t)[d])) continue;
        err = uno_fail(MPI_ERR_ARG, "coords[%d] is %d (0 .. %d allowed: the dimension is not periodic)", d, coords[d],
                       uno_cart_dims(t)[d] - 1);
    }
    if (!err) *rank = uno_cart_rank(t, coords);
    return uno_finish_comm(comm, call, err);
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    static const char call[] = "MPI_Cart_coords";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err && (rank < 0 || rank >= uno_comm(comm)->size)) {
        err = uno_fail(MPI_ERR_RANK, "rank %d is not a rank (0 .. %d allowed)", rank, uno_comm(comm)->size - 1);
    }
    if (!err) err = check_room(t, maxdims);
    if (!err && t->ndims) err = uno_check_pointer(coords, "coords");
    if (!err) uno_cart_place(t, rank, coords);
    return uno_finish_comm(comm, call, err);
}

int MPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    static const char call[] = "MPI_Cart_shift";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err && (direction < 0 || direction >= t->ndims)) {
        err = uno_fail(MPI_ERR_ARG, "direction %d is not a dimension (0 .. %d allowed)", direction, t->ndims - 1);
    }
    if (!err) err = uno_check_pointer(rank_source, "rank_source");
    if (!err) err = uno_check_pointer(rank_dest, "rank_dest");
    if (!err) uno_cart_shift(t, direction, disp, rank_source, rank_dest);
    return uno_finish_comm(comm, call, err);
}

// The processes whose coordinates agree with mine in the dimensions that are left out, in order of rank.
static int subgrid(const struct MPI_ABI_Comm *c, const int *remain, int *order)
{
    struct uno_topo *t = c->topo;
    int n = 0, *at = malloc(((size_t)t->ndims + 1) * sizeof *at);
    if (!at) return 0;
    for (int r = 0; r < c->size; r++) {
        bool same = true;
        uno_cart_place(t, r, at);
        for (int d = 0; d < t->ndims && same; d++) same = remain[d] || at[d] == uno_cart_coords(t)[d];
        if (same) order[n++] = r;
    }
    free(at);
    return n;
}

static int cart_sub(struct MPI_ABI_Comm *c, const int *remain, struct MPI_ABI_Comm **out)
{
    struct uno_topo *t = c->topo;
    int *order = malloc((size_t)c->size * sizeof *order);
    int *dims = malloc((2 * (size_t)t->ndims + 1) * sizeof *dims), ndims = 0;
    int *periods = dims ? dims + t->ndims : NULL;
    int n = order && dims ? subgrid(c, remain, order) : 0;
    int err = n ? uno_comm_reorder(c, n, order, out) : uno_fail(MPI_ERR_NO_MEM, "no memory for a grid");
    for (int d = 0; d < t->ndims && !err; d++) {
        if (!remain[d]) continue;
        dims[ndims] = uno_cart_dims(t)[d];
        periods[ndims++] = uno_cart_periods(t)[d];
    }
    if (!err) err = uno_topo_cart(*out, ndims, dims, periods);
    free(order);
    free(dims);
    return err;
}

int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Cart_sub";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_cart(comm, &t);
    if (!err && t->ndims) err = uno_check_pointer(remain_dims, "remain_dims");
    if (!err) err = uno_check_pointer(newcomm, "newcomm");
    struct MPI_ABI_Comm *child;
    if (!err) err = cart_sub(uno_comm(comm), remain_dims, &child);
    if (!err) *newcomm = child->handle;
    return uno_finish_comm(comm, call, err);
}

int MPI_Get_hw_resource_info(MPI_Info *hw_info)
{
    static const char call[] = "MPI_Get_hw_resource_info";
    uno_enter(call);
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(hw_info, "hw_info");
    struct MPI_ABI_Info *info = err ? NULL : uno_info_new();
    if (!err && !info) err = uno_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    if (!err) err = uno_hw_info(info);
    if (!err)
        *hw_info = info;
    else if (info)
        uno_info_drop(info);
    return uno_finish_self(call, err);
}
