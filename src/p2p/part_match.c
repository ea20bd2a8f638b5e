// SPDX-License-Identifier: BSD-3-Clause
// How the two sides of a partitioned operation find each other, once, in the order of initialisation: the sender's
// INIT, with how it cut its message, meets a receive of the same (context, source, tag); the ACK brings the way that
// the receiver chose, and the number under which it posts its chunks at each Start when they are messages. Called by
// partitioned.c and by delivery.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "p2p/inner.h"
#include "p2p/kind.h"
#include "p2p/part.h"
#include "p2p/peer.h"
#include "p2p/token.h"

#define MAX_IDS (1 << 18)

enum { PART_INIT = 1, PART_ACK = 2, PART_PACKED = 0x100 };    // PACKED: the sender's type must be packed in one go

struct part_init {
    uint32_t what, partitions;
    uint64_t token, bytes, addr;
    uint32_t per_chunk;
};
struct part_ack {
    uint32_t what, mode;
    uint64_t token, addr;
    int32_t id;
    uint32_t block;
};
_Static_assert(sizeof(struct part_init) <= UNO_INLINE_MAX && sizeof(struct part_ack) <= UNO_INLINE_MAX, "one line");

// An INIT that came before its receive.
struct early {
    struct early *next;
    struct uno_link *link;
    uint64_t ctx;
    int src, tag;
    struct part_init init;
};

static const char senseless[] = "a message about partitions that makes no sense arrived";

static struct part *receives;    // not yet matched, in order of initialisation
static struct early *early;
static uint64_t *ids;    // bit set: taken
static int id_words;

static int take_id(void)
{
    for (int w = 0; w < MAX_IDS / 64; w++) {
        if (w == id_words) {
            int more = id_words ? 2 * id_words : 16;
            uint64_t *grown = realloc(ids, (size_t)more * sizeof *grown);
            if (!grown) return -1;
            memset(grown + id_words, 0, (size_t)(more - id_words) * sizeof *grown);
            ids = grown;
            id_words = more;
        }
        if (ids[w] == UINT64_MAX) continue;
        int b = __builtin_ctzll(~ids[w]);
        ids[w] |= 1ULL << b;
        return w * 64 + b;
    }
    return -1;
}

static void give_id(int id)
{
    if (id >= 0) ids[id / 64] &= ~(1ULL << id % 64);
}

bool part_is_near(const struct uno_link *link)
{
    return link->heap;
}

static void choose_mode(struct part *p, const struct uno_link *link, bool packed)
{
    p->mode = PART_MESSAGES;
    if (packed || !part_is_plain(p))
        p->mode = PART_WHOLE;
    else if (part_is_near(link) && p->total > 0 && p->total <= p->bytes)
        p->mode = part_shared_choose(p);
}

// The receive p was matched with a sender's INIT: answers, and goes on when it is active already.
static void match_sender(struct part *p, struct uno_link *link, const struct part_init *init)
{
    p->peer_buf = init->addr;
    part_cut(p, init->bytes, (int)init->partitions, (int)init->per_chunk);
    if (p->req) choose_mode(p, link, init->what & PART_PACKED);
    if (p->req && !part_is_shared(p)) {
        p->id = take_id();
        if (p->id < 0 || part_make_messages(p)) uno_world_abort(1, "too many partitioned receives at once");
    }
    p->left = calloc((size_t)p->chunks, sizeof *p->left);
    if (!p->left) uno_world_abort(1, "out of memory for a partitioned receive");
    struct part_ack ack = {.token = init->token,
                           .addr = (uint64_t)(uintptr_t)p->spec.buf,
                           .what = PART_ACK,
                           .mode = p->mode,
                           .block = (uint32_t)p->block_at,
                           .id = p->id};
    struct uno_msg m = {.kind = UNO_PART, .bytes = sizeof ack, .data = &ack};
    p->told = true;
    int err = uno_peer_answer(link, &m, p->req);
    if (err) p->error = err;
    if (p->started) part_go(p);
    // Release: pairs with the acquire in uno_part_arrived.
    atomic_store_explicit(&p->matched, true, memory_order_release);
}

void part_forget(struct part *p)
{
    for (struct part **at = &receives; *at; at = &(*at)->next) {
        if (*at != p) continue;
        *at = p->next;
        return;
    }
}

void part_release(struct part *p)
{
    uno_poller_remove(&p->poller);
    for (int k = 0; p->chunk && k < part_messages(p); k++)
        if (p->chunk[k]) uno_request_release(p->chunk[k]);
    if (!p->send) give_id(p->id);
    if (p->token) uno_token_give(p->token);
    part_shared_leave(p);
    free(p->chunk), free(p->missing), free(p->marks.word), free(p->left), free(p);
}

// Whether the answer fits the send p.
static bool is_sound(const struct part *p, const struct uno_link *link, const struct part_ack *ack)
{
    if (ack->mode == PART_MESSAGES || ack->mode == PART_WHOLE)
        return ack->id >= -1 && ack->id < MAX_IDS;    // -1: the receive was freed
    if (ack->mode != PART_STAGED && ack->mode != PART_DIRECT) return false;
    if (ack->mode == PART_STAGED && part_mode_near(p->total) != PART_STAGED) return false;
    return part_is_near(link) && part_is_plain(p) && p->total > 0 && ack->block < UNO_HEAP_CHUNKS;
}

static const char *on_ack(const struct uno_link *link, const struct part_ack *ack)
{
    struct part *p = uno_token_find(ack->token, UNO_TOKEN_PART, link->proc);
    if (!p) return "an answer to no partitioned send arrived";
    if (!is_sound(p, link, ack)) return senseless;
    uno_token_give(ack->token);
    p->token = 0;
    p->id = ack->id;
    p->mode = ack->mode;
    p->block_at = ack->block;
    p->peer_buf = ack->addr;
    p->matched = true;
    if (part_is_shared(p)) part_shared_join(p);
    if (!p->req) {    // freed meanwhile
        part_release(p);
        return NULL;
    }
    if (!part_is_shared(p) && part_make_messages(p)) uno_world_abort(1, "out of memory for a partitioned send");
    if (p->started) part_go(p);
    return NULL;
}

// A receive that this INIT fits, taken off the list.
static struct part *take_receive(const struct uno_link *link, const struct uno_hdr *h)
{
    for (struct part **at = &receives; *at; at = &(*at)->next) {
        struct part *p = *at;
        if (p->ctx != h->ctx || p->src != h->src || p->tag != h->tag || p->proc != link->proc) continue;
        *at = p->next;
        return p;
    }
    return NULL;
}

static const char *on_init(struct uno_link *link, const struct uno_hdr *h, const struct part_init *init)
{
    struct part *p = take_receive(link, h);
    if (p) {
        match_sender(p, link, init);
        if (!p->req) part_release(p);
        return NULL;
    }
    struct early *e = malloc(sizeof *e);
    if (!e) uno_world_abort(1, "out of memory for a partitioned message");
    *e = (struct early){.link = link, .ctx = h->ctx, .src = h->src, .tag = h->tag, .init = *init};
    struct early **at = &early;
    while (*at) at = &(*at)->next;
    *at = e;
    return NULL;
}

// A chunk is whole words of marks, so that the last one may reach beyond the end.
static bool cuts_well(const struct part_init *init)
{
    uint32_t n = init->partitions, per_chunk = init->per_chunk;
    if (n > INT_MAX || init->bytes > PTRDIFF_MAX / 2) return false;
    if (n ? init->bytes % n != 0 : init->bytes > 0) return false;
    return per_chunk >= 1 && per_chunk <= n + 64 && (n + per_chunk - 1) / per_chunk <= PART_MAX_CHUNKS;
}

static const char *deliver_part(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct part_init init;
    struct part_ack ack;
    uint32_t what;
    memcpy(&what, payload, sizeof what);
    if (what == PART_ACK && h->bytes == sizeof ack) {
        memcpy(&ack, payload, sizeof ack);
        return on_ack(link, &ack);
    }
    if ((what & ~(uint32_t)PART_PACKED) != PART_INIT || h->bytes != sizeof init) return senseless;
    memcpy(&init, payload, sizeof init);
    return cuts_well(&init) ? on_init(link, h, &init) : senseless;
}

static const struct uno_kind part_kind = {.number = UNO_PART,
                                          .name = "partitioned",
                                          .least = sizeof(struct part_ack),
                                          .most = sizeof(struct part_init),
                                          .whole = true,
                                          .deliver = deliver_part};
UNO_KIND_DECLARE(part_kind);

int part_announce(struct part *p, const struct uno_where *to, struct uno_peer *peer)
{
    p->proc = peer->proc;
    p->told = true;
    p->token = uno_token_take(UNO_TOKEN_PART, p, peer->proc);
    struct part_init init = {.token = p->token,
                             .bytes = p->bytes,
                             .addr = (uint64_t)(uintptr_t)p->spec.buf,
                             .what = PART_INIT | (part_is_plain(p) ? 0 : PART_PACKED),
                             .partitions = (uint32_t)p->spec.partitions,
                             .per_chunk = (uint32_t)p->per_chunk};
    struct uno_msg m = {.kind = UNO_PART,
                        .src = to->comm->rank,
                        .tag = to->tag,
                        .bytes = sizeof init,
                        .ctx = to->comm->sends,
                        .data = &init};
    return uno_peer_tell(peer, &m, p->req);
}

int part_expect(struct part *p, const struct uno_where *from)
{
    p->ctx = from->comm->context;
    p->src = from->rank;
    p->tag = from->tag;
    p->proc = uno_comm_proc(from->comm, from->rank);
    for (struct early **at = &early; *at; at = &(*at)->next) {
        struct early *e = *at;
        if (e->ctx != p->ctx || e->src != p->src || e->tag != p->tag || e->link->proc != p->proc) continue;
        *at = e->next;
        match_sender(p, e->link, &e->init);
        free(e);
        return MPI_SUCCESS;
    }
    struct part **at = &receives;
    while (*at) at = &(*at)->next;
    *at = p;
    return MPI_SUCCESS;
}
