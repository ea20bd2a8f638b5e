// SPDX-License-Identifier: BSD-3-Clause
// Sending over TCP: every frame is built in the link's ring, given to the kernel from there, and stays until it is
// acknowledged. Called by p2p through the contract (tcp_send) and by the other files of this folder. A small message
// costs one system call. A PIECE keeps only its header in the ring, followed by a note (struct note, not sent) that
// says where the payload lies.
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "base/fail.h"
#include "base/wait.h"
#include "chan/tcp/tcp.h"

#define RESERVE 4096    // of the ring, for frames of our own
#define PARTS 16        // of one system call

struct note {
    const char *base;
    struct tcp_offer *offer;
};

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
    return sizeof *f + (f->h.chan == TCP_PIECE ? f->h.bytes : tcp_padded(f->h.bytes));
}

static inline bool has_room(const struct tcp_link *l, size_t bytes, size_t reserve)
{
    return l->head - l->tail + bytes + reserve <= (uint64_t)uno_tcp_buffer.num;
}

// Numbers and checks the frame at head, which then belongs to the stream.
static inline void seal(struct tcp_link *l, struct tcp_frame *f, const void *payload)
{
    bool numbered = f->h.chan < TCP_ACK;
    f->seq = numbered ? ++l->seq : 0;
    f->ack = l->got_seq;
    f->h.stamp = 0;
    f->data_check = uno_crc32c(0, payload, f->h.bytes);
    f->check = uno_crc32c(0, &f->data_check, sizeof *f - sizeof f->check);
    l->head += ring_bytes(f);
    l->untold = 0;
    l->tell = false;
}

static void set_blocked(struct tcp_link *l, bool blocked)
{
    if (l->blocked == blocked) return;
    l->blocked = blocked;
    if (blocked)
        uno_tcp_state.blocked++;
    else
        uno_tcp_state.blocked--;
    if (l->sock.fd >= 0) tcp_watch(&l->sock, EPOLLIN | (blocked ? EPOLLOUT : 0), false);
}

// The kernel took n more bytes.
static void advance(struct tcp_link *l, size_t n)
{
    n += l->part;
    while (l->sent < l->head) {
        const struct tcp_frame *f = frame_at(l, l->sent);
        size_t whole = wire_bytes(f);
        if (n < whole) break;
        n -= whole;
        l->sent += ring_bytes(f);
        if (f->h.chan == TCP_PIECE) l->pieces--;
    }
    l->part = n;
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

// What is to be sent next, as parts; returns how many, their bytes in *total.
static int collect(const struct tcp_link *l, struct iovec *v, size_t *total)
{
    int count = 0;
    size_t skip = l->part;
    *total = 0;
    for (uint64_t at = l->sent; at < l->head && count + 2 <= PARTS;) {
        struct tcp_frame *f = frame_at(l, at);
        size_t inside = f->h.chan == TCP_PIECE ? sizeof *f : wire_bytes(f);
        if (skip < inside) count = add_part(v, count, (char *)f + skip, inside - skip);
        if (f->h.chan == TCP_PIECE) {
            const struct note *note = (const struct note *)(const void *)(f + 1);
            size_t from = skip > inside ? skip - inside : 0;
            count = add_part(v, count, (char *)(uintptr_t)note->base + from, f->h.bytes - from);
        }
        *total += wire_bytes(f) - skip;
        skip = 0;
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
        if (n > 0) advance(l, (size_t)n);
        if (n < (ssize_t)total) {
            set_blocked(l, true);
            return;
        }
    }
    set_blocked(l, false);
}

// A frame just sealed at `from` goes out, if nothing else is before it.
static inline void start(struct tcp_link *l, uint64_t from)
{
    if (__builtin_expect(l->state != TCP_UP || l->broken, 0)) {
        if (l->state == TCP_IDLE) tcp_dial(l);
        return;
    }
    if (l->blocked) return;
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
    if (done > 0) advance(l, (size_t)done);
    tcp_flush(l);
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
    if (!has_room(l, sizeof(struct tcp_frame) + n, RESERVE)) return UNO_FULL;
    uint64_t from = l->head;
    struct tcp_frame *f = frame_at(l, from);
    char *payload = (char *)(f + 1);
    f->h = (struct uno_hdr){
        .kind = m->kind, .chan = TCP_MESSAGE, .src = m->src, .tag = m->tag, .bytes = m->bytes, .ctx = m->ctx};
    if (m->bytes > 0) {
        memset(payload + n - 8, 0, 8);
        if (m->packer)
            uno_pack(m->packer, payload, m->bytes);
        else
            memcpy(payload, m->data, m->bytes);
    }
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
    *(struct note *)(void *)(f + 1) = (struct note){base, o};
    l->pieces++;
    seal(l, f, base);
    start(l, from);
    return true;
}

static void pop(struct tcp_link *l)
{
    const struct tcp_frame *f = frame_at(l, l->tail);
    l->tail += ring_bytes(f);
    if (f->h.chan == TCP_PIECE) tcp_piece_acked(((const struct note *)(const void *)(f + 1))->offer, f->h.bytes);
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
    set_blocked(l, false);
    l->sent = l->head;
    l->part = 0;
    l->pieces = 0;
    tcp_acked(l, ack);
    l->sent = l->tail;
    for (uint64_t at = l->sent; at < l->head; at += ring_bytes(frame_at(l, at)))
        if (frame_at(l, at)->h.chan == TCP_PIECE) l->pieces++;
}

void tcp_tell(struct tcp_link *l)
{
    if (l->sent < l->head || l->state != TCP_UP) return;
    tcp_put(l, TCP_ACK, NULL, 0);
}
