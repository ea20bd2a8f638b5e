// SPDX-License-Identifier: BSD-3-Clause
// Memory that is open to the other ranks for as long as a window is there (chan/access.h): registered in all domains,
// with a key that all know. What reads and writes it from elsewhere: write.c. Called by src/rma.
#include <stdlib.h>

#include "chan/ofi/ofi.h"

struct opened {
    struct fid_mr *mr[OFI_PORTS];
};

static void shut(void *opened)
{
    struct opened *o = opened;
    for (uint32_t i = 0; i < OFI_PORTS; i++)
        if (o->mr[i]) fi_close(&o->mr[i]->fid);
    free(o);
}

// In each domain that takes it: those without it are not written by.
static void *open_memory(void *base, size_t bytes, struct uno_access_card *card)
{
    struct ofi_chan *s = &uno_ofi_state;
    struct opened *o = bytes > 0 ? calloc(1, sizeof *o) : NULL;
    for (uint32_t i = 0; i < s->ports && o; i++) {
        const struct fi_domain_attr *domain = s->port[i].info->domain_attr;
        o->mr[i] = ofi_register(&s->port[i], base, bytes, FI_REMOTE_WRITE | FI_REMOTE_READ);
        if (!o->mr[i]) continue;
        card->ways |= 1U << i;
        card->at[i].addr = domain->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
        card->at[i].key = fi_mr_key(o->mr[i]);
    }
    return o;
}

static const struct uno_access_ops ops = {
    .chan = &uno_ofi, .open = open_memory, .shut = shut, .takes = ofi_access_takes, .start = ofi_access_start};

void ofi_windows_ready(void)
{
    if (uno_ofi_state.windows) uno_access = &ops;
}

_Static_assert(UNO_ACCESS_WAYS == OFI_PORTS, "a card has room for all ports");
