// SPDX-License-Identifier: BSD-3-Clause
// Counts what is kept for each sender and tells it to hold back or to go on (peer.h). Called by delivery, and by the
// queues of a communicator that goes (core/comm.c). Memory goes back to the system when many were kept.
// Always holds: a sender that was told to hold is told to go on once it may; nothing waits here.
#include <stdlib.h>

#include "base/fail.h"
#include "base/free.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "core/comm.h"
#include "core/world.h"
#include "p2p/kind.h"
#include "p2p/peer.h"

static struct uno_param unexpected_max = UNO_PARAM_INT(
    "unexpected_max", 16 << 20, 4096, INT64_MAX,
    "bytes of messages from one sender, 128 added for each, that wait here for their receives; above, the "
    "sender keeps its messages until these are received");
UNO_PARAM_DECLARE(unexpected_max);

static _Atomic uint64_t holds;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("hold_requests", &holds, "times a sender of too many unexpected messages was told to hold back"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

#define BOOKKEEPING sizeof(struct uno_unexp)    // of a kept message
#define TRIM_FROM ((size_t)4 << 20)             // bytes kept at once, after which memory is given back to the system
#define TRIM_NS UINT64_C(100000000)             // between two times that it is

enum { GO, HOLD };    // in header.tag

static size_t kept, most_kept;    // of all senders; since memory was last given back

static void tell_sender(struct uno_peer *p, int what)
{
    p->holds = what == HOLD;
    uno_count_add(&holds, what == HOLD);
    struct uno_msg m = {.kind = UNO_FLOW, .tag = what};
    if (uno_peer_tell(p, &m, NULL)) uno_log(1, "rank %d could not be told to %s", p->proc, what ? "hold" : "go on");
}

void uno_flow_keep(int proc, size_t bytes)
{
    bytes += BOOKKEEPING;
    struct uno_peer *p = proc == uno_world.rank ? NULL : uno_peer_of(proc);
    kept += bytes;
    if (kept > most_kept) most_kept = kept;
    if (!p) return;
    p->kept += bytes;
    if (p->kept > (size_t)unexpected_max.num && !p->holds) tell_sender(p, HOLD);
}

// At most every TRIM_NS: a program that keeps much again and again would spend its time on pages.
static void give_back(void)
{
    static uint64_t last;
    uint64_t now = uno_now_ns();
    if (now - last < TRIM_NS) return;
    uno_unexp_trim();
    uno_memory_trim();
    last = now;
    most_kept = kept;
}

void uno_flow_release(int proc, size_t bytes)
{
    bytes += BOOKKEEPING;
    struct uno_peer *p = proc == uno_world.rank ? NULL : uno_peer_known(proc);
    kept -= bytes;
    if (most_kept >= TRIM_FROM && kept <= most_kept / 8) give_back();
    if (!p) return;
    p->kept -= bytes < p->kept ? bytes : p->kept;    // the peer may be younger than the message
    if (p->holds && p->kept <= (size_t)unexpected_max.num / 2) tell_sender(p, GO);
}

void uno_unexp_free(struct uno_unexp *u)
{
    if (!u->announced || u->bytes > sizeof(struct uno_rts)) uno_flow_release((int)u->proc, u->bytes);
    uno_unexp_give(u);
}

static const char *deliver_flow(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_peer *p = uno_peer_of(link->proc);
    (void)payload;
    if (!p) return "no memory for a peer";
    if (h->tag != GO && h->tag != HOLD) return "a message that says neither hold nor go on arrived";
    p->eager_max = h->tag == HOLD ? -1 : (int64_t)p->link->eager_max;
    p->packed_max = h->tag == HOLD ? -1 : (int64_t)p->link->data_max;
    return NULL;
}

void uno_link_eager(struct uno_link *link, uint32_t most)
{
    struct uno_peer *p = uno_peer_known(link->proc);
    link->eager_max = most;
    if (p && p->link == link && p->eager_max >= 0) p->eager_max = most;
}

static const struct uno_kind flow_kind = {
    .number = UNO_FLOW, .name = "flow", .least = 0, .most = 0, .whole = true, .deliver = deliver_flow};
UNO_KIND_DECLARE(flow_kind);
