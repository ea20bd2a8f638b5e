// SPDX-License-Identifier: BSD-3-Clause
// Where this rank and other ranks are reached by libfabric. Ranks of the host find it in a chunk of the job segment
// that the board names, ranks of other hosts ask the process manager. Called when the channel opens and before the
// first frame to a rank.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/pm.h"
#include "chan/ofi/ofi.h"
#include "chan/self.h"

#define KEY "ofi"    // of the card, with the launcher

static int64_t chunk = -1;    // of the job segment, ours

static int tell_host(const struct ofi_card *card)
{
    uint32_t at = OFI_NO_CARD;
    if (card->life) {
        chunk = uno_job_take(uno_chan_self.job, 1);
        if (chunk < 0) return uno_fail(MPI_ERR_NO_MEM, "no room in the job segment for a libfabric address");
        memcpy(uno_job_chunk(uno_chan_self.job, (size_t)chunk), card, sizeof *card);
        at = (uint32_t)chunk + 1;
    }
    // Release: pairs with the acquire in find_here; the card is written before.
    atomic_store_explicit(&uno_chan_self.board->fabric, at, memory_order_release);
    return MPI_SUCCESS;
}

// FNV-1a: ports of one fabric are paired by this number.
static uint64_t number_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3;
    return h;
}

static int fill_card(struct ofi_card *card, uint32_t life)
{
    struct ofi_chan *s = &uno_ofi_state;
    *card = (struct ofi_card){
        .life = life, .ports = s->ports, .machine = uno_machine_kind(), .alike = uno_machine_is_alike()};
    snprintf(card->provider, sizeof card->provider, "%s", s->port[0].info->fabric_attr->prov_name);
    for (uint32_t i = 0; i < s->ports; i++) {
        size_t bytes = sizeof card->port[i].name;
        int e = fi_getname(&s->port[i].ep->fid, card->port[i].name, &bytes);
        if (e) return uno_fail(MPI_ERR_OTHER, "libfabric does not tell its address: %s", ofi_library.strerror(-e));
        card->port[i].bytes = bytes;
        card->port[i].fabric = number_of(s->port[i].info->fabric_attr->name);
    }
    return MPI_SUCCESS;
}

static size_t card_bytes(uint32_t ports)
{
    return offsetof(struct ofi_card, port) + ports * sizeof((struct ofi_card *)0)->port[0];
}

int ofi_publish(uint32_t life)
{
    struct ofi_card *card = &uno_ofi_state.card;
    int err = MPI_SUCCESS;
    *card = (struct ofi_card){.life = 0};
    if (life) err = fill_card(card, life);
    if (!err) err = tell_host(card);
    if (err || uno_chan_self.job->nhosts < 2) return err;
    int e = uno_pm_put(KEY, card, card_bytes(card->ports));
    return e ? uno_fail(MPI_ERR_OTHER, "tell the launcher how this rank is reached: %s", strerror(e)) : MPI_SUCCESS;
}

void ofi_unpublish(void)
{
    if (chunk < 0) return;
    // Release: pairs with the acquire in find_here. Who has read it still finds an old card, or zeros.
    atomic_store_explicit(&uno_chan_self.board->fabric, 0, memory_order_release);
    uno_job_give(uno_chan_self.job, (size_t)chunk, 1);
    chunk = -1;
}

static int find_here(int local, struct ofi_card *card)
{
    struct uno_board *b = uno_job_board(uno_chan_self.job, (uint32_t)local);
    // Acquire: pairs with the release in tell_host.
    uint32_t at = atomic_load_explicit(&b->fabric, memory_order_acquire);
    if (at == OFI_NO_CARD) return MPI_SUCCESS;
    if (at == 0 || at > UNO_HEAP_CHUNKS) return UNO_FULL;
    memcpy(card, uno_job_chunk(uno_chan_self.job, at - 1), sizeof *card);
    return card->life ? MPI_SUCCESS : UNO_FULL;
}

// Waits until that rank has opened its channels, which it does when it initialises MPI.
static int ask_launcher(int proc, struct ofi_card *card, const char **why)
{
    size_t bytes = sizeof *card;
    int e = uno_pm_get(proc, KEY, card, &bytes);
    if (!e && bytes <= sizeof *card && card->ports <= OFI_PORTS && bytes == card_bytes(card->ports)) return MPI_SUCCESS;
    *why = e ? strerror(e) : "the launcher gives a libfabric address of another version";
    return MPI_ERR_OTHER;
}

int ofi_find_card(const struct ofi_link *l, struct ofi_card *card, const char **why)
{
    *card = (struct ofi_card){.life = 0};
    int local = uno_local_of(l->base.proc);
    int err = local >= 0 ? find_here(local, card) : ask_launcher(l->base.proc, card, why);
    if (err) return err;
    bool left = l->gone && card->life == l->peer_life;
    if (left && local >= 0) return UNO_FULL;
    if (left) *why = "it left MPI, and where it is reached since then is not known";
    if (card->life == 0) *why = "it has no channel ofi (its own line says why)";
    if (card->life == 0 || left) return MPI_ERR_OTHER;
    *why = uno_machine_meet(card->machine, card->alike);
    if (*why) return MPI_ERR_OTHER;
    card->provider[sizeof card->provider - 1] = '\0';
    bool good = card->ports > 0 && card->ports <= OFI_PORTS;
    for (uint32_t i = 0; good && i < card->ports; i++) good = card->port[i].bytes <= OFI_NAME;
    if (good) return MPI_SUCCESS;
    *why = "its libfabric address makes no sense";
    return MPI_ERR_OTHER;
}
