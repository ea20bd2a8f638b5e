// SPDX-License-Identifier: BSD-3-Clause
// Receiving over TCP: reads what is there, checks every frame (both checksums, number in order) and delivers it. Called
// by poll. A frame that fits the buffer is delivered out of it; the payload of a PIECE is read straight to where it
// belongs. Whatever is wrong with a frame breaks the connection: the next one resumes after the last good frame.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "chan/tcp/tcp.h"

#define BUFFER TCP_INPUT        // at least two frames of the largest kind
#define READ_MAX (64 * 1024)    // at once: what it holds of a PIECE is copied once more
#define READ_BEHIND 4096        // at once behind a PIECE
#define READS 8                 // before others have their turn

static void acknowledge_soon(struct tcp_link *l, size_t bytes)
{
    l->untold += bytes;
    if (l->untold > (size_t)uno_tcp_buffer.num / 4) l->tell = true;
}

// The PIECE being read is complete.
static void finish_piece(struct tcp_link *l)
{
    struct tcp_landing *d = l->landing;
    l->landing = NULL;
    if (l->piece_check != l->piece.data_check) {
        tcp_broken(l, EPROTO, "a frame arrived damaged");
        return;
    }
    l->got_seq = l->piece.seq;
    acknowledge_soon(l, sizeof l->piece);
    tcp_landed(l, d, l->piece.h.bytes);
}

static void piece_came(struct tcp_link *l, size_t n)
{
    l->piece_check = uno_crc32c(l->piece_check, tcp_landing_at(l->landing) + l->piece_got, n);
    l->piece_got += n;
    if (l->piece_got == l->piece.h.bytes) finish_piece(l);
}

static const char *begin_piece(struct tcp_link *l, const struct tcp_frame *f)
{
    l->landing = tcp_landing_of(l, f);
    if (!l->landing) return "a piece of no transfer arrived";
    l->piece = *f;
    l->piece_got = 0;
    l->piece_check = 0;
    l->at += sizeof *f;
    size_t n = l->fill - l->at < f->h.bytes ? l->fill - l->at : f->h.bytes;
    memcpy(tcp_landing_at(l->landing), l->buf + l->at, n);
    l->at += n;
    piece_came(l, n);
    return NULL;
}

static const char *take_frame(struct tcp_link *l, const struct tcp_frame *f, const void *payload)
{
    if (uno_crc32c(0, payload, f->h.bytes) != f->data_check) return "a frame arrived damaged";
    if (f->seq) {
        l->got_seq = f->seq;
        acknowledge_soon(l, sizeof *f + f->h.bytes);
    }
    switch (f->h.chan) {
    case TCP_MESSAGE: uno_deliver(&l->base, &f->h, payload); return NULL;
    case TCP_PULL: return tcp_pulled(l, payload, f->h.bytes);
    case TCP_BYE:
        l->bye = true;
        if (l->untold) l->tell = true;
        return NULL;
    default: return NULL;
    }
}

static const char *check_header(const struct tcp_link *l, const struct tcp_frame *f)
{
    if (uno_crc32c(0, &f->data_check, sizeof *f - sizeof f->check) != f->check) return "a frame arrived damaged";
    bool numbered = f->h.chan < TCP_ACK;
    if (f->h.chan >= TCP_SORT_END) return "a frame of an unknown kind arrived";
    if (f->seq != (numbered ? l->got_seq + 1 : 0)) return "a frame is missing";
    if (f->h.chan != TCP_PIECE && f->h.bytes > BUFFER / 2) return "a frame is too long";
    return NULL;
}

// Takes complete frames out of the buffer; returns how many.
static int parse(struct tcp_link *l)
{
    int count = 0;
    const char *why = NULL;
    while (!why && !l->broken && !l->landing && l->fill - l->at >= sizeof(struct tcp_frame)) {
        struct tcp_frame f;
        memcpy(&f, l->buf + l->at, sizeof f);
        why = check_header(l, &f);
        if (why) break;
        tcp_acked(l, f.ack);
        if (f.h.chan == TCP_PIECE) {
            why = begin_piece(l, &f);
            count++;
            continue;
        }
        size_t whole = sizeof f + tcp_padded(f.h.bytes);
        if (l->fill - l->at < whole) break;
        const char *payload = l->buf + l->at + sizeof f;
        l->at += whole;
        why = take_frame(l, &f, payload);
        count++;
    }
    if (why) tcp_broken(l, EPROTO, why);
    return count;
}

// What is left of the buffer moves to its front, where payloads are aligned and a whole frame fits.
static void compact(struct tcp_link *l)
{
    if (l->at == 0) return;
    l->fill -= l->at;
    if (l->fill > 0) memmove(l->buf, l->buf + l->at, l->fill);
    l->at = 0;
}

static ssize_t read_some(struct tcp_link *l, size_t *asked)
{
    if (!l->landing) {
        size_t room = BUFFER - l->fill;
        *asked = room < READ_MAX ? room : READ_MAX;
        return recv(l->sock.fd, l->buf + l->fill, *asked, MSG_DONTWAIT);
    }
    size_t left = l->piece.h.bytes - l->piece_got;
    struct iovec v[2] = {{tcp_landing_at(l->landing) + l->piece_got, left}, {l->buf, READ_BEHIND}};
    *asked = left + READ_BEHIND;
    return readv(l->sock.fd, v, 2);
}

static void took(struct tcp_link *l, size_t n)
{
    if (!l->landing) {
        l->fill += n;
        return;
    }
    size_t left = l->piece.h.bytes - l->piece_got;
    l->fill = n > left ? n - left : 0;
    l->at = 0;
    piece_came(l, n < left ? n : left);
}

int tcp_receive(struct tcp_link *l)
{
    if (l->sock.fd < 0 || l->broken || l->parsing) return 0;
    int count = 0;
    l->parsing = true;
    for (int i = 0; i < READS && !l->broken; i++) {
        size_t asked;
        ssize_t n = read_some(l, &asked);
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            tcp_broken(l, n < 0 ? errno : ECONNRESET, n < 0 ? "receiving" : "closed by the other side");
            break;
        }
        took(l, (size_t)n);
        count += 1 + parse(l);
        compact(l);
        if ((size_t)n < asked) break;
    }
    l->parsing = false;
    if (l->tell && !l->broken) tcp_tell(l);
    return count;
}

void tcp_forget_input(struct tcp_link *l)
{
    l->at = l->fill = 0;
    l->landing = NULL;
}

_Static_assert(BUFFER >= 2 * (64 * 1024 + sizeof(struct tcp_frame)), "the buffer holds two frames");
