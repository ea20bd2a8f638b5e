// SPDX-License-Identifier: BSD-3-Clause
// Sending over TCP: every frame is built in the link's ring, given to the kernel from there, and stays until it is
// acknowledged. Called by p2p through the contract (tcp_send) and by the other files of this folder. A small message
// costs one system call. A PIECE keeps only its header and trailer in the ring, and a note (struct note) that says
// where the payload lies.
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/tcp/tcp.h"
#include "chan/traffic.h"

#define RESERVE 4096            // of the ring, for frames of our own
#define PARTS 16                // of one system call
#define LARGE 8192              // a MESSAGE from here on leaves from the user's memory
#define SUM_FIRST (32 << 10)    // a PIECE up to this is summed before it is sent: its trailer goes with it
#define BLOCKED_FEW 2           // so many blocked links are tried again by polling; for more, epoll is asked

// Behind the header of a PIECE in the ring: its trailer, then where its payload lies (not sent).
struct note {
    struct tcp_check trailer;
    unsigned char key[TCP_KEY];    // of its payload, where frames have MACs
    const char *base;
    struct tcp_offer *offer;
};

static _Atomic uint64_t resent;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("tcp_resends", &resent, "frames sent once more after a connection broke"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static struct tcp_frame *frame_at(const struct tcp_link *l, uint64_t at)
{
    return (struct tcp_frame *)(void *)(l->ring + at % (uint64_t)uno_tcp_buffer.num);
}

static size_t ring_bytes(const struct tcp_frame *f)
{
    return sizeof *f + (f->h.chan == TCP_PIECE ? sizeof(struct note) : tcp_padded(f->h.bytes));
}

static size_t wire_bytes(const struct tcp_frame *f)
{
    return sizeof *f + (f->h.chan == TCP_PIECE ? f->h.bytes + sizeof(struct tcp_check) : tcp_padded(f->h.bytes));
}

static struct note *note_of(struct tcp_frame *f)
{
    return (struct note *)(void *)(f + 1);
}

static inline bool has_room(const struct tcp_link *l, size_t bytes, size_t reserve)
{
    return l->head - l->tail + bytes + reserve <= (uint64_t)uno_tcp_buffer.num;
}

static void check_piece(struct tcp_link *l, struct tcp_frame *f)
{
    struct note *note = note_of(f);
    const unsigned char *key = tcp_key_of(&l->out_keys, TCP_PAYLOAD);
    if (key) memcpy(note->key, key, TCP_KEY);
    if (f->h.bytes <= SUM_FIRST) tcp_check(&note->trailer, key, note->base, f->h.bytes);
}

// The frame that is sent next: its checks, for the present connection.
static inline void check_frame(struct tcp_link *l, struct tcp_frame *f, const void *payload)
{
    f->ack = l->got_seq;
    f->data_check = (struct tcp_check){{0}};
    if (f->h.chan == TCP_PIECE)
        check_piece(l, f);
    else if (f->h.bytes > 0)
        tcp_check(&f->data_check, tcp_key_of(&l->out_keys, TCP_PAYLOAD), payload, f->h.bytes);
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
    l->head += ring_bytes(f);
    uno_assert(l->tail <= l->sent && l->sent < l->head && l->head - l->tail <= (uint64_t)uno_tcp_buffer.num);
    l->untold = 0;
    l->tell = false;
}

void tcp_reseal(struct tcp_link *l)
{
    for (uint64_t at = l->sent; at < l->head; at += ring_bytes(frame_at(l, at)))
        check_frame(l, frame_at(l, at), frame_at(l, at) + 1);
}

void tcp_arm(struct tcp_link *l)
{
    if (l->armed || l->sock.fd < 0) return;
    l->armed = true;
    tcp_watch(&l->sock, EPOLLIN | EPOLLOUT, false);
}

static void set_blocked(struct tcp_link *l, bool blocked)
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
    struct note *note = note_of(f);
    size_t first = sizeof *f, end = first + f->h.bytes;
    if (from < first) from = first;
    if (to > end) to = end;
    if (from >= to || f->h.bytes <= SUM_FIRST) return;
    if (from == first) tcp_sum_begin(&l->part_sum, l->out_keys.on ? note->key : NULL);
    tcp_sum_add(&l->part_sum, note->base + from - first, to - from);
    if (to == end) tcp_sum_end(&l->part_sum, &note->trailer);
}

// The kernel took n more bytes.
static void advance_queue(struct tcp_link *l, size_t n)
{
    while (l->sent < l->head) {
        struct tcp_frame *f = frame_at(l, l->sent);
        size_t left = wire_bytes(f) - l->part, k = n < left ? n : left;
        if (f->h.chan == TCP_PIECE) sum_piece(l, f, l->part, l->part + k);
        n -= k;
        l->part += k;
        uno_assert(l->part <= wire_bytes(f));
        if (k < left) return;
        l->sent += ring_bytes(f);
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
    struct note *note = note_of(f);
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

// What is to be sent next, as parts; returns how many, their bytes in *total.
static int collect(const struct tcp_link *l, struct iovec *v, size_t *total)
{
    int count = 0;
    size_t skip = l->part;
    *total = 0;
    for (uint64_t at = l->sent; at < l->head && count + 3 <= PARTS; skip = 0) {
        struct tcp_frame *f = frame_at(l, at);
        if (f->h.chan == TCP_PIECE) {
            if (!collect_piece(f, skip, v, &count, total)) break;
        } else {
            count = add_part(v, count, (char *)f + skip, wire_bytes(f) - skip);
            *total += wire_bytes(f) - skip;
        }
        at += ring_bytes(f);
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
            tcp_broken(l, errno, "sending");
            return;
        }
        if (n > 0) advance_queue(l, (size_t)n);
        if (n < (ssize_t)total) {
            set_blocked(l, true);
            return;
        }
    }
    set_blocked(l, false);
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
    const struct tcp_frame *f = frame_at(l, from);
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

// A larger plain message, whose frame at `from` holds all but the payload: the kernel gets that from the user's memory,
// and the ring its copy (for sending anew) while the message is on its way.
static void start_large(struct tcp_link *l, uint64_t from, const struct uno_msg *m)
{
    struct tcp_frame *f = frame_at(l, from);
    char *payload = (char *)(f + 1);
    ssize_t done = 0;
    if (is_open(l) && l->sent == from && !l->part) {
        size_t pad = tcp_padded(m->bytes) - m->bytes;
        struct iovec v[3] = {{f, sizeof *f}, {(char *)(uintptr_t)m->data, m->bytes}, {payload + m->bytes, pad}};
        struct msghdr h = {.msg_iov = v, .msg_iovlen = 3};
        done = sendmsg(l->sock.fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
        uno_tcp_state.last_use = uno_ticks();
    }
    memcpy(payload, m->data, m->bytes);
    if (done > 0) advance_queue(l, (size_t)done);
    if (l->sent < l->head && is_open(l)) tcp_flush(l);
}

int tcp_send(struct uno_link *link, const struct uno_msg *m)
{
    struct tcp_link *l = tcp_of(link);
    size_t n = tcp_padded(m->bytes);
    if (__builtin_expect(l->bye && l->state == TCP_UP, 0)) {
        tcp_broken(l, ECONNRESET, "it has left");
        tcp_take_down(l);
    }
    if (__builtin_expect(l->state >= TCP_GONE, 0))
        return uno_fail(MPI_ERR_OTHER, "rank %d cannot be reached: the connection to it was lost", link->proc);
    if (__builtin_expect(l->leaving, 0)) return UNO_FULL;    // it comes back once it has ended
    if (!has_room(l, sizeof(struct tcp_frame) + n, RESERVE)) return UNO_FULL;
    if (m->kind == UNO_EAGER) UNO_TRAFFIC_COUNT(&uno_tcp.sent[UNO_BY_EAGER], m->bytes);
    uint64_t from = l->head;
    struct tcp_frame *f = frame_at(l, from);
    char *payload = (char *)(f + 1);
    f->h = (struct uno_hdr){
        .kind = m->kind, .chan = TCP_MESSAGE, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    if (m->bytes > 0) memset(payload + n - 8, 0, 8);
    if (m->bytes >= LARGE && !m->packer) {
        seal(l, f, m->data);
        start_large(l, from, m);
        return MPI_SUCCESS;
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
    struct tcp_frame *f = frame_at(l, from);
    f->h = (struct uno_hdr){.chan = (uint8_t)sort, .bytes = (uint32_t)n};
    if (n > 0) {
        memset((char *)(f + 1) + tcp_padded(n) - 8, 0, 8);
        memcpy(f + 1, payload, n);
    }
    seal(l, f, f + 1);
    start(l, from);
    return true;
}

bool tcp_put_piece(struct tcp_link *l, struct tcp_offer *o, uint32_t landing, const void *base, size_t n)
{
    if (!has_room(l, sizeof(struct tcp_frame) + sizeof(struct note), 0)) return false;
    uint64_t from = l->head;
    struct tcp_frame *f = frame_at(l, from);
    f->h = (struct uno_hdr){.chan = TCP_PIECE, .bytes = (uint32_t)n, .ctx = landing};
    *note_of(f) = (struct note){.base = base, .offer = o};
    l->pieces++;
    seal(l, f, base);
    start(l, from);
    return true;
}

void tcp_move_pieces(struct tcp_link *l, const struct tcp_offer *o, const char *from, const char *to)
{
    for (uint64_t at = l->tail; at < l->head; at += ring_bytes(frame_at(l, at))) {
        struct tcp_frame *f = frame_at(l, at);
        if (f->h.chan == TCP_PIECE && note_of(f)->offer == o) note_of(f)->base = to + (note_of(f)->base - from);
    }
}

static void pop(struct tcp_link *l)
{
    struct tcp_frame *f = frame_at(l, l->tail);
    l->tail += ring_bytes(f);
    uno_assert(l->tail <= l->sent);
    if (f->h.chan == TCP_PIECE) tcp_piece_acked(note_of(f)->offer, f->h.bytes);
}

void tcp_acked(struct tcp_link *l, uint64_t ack)
{
    while (l->tail < l->sent) {
        const struct tcp_frame *f = frame_at(l, l->tail);
        if (f->seq > ack) break;
        pop(l);
    }
    // An empty ring starts again at its first page, which the cache holds.
    if (l->tail == l->head) l->tail = l->sent = l->head = 0;
}

void tcp_rewind(struct tcp_link *l, uint64_t ack)
{
    for (uint64_t at = l->tail; at < l->sent; at += ring_bytes(frame_at(l, at)))
        if (frame_at(l, at)->seq > l->given_seq) l->given_seq = frame_at(l, at)->seq;
    set_blocked(l, false);
    l->sent = l->head;
    l->part = 0;
    l->pieces = 0;
    tcp_acked(l, ack);
    l->sent = l->tail;
    for (uint64_t at = l->sent; at < l->head; at += ring_bytes(frame_at(l, at)))
        if (frame_at(l, at)->h.chan == TCP_PIECE) l->pieces++;
}

void tcp_count_resent(const struct tcp_link *l)
{
    for (uint64_t at = l->sent; at < l->head; at += ring_bytes(frame_at(l, at))) {
        uint64_t seq = frame_at(l, at)->seq;
        if (seq > 0 && seq <= l->given_seq) uno_count_add(&resent, 1);
    }
}

void tcp_tell(struct tcp_link *l)
{
    if (l->sent < l->head || l->state != TCP_UP) return;
    tcp_put(l, TCP_ACK, NULL, 0);
}
