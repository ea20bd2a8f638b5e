// SPDX-License-Identifier: BSD-3-Clause
// Receiving over TCP: reads what is there, checks every frame (both checksums, number in order) and delivers it. Called
// by poll. A frame that fits the buffer is delivered out of it; the payload of a PIECE, and of a larger MESSAGE whose
// receive is posted, is read straight to where it belongs. Whatever is wrong with a frame breaks the connection: the
// next one resumes after the last good frame.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "chan/proc.h"
#include "chan/tcp/tcp.h"

#define BUFFER TCP_INPUT                  // at least one frame of the largest kind, and a read
#define READ_MAX (64 * 1024)              // at once
#define UNTOLD_MAX ((size_t)256 << 10)    // bytes received after which an acknowledgement goes by itself, at most
#define READ_FIRST 4096      // at once where a large payload may begin: what is read with its header is copied again
#define STRAIGHT_MIN 8192    // payload of a MESSAGE that is worth a system call of its own
#define READS 8              // before others have their turn

static const char damaged[] = "a frame arrived damaged";

static void acknowledge_soon(struct tcp_link *l, size_t bytes)
{
    l->untold += bytes;
    size_t most = uno_tcp_state.brim / 4;
    if (l->untold > (most < UNTOLD_MAX ? most : UNTOLD_MAX)) l->tell = true;
}

static bool is_summed(const struct tcp_link *l, const struct tcp_frame *f)
{
    return l->in_keys.on || f->data_check.tag[TCP_CRC];
}

// A payload is read straight from here on; what the buffer holds of it is moved. landing.c looks at what connections
// read of a PIECE: nothing of one before must be left where this is a MESSAGE.
static void begin_straight(struct tcp_link *l, const struct tcp_frame *f, char *dst)
{
    l->at += sizeof *f;
    size_t n = l->fill - l->at < f->h.bytes ? l->fill - l->at : f->h.bytes;
    memcpy(dst, l->buf + l->at, n);
    l->at += n;
    l->in.dst = dst;
    l->in.got = n;
    l->in.f = *f;
    if (f->h.chan != TCP_PIECE) l->in.landing = NULL;
    if (is_summed(l, f))
        tcp_sum_begin(&l->in.sum, tcp_key_of(&l->in_keys, TCP_PAYLOAD));
    else
        tcp_sum_none(&l->in.sum);
    tcp_sum_add(&l->in.sum, dst, n);
    l->in_keys.next++;
}

static bool all_there(const struct tcp_link *l)
{
    return l->in.got == l->in.f.h.bytes;
}

// The payload read straight is there. Takes what follows it (a check, the padding of a MESSAGE) from the
// buffer; false: that has not come yet, or something is wrong.
static bool finish_straight(struct tcp_link *l, const char **why)
{
    struct tcp_frame f = l->in.f;
    bool piece = f.h.chan == TCP_PIECE;
    struct tcp_check wanted = f.data_check, is;
    size_t behind = tcp_behind(&f);
    if (!all_there(l) || l->fill - l->at < behind) return false;
    l->at += behind;
    if (piece || tcp_is_trailed(&f)) memcpy(&wanted, l->buf + l->at - sizeof wanted, sizeof wanted);
    tcp_sum_end(&l->in.sum, &is);
    l->in.dst = NULL;
    if (!tcp_check_same(&is, &wanted)) {
        *why = damaged;
        return false;
    }
    l->got_seq = f.seq;
    l->fruitful = true;
    acknowledge_soon(l, sizeof f + (piece ? 0 : f.h.bytes));
    if (l->lane > 0) l->tell = true;    // what it carries can be carried by others: the sender is told at once
    if (piece && !l->in.landing) {
        l->tell = true;    // late: its sender may wait for nothing else
    } else if (piece) {
        tcp_landed(l, l->in.landing, l->in.offset, f.h.bytes);
    } else {
        l->early.dst = NULL;
        l->direct--;
        uno_direct_done(l->early.token, f.h.bytes, 0);
    }
    return true;
}

// Whether the MESSAGE, of which the buffer holds the beginning, goes straight to its receive.
static bool begin_early(struct tcp_link *l, const struct tcp_frame *f)
{
    if (f->h.bytes < STRAIGHT_MIN || f->h.chan != TCP_MESSAGE) return false;
    l->early.dst = uno_deliver_into(&l->base, &f->h, &l->early.token);
    if (!l->early.dst) return false;
    l->early.seq = f->seq;
    l->early.bytes = f->h.bytes;
    l->direct++;
    begin_straight(l, f, l->early.dst);
    return true;
}

// The peer sends nothing more. A process of another job that ends has done its part, and what still waits for it is
// over.
static void take_leave(struct tcp_link *l, bool ends)
{
    l->bye = true;
    if (l->untold) l->tell = true;
    if (!ends || !uno_proc_is_guest(l->base.proc)) return;
    l->base.parted = true;
    uno_link_lost(&l->base, "its process has ended");
}

// A frame that is as it was sent. NULL, or how it breaks the protocol.
static const char *obey(struct tcp_link *l, const struct tcp_frame *f, const void *payload)
{
    switch (f->h.chan) {
    case TCP_MESSAGE: return uno_deliver(&l->base, &f->h, payload);
    case TCP_LANDED: return tcp_ended(l, payload, f->h.bytes);
    case TCP_PULL: return tcp_pulled(l, payload, f->h.bytes);
    case TCP_END:
    case TCP_BYE: take_leave(l, f->h.chan == TCP_END); return NULL;
    case TCP_MOVE:
        l->planned = true;
        tcp_broken(l, ECONNRESET, "the other side takes a quicker way");
        return NULL;
    default: return NULL;
    }
}

static const char *take_frame(struct tcp_link *l, const struct tcp_frame *f, const void *payload)
{
    struct tcp_check is = {{0}};
    if (f->h.bytes > 0 && is_summed(l, f)) tcp_check(&is, tcp_key_of(&l->in_keys, TCP_PAYLOAD), payload, f->h.bytes);
    struct tcp_check wanted = f->data_check;
    if (tcp_is_trailed(f)) memcpy(&wanted, (const char *)payload + tcp_padded(f->h.bytes), sizeof wanted);
    if (!tcp_check_same(&is, &wanted)) return damaged;
    l->in_keys.next++;
    uint64_t before = l->got_seq;
    if (f->seq) {
        l->got_seq = f->seq;
        acknowledge_soon(l, sizeof *f + f->h.bytes);
    }
    const char *why = obey(l, f, payload);
    if (!why)
        l->fruitful = true;
    else if (f->seq && l->got_seq == f->seq)
        l->got_seq = before;
    return why;
}

static const char *check_header(struct tcp_link *l, const struct tcp_frame *f)
{
    struct tcp_check is;
    tcp_check(&is, tcp_key_of(&l->in_keys, TCP_HEAD), &f->data_check, sizeof *f - sizeof f->check);
    if (!tcp_check_same(&is, &f->check)) return damaged;
    bool numbered = f->h.chan < TCP_ACK;
    if (f->h.chan >= TCP_SORT_END) return "a frame of an unknown kind arrived";
    if (l->lane > 0 && f->h.chan != TCP_PIECE && f->h.chan != TCP_ACK) return "a lane carries what is not a piece";
    if (f->seq != (numbered ? l->got_seq + 1 : 0)) return "a frame is missing";
    if (f->ack > l->seq) return "a frame acknowledges what was not sent";
    if (f->h.chan != TCP_PIECE && f->h.bytes > (numbered ? TCP_DATA_MAX : 0)) return "a frame is too long";
    return NULL;
}

// One frame out of the buffer, or the beginning of one that is read straight; false: it has to come first.
static bool parse_frame(struct tcp_link *l, const char **why)
{
    struct tcp_frame f;
    if (l->fill - l->at < sizeof f) return false;
    memcpy(&f, l->buf + l->at, sizeof f);
    *why = check_header(l, &f);
    if (*why) return false;
    tcp_acked(l, f.ack);
    l->large = f.h.bytes >= STRAIGHT_MIN;
    if (f.h.chan == TCP_PIECE) {
        *why = tcp_place_piece(l, &f, &l->in);
        if (!*why) begin_straight(l, &f, l->in.dst);
        return *why == NULL;
    }
    if (l->early.dst && f.seq) {    // it is sent anew
        bool same = f.seq == l->early.seq && f.h.bytes == l->early.bytes && f.h.chan == TCP_MESSAGE;
        if (!same) *why = "a frame came back changed";
        if (same) begin_straight(l, &f, l->early.dst);
        return same;
    }
    size_t whole = sizeof f + f.h.bytes + tcp_behind(&f);
    if (l->fill - l->at < whole) return begin_early(l, &f);
    const char *payload = l->buf + l->at + sizeof f;
    l->at += whole;
    *why = take_frame(l, &f, payload);
    return *why == NULL;
}

// Takes frames out of the buffer; returns how many.
static int parse(struct tcp_link *l)
{
    int count = 0;
    const char *why = NULL;
    while (!l->broken && (l->in.dst ? finish_straight(l, &why) : parse_frame(l, &why))) count++;
    if (!why) return count;
    // The connection will be made again, and the frame come again: as it should be, unless the peer itself is wrong.
    uint64_t refused = l->got_seq + 1;
    if (why != damaged) l->refusals = l->refused == refused ? l->refusals + 1 : 1;
    if (why != damaged) l->refused = refused;
    tcp_broken(l, EPROTO, why);
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
    if (!l->in.dst || all_there(l)) {
        size_t room = BUFFER - l->fill, most = l->large && l->fill == 0 ? READ_FIRST : READ_MAX;
        *asked = room < most ? room : most;
        return recv(l->sock.fd, l->buf + l->fill, *asked, MSG_DONTWAIT);
    }
    size_t left = l->in.f.h.bytes - l->in.got;
    struct iovec v[2] = {{l->in.dst + l->in.got, left}, {l->buf, READ_FIRST}};
    *asked = left + READ_FIRST;
    return readv(l->sock.fd, v, 2);
}

static void took(struct tcp_link *l, size_t n)
{
    if (!l->in.dst || all_there(l)) {
        l->fill += n;
        return;
    }
    size_t left = l->in.f.h.bytes - l->in.got, k = n < left ? n : left;
    tcp_sum_add(&l->in.sum, l->in.dst + l->in.got, k);
    l->in.got += k;
    l->fill = n - k;
    l->at = 0;
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
    l->in.dst = NULL;
}

_Static_assert(BUFFER >= TCP_DATA_MAX + sizeof(struct tcp_frame) + sizeof(struct tcp_check) + READ_MAX,
               "the buffer holds any frame, and room to read");
