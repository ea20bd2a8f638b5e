// SPDX-License-Identifier: BSD-3-Clause
// Duplication of communicators, blocking and not. The only thing to agree on is a number, the first new context, which
// travels down a tree; its steps are listed once and run either in a row or by a poller (MPI_Comm_idup: any call makes
// progress).
// Always holds: attributes are copied when the call is made; the new object exists from then on and is registered at
// the end.
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "coll/construct.h"
#include "p2p/team.h"
#include "core/attr.h"
#include "core/hint.h"
#include "core/progress.h"
#include "p2p/p2p.h"

#define MAX_STEPS 36    // receive, leader to leader, children of a tree over 2^31 ranks

struct step {
    struct MPI_ABI_Comm *comm;
    int rank, tag;
    bool recv;
};

struct dup {
    struct uno_poller poller;
    struct MPI_ABI_Comm *from, *child;
    MPI_Request user;       // the request that MPI_Comm_idup gave out; NULL when a copy callback failed
    MPI_Request current;    // of the step under way
    uint64_t context;
    int nsteps, at;
    struct step step[MAX_STEPS];
};

static void add_step(struct dup *d, struct MPI_ABI_Comm *comm, int rank, int tag, bool recv)
{
    d->step[d->nsteps++] = (struct step){.comm = comm, .rank = rank, .tag = tag, .recv = recv};
}

// The binomial tree of team.c with root 0, as steps; over: a receive of the root from elsewhere, or a send to there.
static void list_steps(struct dup *d)
{
    struct MPI_ABI_Comm *c = d->from, *tree = c->inter ? c->local_comm : c;
    int me = tree->rank, n = tree->size, bit = 1, tag = uno_coll_tag(c);
    while (bit < n && !(me & bit)) bit <<= 1;
    if (me)
        add_step(d, tree, me - bit, tag, true);
    else if (c->inter)
        add_step(d, c, 0, tag, !c->low);
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit < n) add_step(d, tree, me + bit, tag, false);
    }
    bool leader = me == 0 && (!c->inter || c->low);
    if (leader) d->context = uno_context_take(uno_comm_is_mixed(c), c->inter ? 3 : 1);
}

// The object, with attributes, topology and hints, but no context yet.
static int make_child(struct MPI_ABI_Comm *c, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out)
{
    struct MPI_ABI_Comm *child = uno_comm_make(c->group, c->remote, 0);
    if (!child) return uno_fail(MPI_ERR_NO_MEM, "no memory for a new communicator");
    uno_comm_inherit(child, c);
    child->low = c->low;
    int err = uno_hints_take(child, info);
    if (!err && c->inter) {
        child->local_comm = uno_comm_make(c->local_comm->group, NULL, 0);
        if (!child->local_comm) err = uno_fail(MPI_ERR_NO_MEM, "no memory for a new communicator");
    }
    if (!err && c->topo) {
        child->topo = malloc(c->topo_bytes);
        child->topo_bytes = c->topo_bytes;
        if (child->topo)
            memcpy(child->topo, c->topo, c->topo_bytes);
        else
            err = uno_fail(MPI_ERR_NO_MEM, "no memory for a topology");
    }
    if (!err) err = uno_attrs_copy(c->attrs, &child->attrs, c->handle);
    *out = child;
    if (!err) return MPI_SUCCESS;
    // The call fails with its first error; what a second one leaves goes with the communicator.
    if (uno_attrs_delete(child->attrs, child->handle))
        uno_log(1, "%s: a copied attribute refuses to be deleted", c->name);
    uno_comm_drop(child);
    *out = NULL;
    return err;
}

static void register_child(struct MPI_ABI_Comm *child, uint64_t context)
{
    if (child->local_comm) uno_comm_register(child->local_comm, context + (child->low ? 1 : 2));
    uno_comm_register(child, context);
}

int uno_comm_dup(struct MPI_ABI_Comm *c, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out)
{
    struct dup d = {.from = c};
    list_steps(&d);
    int failed = make_child(c, info, &d.child), err = MPI_SUCCESS;
    // A process whose callback failed still passes the context on: the others wait for it.
    for (int i = 0; i < d.nsteps && !err; i++) {
        struct step *s = &d.step[i];
        struct uno_where where = {.comm = s->comm, .rank = s->rank, .tag = s->tag, .coll = true};
        err = s->recv ? uno_recv(&d.context, 8, uno_type(MPI_BYTE), &where, MPI_STATUS_IGNORE)
                      : uno_send(&d.context, 8, uno_type(MPI_BYTE), &where, UNO_STANDARD);
    }
    if (failed) return failed;
    if (err) {
        uno_comm_drop(d.child);
        return err;
    }
    register_child(d.child, d.context);
    *out = d.child;
    return MPI_SUCCESS;
}

static void finish_dup(struct dup *d, int err)
{
    uno_poller_remove(&d->poller);
    if (d->child && !err) register_child(d->child, d->context);
    uno_comm_drop(d->from);
    MPI_Request user = d->user;
    free(d);
    if (user) uno_request_done(user, err);
}

// Runs steps until one is not complete. Returns how many it completed.
static int run(struct uno_poller *self)
{
    struct dup *d = (struct dup *)self;    // the poller is its first member
    int moved = 0, err = MPI_SUCCESS;
    while (!err && (d->current != MPI_REQUEST_NULL || d->at < d->nsteps)) {
        if (d->current == MPI_REQUEST_NULL) {
            struct step *s = &d->step[d->at++];
            struct uno_where where = {.comm = s->comm, .rank = s->rank, .tag = s->tag, .coll = true};
            err = s->recv ? uno_irecv(&d->context, 8, uno_type(MPI_BYTE), &where, &d->current)
                          : uno_isend(&d->context, 8, uno_type(MPI_BYTE), &where, UNO_STANDARD, &d->current);
            continue;
        }
        // Acquire: pairs with the release in uno_request_done.
        if (!atomic_load_explicit(&d->current->done, memory_order_acquire)) return moved;
        err = uno_wait(&d->current, MPI_STATUS_IGNORE);
        moved++;
    }
    finish_dup(d, err);
    return moved + 1;
}

static const struct uno_request_ops idup_ops = {.name = "MPI_Comm_idup"};

int uno_comm_idup(struct MPI_ABI_Comm *c, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out, MPI_Request *req)
{
    struct dup *d = calloc(1, sizeof *d);
    MPI_Request user = d ? uno_request_new(UNO_REQ_COLL) : NULL;
    if (!user) {
        free(d);
        return uno_fail(MPI_ERR_NO_MEM, "no memory for a request");
    }
    *d = (struct dup){.poller.fn = run, .from = c, .user = user, .current = MPI_REQUEST_NULL};
    list_steps(d);
    int err = make_child(c, info, &d->child);
    user->ops = &idup_ops;
    user->comm = c;
    uno_comm_hold(c);    // the request's reference; the operation takes its own below
    if (err) {           // the steps go on all the same: others wait for the number
        uno_request_release(user);
        d->user = NULL;
    } else {
        *out = d->child;
        *req = user;
    }
    uno_comm_hold(c);
    uno_poller_add(&d->poller);
    run(&d->poller);
    return err;
}
