// SPDX-License-Identifier: BSD-3-Clause
// The table of message kinds (kind.h), filled from the rows that the linker put side by side. Called by uno_deliver.
// Always holds: a handler sees only payloads of the sizes that its row allows.
#include "p2p/kind.h"

#include <stdlib.h>

extern const struct uno_kind *const __start_uno_kinds[], *const __stop_uno_kinds[];

static const struct uno_kind *table[UNO_KIND_END];

static const struct uno_kind *row_of(unsigned number)
{
    if (number >= UNO_KIND_END) return NULL;
    if (table[number]) return table[number];
    for (const struct uno_kind *const *row = __start_uno_kinds; row < __stop_uno_kinds; row++)
        table[(*row)->number] = *row;
    return table[number];
}

// The handler with a payload that the channel gives piece by piece, gathered first.
static const char *deliver_gathered(const struct uno_kind *row, struct uno_link *link, const struct uno_hdr *h)
{
    _Alignas(8) char small[UNO_INLINE_MAX] = {0};
    char *all = h->bytes <= sizeof small ? small : malloc(h->bytes);
    if (!all) return "no memory for a message that arrived";
    uno_link_read(link, all, h->bytes);
    const char *wrong = link->torn ? NULL : row->deliver(link, h, all);
    if (all != small) free(all);
    return wrong;
}

const char *uno_kind_deliver(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    const struct uno_kind *row = row_of(h->kind);
    if (!row) return "a message of an unknown kind arrived";
    if (h->bytes < row->least || h->bytes > row->most) return "a message of a wrong length arrived";
    if (!row->whole) return row->deliver(link, h, payload);
    return payload || h->bytes == 0 ? row->deliver(link, h, payload) : deliver_gathered(row, link, h);
}
