// SPDX-License-Identifier: BSD-3-Clause
// Kinds of messages: one row per kind, declared by the file that handles it. UNO_EAGER (chan/chan.h) has no row:
// delivery knows it without a look into the table (deliver.c).
//
//   static const struct uno_kind row = {.number = UNO_SIGN, .name = "signature", .least = n, .most = n, ...};
//   UNO_KIND_DECLARE(row);
//
// To add a kind: a number below and a row beside its handler, in p2p or in a layer above.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "chan/chan.h"

// On the wire: all processes of a job run one version of the library, and new kinds come before the end.
enum {
    UNO_RTS = UNO_EAGER + 1,    // ready to send: struct uno_rts
    UNO_CTS,                    // clear to send (deliver.c)
    UNO_DATA,                   // a piece of a streamed message; header.ctx = the receiver's token
    UNO_SIGN,                   // type signature of the next message (sign.c)
    UNO_PART,                   // partitioned communication (part_match.c)
    UNO_FLOW,                   // hold back, or go on (flow.c)
    UNO_RMA,                    // one-sided communication (rma/remote.c)
    UNO_FILE,                   // the shared pointer of a file (io/pointer.c)
    UNO_COUNCIL,                // an agreement of processes of several jobs (ft/mixed.c)
    UNO_SYNC_TOKEN,             // a short synchronous message: struct uno_sync (deliver.c)
    UNO_SYNC_DATA,              // one whose token came right before it
    UNO_KIND_END
};

// A synchronous message that could leave at once is its own announcement. Up to so many bytes it has its token in
// front; of a longer one the token goes first, as a message without data.
#define UNO_SYNC_MAX 1024
struct uno_sync {
    uint64_t token;
    char data[UNO_SYNC_MAX];
};

// A message arrived; the lock is held. NULL, or what is wrong with it.
typedef const char *uno_kind_fn(struct uno_link *link, const struct uno_hdr *h, const void *payload);

struct uno_kind {
    uint8_t number;
    const char *name;
    uint32_t least, most;    // bytes of payload: all others are refused
    bool whole;              // the handler wants the payload in one piece: it is never NULL
    uno_kind_fn *deliver;
};

#define UNO_KIND_DECLARE(row)                                                                                          \
    static const struct uno_kind *const uno_kind_##row __attribute__((used, section("uno_kinds"))) = &(row)

// A message of any kind but UNO_EAGER, by its row.
const char *uno_kind_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload);
