// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel's own header: frames, links, and which file does what.
//
//   tcp.c      the component: open, connect, poll, close         send.c     the ring of frames; resending
//   dial.c     connections: dial, answer, break, dial again      receive.c  reading, checking and delivering frames
//   shake.c    the handshake's messages and their proof          direct.c   large messages, straight between buffers
//   address.c  own addresses and those of peers                  check.c    checksums and MACs of frames
//
// Invariant: frames of a link are numbered from 1; a frame stays in the sender's ring until the receiver's
// acknowledgement covers it, so that a new connection goes on where the receiver says it stopped. The library lock is
// held everywhere.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/param.h"
#include "chan/chan.h"
#include "chan/tcp/check.h"

#define TCP_ADDRESSES 4
#define TCP_NONCE 32
#define TCP_INPUT (192 * 1024)      // bytes of a link's input buffer
#define TCP_DATA_MAX (64 * 1024)    // largest payload of a MESSAGE

enum tcp_sort { TCP_MESSAGE, TCP_PULL, TCP_PIECE, TCP_ACK, TCP_BYE, TCP_SORT_END };    // in uno_hdr.chan

// A frame: this header, then h.bytes of payload, padded to a multiple of 8. A PIECE is not padded; the check of
// its payload follows it, so that the payload is summed after the kernel has copied it, while the cache still holds it.
struct tcp_frame {
    struct tcp_check check;         // of the rest of the header
    struct tcp_check data_check;    // of the payload; zeros in a PIECE, and where there is none
    uint64_t seq;                   // 0: not numbered (ACK, BYE)
    uint64_t ack;                   // every frame up to this number has arrived
    struct uno_hdr h;
};

_Static_assert(sizeof(struct tcp_frame) == 72, "the frame header has no holes");

enum tcp_what { TCP_LISTENER, TCP_TIMER, TCP_SHAKING, TCP_LINKED };

struct tcp_sock {
    enum tcp_what what;
    int fd;
};    // first member of all that epoll points to

enum tcp_state {
    TCP_IDLE,       // never needed so far
    TCP_DIALING,    // a handshake of ours is under way
    TCP_WAITING,    // to dial again at `due` (or for the peer to do so)
    TCP_UP,
    TCP_GONE,    // while we close: the peer has left before us
    TCP_LOST     // given up
};

struct tcp_offer;
struct tcp_landing;
struct tcp_shake;

// A payload that is read straight to where it belongs.
struct tcp_straight {
    char *dst;    // NULL: none is being read
    size_t got;
    struct tcp_sum sum;             // of what has come
    struct tcp_landing *landing;    // of a PIECE
    struct tcp_frame f;             // its header
};

struct tcp_early {
    char *dst;    // NULL: none
    uint32_t bytes;
    uint64_t seq, token;
};

struct tcp_link {
    struct uno_link base;
    struct tcp_sock sock;
    enum tcp_state state;
    struct tcp_link *next;
    struct tcp_shake *dial;    // while DIALING
    uint64_t due, since;       // ns: when to dial; since when there is no connection
    uint32_t tries;            // since then
    bool fruitful;             // a frame has come by this connection
    bool again;                // one broke before
    uint64_t refused;          // number of the frame that broke the protocol last
    uint32_t refusals;         // how often it did
    int broken;                // errno (or EPROTO): to be taken down by the next poll
    const char *broken_why;
    // sending: positions count bytes of the ring; frame boundaries, but for `part`
    char *ring;                           // mapped twice in a row: nothing ever wraps
    uint64_t tail, sent, head;            // acknowledged; given to the kernel; end
    size_t part;                          // bytes of the frame at `sent` that the kernel has
    struct tcp_sum part_sum;              // of the payload in them, when that frame is a PIECE
    struct tcp_keys out_keys, in_keys;    // of the present connection
    uint64_t seq;                         // of the last numbered frame
    uint64_t given_seq;                   // of the last one that a connection which broke had taken
    bool blocked;                         // the kernel takes no more now: poll tries again
    bool armed;                           // EPOLLOUT is asked for: epoll tells when to try again
    bool leaving;                         // nothing more is sent: it ends once all has arrived
    // receiving
    char *buf;
    size_t at, fill;
    uint64_t got_seq;    // last frame in order
    size_t untold;       // bytes arrived that no acknowledgement has covered
    bool tell;           // acknowledge at the end of this poll
    bool parsing;
    bool bye;                  // the peer leaves; it may come back with a new life (MPI sessions)
    uint64_t peer_life;        // that the numbers of this link belong to; 0: not connected so far
    bool large;                // the last frame begun had a large payload
    struct tcp_straight in;    // the payload that is being read straight to where it belongs
    struct tcp_early early;    // the MESSAGE whose receive is found already, also while it is sent anew
    // direct transfers
    struct tcp_offer *streams, *streams_end;    // asked for by the peer and not yet all in the ring
    uint32_t pieces;                            // in the ring and not yet all given to the kernel
    struct tcp_landing *pulls;                  // accepted, the PULL did not fit the ring yet
    uint32_t direct;                            // offers and landings alive
};

// The addresses of a rank, as published (board, process manager).
struct tcp_card {
    uint16_t port;
    uint8_t count, pad;
    struct {
        uint8_t family, bytes[16], pad[3];
    } addr[TCP_ADDRESSES];    // family 4 or 6
};

struct tcp_chan {
    int epoll, timer;
    struct tcp_sock listener, timer_sock;
    struct uno_link **link;    // [nprocs], NULL until needed
    struct tcp_link *first;    // those that are not NULL
    struct tcp_link *hot;      // the last one that delivered
    uint32_t up;               // links with a connection
    uint32_t shaking;          // handshakes under way
    uint32_t blocked;          // links whose kernel buffers are full
    uint32_t unwell;           // links with broken != 0
    uint32_t leaving;          // links that are leaving
    uint64_t last_use;         // ticks of the last arrival or departure
    uint64_t last_look;        // ticks of the last look at the sockets
    uint64_t last_wide;        // ticks of the last look at all of them
    bool fruitless;            // that look found nothing
    uint64_t timer_at;         // ns for which the timer is armed, 0: none
    uint64_t life;             // of this process's channel, drawn when it opens
    bool closing;
    bool restless;    // handshakes or redials have changed: the timer is to be armed anew
    struct tcp_card card;
};

extern struct uno_chan uno_tcp;
extern struct tcp_chan uno_tcp_state;
extern struct uno_param uno_tcp_buffer, uno_tcp_eager_max, uno_tcp_patience;

static inline struct tcp_link *tcp_of(struct uno_link *link)
{
    return (struct tcp_link *)link;
}

static inline size_t tcp_padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

// ---- tcp.c ----
struct tcp_link *tcp_link_of(int proc);                             // made when there is none; NULL: memory is out
void tcp_broken(struct tcp_link *l, int err, const char *why);      // noted; taken down by the next poll
void tcp_watch(struct tcp_sock *s, uint32_t events, bool fresh);    // epoll_ctl

// ---- send.c ----
int tcp_send(struct uno_link *link, const struct uno_msg *m);
// A frame of our own with n bytes of payload; false: no room in the ring now.
bool tcp_put(struct tcp_link *l, enum tcp_sort sort, const void *payload, size_t n);
// A piece of an offer: its payload stays where it is until it is acknowledged.
bool tcp_put_piece(struct tcp_link *l, struct tcp_offer *o, uint32_t landing, const void *base, size_t n);
void tcp_move_pieces(struct tcp_link *l, const struct tcp_offer *o, const char *from, const char *to);
void tcp_flush(struct tcp_link *l);
void tcp_arm(struct tcp_link *l);                     // a blocked link: epoll is to tell when it can go on
void tcp_acked(struct tcp_link *l, uint64_t ack);     // takes frames off the ring
void tcp_rewind(struct tcp_link *l, uint64_t ack);    // a new connection: send all again that comes after ack
void tcp_reseal(struct tcp_link *l);                  // what the ring holds, under the keys of a new connection
void tcp_count_resent(const struct tcp_link *l);      // what a new connection sends once more
void tcp_tell(struct tcp_link *l);                    // an ACK frame, if nothing else is on its way

// ---- receive.c ----
int tcp_receive(struct tcp_link *l);          // how many frames arrived
void tcp_forget_input(struct tcp_link *l);    // what was half read of a connection that is gone

// ---- dial.c ----
int tcp_listen(void);
void tcp_unlisten(void);
void tcp_dial(struct tcp_link *l);
void tcp_accept_all(void);
void tcp_shake_event(struct tcp_sock *s);
void tcp_lose(struct uno_link *link, int err);
void tcp_begin_anew(struct tcp_link *l);
void tcp_forget_dial(struct tcp_link *l);
void tcp_take_down(struct tcp_link *l);    // of a broken connection: dial again or give up
void tcp_run_timers(void);
void tcp_arm_timer(void);

// ---- shake.c: messages of the handshake, all of this form ----
enum tcp_step { TCP_CHALLENGE = 1, TCP_HELLO, TCP_WELCOME };

struct tcp_greeting {
    char magic[8];
    uint64_t job;    // HELLO, WELCOME: of the side that speaks
    uint32_t step;
    int32_t from, to;                  // world ranks, each in its job
    uint16_t crossed;                  // WELCOME: 1 = refused, our own dial has the right of way
    uint16_t auth;                     // HELLO: 1 = frames are to have MACs; WELCOME: 1 = they have
    uint64_t life;                     // of the side that speaks
    uint64_t received;                 // HELLO, WELCOME: last frame in order that arrived over earlier connections
    unsigned char nonce[TCP_NONCE];    // of the side that speaks
    unsigned char proof[32];           // keyed hash over all of the above and the other side's nonce; not in CHALLENGE
};

int tcp_shake_open(void);    // finds the library that computes proofs
int tcp_nonce(unsigned char *nonce);
void tcp_sign(struct tcp_greeting *g, int to, const unsigned char *other_nonce);    // NULL: the challenge
// NULL: good; else what is wrong with it.
const char *tcp_verify(const struct tcp_greeting *g, enum tcp_step step, const unsigned char *other_nonce);
bool tcp_goes_first(int proc);    // of this process and that one, whose dial has the right of way
struct sockaddr;
bool tcp_wants_auth(const struct sockaddr *peer);
void tcp_agree_keys(struct tcp_link *l, const unsigned char *dialer, const unsigned char *answerer);    // by nonces

// Functions of libsodium.
struct tcp_symbol {
    const char *name;
    void **to;
};
int tcp_sodium(const struct tcp_symbol *wanted, size_t count);

// ---- address.c ----
int tcp_own_card(struct tcp_card *card);    // all but the port
int tcp_publish(const struct tcp_card *card);
bool tcp_find_card(int proc, struct tcp_card *card);    // false: the peer has not published it yet
bool tcp_is_near(const struct sockaddr *peer);          // this host, or one in a network that this host is in

// ---- direct.c ----
int tcp_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
int tcp_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
bool tcp_withdraw(struct uno_link *link, const struct uno_rts *rts);
bool tcp_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy);
const char *tcp_pulled(struct tcp_link *l, const void *payload, size_t n);    // a PULL came; NULL: good
void tcp_pump(struct tcp_link *l);                                            // puts pulls and pieces into the ring
void tcp_piece_acked(struct tcp_offer *o, size_t n);
struct tcp_landing *tcp_landing_of(struct tcp_link *l, const struct tcp_frame *f);    // NULL: the frame makes no sense
char *tcp_landing_at(const struct tcp_landing *d);
void tcp_landed(struct tcp_link *l, struct tcp_landing *d, size_t n);
void tcp_direct_fail(struct tcp_link *l, int err);    // all transfers of a lost link end with err
void tcp_direct_close(void);
