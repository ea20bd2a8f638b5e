// SPDX-License-Identifier: BSD-3-Clause
// Large messages straight into the receiver's memory, the sender's part (landing.c: the receiver's): it offers, the
// receiver registers the memory of its receive and answers with a PULL that names it, the sender writes there in pieces
// and says LANDED once the provider has delivered all of them. Called by p2p (offer, withdraw, replace), receive.c
// (what arrives and completes) and ofi.c (what is tried again).
//
// Each lane takes the next piece when it has room, so each carries what it can. A piece whose lane failed goes by
// another one: it lands in the same place.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/invariant.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/ofi/ofi.h"
#include "chan/table.h"

#define PIECE ((size_t)1 << 20)

static struct uno_param remote_min = UNO_PARAM_INT(
    "ofi_remote_min", 65536, 1, INT64_MAX,
    "bytes from which on libfabric writes a message into the receiver's memory, and reads and writes that of windows; "
    "below they go through ours");
UNO_PARAM_DECLARE(remote_min);

struct ofi_offer {
    struct ofi_link *link;
    struct ofi_offer *next;    // in the link's streams
    uint32_t index, flying;    // pieces that providers have
    uint32_t crc;
    const char *buf;
    size_t bytes, put, written;
    uint64_t token;
    struct ofi_pull pull;            // where it goes, if `pulled`
    struct fid_mr *mr[OFI_PORTS];    // of buf, where a provider wants that
    bool pulled;
    struct uno_access access;    // end NULL: it is a message; else an access to open memory, pulled from the beginning
    int err;                     // class of what keeps it from being sent
};

static struct uno_table offers;

static _Atomic uint64_t further_bytes, window_bytes;
static const struct uno_pvar counts[] = {
    UNO_PVAR_SUM("ofi_lane_bytes", &further_bytes,
                 "bytes of large messages that went by further domains than the first"),
    UNO_PVAR_SUM("ofi_window_bytes", &window_bytes,
                 "bytes of one-sided operations that read or wrote the memory of their target"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

int ofi_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts)
{
    struct ofi_link *l = ofi_of(link);
    uint32_t index;
    if (!uno_ofi_state.remote || mem->runs > 1 || rts->bytes < (uint64_t)remote_min.num || l->lost) return UNO_DECLINED;
    struct ofi_offer *o = uno_table_enter(&offers, sizeof *o, &index);
    if (!o) return UNO_DECLINED;
    *o = (struct ofi_offer){.link = l, .index = index, .buf = mem->run->at, .bytes = rts->bytes, .token = rts->token};
    l->direct++;
    rts->desc = index;
    rts->direct = 1;
    return MPI_SUCCESS;
}

static void unlink_stream(struct ofi_offer *o)
{
    struct ofi_offer **at = &o->link->streams;
    while (*at && *at != o) at = &(*at)->next;
    if (*at) *at = o->next;
}

static void leave_piece(struct ofi_write *w, const struct ofi_offer *o)
{
    if (w->offer != o) return;
    w->offer = NULL;
    if (w->again) w->used = w->again = false;    // else the provider has it
}

static void forget_offer(struct ofi_offer *o)
{
    struct ofi_link *l = o->link;
    uno_assert(l->direct > 0 && uno_table_find(&offers, o->index) == o);
    l->direct--;
    unlink_stream(o);
    for (uint32_t i = 0; i < OFI_PORTS; i++) {
        if (o->mr[i]) fi_close(&o->mr[i]->fid);
        for (int k = 0; k < OFI_AHEAD; k++) leave_piece(&l->lane[i].write[k], o);
    }
    uno_table_leave(&offers, o->index);
    free(o);
}

static void end_offer(struct ofi_offer *o, int err)
{
    uint64_t token = o->token;
    struct uno_access a = o->access;
    size_t bytes = err ? o->written : o->bytes;
    forget_offer(o);
    if (a.end)
        a.end(a.object, err);
    else
        uno_direct_done(token, bytes, err);
}

static struct ofi_offer *find_offer(const struct ofi_link *l, uint32_t index)
{
    struct ofi_offer *o = uno_table_find(&offers, index);
    return o && o->link == l ? o : NULL;
}

bool ofi_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    struct ofi_offer *o = find_offer(ofi_of(link), rts->desc);
    if (!o || o->pulled) return false;
    forget_offer(o);
    return true;
}

// What the provider has cannot be taken back: then the user's memory stays where it is.
bool ofi_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    struct ofi_offer *o = find_offer(ofi_of(link), rts->desc);
    if (!o || o->pulled) return false;
    o->buf = copy;
    return true;
}

// ---- pieces ----

// Registers the memory in each domain that wants it.
static bool register_own(struct ofi_offer *o)
{
    for (uint32_t i = 0; i < uno_ofi_state.ports; i++) {
        struct ofi_port *p = &uno_ofi_state.port[i];
        if (!(p->info->domain_attr->mr_mode & FI_MR_LOCAL)) continue;
        o->mr[i] = ofi_register(p, o->buf, o->bytes, o->access.reads ? FI_READ : FI_WRITE);
        if (!o->mr[i]) return false;
    }
    return true;
}

static int post(const struct ofi_lane *lane, struct ofi_write *w)
{
    const struct ofi_offer *o = w->offer;
    struct ofi_port *p = &uno_ofi_state.port[lane->port];
    struct iovec from = {(void *)(uintptr_t)(o->buf + w->at), w->bytes};
    struct fi_rma_iov to = {
        .addr = o->pull.at[lane->far].addr + w->at, .len = w->bytes, .key = o->pull.at[lane->far].key};
    void *desc = o->mr[lane->port] ? fi_mr_desc(o->mr[lane->port]) : NULL;
    struct fi_msg_rma m = {.msg_iov = &from,
                           .desc = &desc,
                           .iov_count = 1,
                           .addr = lane->addr,
                           .rma_iov = &to,
                           .rma_iov_count = 1,
                           .context = &w->op.context};
    if (o->access.reads) return (int)fi_readmsg(p->ep, &m, FI_COMPLETION);
    // Delivered: what the peer is told next may overtake nothing.
    return (int)fi_writemsg(p->ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static bool is_open(const struct ofi_lane *lane, const struct ofi_offer *o)
{
    return !lane->broken && o->pull.ports >> lane->far & 1;
}

// A piece that another lane lost; else the message's next one. False: there is none.
static bool next_piece(struct ofi_offer *o, struct ofi_lane *lane, struct ofi_write *w)
{
    struct ofi_link *l = o->link;
    for (uint32_t i = 0; i < l->lanes; i++)
        for (int k = 0; k < OFI_AHEAD; k++) {
            struct ofi_write *lost = &l->lane[i].write[k];
            if (!lost->again || lost->offer != o) continue;
            w->at = lost->at;
            w->bytes = lost->bytes;
            lost->again = lost->used = false;
            return true;
        }
    size_t most = uno_ofi_state.port[lane->port].info->ep_attr->max_msg_size, left = o->bytes - o->put;
    w->at = o->put;
    w->bytes = left < PIECE ? left : PIECE;
    if (w->bytes > most) w->bytes = most;
    if (uno_ofi_state.checks) o->crc = uno_crc32c(o->crc, o->buf + w->at, w->bytes);
    o->put += w->bytes;
    return left > 0;
}

static void lane_failed(struct ofi_lane *lane, struct ofi_link *l, const char *why)
{
    if (lane == &l->lane[0]) {
        ofi_fail(l, why, false);
        return;
    }
    if (!lane->broken)
        uno_log(1, "channel ofi: the way to rank %d by %s is given up: %s", l->base.proc,
                uno_ofi_state.port[lane->port].info->domain_attr->name, why);
    lane->broken = true;
}

// Gives the lane pieces of this message, as many as it takes.
static void fill_lane(struct ofi_lane *lane, struct ofi_offer *o)
{
    struct ofi_link *l = o->link;
    for (int k = 0; k < OFI_AHEAD; k++) {
        struct ofi_write *w = &lane->write[k];
        if (w->used && !w->again) continue;
        if (!w->again) {
            if (!next_piece(o, lane, w)) return;
            w->offer = o;
            w->lane = (uint32_t)(lane - l->lane);
        } else if (w->offer != o) {
            continue;
        }
        w->used = w->again = true;    // until the provider has it
        int e = post(lane, w);
        ofi_wake(l);
        if (e && e != -FI_EAGAIN) lane_failed(lane, l, ofi_library.strerror(-e));
        if (e) return;
        w->again = false;
        o->flying++;
        l->writing++;
        uno_ofi_state.flying++;
        if (w->lane) uno_count_add(&further_bytes, w->bytes);
        uno_ofi_state.last_use = uno_ticks();
        ofi_stir();
    }
}

// Whether the peer knows that it is over.
static bool tell_landed(struct ofi_offer *o)
{
    struct ofi_landed d = {.landing = o->pull.landing, .err = o->err, .crc = uno_ofi_state.checks ? o->crc : 0};
    if (uno_ofi_state.checks && !d.crc) d.crc = 1;
    return ofi_put(o->link, OFI_LANDED, &d, sizeof d);
}

bool ofi_stream(struct ofi_link *l)
{
    bool left = false;
    for (struct ofi_offer *o = l->streams, *next; o && !l->due && !l->lost; o = next) {
        next = o->next;
        for (uint32_t i = 0; i < l->lanes && !o->err && !l->due; i++)
            if (is_open(&l->lane[i], o)) fill_lane(&l->lane[i], o);
        if (l->due || o->flying) continue;
        if (o->err || o->written == o->bytes) {
            if (o->access.end || tell_landed(o)) {
                end_offer(o, o->err);
                continue;
            }
        }
        left = true;    // a provider took nothing, or the peer could not be told
    }
    return left;
}

void ofi_written(struct ofi_write *w, const char *why)
{
    struct ofi_link *l = w->link;
    struct ofi_offer *o = w->offer;
    uno_assert(w->used && l->writing > 0);
    l->writing--;
    w->used = w->again = false;
    if (!l->lost) uno_ofi_state.flying--;
    if (!o || l->lost) return;
    o->flying--;
    if (why) {
        lane_failed(&l->lane[w->lane], l, why);
        w->used = w->again = true;
    } else {
        o->written += w->bytes;
    }
    if (ofi_stream(l)) ofi_try_again();
}

static void begin_stream(struct ofi_offer *o)
{
    struct ofi_offer **at = &o->link->streams;
    while (*at) at = &(*at)->next;
    *at = o;
    if (ofi_stream(o->link)) ofi_try_again();
}

const char *ofi_pulled(struct ofi_link *l, const struct ofi_pull *p)
{
    struct ofi_offer *o = find_offer(l, p->offer);
    if (!o || o->pulled || p->bytes > o->bytes) return "a pull of no offer arrived";
    if (p->bytes && !(p->ports & 1U << l->lane[0].far)) return "a pull without memory arrived";
    o->pulled = true;
    o->bytes = p->bytes;
    o->pull = *p;
    o->next = NULL;
    if (o->bytes == 0) {
        end_offer(o, MPI_SUCCESS);
        return NULL;
    }
    if (!register_own(o)) o->err = MPI_ERR_NO_MEM;
    begin_stream(o);
    return NULL;
}

// ---- open memory ----

bool ofi_access_takes(struct uno_link *link, const struct uno_access_card *card, size_t bytes)
{
    struct ofi_link *l = ofi_of(link);
    if (!card->ways || bytes < (uint64_t)remote_min.num || l->lost || l->due || !ofi_reach(l)) return false;
    return card->ways >> l->lane[0].far & 1;
}

int ofi_access_start(struct uno_link *link, const struct uno_access_card *card, const struct uno_access *a)
{
    struct ofi_link *l = ofi_of(link);
    uint32_t index;
    struct ofi_offer *o = ofi_access_takes(link, card, a->bytes) ? uno_table_enter(&offers, sizeof *o, &index) : NULL;
    if (!o) return UNO_DECLINED;
    *o = (struct ofi_offer){.link = l, .index = index, .buf = a->here, .bytes = a->bytes, .pulled = true, .access = *a};
    o->pull.ports = (uint32_t)card->ways;
    for (uint32_t i = 0; i < OFI_PORTS; i++) {
        o->pull.at[i].addr = card->at[i].addr + a->at;
        o->pull.at[i].key = card->at[i].key;
    }
    l->direct++;
    if (!register_own(o)) {
        forget_offer(o);
        return UNO_DECLINED;
    }
    uno_count_add(&window_bytes, a->bytes);
    begin_stream(o);
    return MPI_SUCCESS;
}

void ofi_end_offers(struct ofi_link *l, int err, bool all)
{
    for (uint32_t i = 0; i < offers.room; i++) {
        struct ofi_offer *o = offers.at[i];
        if (o && o->link == l && (all || !o->flying)) end_offer(o, err);
    }
}

void ofi_offers_close(void)
{
    for (uint32_t i = 0; i < offers.room; i++)
        if (offers.at[i]) forget_offer(offers.at[i]);
    uno_table_empty(&offers);
}
