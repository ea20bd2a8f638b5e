// SPDX-License-Identifier: BSD-3-Clause
// The sender's side of a ring (ring.h): lines, and bytes beside them.
#define _GNU_SOURCE
#include <mpi.h>

#include "base/copy.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "chan/door.h"
#include "chan/self.h"
#include "chan/shm/ring.h"
#include "chan/traffic.h"

void shm_begin_tx(struct shm_link *l, struct shm_pair *tx)
{
    shm_round_first(&l->tx_round, l->ring, l->ring_most);
    uno_dump_keep(tx, SHM_BYTES_OFF + l->tx_round.most);
    l->tx = tx;
    l->tx_lap = 1;
    l->tx_unit = SHM_UNITS;
    l->tx_src = -1;    // no short message before the first full one
    l->tx_at = l->credit = l->sent = 0;
    l->put = 0;
    l->put_limit = l->tx_round.room;
}

static bool credit_refill(struct shm_link *l)
{
    // Acquire: pairs with the release in tell_taken; slots counted there are no longer read.
    l->credit = SHM_SLOTS - (l->sent - atomic_load_explicit(&l->tx->taken, memory_order_acquire));
    return l->credit > 0;
}

// Before the first message. A process of another job has no ring of ours so far.
static int announce(struct shm_link *l)
{
    if (l->home) return shm_guest_open(l);
    _Atomic uint64_t *active = uno_job_active(uno_chan_self.job, l->local);
    // Release: pairs with the acquire in find_fresh.
    atomic_fetch_or_explicit(&active[uno_chan_self.local / 64], 1ULL << uno_chan_self.local % 64, memory_order_release);
    atomic_fetch_add_explicit(&l->door->fresh, 1, memory_order_release);
    l->sending = true;
    return MPI_SUCCESS;
}

// Begins the next line; there is credit for it.
static inline char *begin_line(struct shm_link *l)
{
    uno_assert(l->credit > 0 && l->credit <= SHM_SLOTS && l->tx_at < SHM_SLOTS);
    char *line = (char *)&l->tx->slot[l->tx_at];
    l->tx_line = line;
    l->tx_stamp = l->tx_lap;
    l->credit--;
    l->sent++;
    if (++l->tx_at == SHM_SLOTS) {
        l->tx_at = 0;
        if (++l->tx_lap == 0) l->tx_lap = 1;
    }
    return line;
}

// A message with its full header. The word with the stamp goes last: the receiver must see everything else before it.
static inline void push(struct shm_link *l, const struct uno_msg *m, uint8_t flags, const void *inl, size_t n)
{
    struct shm_slot *s = (struct shm_slot *)(void *)begin_line(l);
    uno_copy_small(s->payload, inl, n);
    s->h.tag = m->tag;
    s->h.bytes = m->bytes;
    s->h.ctx = m->ctx;
    uint64_t first =
        (uint64_t)l->tx_stamp | (uint64_t)m->kind << 16 | (uint64_t)flags << 24 | (uint64_t)(uint32_t)m->src << 32;
    // Release: pairs with the acquire in take_message().
    atomic_store_explicit((_Atomic uint64_t *)(void *)s, first, memory_order_release);
    l->tx_unit = SHM_UNITS;
    l->tx_ctx = m->ctx;
    l->tx_src = m->src;
}

// A short message: into the line begun last if it has room. UNO_FULL when a new line is needed and there is no credit.
static inline int push_short(struct shm_link *l, const struct uno_msg *m)
{
    uint32_t units = shm_units(m->bytes);
    char *at = l->tx_line + l->tx_unit * SHM_UNIT;
    if (l->tx_unit + units > SHM_UNITS) {
        if (__builtin_expect(l->credit == 0, 0) && !credit_refill(l)) return UNO_FULL;
        at = begin_line(l);
        memset(at + SHM_UNIT, 0, UNO_LINE - SHM_UNIT);    // old payload there must not look like stamps
        l->tx_unit = 0;
    }
    uno_copy_small(at + 8, m->data, m->bytes);
    uint64_t first =
        (uint64_t)l->tx_stamp | (uint64_t)SHM_SHORT << 16 | (uint64_t)m->bytes << 24 | (uint64_t)(uint32_t)m->tag << 32;
    // Release: pairs with the acquire in take_message().
    atomic_store_explicit((_Atomic uint64_t *)(void *)at, first, memory_order_release);
    l->tx_unit += units;
    return MPI_SUCCESS;
}

// Whether the lines of the ring are this core's already: a block that the reader wrote last, or a reader that shares
// the processor. Written past the caches they would have to come back from memory (4 ranks on two cores, windows of 4
// MiB 27 to 18 ms, of 64 MiB both ways 55 to 34). Shorter messages are not worth the question.
#define BESIDE_FROM 4096

static bool is_own(const struct shm_link *l, size_t n, bool turn)
{
    return turn || (n >= BESIDE_FROM && uno_patience_beside(l->door));
}

// told: what is written next, to tell the receiver. own: the lines are this core's already.
static void fill_line(const struct uno_msg *m, char *dst, size_t from, size_t n, const void *told, bool own)
{
    if (m->packer) {
        uno_copy_own(dst, n);
        uno_pack(m->packer, dst, n);
    } else if (own) {
        uno_copy_back(dst, (const char *)m->data + from, n, told);
    } else {
        uno_copy_out(dst, (const char *)m->data + from, n, told);
    }
}

// The logarithm of the pieces that a message leaves in; 0: it is told once, as always where ranks share cores, for a
// reader that follows keeps the writer off its core (4 ranks on 2 cores: mbw 2 KiB 4 to 8 times as fast). With two
// pieces a reader that follows gains one piece, which is about the line that it costs to tell; while the reader looks
// at that line, telling costs the writer as much, so longer messages leave in quarters (Zen 5, cores apart, 64 KiB:
// 4.0 to 3.0 us). A reader that has itself just sent is never ahead, and comes in the middle, so between two that send
// at once messages are told once, too. A layout is packed while it is sent, so the receiver begins early (bench:
// ddt-lat).
static uint8_t pieces_of(const struct uno_msg *m, bool turn, bool crosses)
{
    uint64_t piece = turn ? uno_thresholds.turn_piece : uno_thresholds.piece;
    if (m->bytes <= (m->packer ? 1 : 2) * piece || uno_patience.crowded || (crosses && !m->packer)) return 0;
    if (!m->packer || m->kind != UNO_EAGER)
        while (4 * piece < m->bytes && piece < uno_thresholds.long_piece) piece *= 2;
    return m->bytes <= piece ? 0 : (uint8_t)(63 - __builtin_clzll(piece));
}

// Lines cost now less and now more to write, so what goes at once does, too: looked at once per round, and when a turn
// block comes or goes.
void shm_adapt(struct shm_link *l)
{
    bool light = uno_copy_is_light(), turns = shm_turn_carries(&l->turn, light, uno_patience.crowded);
    uint32_t most = l->row < SHM_FEW ? l->eager_few : l->eager;
    if (light && l->eager_light > most) most = l->eager_light;
    if (turns && l->eager_turn > most) most = l->eager_turn;
    if (shm_dear_is(&l->dear) && l->eager_dear > most) most = l->eager_dear;
    if (most != l->base.eager_max) uno_link_eager(&l->base, most);
}

// Room for a payload of n bytes: true, and where it starts is *at. *flags: SHM_GROWS if it is there that the ring
// grows.
static bool reserve(struct shm_link *l, size_t n, uint64_t *at, uint8_t *flags)
{
    struct shm_round r = l->tx_round;
    bool ends = shm_round_ends(&r, l->put, n), grows = ends && shm_round_may_grow(&r);
    if (__builtin_expect(ends, 0)) shm_round_next(&r, grows);
    *at = ends ? r.from : l->put;
    uint64_t end = *at + shm_rounded(n);
    if (end > l->put_limit) {
        // Acquire: pairs with the release in tell_bytes; what was given back is no longer read.
        l->put_limit = atomic_load_explicit(&l->tx->bytes_taken, memory_order_acquire) + r.room;
        if (end > l->put_limit) return false;
    }
    uno_assert(shm_round_place(&r, *at) + n <= r.bytes);
    if (grows) uno_job_touch(l->tx->bytes + r.room, SHM_GROWS_BY);
    *flags = grows ? SHM_GROWS : 0;
    l->put = end;
    if (__builtin_expect(!ends, 1)) return true;
    l->tx_round = r;
    shm_adapt(l);
    return true;
}

// A wide block for a payload of n bytes: the one that goes from side to side, or else one of the two in which as many
// messages are under way at most.
static uint8_t give_wide(struct shm_link *l, size_t n, char **dst)
{
    uint8_t flags = shm_turn_give(&l->wide, n, dst);
    if (flags) return flags | SHM_TURN_WIDE;
    if (n > l->wide.bytes) return 0;
    // Acquire: pairs with the release in take_row; what was taken is no longer read.
    uint32_t taken = atomic_load_explicit(&l->tx->wide_taken, memory_order_acquire);
    if (l->wide_sent - taken >= SHM_WIDE_ROW) return 0;
    *dst = uno_job_wide(uno_chan_self.job, l->local, uno_chan_self.local, l->wide_sent++ % SHM_WIDE_ROW);
    return SHM_TURN;
}

// One that is longer than what always goes at once.
static void count_long(struct shm_link *l, const struct uno_msg *m)
{
    bool last = m->bytes <= l->eager_few && ++l->row == SHM_FEW;
    if (shm_dear_is(&l->dear) && m->kind == UNO_EAGER) {
        shm_dear_pass(&l->dear);
        last |= !shm_dear_is(&l->dear);
    }
    if (last) shm_adapt(l);
}

static int send_bytes(struct shm_link *l, const struct uno_msg *m)
{
    uint64_t at = l->turn.sent;
    char *dst;
    uint8_t flags = shm_turn_give(&l->turn, m->bytes, &dst);
    if (__builtin_expect(m->bytes > UNO_TURN_BYTES, 0)) flags = give_wide(l, m->bytes, &dst);
    bool turn = flags && flags != SHM_TURN;
    _Atomic uint64_t *put = flags ? &l->tx->turned : &l->tx->put;
    if (flags) {
        l->turn.sent += m->bytes;
        if (l->eager != l->eager_turn) shm_adapt(l);
    } else {
        if (!reserve(l, m->bytes, &at, &flags)) return UNO_FULL;
        dst = l->tx->bytes + shm_round_place(&l->tx_round, at);
    }
    if (m->bytes > l->eager) count_long(l, m);
    bool own = is_own(l, m->bytes, turn);
    uint8_t pieces = pieces_of(m, turn, l->turn.crosses);
    size_t piece = pieces ? (size_t)1 << pieces : m->bytes;
    fill_line(m, dst, 0, piece, &l->tx->slot[l->tx_at], own);
    push(l, m, pieces | flags, NULL, 0);
    if (piece == m->bytes) return MPI_SUCCESS;
    uno_door_ring(l->door);
    for (size_t i = piece; i < m->bytes; i += piece) {
        size_t n = m->bytes - i < piece ? m->bytes - i : piece;
        fill_line(m, dst + i, i, n, put, own);
        // Release: pairs with the acquire in shm_look.
        atomic_store_explicit(put, at + i + n, memory_order_release);
    }
    return MPI_SUCCESS;
}

int shm_send(struct uno_link *link, const struct uno_msg *m)
{
    struct shm_link *l = (struct shm_link *)link;
    if (m->bytes <= SHM_SHORT_MAX && m->kind == UNO_EAGER && m->ctx == l->tx_ctx && m->src == l->tx_src && !m->packer) {
        int err = push_short(l, m);
        if (err) return err;
        UNO_TRAFFIC_COUNT(&uno_shm.sent[UNO_BY_EAGER], m->bytes);
        uno_door_ring(l->door);
        return MPI_SUCCESS;
    }
    if (__builtin_expect(l->credit == 0, 0)) {
        int err = l->sending ? MPI_SUCCESS : announce(l);
        if (err) return err;
        if (!credit_refill(l)) return UNO_FULL;
    }
    if (m->bytes <= UNO_INLINE_MAX) {
        char packed[UNO_INLINE_MAX];
        const void *inl = m->data;
        if (m->packer) uno_pack(m->packer, packed, m->bytes), inl = packed;
        push(l, m, 0, inl, m->bytes);
    } else {
        int err = send_bytes(l, m);
        if (err) return err;
    }
    if (m->kind == UNO_EAGER) UNO_TRAFFIC_COUNT(&uno_shm.sent[UNO_BY_EAGER], m->bytes);
    uno_door_ring(l->door);
    return MPI_SUCCESS;
}
