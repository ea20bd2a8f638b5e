// SPDX-License-Identifier: BSD-3-Clause
// From the arguments of a collective to its run (coll_call.h): resolves handles, forgets what is not significant on this rank,
// checks, runs, raises. Called by the entry points in coll_*.c.
//
// Always holds: past resolve() a type, op or communicator of the call is either NULL (not significant here) or an object.
#include "api/coll_call.h"

#include "coll/coll.h"

struct sides { bool send, recv; };

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
    case UNO_GATHER: case UNO_GATHERV: case UNO_REDUCE: return (struct sides){!inter || !root, root};
    case UNO_SCATTER: case UNO_SCATTERV: return (struct sides){root, !inter || !root};
    default: return (struct sides){true, true};
    }
}

static struct MPI_ABI_Datatype *live_type(MPI_Datatype t)
{
    return uno_type_is_live(t) ? uno_type(t) : NULL;
}

// Handles to objects, NULL for what is insignificant or not live; `bad` tells the checks which handle was not live.
static int resolve(struct uno_call *c)
{
    struct sides side = significant(c);
    bool typed = c->kind == UNO_ALLTOALLW || c->kind == UNO_NEIGHBOR_ALLTOALLW;
    bool reduction = c->kind == UNO_REDUCE || c->kind == UNO_ALLREDUCE || c->kind >= UNO_REDUCE_SCATTER;
    if (c->kind >= UNO_NEIGHBOR_ALLGATHER) reduction = false;
    if (!side.send || c->sbuf == MPI_IN_PLACE) c->stype = NULL;
    else if (!typed && !reduction && !(c->stype = live_type(c->stype))) return MPI_ERR_TYPE;
    bool unused = reduction ? !side.send && !side.recv : !side.recv || c->rbuf == MPI_IN_PLACE;
    if (unused) c->rtype = NULL;
    else if (!typed && !(c->rtype = live_type(c->rtype))) return MPI_ERR_TYPE;
    if (!side.send && !side.recv) c->op = NULL;
    if (reduction && (side.send || side.recv) && !(c->op = uno_op(c->op))) return MPI_ERR_OP;
    if (c->stype == NULL && !typed) c->scount = 0;
    if (c->rtype == NULL && !typed) c->rcount = 0;
    return MPI_SUCCESS;
}

// What resolve could not make sense of, in the words of the checks.
static int refuse(const struct uno_call *raw, int err)
{
    if (err == MPI_ERR_OP) {
        if (raw->op == MPI_OP_NULL) return uno_fail(MPI_ERR_OP, "op is MPI_OP_NULL");
        return uno_fail(MPI_ERR_OP, "op %p is not an operation (was it freed?)", (void *)raw->op);
    }
    struct sides side = significant(raw);
    int e = MPI_SUCCESS;
    if (raw->stype && side.send && raw->sbuf != MPI_IN_PLACE) e = uno_check_type(raw->stype);
    if (!e) e = uno_check_type(raw->rtype);
    return e ? e : err;
}

static int find_neighbors(struct uno_call *c)
{
    if (c->kind < UNO_NEIGHBOR_ALLGATHER) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TOPOLOGY, "the communicator has no topology");
}

static int take(const char *name, struct uno_call *c)
{
    uno_enter(name);
    c->name = name;
    int err = uno_check_comm((MPI_Comm)c->comm);
    if (err) return err;
    c->comm = uno_comm((MPI_Comm)c->comm);
    bool intra_only = c->kind == UNO_SCAN || c->kind == UNO_EXSCAN || c->kind >= UNO_NEIGHBOR_ALLGATHER;
    if (c->comm->inter && intra_only) return uno_fail(MPI_ERR_COMM, "comm is an intercommunicator (an intracommunicator is needed)");
    if (c->kind == UNO_BARRIER) return MPI_SUCCESS;
    bool rooted = is_rooted_move(c->kind) || c->kind == UNO_REDUCE || c->kind == UNO_BCAST;
    if (rooted) err = uno_check_root(c->comm, c->root);
    if (!err) err = find_neighbors(c);
    if (err) return err;
    struct uno_call raw = *c;
    err = resolve(c);
    if (err) return refuse(&raw, err);
    return uno_world.checks ? uno_check_call(c) : MPI_SUCCESS;
}

int uno_call_run(const char *name, struct uno_call *c)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    int err = take(name, c);
    if (!err) err = uno_coll_run(c);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}

int uno_call_start(const char *name, struct uno_call *c, MPI_Request *request)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    int err = take(name, c);
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = uno_coll_start(c, request);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}

int uno_call_persist(const char *name, struct uno_call *c, MPI_Info info, MPI_Request *request)
{
    MPI_Comm comm = (MPI_Comm)c->comm;
    (void)info;                        // no hint is known for these yet
    int err = take(name, c);
    if (!err) err = uno_check_pointer(request, "request");
    if (!err) err = uno_coll_persist(c, request);
    if (err) return uno_raise_comm(comm, name, err);
    uno_leave();
    return MPI_SUCCESS;
}
