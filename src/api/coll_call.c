// SPDX-License-Identifier: BSD-3-Clause
// From the arguments of a collective to its run (coll_call.h): resolves handles, forgets what is not significant on
// this rank, checks, runs, raises. Called by the entry points in coll_barrier.c and twice/coll_*.c.
//
// Always holds: past resolve() a type, op or communicator of the call is either NULL (not significant here) or an
// object.
#include "api/coll_call.h"

#include "coll/coll.h"
#include "topo/topo.h"

struct sides {
    bool send, recv;
};

static bool is_rooted_move(enum uno_coll_kind kind)
{
    return kind == UNO_GATHER || kind == UNO_GATHERV || kind == UNO_SCATTER || kind == UNO_SCATTERV;
}

// Which buffers mean something on this rank.
static struct sides significant(const struct uno_call *c)
{
    bool rooted = is_rooted_move(c->kind) || c->kind == UNO_REDUCE || c->kind == UNO_BCAST;
    if (c->kind == UNO_BARRIER || (rooted && c->root == MPI_PROC_NULL)) return (struct sides){false, false};
    bool root = c->comm->inter ? c->root == MPI_ROOT : c->root == c->comm->rank, inter = c->comm->inter;
    switch (c->kind) {
    case UNO_BCAST: return (struct sides){false, true};
    case UNO_GATHER:
    case UNO_GATHERV:
    case UNO_REDUCE: return (struct sides){!inter || !root, root};
    case UNO_SCATTER:
    case UNO_SCATTERV: return (struct sides){root, !inter || !root};
    default: return (struct sides){true, true};
    }
}

// *type from handle to object; a handle that is not live is an error.
static int resolve_type(struct MPI_ABI_Datatype **type)
{
    if (!uno_type_is_live(*type)) return uno_check_type(*type);
    *type = uno_type(*type);
    return MPI_SUCCESS;
}

// Handles to objects, NULL for what is not significant.
static int resolve(struct uno_call *c)
{
    struct sides side = significant(c);
    bool typed = c->kind == UNO_ALLTOALLW || c->kind == UNO_NEIGHBOR_ALLTOALLW;
    bool reduction = uno_coll_reduces(c->kind);
    bool sends = side.send && !reduction && c->sbuf != MPI_IN_PLACE;
    bool receives = reduction ? side.send || side.recv : side.recv && c->rbuf != MPI_IN_PLACE;
    int err = MPI_SUCCESS;
    if (typed) return err;
    if (sends)
        err = resolve_type(&c->stype);
    else
        c->stype = NULL, c->scount = 0;
    if (receives && !err)
        err = resolve_type(&c->rtype);
    else if (!err)
        c->rtype = NULL, c->rcount = 0;
    if (err || !reduction) return err;
    MPI_Op op = (MPI_Op)c->op;
    c->op = receives ? uno_op(op) : NULL;
    return c->op || !receives ? MPI_SUCCESS : uno_check_op(op);
}

static int find_neighbors(struct uno_call *c)
{
    const struct uno_topo *t = c->comm->topo;
    if (c->kind < UNO_NEIGHBOR_ALLGATHER) return MPI_SUCCESS;
    if (!t)
        return uno_fail(MPI_ERR_TOPOLOGY,
                        "the communicator has no topology (MPI_Cart_create, MPI_Dist_graph_create give one)");
    c->in = uno_topo_sources(t);
    c->out = uno_topo_dests(t);
    c->nin = t->indegree;
    c->nout = t->outdegree;
    c->cart = t->kind == MPI_CART;
    return MPI_SUCCESS;
}

static int take_call(const char *name, struct uno_call *c)
{
    uno_enter(name);
    c->name = name;
    int err = uno_check_comm((MPI_Comm)c->comm);
    if (err) return err;
    c->comm = uno_comm((MPI_Comm)c->comm);
    bool intra_only = c->kind == UNO_SCAN || c->kind == UNO_EXSCAN || c->kind >= UNO_NEIGHBOR_ALLGATHER;
    if (c->comm->inter && intra_only)
        return uno_fail(MPI_ERR_COMM, "comm is an intercommunicator (an intracommunicator is needed)");
    if (c->kind == UNO_BARRIER) return MPI_SUCCESS;
    bool rooted = is_rooted_move(c->kind) || c->kind == UNO_REDUCE || c->kind == UNO_BCAST;
    if (rooted) err = uno_check_root(c->comm, c->root);
    if (!err) err = find_neighbors(c);
    if (err) return err;
    err = resolve(c);
    if (err) return err;
    return uno_world.checks ? uno_check_call(c) : MPI_SUCCESS;
}

int uno_call_run(const char *name, struct uno_call *c)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    int err = take_call(name, c);
    if (!err) err = uno_coll_run(c);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}

int uno_call_start(const char *name, struct uno_call *c, MPI_Request *request)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    int err = take_call(name, c);
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = uno_coll_start(c, request);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}

int uno_call_persist(const char *name, struct uno_call *c, MPI_Info info, MPI_Request *request)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    int err = take_call(name, c);
    if (!err) err = uno_check_info(info);    // no hint is known for these yet
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = uno_coll_persist(c, request);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}
