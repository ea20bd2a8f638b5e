// SPDX-License-Identifier: BSD-3-Clause
// Large messages straight into the receiver's memory, the receiver's part (write.c: the sender's). A landing is the
// memory of a receive, registered in the domains of all lanes for as long as the sender may write into it; the PULL
// tells the sender where it is. Called by p2p (accept), receive.c and ofi.c.
#include <mpi.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "chan/ofi/ofi.h"
#include "chan/table.h"

struct ofi_landing {
    struct ofi_link *link;
    struct ofi_landing *next;    // in the link's pulls
    uint32_t index, offer;
    uint64_t name;    // index, and above it what tells it from others with the same
    char *dst;
    size_t bytes;
    uint64_t token;
    struct fid_mr *mr[OFI_PORTS];
    bool asked;    // the sender knows of it
};

static struct uno_table landings;

static void shut_memory(struct ofi_landing *d)
{
    for (uint32_t i = 0; i < OFI_PORTS; i++) {
        if (d->mr[i]) fi_close(&d->mr[i]->fid);
        d->mr[i] = NULL;
    }
}

static void unlink_pull(struct ofi_landing *d)
{
    struct ofi_landing **at = &d->link->pulls;
    while (*at && *at != d) at = &(*at)->next;
    if (*at) *at = d->next;
}

static void forget_landing(struct ofi_landing *d)
{
    uno_assert(d->link->direct > 0 && uno_table_find(&landings, d->index) == d);
    d->link->direct--;
    unlink_pull(d);
    shut_memory(d);
    uno_table_leave(&landings, d->index);
    free(d);
}

static void end_landing(struct ofi_landing *d, int err)
{
    uint64_t token = d->token;
    size_t bytes = err ? 0 : d->bytes;
    forget_landing(d);
    uno_direct_done(token, bytes, err);
}

// In the first lane's domain for certain, in the others where they can.
static bool open_memory(struct ofi_landing *d)
{
    struct ofi_link *l = d->link;
    for (uint32_t i = 0; i < l->lanes && d->bytes > 0; i++) {
        uint32_t p = l->lane[i].port;
        d->mr[p] = ofi_register(&uno_ofi_state.port[p], d->dst, d->bytes, FI_REMOTE_WRITE);
        if (i == 0 && !d->mr[p]) return false;
    }
    return true;
}

static bool ask(struct ofi_landing *d)
{
    struct ofi_pull pull = {.landing = d->name, .bytes = d->bytes, .offer = d->offer};
    for (uint32_t i = 0; i < uno_ofi_state.ports; i++) {
        bool by_address = uno_ofi_state.port[i].info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
        if (!d->mr[i]) continue;
        pull.ports |= 1U << i;
        pull.at[i].addr = by_address ? (uintptr_t)d->dst : 0;
        pull.at[i].key = fi_mr_key(d->mr[i]);
    }
    return ofi_put(d->link, OFI_PULL, &pull, sizeof pull);
}

bool ofi_pull_all(struct ofi_link *l)
{
    while (l->pulls) {
        struct ofi_landing *d = l->pulls;
        if (!ask(d)) return true;
        l->pulls = d->next;
        d->asked = true;
        if (d->bytes == 0) end_landing(d, MPI_SUCCESS);
    }
    return false;
}

int ofi_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token)
{
    struct ofi_link *l = ofi_of(link);
    uint32_t index;
    if (!uno_ofi_state.remote || mem->runs > 1 || l->lost || !ofi_reach(l)) return UNO_DECLINED;
    struct ofi_landing *d = uno_table_enter(&landings, sizeof *d, &index);
    if (!d) return UNO_DECLINED;
    size_t room = mem->run->end;
    *d = (struct ofi_landing){.link = l, .index = index, .offer = rts->desc, .dst = mem->run->at, .token = token};
    d->name = (uint64_t)landings.born << 32 | index;
    d->bytes = rts->bytes < room ? rts->bytes : room;
    l->direct++;
    if (!open_memory(d)) {
        forget_landing(d);
        return UNO_DECLINED;
    }
    struct ofi_landing **at = &l->pulls;
    while (*at) at = &(*at)->next;
    *at = d;
    if (ofi_pull_all(l)) ofi_try_again();
    return MPI_SUCCESS;
}

const char *ofi_landed(struct ofi_link *l, const struct ofi_landed *e)
{
    struct ofi_landing *d = uno_table_find(&landings, (uint32_t)e->landing);
    if (!d || d->link != l || d->name != e->landing || !d->asked) return "the end of no transfer arrived";
    shut_memory(d);
    if (e->crc && !e->err) {
        uint32_t crc = uno_crc32c(0, d->dst, d->bytes);
        if (e->crc != (crc ? crc : 1)) return "a large message was damaged on its way (CRC32C)";
    }
    end_landing(d, e->err ? MPI_ERR_OTHER : MPI_SUCCESS);
    return NULL;
}

void ofi_end_landings(struct ofi_link *l, int err, bool all)
{
    for (uint32_t i = 0; i < landings.room; i++) {
        struct ofi_landing *d = landings.at[i];
        if (!d || d->link != l) continue;
        shut_memory(d);
        if (all || !d->asked) end_landing(d, err);
    }
}

void ofi_landings_close(void)
{
    for (uint32_t i = 0; i < landings.room; i++)
        if (landings.at[i]) forget_landing(landings.at[i]);
    uno_table_empty(&landings);
}
