// SPDX-License-Identifier: BSD-3-Clause
// Cancelling a send that was announced (rendezvous, synchronous). The sender asks; the receiver drops the announcement
// if no receive or matched probe has taken it, and says so; only then is the send cancelled. So a message is received
// or cancelled, never both. A send that still waits in the sender's backlog is taken out of it at once. Called by
// MPI_Cancel through uno_send_ops, and by delivery (kind.h).
// Always holds: the question follows the announcement on the same ordered link, so the receiver knows the message when
// it is asked.
#include <stdlib.h>
#include <string.h>

#include "p2p/direct.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/peer.h"
#include "p2p/sign.h"
#include "p2p/token.h"

// False: the offer of its memory was taken.
static bool finish(MPI_Request r, struct uno_link *link)
{
    if (!uno_direct_withdraw(r, link)) return false;
    uno_token_give(r->move.token);
    uno_request_cancelled(r);
    return true;
}

int uno_cancel_send(MPI_Request r)
{
    if (uno_request_is_done(r) || r->rank == MPI_PROC_NULL) return MPI_SUCCESS;
    struct uno_peer *p = uno_peer(r->comm, r->rank);
    if (!p) return MPI_ERR_INTERN;
    // A signature waits ahead of its message and would be left alone.
    if (!uno_signing.num && uno_peer_unsend(p, r)) {
        finish(r, p->link);
        return MPI_SUCCESS;
    }
    struct uno_msg m = {
        .kind = UNO_CANCEL, .src = r->comm->rank, .bytes = sizeof r->move.token, .data = &r->move.token};
    m.ctx = r->comm->context | (r->move.coll ? UNO_CTX_COLL : 0);
    return uno_peer_tell(p, &m, NULL);
}

static struct uno_unexp *find(const struct uno_match *m, int src, uint64_t token)
{
    struct uno_unexp *u = m->source[src].first;
    while (u && !(u->kind == UNO_RTS && ((const struct uno_rts *)(const void *)u->data)->token == token)) u = u->next;
    return u;
}

static bool drop(struct uno_link *link, const struct uno_hdr *h, uint64_t token)
{
    struct MPI_ABI_Comm *c = uno_context_find(h->ctx & ~UNO_CTX_COLL);
    if (!c) return uno_orphan_drop(link, h->ctx, token);
    if ((unsigned)h->src >= (unsigned)c->npeers || uno_comm_proc(c, h->src) != link->proc) return false;
    struct uno_match *m = &c->match[h->ctx >> 63];
    struct uno_unexp *u = find(m, h->src, token);
    if (!u) return false;
    uno_match_take(m, u);
    uno_unexp_free(u);
    return true;
}

static const char *deliver_cancel(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    uint64_t token;
    memcpy(&token, payload, sizeof token);
    if (!drop(link, h, token)) return NULL;    // it was matched, and goes its way
    struct uno_msg m = {.kind = UNO_CANCELLED, .bytes = sizeof token, .data = &token};
    return uno_peer_answer(link, &m, NULL) ? "the answer to a cancelled send could not be sent" : NULL;
}

static const char *deliver_cancelled(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    uint64_t token;
    (void)h;
    memcpy(&token, payload, sizeof token);
    MPI_Request r = uno_token_find(token, UNO_TOKEN_SEND, link->proc);
    return r && finish(r, link) ? NULL : "a cancellation of no send arrived";
}

static const struct uno_kind cancel_kind = {.number = UNO_CANCEL,
                                            .name = "cancel",
                                            .least = sizeof(uint64_t),
                                            .most = sizeof(uint64_t),
                                            .whole = true,
                                            .deliver = deliver_cancel};
static const struct uno_kind cancelled_kind = {.number = UNO_CANCELLED,
                                               .name = "cancelled",
                                               .least = sizeof(uint64_t),
                                               .most = sizeof(uint64_t),
                                               .whole = true,
                                               .deliver = deliver_cancelled};
UNO_KIND_DECLARE(cancel_kind);
UNO_KIND_DECLARE(cancelled_kind);
