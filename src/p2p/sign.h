// SPDX-License-Identifier: BSD-3-Clause
// The checking mode `check_types`: every message of the user is preceded by its type signature, which the receive
// compares with its own. Off, each place costs one predicted branch. Not covered: partitioned operations (their chunks
// go unsigned and unchecked).
#pragma once
#include "base/param.h"
#include "core/request.h"
#include "core/signature.h"
#include "p2p/p2p.h"

struct uno_link;

extern struct uno_param uno_signing;

// Called by the sender before the message itself: tells the peer what it will hold.
void uno_sign_send(const struct MPI_ABI_Datatype *type, MPI_Count count, const struct uno_where *to);

// The receive, or the persistent send, is for these. Holds the type: a persistent request until it is freed, a receive
// until it ends in uno_sign_match.
void uno_sign_expect(MPI_Request r, struct MPI_ABI_Datatype *type, MPI_Count count);

// A persistent send starts: as uno_sign_send, for what it was set up with.
void uno_sign_start(MPI_Request r);

// A signature came by this link; it belongs to the link's next message.
void uno_sign_arrived(struct uno_link *link, const struct uno_signature *s);
// Takes it; .elements is UINT64_MAX when there is none.
struct uno_signature uno_sign_take(struct uno_link *link);

// Compares when the receive has met its message; the error of its sign is MPI_ERR_TYPE, with the reason kept, when they
// differ.
void uno_sign_match(MPI_Request r, const struct uno_signature *s, int src, int tag);
