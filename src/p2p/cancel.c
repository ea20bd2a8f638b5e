// SPDX-License-Identifier: BSD-3-Clause
// Cancelling a send, decided on the spot, because a wait for it must not need the other side. A message that has not
// left this process, or lies unmatched in it, is taken back: the send is cancelled. One that was announced to another
// process is not asked back: the library takes the send over, with a copy of the data, and the user's request is
// complete, not cancelled. Called by MPI_Cancel through uno_send_ops. Why it is so: docs/design/messages.md.
// Always holds: the request that takes over has all that names the old one (token, backlog, offer), or nothing.
#include <stdlib.h>

#include "base/fail.h"
#include "chan/self.h"
#include "core/match.h"
#include "p2p/direct.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/token.h"

static void end_cancelled(MPI_Request r, struct uno_link *link)
{
    uno_direct_withdraw(r, link);
    uno_token_give(r->move.token);
    uno_request_cancelled(r);
}

static void free_copy(MPI_Request r)
{
    free((void *)(uintptr_t)r->move.buf);
}

static const struct uno_request_ops kept_ops = {.name = "cancelled send", .broken = uno_send_broken, .free = free_copy};

// A send of the same message out of memory of its own. It frees itself when it has ended.
static MPI_Request make_copy(MPI_Request r)
{
    size_t all = r->move.room;
    char *copy = malloc(all + 1);
    MPI_Request k = copy ? uno_request_new(UNO_REQ_SEND) : NULL;
    if (!k) {
        free(copy);
        uno_fail(MPI_ERR_NO_MEM, "no memory to keep the %zu bytes of a message whose send is cancelled", all);
        return NULL;
    }
    struct uno_packer p;
    uno_packer_init(&p, r->move.buf, r->move.count, r->move.type ? r->move.type : uno_type(MPI_BYTE));
    uno_pack(&p, copy, all);
    uno_send_setup(k, copy, (MPI_Count)all, uno_type(MPI_BYTE),
                   &(struct uno_where){.comm = r->comm, .rank = r->rank, .tag = r->tag, .coll = r->move.coll});
    k->ops = &kept_ops;
    k->freed = true;
    return k;
}

// Where the receiver has asked for the data: the rest comes out of the copy, in the order agreed.
static void go_on(MPI_Request k, MPI_Request r)
{
    k->move.bytes = r->move.bytes;
    k->move.moved = r->move.moved;
    uno_packer_init(&k->move.packer, k->move.buf, (MPI_Count)k->move.bytes, uno_type(MPI_BYTE));
    uno_packer_order(&k->move.packer, r->move.packer.order, k->move.bytes);
    uno_packer_seek(&k->move.packer, k->move.moved);
}

static int take_over(MPI_Request r, struct uno_peer *p)
{
    MPI_Request k = make_copy(r);
    if (!k) return MPI_ERR_NO_MEM;
    struct uno_rts rts = {.desc = (uint32_t)r->move.direct};
    if (r->move.direct >= 0 && !p->ops->replace(p->link, &rts, k->move.buf)) {
        uno_request_release(k);    // both sides are copying: that ends in our own polling
        return MPI_SUCCESS;
    }
    k->move.direct = r->move.direct;
    k->move.token = r->move.token;
    k->move.begun = r->move.begun;
    k->move.moved = r->move.moved;
    if (!uno_token_pass(r->move.token, r, k)) go_on(k, r);
    uno_peer_pass(p, r, k);
    uno_direct_forget(r);
    uno_request_done(r, MPI_SUCCESS);
    return MPI_SUCCESS;
}

// The announcement of r to this process itself, if nothing has taken it.
static struct uno_unexp *find_own(const struct uno_match *m, MPI_Request r)
{
    struct uno_unexp *u = m->source[r->comm->rank].first;
    while (u && !(u->announced && ((const struct uno_rts *)uno_unexp_data(u))->token == r->move.token)) u = u->next;
    return u;
}

int uno_cancel_send(MPI_Request r)
{
    if (uno_request_is_done(r) || r->rank == MPI_PROC_NULL) return MPI_SUCCESS;
    struct uno_peer *p = uno_peer_known(uno_comm_proc(r->comm, r->rank));    // the communicator may be revoked
    if (!p) return MPI_ERR_INTERN;
    struct uno_match *m = &r->comm->match[r->move.coll];
    struct uno_unexp *own = p->proc == uno_chan_self.proc ? find_own(m, r) : NULL;
    if (own) {
        uno_match_take(m, own);
        uno_unexp_free(own);
    } else if (!uno_peer_unsend(p, r)) {
        if (uno_token_find(r->move.token, UNO_TOKEN_LENT, p->proc)) return MPI_SUCCESS;    // our own polling ends it
        return take_over(r, p);
    }
    end_cancelled(r, p->link);
    return MPI_SUCCESS;
}
