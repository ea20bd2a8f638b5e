// SPDX-License-Identifier: BSD-3-Clause
// Tokens: how a message names an operation that is under way at the other side, which gave the token and gets it back.
// A token is an index into a table of this process with the generation of its entry: a token that comes back is looked
// up with the kind of operation and the process that it was given to, so that a wrong one finds nothing. The lock is
// held.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum uno_token_kind {
    UNO_TOKEN_FREE,
    UNO_TOKEN_LENT,      // a send that has left, or waits for that, whose memory the channel may still read
    UNO_TOKEN_SEND,      // a send that was announced: clear to send, or the end of a direct copy
    UNO_TOKEN_RECV,      // a receive that a channel fills: the end of the copy
    UNO_TOKEN_STREAM,    // a receive that gets its data in messages
    UNO_TOKEN_RMA,       // one-sided: data that a part sends back
    UNO_TOKEN_PART       // a partitioned send that waits for its match
};

// For an operation with proc (world rank); never 0. Ends the job when memory is out.
uint64_t uno_token_take(enum uno_token_kind kind, void *object, int proc);

// NULL: the token is not (or no longer) one of that kind that was given to proc.
void *uno_token_find(uint64_t token, enum uno_token_kind kind, int proc);

// The end of a direct copy, or of a loan: of any such kind and any process, because it comes from a channel. The token
// is given back.
void *uno_token_end(uint64_t token);

// It names another object of the same kind from now on. False: it is not (or no longer) one of `from`.
bool uno_token_pass(uint64_t token, const void *from, void *to);

// Calls fn for each token that is out to proc (-1: to anybody); fn may give it back.
void uno_token_each(int proc, void (*fn)(uint64_t token, enum uno_token_kind kind, void *object, void *arg), void *arg);

// What becomes of a token of one-sided communication whose process has failed; set by src/rma, gives it back.
extern void (*uno_token_lost)(uint64_t token, void *object, int error);

void uno_token_give(uint64_t token);    // back, after it was found
void uno_tokens_close(void);
