// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way out. Each is built in memory of ours, which the provider has until it reports its completion.
// Called by p2p through the contract (ofi_send), by receive.c (completions) and by ofi.c (what is tried again).
#include <mpi.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/invariant.h"
#include "base/wait.h"
#include "chan/door.h"
#include "chan/ofi/ofi.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/traffic.h"

#define SLAB 32         // buffers made at once
#define MADE_MAX 512    // and in all

static struct ofi_buf *take_buffer(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    if (!s->idle && s->made < MADE_MAX) {
        s->idle = ofi_buffers(SLAB);
        if (s->idle) s->made += SLAB;
    }
    struct ofi_buf *b = s->idle;
    if (b) s->idle = b->next;
    return b;
}

static void give_buffer(struct ofi_buf *b)
{
    if (b->link->lost) uno_ofi_state.made++;    // it counts again
    b->link = NULL;
    b->next = uno_ofi_state.idle;
    uno_ofi_state.idle = b;
}

// A provider without a descriptor cannot wake who sleeps.
void ofi_wake(const struct ofi_link *l)
{
    if (uno_ofi_state.mute && uno_local_of(l->base.proc) >= 0) uno_door_ring(uno_proc_door(l->base.proc));
}

// Whether the provider has taken it.
static bool post(struct ofi_link *l, struct ofi_buf *b)
{
    const struct ofi_lane *by = &l->lane[0];
    struct fid_ep *ep = uno_ofi_state.port[by->port].ep;
    int e = (int)fi_send(ep, b->frame, b->bytes, ofi_desc(b, by->port), by->addr, &b->op.context);
    ofi_wake(l);    // also where it has to do its part before more is taken
    if (e) ofi_try_again();
    if (e && e != -FI_EAGAIN) ofi_fail(l, ofi_library.strerror(-e), false);
    if (e) return false;
    l->flying++;
    uno_ofi_state.flying++;
    uno_ofi_state.last_use = uno_ticks();
    ofi_stir();
    return true;
}

void ofi_flush(struct ofi_link *l)
{
    while (l->unsent && !l->due) {
        struct ofi_buf *b = l->unsent, *next = b->next;
        if (!post(l, b)) return;
        l->unsent = next;
    }
}

void ofi_drop_unsent(struct ofi_link *l)
{
    for (struct ofi_buf *b = l->unsent, *next; b; b = next) {
        next = b->next;
        give_buffer(b);
    }
    l->unsent = NULL;
}

// A frame that is complete. A provider that is still making its connection takes none, and others wait behind those.
static void launch(struct ofi_link *l, struct ofi_buf *b)
{
    if (uno_ofi_state.checks) b->frame->crc = ofi_crc(b->frame, b->bytes);
    b->next = NULL;
    if (l->unsent)
        l->unsent_last->next = b;
    else
        l->unsent = b;
    l->unsent_last = b;
    ofi_flush(l);
}

void ofi_sent(struct ofi_buf *b, const char *why)
{
    struct ofi_link *l = b->link;
    uno_assert(l && l->flying > 0);
    l->flying--;
    if (!l->lost) uno_ofi_state.flying--;
    bool present = l->reached && b->frame->to_life == l->peer_life;
    if (why && present) ofi_fail(l, why, false);
    give_buffer(b);
}

uint32_t ofi_crc(struct ofi_frame *f, uint32_t bytes)
{
    uint32_t sent = f->crc;
    f->crc = 0;
    uint32_t crc = uno_crc32c(0, f, bytes);
    f->crc = sent;
    return crc ? crc : 1;
}

// A buffer with its header; NULL: not now.
static struct ofi_buf *begin_frame(struct ofi_link *l, enum ofi_sort sort, const struct uno_hdr *h)
{
    if (l->due || !ofi_reach(l)) return NULL;
    struct ofi_buf *b = take_buffer();
    if (!b) {
        ofi_try_again();
        return NULL;
    }
    b->link = l;
    b->bytes = (uint32_t)sizeof *b->frame + h->bytes;
    *b->frame = (struct ofi_frame){.job = uno_chan_self.job->job_id,
                                   .from = (uint32_t)uno_chan_self.proc,
                                   .life = uno_ofi_state.life,
                                   .to_life = l->peer_life,
                                   .seq = sort == OFI_ACK ? 0 : ++l->seq,
                                   .ack = l->got,
                                   .h = *h};
    b->frame->h.chan = (uint8_t)sort;
    l->untold = 0;
    l->tell = false;
    return b;
}

bool ofi_put(struct ofi_link *l, enum ofi_sort sort, const void *data, uint32_t bytes)
{
    bool counts = sort == OFI_PULL || sort == OFI_LANDED;
    if (counts && l->seq - l->acked >= OFI_WINDOW) return false;
    struct ofi_buf *b = begin_frame(l, sort, &(struct uno_hdr){.bytes = bytes});
    if (!b) return false;
    if (bytes) memcpy(b->frame + 1, data, bytes);
    launch(l, b);
    return true;
}

int ofi_send(struct uno_link *link, const struct uno_msg *m)
{
    struct ofi_link *l = ofi_of(link);
    if (__builtin_expect(l->lost, 0))
        return uno_fail(UNO_ERR_PROC_FAILED, "rank %d cannot be reached: the connection to it was lost", link->proc);
    if (__builtin_expect(l->bye && !l->gone, 0)) {
        if (l->tell && !ofi_put(l, OFI_ACK, NULL, 0)) return UNO_FULL;
        ofi_part(l);
    }
    if (l->seq - l->acked >= OFI_WINDOW) return UNO_FULL;
    struct uno_hdr h = {.kind = m->kind, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    struct ofi_buf *b = begin_frame(l, OFI_MESSAGE, &h);
    if (!b) return UNO_FULL;
    if (m->kind == UNO_EAGER) UNO_TRAFFIC_COUNT(&uno_ofi.sent[UNO_BY_EAGER], m->bytes);
    char *payload = (char *)(b->frame + 1);
    if (m->packer && m->bytes > 0)
        uno_pack(m->packer, payload, m->bytes);
    else if (m->bytes > 0)
        memcpy(payload, m->data, m->bytes);
    launch(l, b);
    return MPI_SUCCESS;
}
