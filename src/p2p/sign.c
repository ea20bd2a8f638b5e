// SPDX-License-Identifier: BSD-3-Clause
// Type signatures travel before their messages when the parameter check_types is set. Called by the entry points of
// sends and by deliver.c. Always holds: a link keeps order, so the signature that came last belongs to the next
// message.
#include "p2p/sign.h"

#include <string.h>

#include "base/fail.h"
#include "p2p/kind.h"
#include "p2p/peer.h"

struct uno_param uno_signing =
    UNO_PARAM_BOOL("check_types", 0, "compare the types of each send with those of its receive");
UNO_PARAM_DECLARE(uno_signing);

_Static_assert(sizeof(struct uno_signature) <= UNO_INLINE_MAX, "a signature is a control message");

void uno_sign_send(const struct MPI_ABI_Datatype *type, MPI_Count count, const struct uno_where *to)
{
    struct uno_peer *p = to->rank == MPI_PROC_NULL ? NULL : uno_peer(to->comm, to->rank);
    if (!p) return;
    struct uno_signature s = uno_signature_of(type, count, UINT64_MAX);
    struct uno_msg m = {.kind = UNO_SIGN, .src = to->comm->rank, .bytes = sizeof s, .data = &s};
    if (uno_peer_tell(p, &m, NULL)) return;    // nor can the message behind it be sent, which says so
}

void uno_sign_expect(MPI_Request r, struct MPI_ABI_Datatype *type, MPI_Count count)
{
    r->move.sign.type = type;
    r->move.sign.count = count;
    uno_type_hold(type);
}

void uno_sign_start(MPI_Request r)
{
    struct uno_where to = {.comm = r->comm, .rank = r->rank, .tag = r->tag};
    if (r->move.sign.type) uno_sign_send(r->move.sign.type, r->move.sign.count, &to);
}

void uno_sign_arrived(struct uno_link *link, const struct uno_signature *s)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    p->sign = *s;
    p->is_signed = true;
}

static const char *deliver_sign(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_signature sign;
    (void)h;
    memcpy(&sign, payload, sizeof sign);
    uno_sign_arrived(link, &sign);
    return NULL;
}

static const struct uno_kind sign_kind = {.number = UNO_SIGN,
                                          .name = "signature",
                                          .least = sizeof(struct uno_signature),
                                          .most = sizeof(struct uno_signature),
                                          .whole = true,
                                          .deliver = deliver_sign};
UNO_KIND_DECLARE(sign_kind);

struct uno_signature uno_sign_take(struct uno_link *link)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    struct uno_signature s = p->is_signed ? p->sign : (struct uno_signature){.elements = UINT64_MAX};
    p->is_signed = false;
    return s;
}

void uno_sign_match(MPI_Request r, const struct uno_signature *s, int src, int tag)
{
    struct MPI_ABI_Datatype *type = r->move.sign.type;
    if (!type) return;
    r->move.sign.error = MPI_SUCCESS;
    // A message that is too long is reported as truncated, and one without a signature passes.
    struct uno_signature own = uno_signature_of(type, r->move.sign.count, s->elements);
    if (s->elements != UINT64_MAX && own.elements == s->elements && !uno_signature_same(s, &own))
        r->move.sign.error =
            uno_fail(MPI_ERR_TYPE, "the message of rank %d, tag %d holds %llu of %s, the receive is for %s", src, tag,
                     (unsigned long long)s->elements, uno_signature_text(s), uno_signature_text(&own));
    if (r->persistent) return;
    r->move.sign.type = NULL;
    uno_type_drop(type);
}
