// SPDX-License-Identifier: BSD-3-Clause
// What a member of a collective access lets an aggregator move for it (collect.h): a list of pieces of the file, each
// with the memory that its bytes come from or go to.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "io/access.h"

#define UNO_OFFER_PIECES 4096    // in one list

struct uno_piece {
    int64_t at;      // in the file
    uint64_t mem;    // address in the member's process
    uint64_t bytes;
};

// The list at present, of pieces in ascending order. They hold what follows place `from` of the access.
struct uno_offer {
    const struct uno_access *a;
    size_t quota;         // bytes of one list, at most
    bool packed;          // all data lies in `pack`, in order, for a message
    uint64_t pos, end;    // places of the access: where the next list begins; where the aggregator's part ends
    uint64_t from;
    struct uno_piece *piece;
    size_t n, bytes;
    char *pack;    // what lies in memory in smaller runs than in the file
    size_t in_pack;
};

// The next list; empty when there is no more.
int uno_offer_fill(struct uno_offer *o) UNO_MUST_USE;

// It was moved, up to byte `eof` of the file. Reading: what came to `pack` goes where it belongs.
void uno_offer_take(struct uno_offer *o, int64_t eof);

void uno_offer_free(struct uno_offer *o);
