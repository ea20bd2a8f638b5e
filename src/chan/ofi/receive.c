// SPDX-License-Identifier: BSD-3-Clause
// The completion queue, and frames that arrive: every field is checked before it is used, then the message is delivered
// out of the buffer, which goes back to the provider. Called by ofi.c (poll).
#include <mpi.h>

#include "base/fail.h"
#include "base/wait.h"
#include "chan/ofi/ofi.h"
#include "chan/self.h"

#define EVENTS 16
#define ROUNDS 16                // of so many completions, before others have their turn
#define POSTED 64                // buffers that wait for frames
#define TELL (OFI_WINDOW / 4)    // frames after which an acknowledgement goes by itself

static void post(struct ofi_buf *b)
{
    struct ofi_chan *s = &uno_ofi_state;
    struct fid_ep *ep = s->port[b->port].ep;
    if (fi_recv(ep, b->frame, OFI_FRAME, ofi_desc(b, b->port), FI_ADDR_UNSPEC, &b->op.context) == 0) return;
    b->next = s->unposted;
    s->unposted = b;
    ofi_try_again();
}

static void post_chain(struct ofi_buf *b, uint32_t port)
{
    for (struct ofi_buf *next; b; b = next) {
        next = b->next;
        b->port = port;
        post(b);
    }
}

int ofi_post_all(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    for (uint32_t i = 0; i < s->ports; i++) {
        size_t most = s->port[i].info->rx_attr->size;
        struct ofi_buf *all = ofi_buffers(most && most < POSTED ? (uint32_t)most : POSTED);
        if (!all) return uno_fail(MPI_ERR_NO_MEM, "no memory that libfabric can receive into");
        post_chain(all, i);
    }
    return MPI_SUCCESS;
}

void ofi_post_again(void)
{
    struct ofi_buf *b = uno_ofi_state.unposted;
    uno_ofi_state.unposted = NULL;
    for (struct ofi_buf *next; b; b = next) {
        next = b->next;
        post(b);
    }
}

// Said once; what it sent is dropped.
static void drop_stranger(const char *why)
{
    if (!uno_ofi_state.stranger_told)
        uno_log(1, "channel ofi: dropped a message: %s (further ones are not reported)", why);
    uno_ofi_state.stranger_told = true;
}

// Whose frame it is. NULL: it is dropped.
static struct ofi_link *sender_of(struct ofi_frame *f, size_t bytes)
{
    if (bytes < sizeof *f || f->job != uno_chan_self.job->job_id || f->from >= (uint32_t)uno_chan_self.nprocs) {
        drop_stranger("it comes from no rank of this job");
        return NULL;
    }
    if (f->crc && f->crc != ofi_crc(f, (uint32_t)bytes)) {
        drop_stranger("it was damaged on its way (CRC32C)");
        return NULL;
    }
    if (f->to_life != uno_ofi_state.life) return NULL;    // meant for what was here before
    struct ofi_link *l = ofi_link_of((int)f->from);
    return l && !l->lost ? l : NULL;
}

// Of the payload of our own frames.
static const size_t own_bytes[OFI_SORT_END] = {
    [OFI_PULL] = sizeof(struct ofi_pull), [OFI_LANDED] = sizeof(struct ofi_landed)};

// NULL: it is the next one, and makes sense.
static const char *check_frame(const struct ofi_link *l, const struct ofi_frame *f, size_t bytes)
{
    bool numbered = f->h.chan != OFI_ACK;
    if (f->h.chan >= OFI_SORT_END) return "a frame of an unknown kind arrived";
    if (f->life != l->peer_life || (l->bye && numbered)) return "a frame came from a life that had ended";
    if (f->h.bytes != bytes - sizeof *f) return "a frame has the wrong length";
    if (f->h.chan != OFI_MESSAGE && f->h.bytes != own_bytes[f->h.chan]) return "a frame of the wrong length arrived";
    if (numbered && f->seq != l->got + 1) return "a frame is missing";
    if (f->ack - l->acked > l->seq - l->acked) return "a frame acknowledges what was not sent";
    return NULL;
}

// NULL, or what is wrong with it.
static const char *take_frame(struct ofi_link *l, const struct ofi_frame *f)
{
    const void *payload = f + 1;
    l->acked = f->ack;
    if (f->h.chan != OFI_ACK) {
        l->got = f->seq;
        l->tell |= ++l->untold >= TELL;
    }
    if (f->h.chan == OFI_END) l->bye = l->tell = true;
    if (l->tell) ofi_try_again();
    switch (f->h.chan) {
    case OFI_MESSAGE: return uno_deliver(&l->base, &f->h, payload);
    case OFI_PULL: return ofi_pulled(l, payload);
    case OFI_LANDED: return ofi_landed(l, payload);
    default: return NULL;
    }
}

static void arrived(struct ofi_frame *f, size_t bytes)
{
    struct ofi_link *l = sender_of(f, bytes);
    if (!l) return;
    if (f->life != l->peer_life && (l->peer_life == 0 || l->bye)) ofi_begin_anew(l, f->life);
    if (l->gone) return;    // the last acknowledgements of a life that has ended
    const char *why = check_frame(l, f, bytes);
    if (!why) why = take_frame(l, f);
    if (why) ofi_fail(l, why, true);
}

static void take_error(struct fid_cq *cq)
{
    struct fi_cq_err_entry e = {.err_data_size = 0};
    if (fi_cq_readerr(cq, &e, 0) != 1 || !e.op_context) return;
    struct ofi_op *op = e.op_context;
    const char *why = ofi_library.strerror(e.err);
    if (op->writes) {
        ofi_written((struct ofi_write *)(void *)op, why);
        return;
    }
    struct ofi_buf *b = e.op_context;
    if (b->link) {
        ofi_sent(b, why);
        return;
    }
    if (e.err == FI_ECANCELED) return;    // the endpoint closes
    if (e.err == FI_ETRUNC) drop_stranger("it is longer than any of ours");
    uno_log(2, "channel ofi: a receive failed: %s", why);
    post(b);
}

static void take_completion(struct fi_cq_msg_entry *e)
{
    struct ofi_op *op = e->op_context;
    if (op->writes) {
        ofi_written((struct ofi_write *)(void *)op, NULL);
        return;
    }
    struct ofi_buf *b = e->op_context;
    if (b->link) {
        ofi_sent(b, NULL);
        return;
    }
    arrived(b->frame, e->len);
    post(b);
}

static int drain_queue(struct fid_cq *cq)
{
    struct fi_cq_msg_entry e[EVENTS];
    int count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        ssize_t n = fi_cq_read(cq, e, EVENTS);
        if (n == -FI_EAVAIL)
            take_error(cq), n = 1;
        else
            for (ssize_t i = 0; i < n; i++) take_completion(&e[i]);
        if (n <= 0) break;
        count += (int)n;
    }
    return count;
}

int ofi_drain(void)
{
    struct ofi_chan *s = &uno_ofi_state;
    int count = 0;
    s->busy = true;
    for (uint32_t i = 0; i < s->ports; i++) count += drain_queue(s->port[i].cq);
    s->busy = false;
    if (count) s->last_use = uno_ticks();
    return count;
}
