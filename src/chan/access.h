// SPDX-License-Identifier: BSD-3-Clause
// Memory that is open to other processes, which read and write it without its owner's doing: what a channel may offer
// for one-sided operations (ofi does, where libfabric's provider can). Called by src/rma with the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chan/chan.h"

#define UNO_ACCESS_WAYS 4

// What others have to know of an open memory, as it travels.
struct uno_access_card {
    uint64_t ways;    // bits; 0: it is not open
    struct {
        uint64_t addr, key;
    } at[UNO_ACCESS_WAYS];
};

struct uno_access {
    char *here;    // in use until the end
    size_t bytes;
    uint64_t at;                           // from the beginning of the open memory
    bool reads;                            // from there to here
    void (*end)(void *object, int err);    // once, when all bytes are there; err: class of what kept them from that
    void *object;
};

struct uno_access_ops {
    struct uno_chan *chan;    // whose links these are
    // What names the memory until it is shut; NULL: it cannot be opened. Nothing may be under way when it is shut.
    void *(*open)(void *base, size_t bytes, struct uno_access_card *card);
    void (*shut)(void *opened);
    // Whether so many bytes are worth it and can be accessed now.
    bool (*takes)(struct uno_link *link, const struct uno_access_card *card, size_t bytes);
    // Begins, in no order with what was begun before or is sent; the end comes from within poll or lose, not from here.
    // UNO_DECLINED: by a message, then.
    int (*start)(struct uno_link *link, const struct uno_access_card *card, const struct uno_access *a);
};

extern const struct uno_access_ops *uno_access;    // NULL: no open channel can
