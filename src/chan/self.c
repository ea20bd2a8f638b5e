// SPDX-License-Identifier: BSD-3-Clause
// The channel of a process to itself: sending is delivering. It is the smallest channel, and the template for a new
// one.
#include "chan/self.h"

#include <mpi.h>
#include <string.h>

#include "base/component.h"
#include "base/fail.h"
#include "chan/chan.h"
#include "chan/traffic.h"

#define EAGER_MAX (256 * 1024)
#define SCRATCH 4096

struct uno_chan_self uno_chan_self;
extern struct uno_chan uno_self;

static const struct uno_pvar sent[] = UNO_TRAFFIC_PVARS("self", uno_self.sent);
UNO_PVARS_DECLARE(sent);

static struct uno_link link_to_self;
static const struct uno_msg *arriving;    // the message inside uno_deliver, for look; sends nest
static size_t arrived;
static char scratch[SCRATCH];     // packed bytes, until the next look
static const void *memory[64];    // of the offers that stand
static uint64_t offered;          // which those are

static int self_open(struct uno_chan *self)
{
    link_to_self = (struct uno_link){
        .chan = self, .ops = self->ops, .proc = uno_chan_self.proc, .eager_max = EAGER_MAX, .data_max = EAGER_MAX};
    return MPI_SUCCESS;
}

static int self_connect(struct uno_chan *self, int proc, struct uno_link **link)
{
    (void)self;
    if (proc != uno_chan_self.proc) return UNO_DECLINED;
    *link = &link_to_self;
    return MPI_SUCCESS;
}

static int self_send(struct uno_link *link, const struct uno_msg *m)
{
    struct uno_hdr h = {.kind = m->kind, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    if (m->kind == UNO_EAGER) UNO_TRAFFIC_COUNT(&uno_self.sent[UNO_BY_EAGER], m->bytes);
    const struct uno_msg *outer = arriving;
    size_t outer_arrived = arrived;
    arriving = m;
    arrived = 0;
    const char *wrong = uno_deliver(link, &h, m->packer ? NULL : m->data);
    arriving = outer;
    arrived = outer_arrived;
    return wrong ? uno_fail(MPI_ERR_INTERN, "a message to the own rank: %s", wrong) : MPI_SUCCESS;
}

static size_t self_look(struct uno_link *link, size_t n, const void **at)
{
    (void)link;
    if (arriving->packer) {
        *at = scratch;
        return uno_pack(arriving->packer, scratch, n < SCRATCH ? n : SCRATCH);
    }
    *at = (const char *)arriving->data + arrived;
    arrived += n;
    return n;
}

static int self_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    (void)link;
    if (mem->runs > 1) return UNO_DECLINED;
    if (offered == UINT64_MAX) return UNO_DECLINED;
    rts->desc = (uint32_t)__builtin_ctzll(~offered);
    rts->direct = 1;
    offered |= 1ULL << rts->desc;
    memory[rts->desc] = mem->run->at;
    return MPI_SUCCESS;
}

static int self_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token)
{
    (void)link;
    if (mem->runs > 1) return UNO_DECLINED;
    size_t room = mem->run->end;
    size_t n = rts->bytes < room ? rts->bytes : room;
    if (n) memmove(mem->run->at, memory[rts->desc], n);
    offered &= ~(1ULL << rts->desc);
    uno_direct_done(rts->token, n, 0);
    uno_direct_done(token, n, 0);
    return MPI_SUCCESS;
}

static bool self_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    (void)link;
    offered &= ~(1ULL << rts->desc);
    return true;
}

static bool self_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    (void)link;
    memory[rts->desc] = copy;
    return true;
}

static int self_poll(struct uno_chan *self, int budget)
{
    (void)self;
    (void)budget;
    return 0;
}

static int self_poll_link(struct uno_link *link)
{
    (void)link;
    return 0;
}

static void self_lose(struct uno_link *link, int err)
{
    (void)link;
    (void)err;    // a process does not outlive itself
}

static int self_wait_fd(struct uno_chan *self)
{
    (void)self;
    return -1;
}

static void self_leave(struct uno_link *link)
{
    (void)link;
}

static void self_close(struct uno_chan *self)
{
    (void)self;
}

static const struct uno_chan_ops self_ops = {
    .open = self_open,
    .connect = self_connect,
    .send = self_send,
    .poll = self_poll,
    .poll_link = self_poll_link,
    .look = self_look,
    .offer = self_offer,
    .accept = self_accept,
    .withdraw = self_withdraw,
    .replace = self_replace,
    .lose = self_lose,
    .wait_fd = self_wait_fd,
    .leave = self_leave,
    .close = self_close,
};

static const struct uno_component self_component = {
    UNO_COMPONENT_IS_CHANNEL, .name = "self",        .version = UNO_VERSION, .about = "a process to itself",
    .priority = 100,          .can = UNO_CAN_ALWAYS, .table = &self_ops};
UNO_COMPONENT_DECLARE(self_component);

struct uno_chan uno_self = {.ops = &self_ops, .is = &self_component};
