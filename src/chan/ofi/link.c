// SPDX-License-Identifier: BSD-3-Clause
// Links: how a peer is reached (its card, the lanes to it), a new life of it, and its end. Called by ofi.c, send.c and
// receive.c.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/wait.h"
#include "chan/ofi/ofi.h"

#define GRACE (3000000000ULL)    // ns for mpiexec to say that a rank is dead before its silence is taken for that

struct ofi_link *ofi_link_of(int proc)
{
    struct ofi_link **at = &uno_ofi_state.link[proc];
    if (*at) return *at;
    struct ofi_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->base = (struct uno_link){
        .chan = &uno_ofi, .ops = uno_ofi.ops, .proc = proc, .eager_max = OFI_DATA_MAX, .data_max = OFI_DATA_MAX};
    for (uint32_t i = 0; i < OFI_PORTS; i++)
        for (int k = 0; k < OFI_AHEAD; k++)
            l->lane[i].write[k] = (struct ofi_write){.op.writes = true, .link = l, .lane = i};
    l->next = uno_ofi_state.first;
    uno_ofi_state.first = l;
    return *at = l;
}

void ofi_begin_anew(struct ofi_link *l, uint32_t life)
{
    l->peer_life = life;
    l->seq = l->acked = l->got = l->untold = 0;
    l->reached = l->bye = l->gone = l->tell = false;
    ofi_drop_unsent(l);    // meant for the life that has ended
}

void ofi_part(struct ofi_link *l)
{
    ofi_begin_anew(l, l->peer_life);
    l->bye = l->gone = true;
}

void ofi_fail(struct ofi_link *l, const char *why, bool soon)
{
    if (l->due || l->lost) return;
    if (l->bye && !soon) {
        ofi_part(l);    // it had said all that it had to say
        return;
    }
    l->why = why;
    l->due = soon ? 1 : uno_now_ns() + GRACE;
    ofi_try_again();
}

void ofi_give_up(struct ofi_link *l)
{
    if (l->lost) return;
    ofi_drop_unsent(l);
    l->lost = true;
    l->due = 0;
    uno_ofi_state.flying -= l->flying + l->writing;
    uno_ofi_state.made -= l->flying;    // when these come back is the provider's business
}

// Which of the ports of one fabric port `of` is.
static uint32_t turn_of(const struct ofi_card *c, uint32_t of)
{
    uint32_t turn = 0;
    for (uint32_t i = 0; i < of; i++) turn += c->port[i].fabric == c->port[of].fabric;
    return turn;
}

static uint32_t find_turn(const struct ofi_card *c, uint64_t fabric, uint32_t turn)
{
    uint32_t k = 0;
    while (k < c->ports && (c->port[k].fabric != fabric || turn-- > 0)) k++;
    return k;
}

// A lane from each port of ours to its partner: of ports of the same fabric the first has the first one, and so on.
// Hosts without a common fabric may reach each other all the same: by their first ports.
static bool make_lanes(struct ofi_link *l, struct ofi_card *card)
{
    const struct ofi_chan *s = &uno_ofi_state;
    uint32_t far[OFI_PORTS] = {0}, common = 0;
    for (uint32_t i = 0; i < s->ports; i++) {
        far[i] = find_turn(card, s->card.port[i].fabric, turn_of(&s->card, i));
        common += far[i] < card->ports;
    }
    if (!common) far[0] = 0;
    l->lanes = 0;
    for (uint32_t i = 0; i < s->ports; i++) {
        struct ofi_lane *lane = &l->lane[l->lanes];
        if (far[i] >= card->ports || (!common && i > 0)) continue;
        lane->port = i;
        lane->far = far[i];
        lane->broken = false;
        if (fi_av_insert(s->port[i].av, card->port[far[i]].name, 1, &lane->addr, 0, NULL) == 1) l->lanes++;
    }
    return l->lanes > 0;
}

bool ofi_reach(struct ofi_link *l)
{
    struct ofi_card card;
    const char *why = NULL;
    struct ofi_chan *s = &uno_ofi_state;
    if (l->reached) return true;
    int err = ofi_find_card(l, &card, &why);
    if (err) {
        ofi_try_again();
        if (err != UNO_FULL) ofi_fail(l, why, true);
        return false;
    }
    if (strcmp(card.provider, s->card.provider) != 0) {
        uno_log(0, "channel ofi: rank %d uses the provider %s, this rank %s (parameter ofi_provider)", l->base.proc,
                card.provider, s->card.provider);
        ofi_fail(l, "it uses another provider of libfabric", true);
        return false;
    }
    if (!make_lanes(l, &card)) {
        ofi_fail(l, "libfabric does not take its address", true);
        return false;
    }
    if (card.life != l->peer_life) ofi_begin_anew(l, card.life);
    l->reached = true;
    uno_log(2, "rank %d is reached by libfabric's provider %s%s", l->base.proc, s->card.provider,
            l->lanes > 1 ? ", in several ways" : "");
    return true;
}
