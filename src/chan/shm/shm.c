// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory channel: links to the processes of this host through the rings of the job segment (ring.h).
// A ring costs memory from its first message on; the receiver polls only the rings that were announced to it.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>

#include "base/cosched.h"
#include "base/copy.h"
#include "base/component.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "chan/door.h"
#include "chan/peer_memory.h"
#include "chan/proc.h"
#include "chan/self.h"
#include "chan/shm/ring.h"
#include "chan/traffic.h"

#define TELL_SLOTS (SHM_SLOTS / 4)        // slots taken before the sender is told
#define DATA_MAX (SHM_LEAST_BYTES / 4)    // pieces of a streamed message, and layouts that are packed at once; or eager
#define MOURN 1024                        // polls between two looks whether a process of another job has ended
#define PER_LINK 32                       // messages taken from one ring before the next one has its turn

static struct {
    struct shm_link **link;    // [nlocal], NULL until first used
    struct shm_link *first;    // all links
    uint32_t fresh;            // of our door, as last seen
    uint32_t polls;            // since this process has met other jobs
} shm;

static const struct uno_pvar sent[] = UNO_TRAFFIC_PVARS("shm", uno_shm.sent);
UNO_PVARS_DECLARE(sent);

static void tell_taken(struct shm_link *l)
{
    l->taken_told = l->taken;
    // Release: pairs with the acquire in credit_refill.
    atomic_store_explicit(&l->rx->taken, l->taken, memory_order_release);
    uno_door_ring(l->door);
}

static void tell_bytes(struct shm_link *l)
{
    l->got_told = l->got;
    // Release: pairs with the acquire in send_bytes.
    atomic_store_explicit(&l->rx->bytes_taken, l->got, memory_order_release);
    uno_door_ring(l->door);
}

// What a process of this job leaves in our memory is wrong only when it runs another library: there is no way on.
static inline void hand_up(struct shm_link *l, const struct uno_hdr *h, const void *payload)
{
    const char *wrong = uno_deliver(&l->base, h, payload);
    if (__builtin_expect(wrong != NULL, 0)) uno_link_lost(&l->base, wrong);
}

// A message whose payload begins at a position of those that put counts, and lies there.
static void begin_reading(struct shm_link *l, const struct uno_hdr *h, uint64_t at, const _Atomic uint64_t *put,
                          const char *from)
{
    size_t piece = h->chan & 31 ? (size_t)1 << (h->chan & 31) : h->bytes;
    l->read_at = at;
    l->read_ready = at + (piece < h->bytes ? piece : h->bytes);
    l->read_put = put;
    l->read_from = from;
    uno_copy_soon(from, l->read_ready - at);
}

static void take_block(struct shm_link *l, const struct uno_hdr *h, const char *block)
{
    begin_reading(l, h, l->turn.got, &l->rx->turned, block);
    l->turn.got += h->bytes;
    hand_up(l, h, NULL);
}

static void take_turn(struct shm_link *l, const struct uno_hdr *h)
{
    struct shm_turn *turn = h->chan & SHM_TURN_WIDE ? &l->wide : &l->turn;
    int which = shm_turn_of(h->chan);
    take_block(l, h, turn->block[which]);
    shm_turn_take(turn, which);
    if (l->eager != l->eager_turn) shm_adapt(l);
}

// Its sender does not wait for the block: what finds none goes another way.
static void take_row(struct shm_link *l, const struct uno_hdr *h)
{
    take_block(l, h, uno_job_wide(uno_chan_self.job, uno_chan_self.local, l->local, l->wide_got % SHM_WIDE_ROW));
    // Release: pairs with the acquire in give_wide.
    atomic_store_explicit(&l->rx->wide_taken, ++l->wide_got, memory_order_release);
}

static void take_bytes(struct shm_link *l, const struct uno_hdr *h)
{
    uint64_t at = l->got;
    if (shm_round_ends(&l->rx_round, l->got, h->bytes)) {
        shm_round_next(&l->rx_round, h->chan & SHM_GROWS);
        at = l->rx_round.from;
    }
    l->got = at + shm_rounded(h->bytes);
    bool tell = l->got - l->got_told >= l->rx_round.room / 4;
    l->few = h->bytes <= UNO_COPY_AHEAD && !uno_patience.crowded ? (uint32_t)h->bytes : 0;
    l->few_taken = l->taken;
    if (tell) uno_copy_own((char *)&l->rx->bytes_taken, sizeof l->rx->bytes_taken);
    begin_reading(l, h, at, &l->rx->put, l->rx->bytes + shm_round_place(&l->rx_round, at));
    hand_up(l, h, NULL);
    if (tell) tell_bytes(l);
}

// After a message of few bytes the next one will be another: they come together with its line, and not after it (two
// chiplets, lat 64 and 128 B: 0.37 to 0.31 us).
static void ask_for_next(const struct shm_link *l)
{
    uno_copy_soon(l->rx->bytes + shm_round_place(&l->rx_round, l->got), l->few);
}

static inline uint64_t peek(const char *at)
{
    // Acquire: pairs with the release in push() and push_short().
    return atomic_load_explicit((const _Atomic uint64_t *)(const void *)at, memory_order_acquire);
}

static inline int take_short(struct shm_link *l, uint64_t first)
{
    const char *at = l->rx_line + l->rx_unit * SHM_UNIT;
    struct uno_hdr h = {.kind = UNO_EAGER,
                        .src = l->rx_src,
                        .tag = (int32_t)(first >> 32),
                        .bytes = first >> 24 & 0xff,
                        .ctx = l->rx_ctx};
    l->rx_unit += shm_units(h.bytes);
    hand_up(l, &h, at + 8);
    return 1;
}

// Goes on to the line `line`, which has appeared: the one before is done with.
static inline void go_on_line(struct shm_link *l, const char *line)
{
    l->rx_line = line;
    l->rx_stamp = l->rx_lap;
    l->rx_unit = 0;
    if (++l->rx_at == SHM_SLOTS) {
        l->rx_at = 0;
        if (++l->rx_lap == 0) l->rx_lap = 1;
    }
    if (l->taken - l->taken_told > TELL_SLOTS) tell_taken(l);
    l->taken++;    // told with the next line: this one is still being read
}

// Takes the next message if there is one: a further unit of the current line, or the next line. Both are looked at,
// because the sender leaves units unused when a message does not fit.
static inline int take_message(struct shm_link *l)
{
    uint64_t first;
    if (l->rx_unit < SHM_UNITS) {
        first = peek(l->rx_line + l->rx_unit * SHM_UNIT);
        if ((uint16_t)first == l->rx_stamp) return take_short(l, first);
    }
    const struct shm_slot *s = &l->rx->slot[l->rx_at];
    uint64_t next = peek((const char *)s);
    if ((uint16_t)next != l->rx_lap) return 0;
    if (l->rx_unit < SHM_UNITS) {    // the unit may have come between the two looks
        first = peek(l->rx_line + l->rx_unit * SHM_UNIT);
        if ((uint16_t)first == l->rx_stamp) return take_short(l, first);
    }
    go_on_line(l, (const char *)s);
    if ((uint8_t)(next >> 16) == SHM_SHORT) return take_short(l, next);
    l->rx_unit = SHM_UNITS;
    l->rx_ctx = s->h.ctx;
    l->rx_src = s->h.src;
    if (s->h.bytes <= UNO_INLINE_MAX)
        hand_up(l, &s->h, s->payload);
    else if ((s->h.chan & SHM_TURN) == SHM_TURN)
        take_row(l, &s->h);
    else if (s->h.chan & SHM_TURN)
        take_turn(l, &s->h);
    else
        take_bytes(l, &s->h);
    return 1;
}

// The sender died in the middle of its copy: what is there stands for the rest.
static bool tear_off(struct shm_link *l)
{
    if (l->home) return l->base.torn = shm_guest_is_dead(l);
    // Acquire: as in uno_local_is_dead.
    if (atomic_load_explicit(&l->board->state, memory_order_acquire) == UNO_RANK_FAILED) l->base.torn = true;
    return l->base.torn;
}

static size_t shm_look(struct uno_link *link, size_t n, const void **at)
{
    struct shm_link *l = (struct shm_link *)link;
    struct uno_patience p = {0};
    unsigned looks = 0;
    while (l->read_ready <= l->read_at) {
        // Acquire: pairs with the release in send_bytes.
        l->read_ready = atomic_load_explicit(l->read_put, memory_order_acquire);
        uno_patience_copy(&p);
        if (++looks % UNO_COPY_LOOKS == 0 && tear_off(l)) l->read_ready = l->read_at + n;
    }
    size_t k = l->read_ready - l->read_at < n ? l->read_ready - l->read_at : n;
    *at = l->read_from;
    l->read_at += k;
    l->read_from += k;
    return k;
}

void shm_begin_rx(struct shm_link *l, struct shm_pair *rx)
{
    shm_round_first(&l->rx_round, l->ring, l->ring_most);
    uno_dump_keep(rx, SHM_BYTES_OFF + l->rx_round.most);
    l->rx = rx;
    l->rx_lap = 1;
    l->rx_unit = SHM_UNITS;
    l->rx_at = l->taken = l->taken_told = 0;
    l->got = l->got_told = 0;
}

// Of messages that lie in memory, the longer the better (bench: lat, bw --sizes 4M:64M). Where the ring is ahead for
// all messages, short pieces stay in the caches of both sides.
static uint32_t data_max(bool least, uint64_t eager)
{
    bool in_caches = uno_thresholds_stream(&uno_thresholds) && uno_thresholds.streamed >= UNO_THRESHOLD_NEVER;
    if (!least && !in_caches) return SHM_BYTES / 4;
    return (uint32_t)(eager > DATA_MAX ? eager : DATA_MAX);
}

// Where ranks share cores, a message is not copied while the one before is still in the reader's cache.
static uint32_t ring_most(bool least)
{
    if (least) return SHM_LEAST_BYTES;
    if (!uno_thresholds.grows || uno_patience.crowded) return SHM_BYTES;
    return (uint32_t)(uno_chan_self.job->pair_bytes - SHM_BYTES_OFF);
}

struct shm_link *shm_link_new(int proc, struct uno_door *door, struct uno_board *board)
{
    struct shm_link *l = calloc(1, sizeof *l);
    bool least = uno_proc_is_guest(proc) || uno_chan_self.nlocal > UNO_PAIR_FEW;
    uint64_t eager = uno_thresholds_eager(&uno_thresholds, uno_patience.crowded);
    uint64_t few = uno_thresholds_eager_few(&uno_thresholds, uno_patience.crowded);
    uint64_t light = uno_thresholds.eager_light, turn = uno_thresholds.eager_turn;
    if (!l) return NULL;
    if (least && eager > SHM_LEAST_EAGER) eager = SHM_LEAST_EAGER;
    l->eager = (uint32_t)eager;
    l->eager_few = least ? l->eager : (uint32_t)few;
    l->eager_light = least || light < eager ? l->eager : (uint32_t)light;
    l->eager_turn = least || turn < l->eager_light ? l->eager_light : (uint32_t)turn;
    l->eager_dear = least || uno_patience.crowded ? l->eager : (uint32_t)uno_thresholds.eager_dear;
    l->ring = least ? SHM_LEAST_BYTES : SHM_BYTES;
    l->ring_most = ring_most(least);
    l->base = (struct uno_link){.chan = &uno_shm,
                                .ops = uno_shm.ops,
                                .proc = proc,
                                .eager_max = (uint32_t)eager,
                                .data_max = data_max(least, eager),
                                .met = true};
    l->door = door;
    l->board = board;
    shm_begin_tx(l, NULL);
    shm_begin_rx(l, NULL);
    l->next = shm.first;
    shm.first = l;
    return l;
}

void shm_link_free(struct shm_link *l)
{
    struct shm_link **at = &shm.first;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    free(l->layouts);
    free(l);
}

static struct shm_link *make_link(uint32_t local)
{
    struct uno_job_head *job = uno_chan_self.job;
    struct uno_board *board = uno_job_board(job, local);
    struct shm_link *l = shm_link_new(board->world_rank, uno_job_door(job, local), board);
    if (!l) return NULL;
    l->local = local;
    l->base.heap = true;
    shm_begin_tx(l, uno_job_pair(job, local, uno_chan_self.local));
    shm_begin_rx(l, uno_job_pair(job, uno_chan_self.local, local));
    l->turn = (struct shm_turn){
        .block = {uno_job_turn(job, local, uno_chan_self.local), uno_job_turn(job, uno_chan_self.local, local)},
        .bytes = job->turn_bytes,
        .have = {[SHM_OURS] = true}};
    for (int i = 0; i < 2; i++) uno_dump_keep(l->turn.block[i], l->turn.bytes);
    l->wide = (struct shm_turn){.block = {uno_job_wide(job, local, uno_chan_self.local, SHM_WIDE_ROW),
                                          uno_job_wide(job, uno_chan_self.local, local, SHM_WIDE_ROW)},
                                .bytes = uno_thresholds.grows ? 0 : job->wide_bytes,
                                .have = {[SHM_OURS] = true}};
    shm_adapt(l);
    shm.link[local] = l;
    return l;
}

struct shm_link *shm_link_of(uint32_t local)
{
    if (!shm.link) return NULL;    // the channel is not in use
    return shm.link[local] ? shm.link[local] : make_link(local);
}

static int shm_connect(struct uno_chan *self, int proc, struct uno_link **link)
{
    (void)self;
    if (uno_proc_is_guest(proc)) return shm_guest_connect(proc, link);
    int local = uno_local_of(proc);
    if (local < 0 || proc == uno_chan_self.proc) return UNO_DECLINED;
    struct shm_link *l = shm_link_of((uint32_t)local);
    if (!l) return uno_fail(MPI_ERR_NO_MEM, "no memory for a link to rank %d", proc);
    *link = &l->base;
    return MPI_SUCCESS;
}

// Somebody announced a ring to us: listen to all announced ones.
static void find_fresh(uint32_t fresh)
{
    shm.fresh = fresh;
    _Atomic uint64_t *active = uno_job_active(uno_chan_self.job, uno_chan_self.local);
    for (uint32_t w = 0; w < (uno_chan_self.nlocal + 63) / 64; w++) {
        // Acquire: pairs with the release in announce().
        uint64_t bits = atomic_load_explicit(&active[w], memory_order_acquire);
        for (; bits; bits &= bits - 1) {
            struct shm_link *l = shm_link_of(w * 64 + (uint32_t)__builtin_ctzll(bits));
            if (l && !l->lost) l->listening = true;
        }
    }
    if (uno_chan_self.guests) shm_guests_look();
}

static int shm_poll_link(struct uno_link *link)
{
    struct shm_link *l = (struct shm_link *)link;
    int n = 0;
    l->polling = true;
    if (l->listening)
        while (n < PER_LINK && take_message(l) && (++n, !uno_patience_ends())) continue;
    l->polling = false;
    if (__builtin_expect(l->row != 0, 0)) {
        l->row = 0;
        shm_adapt(l);
    }
    if (n == 0 && l->few && l->few_taken == l->taken) ask_for_next(l);
    if (__builtin_expect(l->owes_ring, 0)) {
        l->owes_ring = false;
        uno_door_ring(l->door);
    }
    if (__builtin_expect((l->desc_used | l->copying) != 0, 0)) n += shm_direct_poll(l);
    return n;
}

static int shm_poll(struct uno_chan *self, int budget)
{
    (void)self;
    // Acquire: pairs with the release in announce().
    uint32_t fresh = atomic_load_explicit(&uno_chan_self.door->fresh, memory_order_acquire);
    if (__builtin_expect(fresh != shm.fresh, 0)) find_fresh(fresh);
    if (__builtin_expect(uno_chan_self.guests, 0) && (++shm.polls % MOURN == 0 || uno_chan_self.wary))
        shm_guests_mourn();
    int n = 0;
    for (struct shm_link *l = shm.first, *next; l && n < budget; l = next) {
        next = l->next;    // l may end
        int came = shm_poll_link(&l->base);
        if (__builtin_expect(l->ending, 0) && !came && !l->copying) shm_guest_ended(l);
        n += came;
    }
    return n;
}

static const _Atomic uint32_t *taken_by(uint32_t more)
{
    const struct uno_chan_self *self = &uno_chan_self;
    const struct shm_pair *pair = uno_job_pair(self->job, (self->local + more) % self->nlocal, self->local);
    return &pair->taken;
}

static void name_neighbours(void)
{
    uint32_t n = uno_chan_self.nlocal;
    const _Atomic uint32_t *taken[UNO_NEIGHBOURS];
    taken[UNO_BEFORE] = taken_by(n - 1);
    taken[UNO_AFTER] = taken_by(1);
    taken[UNO_ACROSS] = taken_by(n / 2);
    uno_cosched_neighbours(&uno_chan_self.job->beside, taken);
}

static int shm_begin(struct uno_chan *self)
{
    (void)self;
    if (uno_chan_self.nlocal < 2 && !uno_chan_self.guests) return UNO_DECLINED;
    if (!shm.link) shm.link = calloc(uno_chan_self.nlocal, sizeof *shm.link);
    if (!shm.link) return uno_fail(MPI_ERR_NO_MEM, "no memory for %u links", uno_chan_self.nlocal);
    uno_peer_memory_open();
    if (uno_chan_self.nlocal <= UNO_PAIR_FEW) name_neighbours();
    return MPI_SUCCESS;
}

static int shm_wait_fd(struct uno_chan *self)
{
    (void)self;
    if (!uno_chan_self.guests) return -1;
    shm_guests_mourn();
    return shm_guests_fd();
}

static void shm_lose(struct uno_link *link, int err)
{
    struct shm_link *l = (struct shm_link *)link;
    l->lost = true;
    l->listening = false;
    shm_direct_lose(l, err);
}

static bool shm_withdraw(struct uno_link *link, const struct uno_rts *rts)
{
    struct shm_link *l = (struct shm_link *)link;
    struct shm_desc *d = &l->tx->desc[rts->desc];
    // Relaxed, here and below: the receiver answered CTS and does not look at the descriptor any more.
    unsigned state = atomic_load_explicit(&d->state, memory_order_relaxed);
    if (state != DESC_OFFERED && state != DESC_KEPT) return false;
    atomic_store_explicit(&d->state, DESC_FREE, memory_order_relaxed);
    l->desc_used &= ~(1ULL << rts->desc);
    shm_layouts_forget(l, (int)rts->desc);
    return true;
}

static bool shm_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy)
{
    struct shm_link *l = (struct shm_link *)link;
    uint16_t was = DESC_OFFERED;
    (void)copy;    // the receiver asks for it by CTS
    // Seq_cst: pairs with take_offer(), which fails from here on. The user's memory changes only after this.
    if (!atomic_compare_exchange_strong(&l->tx->desc[rts->desc].state, &was, DESC_KEPT)) return false;
    shm_layouts_forget(l, (int)rts->desc);
    return true;
}

// The links stay: they know how far the rings are read and written, and the library may open again (a later session).
static void shm_close(struct uno_chan *self)
{
    (void)self;
    shm_guests_close();
}

static const struct uno_chan_ops shm_ops = {
    .open = shm_begin,
    .connect = shm_connect,
    .send = shm_send,
    .poll = shm_poll,
    .poll_link = shm_poll_link,
    .look = shm_look,
    .offer = shm_offer,
    .accept = shm_accept,
    .withdraw = shm_withdraw,
    .replace = shm_replace,
    .lose = shm_lose,
    .wait_fd = shm_wait_fd,
    .leave = shm_guest_leave,
    .close = shm_close,
};

static const struct uno_component shm_component = {
    UNO_COMPONENT_IS_CHANNEL, .name = "shm",
    .version = UNO_VERSION,   .about = "one host: rings and copies in shared memory",
    .priority = 80,           .can = UNO_CAN_SHARE | UNO_CAN_MEET,
    .table = &shm_ops};
UNO_COMPONENT_DECLARE(shm_component);

struct uno_chan uno_shm = {.ops = &shm_ops, .is = &shm_component};
