// SPDX-License-Identifier: BSD-3-Clause
// Sending over TCP: every frame is built in the link's ring, given to the kernel from there, and stays until it is
// acknowledged. Called by p2p through the contract (tcp_send) and by the other files of this folder. A small message
// costs one system call. A PIECE keeps only its header and trailer in the ring, and a note (struct tcp_note) that says
// where the payload lies.
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/wait.h"
#include "chan/tcp/ring.h"
#include "chan/traffic.h"

#define RESERVE 4096             // of the ring, for frames of our own
#define PARTS 16                 // of one system call
#define LARGE 8192               // a MESSAGE from here on leaves from the user's memory
#define FIRST_PART (48 << 10)    // of a trailed MESSAGE. Model on two cores: 64 KiB in 13.0 us, 14.5 whole
#define HELD_MOST (320 << 10)    // bytes of messages that go together
#define SUM_FIRST (32 << 10)     // a PIECE up to this is summed before it is sent: its trailer goes with it
#define BLOCKED_FEW 2            // so many blocked links are tried again by polling; for more, epoll is asked

static size_t wire_bytes(const struct tcp_frame *f)
{
    return sizeof *f + f->h.bytes + tcp_behind(f);
}

static inline bool has_room(const struct tcp_link *l, size_t bytes, size_t reserve)
{
    return l->head - l->tail + bytes + reserve <= (uint64_t)uno_tcp_buffer.num;
}

// The same for a message. Where caches shall hold what is under way, longer ones go beyond: four are to have room.
static inline bool has_room_for(const struct tcp_link *l, size_t bytes)
{
    size_t brim = uno_tcp_state.brim, over = 4 * bytes > brim ? 0 : (size_t)uno_tcp_buffer.num - brim;
    return has_room(l, bytes, RESERVE + over);
}

// Whether payloads have checks. Headers always have.
static inline bool is_summed(const struct tcp_link *l)
{
    return l->checks || l->out_keys.on;
}

static void check_piece(struct tcp_link *l, struct tcp_frame *f)
{
    struct tcp_note *note = tcp_note_of(f);
    const unsigned char *key = tcp_key_of(&l->out_keys, TCP_PAYLOAD);
    if (key) memcpy(note->key, key, TCP_KEY);
    if (f->h.bytes <= SUM_FIRST && is_summed(l)) tcp_check(&note->trailer, key, note->base, f->h.bytes);
}

// The frame that is sent next: its checks, for the present connection. payload NULL: that of the payload is added
// later.
static inline void check_frame(struct tcp_link *l, struct tcp_frame *f, const void *payload)
{
    f->ack = l->got_seq;
    f->data_check = (struct tcp_check){{0}};
    bool sums = is_summed(l), trailed = tcp_is_trailed(f);
    if (trailed && !sums) *tcp_trailer_of(f) = (struct tcp_check){{0}};
    if (trailed || f->h.chan == TCP_PIECE) f->data_check.tag[TCP_CRC] = l->checks;
    if (f->h.chan == TCP_PIECE)
        check_piece(l, f);
    else if (f->h.bytes > 0 && payload && sums)
        tcp_check(trailed ? tcp_trailer_of(f) : &f->data_check, tcp_key_of(&l->out_keys, TCP_PAYLOAD), payload,
                  f->h.bytes);
    tcp_check(&f->check, tcp_key_of(&l->out_keys, TCP_HEAD), &f->data_check, sizeof *f - sizeof f->check);
    l->out_keys.next++;
}

// Numbers the frame at head, which then belongs to the stream. What is kept for a connection to come is checked then.
static inline void seal(struct tcp_link *l, struct tcp_frame *f, const void *payload)
{
    bool numbered = f->h.chan < TCP_ACK;
    f->seq = numbered ? ++l->seq : 0;
    f->h.stamp = 0;
    if (l->state == TCP_UP) check_frame(l, f, payload);
    l->head += tcp_ring_bytes(f);
    uno_assert(l->tail <= l->sent && l->sent < l->head && l->head - l->tail <= (uint64_t)uno_tcp_buffer.num);
    l->untold = 0;
    l->tell = false;
}

void tcp_reseal(struct tcp_link *l)
{
    for (uint64_t at = l->sent; at < l->head; at += tcp_ring_bytes(tcp_frame_at(l, at)))
        check_frame(l, tcp_frame_at(l, at), tcp_frame_at(l, at) + 1);
}

void tcp_arm(struct tcp_link *l)
{
    if (l->armed || l->sock.fd < 0) return;
    l->armed = true;
    tcp_watch(&l->sock, EPOLLIN | EPOLLOUT, false);
}

void tcp_set_blocked(struct tcp_link *l, bool blocked)
{
    if (blocked && !l->blocked) uno_tcp_state.blocked++;
    if (!blocked && l->blocked) uno_tcp_state.blocked--;
    l->blocked = blocked;
    if (blocked && uno_tcp_state.blocked > BLOCKED_FEW) tcp_arm(l);
    if (blocked || !l->armed) return;
    l->armed = false;
    if (l->sock.fd >= 0) tcp_watch(&l->sock, EPOLLIN, false);
}

// The kernel has taken bytes from..to of a PIECE: its payload among them is summed, the trailer completed.
static void sum_piece(struct tcp_link *l, struct tcp_frame *f, size_t from, size_t to)
{
    struct tcp_note *note = tcp_note_of(f);
    size_t first = sizeof *f, end = first + f->h.bytes;
    if (from < first) from = first;
    if (to > end) to = end;
    if (from >= to || f->h.bytes <= SUM_FIRST || !is_summed(l)) return;
    if (from == first) tcp_sum_begin(&l->part_sum, l->out_keys.on ? note->key : NULL);
    tcp_sum_add(&l->part_sum, note->base + from - first, to - from);
    if (to == end) tcp_sum_end(&l->part_sum, &note->trailer);
}

// The kernel took n more bytes.
static void advance_queue(struct tcp_link *l, size_t n)
{
    while (l->sent < l->head) {
        struct tcp_frame *f = tcp_frame_at(l, l->sent);
        size_t left = wire_bytes(f) - l->part, k = n < left ? n : left;
        if (f->h.chan == TCP_PIECE) sum_piece(l, f, l->part, l->part + k);
        n -= k;
        l->part += k;
        uno_assert(l->part <= wire_bytes(f));
        if (k < left) return;
        l->sent += tcp_ring_bytes(f);
        l->part = 0;
        uno_assert(f->h.chan != TCP_PIECE || l->pieces > 0);
        if (f->h.chan == TCP_PIECE) l->pieces--;
    }
}

static int add_part(struct iovec *v, int count, char *base, size_t n)
{
    if (count > 0 && (char *)v[count - 1].iov_base + v[count - 1].iov_len == base) {
        v[count - 1].iov_len += n;
        return count;
    }
    v[count] = (struct iovec){base, n};
    return count + 1;
}

// A PIECE, of which `skip` bytes were sent, as parts: up to the end of its payload, then the trailer, which is known by
// then. Adds the bytes to *total; returns whether the whole frame is in.
static bool collect_piece(struct tcp_frame *f, size_t skip, struct iovec *v, int *count, size_t *total)
{
    struct tcp_note *note = tcp_note_of(f);
    size_t end = sizeof *f + f->h.bytes, n = wire_bytes(f) - skip;
    if (skip >= end) {
        *count = add_part(v, *count, (char *)&note->trailer + skip - end, n);
        *total += n;
        return true;
    }
    if (skip < sizeof *f) *count = add_part(v, *count, (char *)f + skip, sizeof *f - skip);
    size_t from = skip > sizeof *f ? skip - sizeof *f : 0;
    *count = add_part(v, *count, (char *)(uintptr_t)note->base + from, f->h.bytes - from);
    *total += end - skip;
    if (f->h.bytes > SUM_FIRST) return false;
    *count = add_part(v, *count, (char *)&note->trailer, sizeof note->trailer);
    *total += sizeof note->trailer;
    return true;
}

// Another frame, of which `skip` bytes were sent; data: its payload, if that is lent. Returns its bytes.
static size_t collect_frame(struct tcp_frame *f, const char *data, size_t skip, struct iovec *v, int *count)
{
    size_t n = wire_bytes(f) - skip, end = sizeof *f + f->h.bytes;
    if (!data || skip >= end) {
        *count = add_part(v, *count, (char *)f + skip, n);
        return n;
    }
    if (skip < sizeof *f) *count = add_part(v, *count, (char *)f + skip, sizeof *f - skip);
    size_t from = skip > sizeof *f ? skip - sizeof *f : 0;
    *count = add_part(v, *count, (char *)(uintptr_t)data + from, f->h.bytes - from);
    if (tcp_behind(f) > 0) *count = add_part(v, *count, (char *)f + end, tcp_behind(f));
    return n;
}

// What is to be sent next, as parts; returns how many, their bytes in *total.
static int collect(const struct tcp_link *l, struct iovec *v, size_t *total)
{
    int count = 0;
    size_t skip = l->part;
    *total = 0;
    for (uint64_t at = l->sent; at < l->head && count + 3 <= PARTS; skip = 0) {
        struct tcp_frame *f = tcp_frame_at(l, at);
        if (f->h.chan == TCP_PIECE) {
            if (!collect_piece(f, skip, v, &count, total)) break;
        } else {
            *total += collect_frame(f, l->loans ? tcp_lent_at(l, at) : NULL, skip, v, &count);
        }
        at += tcp_ring_bytes(f);
    }
    return count;
}

void tcp_flush(struct tcp_link *l)
{
    while (l->sent < l->head && l->state == TCP_UP && !l->broken) {
        struct iovec v[PARTS];
        size_t total;
        struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)collect(l, v, &total)};
        ssize_t n = sendmsg(l->sock.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) {
            l->unheard = true;
            tcp_broken(l, errno, "sending");
            return;
        }
        if (n > 0) advance_queue(l, (size_t)n);
        if (n < (ssize_t)total) {
            tcp_set_blocked(l, true);
            return;
        }
    }
    tcp_set_blocked(l, false);
}

// Whether what is put at the end of the ring can go to the kernel at once. Dials when that was never done.
static inline bool is_open(struct tcp_link *l)
{
    if (__builtin_expect(l->state != TCP_UP || l->broken, 0)) {
        if (l->state == TCP_IDLE) tcp_dial(l);
        return false;
    }
    return !l->blocked;
}

// A frame just sealed at `from` goes out, if nothing else is before it.
static inline void start(struct tcp_link *l, uint64_t from)
{
    if (!is_open(l)) return;
    uno_tcp_state.last_use = uno_ticks();
    const struct tcp_frame *f = tcp_frame_at(l, from);
    if (l->sent != from || l->part || f->h.chan == TCP_PIECE) {
        tcp_flush(l);
        return;
    }
    size_t n = wire_bytes(f);
    ssize_t done = send(l->sock.fd, f, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done == (ssize_t)n) {
        l->sent = l->head;
        return;
    }
    if (done > 0) advance_queue(l, (size_t)done);
    tcp_flush(l);
}

static size_t give(const struct tcp_link *l, const struct iovec *v, size_t parts)
{
    struct msghdr h = {.msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = parts};
    ssize_t n = sendmsg(l->sock.fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

// The frame of a larger plain message to the kernel, which gets the payload from the user's memory. Returns how many
// bytes it took.
static size_t give_whole(const struct tcp_link *l, struct tcp_frame *f, const char *data)
{
    struct iovec v[3] = {
        {f, sizeof *f}, {(char *)(uintptr_t)data, f->h.bytes}, {(char *)(f + 1) + f->h.bytes, tcp_behind(f)}};
    return give(l, v, 3);
}

// The same of a trailed one that the receiver may be waiting for: it copies the first part while we sum the payload and
// the kernel takes the second.
static size_t give_halves(const struct tcp_link *l, struct tcp_frame *f, const char *data, const unsigned char *key)
{
    char *from = (char *)(uintptr_t)data;
    struct iovec first[2] = {{f, sizeof *f}, {from, FIRST_PART}};
    size_t n = give(l, first, 2);
    if (is_summed(l)) tcp_check(tcp_trailer_of(f), key, data, f->h.bytes);
    if (n < sizeof *f + FIRST_PART) return n;
    struct iovec second[2] = {{from + FIRST_PART, f->h.bytes - FIRST_PART},
                              {(char *)(f + 1) + f->h.bytes, tcp_behind(f)}};
    return n + give(l, second, 2);
}

// Whether a larger message, next in the ring, waits for the one that follows it at once: the kernel takes both in fewer
// segments.
static bool may_hold(struct tcp_link *l, const struct uno_msg *m)
{
    size_t frame = sizeof(struct tcp_frame) + m->bytes + 2 * sizeof(struct tcp_check);
    if (!m->more || !m->lent || l->loans + 1 >= TCP_LOANS || !is_open(l) || l->main->ways > 1) return false;
    if (!l->held && (l->sent != l->head || l->part)) return false;
    return l->head - l->sent + 2 * frame <= HELD_MOST && has_room_for(l, 2 * frame);
}

// What was held goes.
static void let_go(struct tcp_link *l)
{
    l->held = false;
    tcp_flush(l);
    tcp_settle_unsent(l);
}

// A larger message, sealed at `from`, among those that go together: the last of them if not `hold`.
static int start_together(struct tcp_link *l, uint64_t from, const struct uno_msg *m, bool hold)
{
    l->held = true;
    bool lent = m->lent && tcp_lend(l, from, m);
    if (!lent) memcpy(tcp_frame_at(l, from) + 1, m->data, m->bytes);
    if (!hold) let_go(l);
    return lent ? UNO_LENT : MPI_SUCCESS;
}

// A larger plain message, whose frame at `from` holds all but the payload: the kernel gets that from the user's memory,
// and the ring its copy (for sending anew) while the message is on its way, unless the memory was lent and the kernel
// has all of it. Returns MPI_SUCCESS or UNO_LENT.
static int start_large(struct tcp_link *l, uint64_t from, const struct uno_msg *m)
{
    struct tcp_frame *f = tcp_frame_at(l, from);
    bool hold = may_hold(l, m), first = l->tail == from && tcp_is_trailed(f) && is_open(l);
    const unsigned char *key = first ? tcp_key_of(&l->out_keys, TCP_PAYLOAD) : NULL;
    size_t done = 0;
    seal(l, f, first ? NULL : m->data);
    if (l->held || (hold && !first)) return start_together(l, from, m, hold);
    if (first)
        done = give_halves(l, f, m->data, key);
    else if (is_open(l) && l->sent == from && !l->part)
        done = give_whole(l, f, m->data);
    uno_tcp_state.last_use = uno_ticks();
    bool lent = m->lent && done == wire_bytes(f) && tcp_lend(l, from, m);
    if (!lent) memcpy(f + 1, m->data, m->bytes);
    if (done > 0) advance_queue(l, done);
    if (l->sent < l->head && is_open(l)) tcp_flush(l);
    return lent ? UNO_LENT : MPI_SUCCESS;
}

int tcp_send(struct uno_link *link, const struct uno_msg *m)
{
    struct tcp_link *l = tcp_of(link);
    size_t n = tcp_padded(m->bytes) + (m->bytes > TCP_TRAILED ? sizeof(struct tcp_check) : 0);
    if (__builtin_expect(l->bye && l->state == TCP_UP, 0)) {
        tcp_broken(l, ECONNRESET, "it has left");
        tcp_take_down(l);
    }
    if (__builtin_expect(l->state >= TCP_GONE, 0))
        return uno_fail(UNO_ERR_PROC_FAILED, "rank %d cannot be reached: the connection to it was lost", link->proc);
    if (__builtin_expect(l->leaving, 0)) return UNO_FULL;    // it comes back once it has ended
    l->hungry = !has_room_for(l, sizeof(struct tcp_frame) + n);
    if (l->hungry) {
        if (l->held) let_go(l);
        return UNO_FULL;
    }
    if (m->kind == UNO_EAGER) UNO_TRAFFIC_COUNT(&uno_tcp.sent[UNO_BY_EAGER], m->bytes);
    uint64_t from = l->head;
    struct tcp_frame *f = tcp_frame_at(l, from);
    char *payload = (char *)(f + 1);
    f->h = (struct uno_hdr){
        .kind = m->kind, .chan = TCP_MESSAGE, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    if (m->bytes > 0) memset(payload + tcp_padded(m->bytes) - 8, 0, 8);
    if (m->bytes >= LARGE && !m->packer) {
        return start_large(l, from, m);
    }
    if (m->packer && m->bytes > 0)
        uno_pack(m->packer, payload, m->bytes);
    else if (m->bytes > 0)
        memcpy(payload, m->data, m->bytes);
    seal(l, f, payload);
    start(l, from);
    return MPI_SUCCESS;
}

bool tcp_put(struct tcp_link *l, enum tcp_sort sort, const void *payload, size_t n)
{
    if (!has_room(l, sizeof(struct tcp_frame) + tcp_padded(n), 0)) return false;
    uint64_t from = l->head;
    struct tcp_frame *f = tcp_frame_at(l, from);
    f->h = (struct uno_hdr){.chan = (uint8_t)sort, .bytes = (uint32_t)n};
    if (n > 0) {
        memset((char *)(f + 1) + tcp_padded(n) - 8, 0, 8);
        memcpy(f + 1, payload, n);
    }
    seal(l, f, f + 1);
    start(l, from);
    return true;
}

bool tcp_put_piece(struct tcp_link *l, const struct tcp_part_of *p)
{
    if (!has_room(l, sizeof(struct tcp_frame) + sizeof(struct tcp_note), 0)) return false;
    uint64_t from = l->head;
    struct tcp_frame *f = tcp_frame_at(l, from);
    f->h = (struct uno_hdr){.chan = TCP_PIECE,
                            .kind = p->turn,
                            .bytes = (uint32_t)p->n,
                            .ctx = p->landing,
                            .tag = (int32_t)(uint32_t)p->offset,
                            .src = (int32_t)(uint32_t)(p->offset >> 32)};
    *tcp_note_of(f) = (struct tcp_note){.base = p->base, .offer = p->offer};
    l->pieces++;
    if (l->lane > 0) tcp_count_carried(p->n);
    seal(l, f, p->base);
    start(l, from);
    return true;
}

static void pop(struct tcp_link *l)
{
    uint64_t at = l->tail;
    struct tcp_frame *f = tcp_frame_at(l, at);
    l->tail += tcp_ring_bytes(f);
    uno_assert(l->tail <= l->sent);
    tcp_loan_acked(l, at);
    if (f->h.chan == TCP_PIECE && tcp_note_of(f)->offer) tcp_piece_acked(tcp_note_of(f)->offer, l, f->h.bytes);
}

void tcp_acked(struct tcp_link *l, uint64_t ack)
{
    while (l->tail < l->sent) {
        const struct tcp_frame *f = tcp_frame_at(l, l->tail);
        if (f->seq > ack) break;
        pop(l);
    }
    // An empty ring starts again at its first page, which the cache holds.
    if (l->tail == l->head) l->tail = l->sent = l->head = 0;
}

void tcp_tell(struct tcp_link *l)
{
    if (l->sent < l->head || l->state != TCP_UP) return;
    tcp_put(l, TCP_ACK, NULL, 0);
}
