// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel's own header: frames, links, and which file does what.
//
//   tcp.c      the component: open, connect, poll, close         send.c     the ring of frames
//   dial.c     connections: dial, answer                     receive.c  reading, checking and delivering frames
//   between.c  no connection: break, dial again, give up     direct.c   large messages, straight between buffers
//   shake.c    the handshake's messages and their proof      check.c    checksums and MACs of frames
//   address.c  where this rank and others are reached        lanes.c    further connections, by other interfaces
//   resend.c   what a new connection gets once more          link.c     links and their memory
//   loans.c    payloads that stay with the user
//   ways.c     pairs of interfaces                           stall.c    connections that have fallen silent
//   up.c       a connection is there                         landing.c  large messages, the receiver's part
//   ends.c     addresses in messages for the user           quick.c    the quickest way
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
#include "chan/net.h"
#include "chan/tcp/check.h"

#define TCP_NONCE 32
#define TCP_DATA_MAX (512 * 1024)    // largest payload of a MESSAGE
#define TCP_MIXED_MAX (64 * 1024)    // of one that is packed, or goes among several ways
#define TCP_INPUT (640 * 1024)       // bytes of a link's input buffer

#define TCP_GRAIN (64 * 1024)          // where pieces of a transfer are cut
#define TCP_PIECE_MAX (1024 * 1024)    // bytes of a PIECE: its checksum is computed while the cache holds it

// In uno_hdr.chan. BYE: nothing more comes by this link, until it is used again; END: its process closes the channel.
// MOVE: the sender wants this connection closed, and makes another one. By lanes come PIECEs and ACKs alone.
enum tcp_sort { TCP_MESSAGE, TCP_PULL, TCP_PIECE, TCP_LANDED, TCP_ACK, TCP_BYE, TCP_END, TCP_MOVE, TCP_SORT_END };

// A MESSAGE with more payload than this is trailed: the segment of a loopback (65,483 bytes) does not hold it, so that
// it leaves in two parts without a loss, and is summed when the first is on its way.
#define TCP_TRAILED 65000

// A frame: this header, then h.bytes of payload, padded to a multiple of 8. A PIECE is not padded; its kind is its
// turn, modulo 256. The check of a PIECE's payload, and of a trailed MESSAGE's, follows it, so that the payload is
// summed after the kernel has copied it, while the cache still holds it.
struct tcp_frame {
    struct tcp_check check;         // of the rest of the header
    struct tcp_check data_check;    // of the payload; where it follows that, only whether there is a CRC
    uint64_t seq;                   // 0: not numbered (ACK and what follows it)
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
    struct tcp_landing *landing;    // of a PIECE; NULL: it is there already, or nobody waits for it any more
    uint64_t offset;                // of the PIECE in the landing
    struct tcp_frame f;             // its header
};

// By which addresses a connection goes: their numbers in the two cards.
#define TCP_NOWHERE UINT8_MAX    // not known
struct tcp_way {
    uint8_t own, theirs;
};

// A MESSAGE that the kernel has whole, whose payload is not in the ring but for the header.
#define TCP_LOANS 16
struct tcp_loan {
    uint64_t at;    // its frame in the ring
    const void *data;
    uint64_t token;
};

#define TCP_ENDS_TEXT (2 * UNO_NET_TEXT + 8)
#define TCP_FAILURE_TEXT (TCP_ENDS_TEXT + 64)

// How the last dial to each address of a peer ended.
struct tcp_tries {
    char text[UNO_ADDRESSES][TCP_FAILURE_TEXT];    // "10.1.0.1 and 10.1.0.2: no answer"; empty: not tried
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
    struct tcp_link *main;    // itself, or the link that this is a lane of (lanes.c)
    struct tcp_link *side;    // its lanes, each the next one's
    uint32_t lane;            // number of this lane, 0: it is the main link
    uint32_t ways;            // main: connections that can be had without sharing interfaces; 0: not known yet
    struct uno_net peer;      // main, if ways > 1: how the peer is reached
    struct tcp_way way;       // of the connection, there or under way
    struct tcp_way move;      // main, if `moving`: where the next dial goes
    bool moving;
    bool planned;              // main: the connection ends because one side said MOVE
    uint64_t compare_at;       // main, ns: when the ways are to be compared
    uint64_t compared;         // main: frames both ways at that time
    uint64_t owed_since;       // ns: since when the kernel has waited for an acknowledgement; 0: it does not
    struct tcp_shake *dial;    // while DIALING
    uint64_t due, since;       // ns: when to dial; since when there is no connection
    uint32_t tries;            // since then
    const char *unlike;        // why its processor and this one cannot take part in one job; NULL: they can
    uint32_t dialled;          // index of the address that was dialled last
    uint32_t address;          // if `proven`: of the one by which the peer was reached
    bool proven;
    bool unheard;                    // a send failed, and what the peer had sent before may still be there
    char ends[TCP_ENDS_TEXT];        // of the connection, or the last one: "10.1.0.1 and 10.1.0.2"; empty: none so far
    struct tcp_tries *tries_told;    // NULL: no dial has failed since there was a connection
    uint32_t denied;                 // dials in a row that the peer's host refused
    bool fruitful;                   // a frame has come by this connection
    bool again;                      // one broke before
    uint64_t refused;                // number of the frame that broke the protocol last
    uint32_t refusals;               // how often it did
    int broken;                      // errno (or EPROTO): to be taken down by the next poll
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
    bool hungry;                          // the last message found no room in the ring
    bool held;                            // loans were not given to the kernel: the next message follows at once
    struct tcp_loan loan[TCP_LOANS];      // in the order of their frames, from first_loan on, in a circle
    uint32_t first_loan, loans;
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
    bool checks;               // payloads that leave have a CRC32C, unless they have a MAC
    struct tcp_straight in;    // the payload that is being read straight to where it belongs
    struct tcp_early early;    // the MESSAGE whose receive is found already, also while it is sent anew
    // direct transfers
    struct tcp_offer *streams, *streams_end;    // asked for by the peer and not yet all in the ring
    uint32_t pieces;                            // in the ring and not yet all given to the kernel
    struct tcp_landing *pulls;                  // accepted, the PULL did not fit the ring yet
    uint32_t direct;                            // offers and landings alive
};

struct tcp_chan {
    int epoll, timer;
    struct tcp_sock listener[2], timer_sock;    // the second one: once this process is reached from other hosts
    struct uno_link **link;                     // [nprocs], NULL until needed
    size_t brim;                                // bytes of a ring that small messages fill
    struct tcp_link *first;                     // those that are not NULL
    struct tcp_link *hot;                       // the last one that delivered
    uint32_t up;                                // links with a connection
    uint32_t shaking;                           // handshakes under way
    uint32_t blocked;                           // links whose kernel buffers are full
    uint32_t unwell;                            // links with broken != 0
    uint32_t leaving;                           // links that are leaving
    uint32_t loans;                             // of all links
    bool settled;                               // a loan was, outside poll: the next one says that something moved
    uint64_t last_use;                          // ticks of the last arrival or departure
    uint64_t last_look;                         // ticks of the last look at the sockets
    uint64_t last_wide;                         // ticks of the last look at all of them
    bool fruitless;                             // that look found nothing
    uint64_t timer_at;                          // ns for which the timer is armed, 0: none
    uint64_t life;                              // of this process's channel, drawn when it opens
    bool several;                               // some peer is reached in more ways than one
    uint64_t last_stall;                        // ticks of the last look for such
    uint64_t stall_at;                          // ns: next look for connections that have fallen silent, 0: none
    bool closing;
    bool restless;    // handshakes or redials have changed: the timer is to be armed anew
    struct uno_net card;
};

extern struct uno_chan uno_tcp;
extern struct tcp_chan uno_tcp_state;
extern struct uno_param uno_tcp_buffer, uno_tcp_patience;

static inline struct tcp_link *tcp_of(struct uno_link *link)
{
    return (struct tcp_link *)link;
}

static inline size_t tcp_padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static inline bool tcp_is_trailed(const struct tcp_frame *f)
{
    return f->h.chan == TCP_MESSAGE && f->h.bytes > TCP_TRAILED;
}

// Bytes behind the payload: padding, a check.
static inline size_t tcp_behind(const struct tcp_frame *f)
{
    if (f->h.chan == TCP_PIECE) return sizeof(struct tcp_check);
    return tcp_padded(f->h.bytes) - f->h.bytes + (tcp_is_trailed(f) ? sizeof(struct tcp_check) : 0);
}

// ---- link.c ----
void tcp_settle_sizes(void);                 // from the parameters
struct tcp_link *tcp_link_of(int proc);      // made when there is none; NULL: memory is out
struct tcp_link *tcp_make_link(int proc);    // in the list; NULL: memory is out
void tcp_free_link(struct tcp_link *l);      // and out of it

// ---- tcp.c ----
void tcp_broken(struct tcp_link *l, int err, const char *why);      // noted; taken down by the next poll
void tcp_watch(struct tcp_sock *s, uint32_t events, bool fresh);    // epoll_ctl

// ---- send.c ----
int tcp_send(struct uno_link *link, const struct uno_msg *m);
void tcp_flush(struct tcp_link *l);
void tcp_arm(struct tcp_link *l);                    // a blocked link: epoll is to tell when it can go on
void tcp_acked(struct tcp_link *l, uint64_t ack);    // takes frames off the ring
void tcp_reseal(struct tcp_link *l);                 // what the ring holds, under the keys of a new connection
void tcp_tell(struct tcp_link *l);                   // an ACK frame, if nothing else is on its way
// A frame of our own with n bytes of payload; false: no room in the ring now.
bool tcp_put(struct tcp_link *l, enum tcp_sort sort, const void *payload, size_t n);
// A piece of an offer: its payload stays where it is until it is acknowledged.
struct tcp_part_of {
    struct tcp_offer *offer;
    uint64_t landing, offset;
    const void *base;
    size_t n;
    uint8_t turn;    // how often it was taken back from a connection
};
bool tcp_put_piece(struct tcp_link *l, const struct tcp_part_of *p);

// ---- loans.c ----
bool tcp_lend(struct tcp_link *l, uint64_t at, const struct uno_msg *m);    // false: the payload must be copied
void tcp_loan_acked(struct tcp_link *l, uint64_t at);                       // the frame there has arrived
const char *tcp_lent_at(const struct tcp_link *l,
                        uint64_t at);          // payload of the frame there; NULL: it is in the ring
void tcp_settle_unsent(struct tcp_link *l);    // copies those that the kernel has not whole
void tcp_settle(struct tcp_link *l);           // copies all payloads into the ring
void tcp_settle_all(void);
int tcp_settle_idle(uint64_t now);    // one, of a link for which nothing better can be done; returns how many

// ---- resend.c ----
bool tcp_take_back(struct tcp_link *l, struct tcp_link *from);    // the first piece that lane could not deliver
void tcp_keep_pieces(struct tcp_link *l);    // a lane's ring: what must still be delivered, numbered from 1
// The offer has arrived. Forgets it in the lane's ring; false: a piece of it is being sent from there.
bool tcp_forget_offer(struct tcp_link *l, const struct tcp_offer *o);
void tcp_empty_ring(struct tcp_link *l);
void tcp_move_pieces(struct tcp_link *l, const struct tcp_offer *o, const char *from, const char *to);
void tcp_rewind(struct tcp_link *l, uint64_t ack);    // a new connection: send all again that comes after ack
void tcp_count_resent(const struct tcp_link *l);      // what a new connection sends once more
bool tcp_owes(const struct tcp_link *l);              // it has something that the peer has not acknowledged

// ---- receive.c ----
int tcp_receive(struct tcp_link *l);          // how many frames arrived
void tcp_forget_input(struct tcp_link *l);    // what was half read of a connection that is gone

// ---- dial.c ----
int tcp_listen(void);    // (again, with uno_chan_self.far)
void tcp_unlisten(void);
void tcp_dial(struct tcp_link *l);
void tcp_await_call(struct tcp_link *l);    // of the peer; after a while it is dialled
void tcp_accept_all(int listener);
void tcp_shake_event(struct tcp_sock *s);
void tcp_forget_dial(struct tcp_link *l);
int tcp_dial_socket(const struct tcp_link *l);    // once it is connected, else -1
void tcp_give_up_dial(struct tcp_link *l, const char *why);
void tcp_call_off(struct tcp_link *l);    // a dial that is of no use any more, if the peer has not heard of it
void tcp_run_timers(void);
void tcp_arm_timer(void);

// ---- up.c ----
void tcp_bring_up(struct tcp_link *l, int fd, bool dialled, uint64_t received);    // up to that frame, by the peer

// ---- between.c ----
void tcp_lose(struct uno_link *link, int err);
void tcp_hang_up(struct tcp_link *l);       // its dial, its socket, and what was half sent or read by that
void tcp_begin_anew(struct tcp_link *l);    // the peer took its leave: what comes next begins from nothing
void tcp_take_down(struct tcp_link *l);     // of a broken connection: dial again or give up
void tcp_restored(struct tcp_link *l);      // it broke, and is there again
void tcp_dial_failed(struct tcp_link *l, int fd, const char *why);       // fd -1: there was no socket
void tcp_count_denial(struct tcp_link *l, uint32_t address, int err);    // err: errno, 0: something else
// No connection now: dial after a pause (ns), unless it has lasted too long.
void tcp_wait_and_dial(struct tcp_link *l, uint64_t pause, const char *why);

// ---- shake.c: messages of the handshake, all of this form ----
enum tcp_step { TCP_CHALLENGE = 1, TCP_HELLO, TCP_WELCOME };

struct tcp_greeting {
    char magic[8];
    uint32_t machine, alike;    // kind of the processor of the side that speaks; long double is in use there
    uint64_t job;               // HELLO, WELCOME: of the side that speaks
    uint16_t step;
    uint16_t lane;                     // HELLO, WELCOME: 0, or the number of a further connection (lanes.c)
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

// ---- ways.c ----
uint32_t tcp_address_at(const struct uno_net *peer, uint32_t turn);    // that the turn-th dial goes to
void tcp_learn_ways(struct tcp_link *m);
bool tcp_free_way(const struct tcp_link *l, uint32_t turn, struct tcp_way *way);    // for a lane; false: none is left
void tcp_know_way(struct tcp_link *l);                                              // of the connection that it has

// ---- ends.c ----
void tcp_know_ends(struct tcp_link *l);    // of the connection that it has
// A dial to the address in its `way` has failed; fd -1: there is no socket. Returns the text for the log.
const char *tcp_note_failure(struct tcp_link *l, int fd, const char *why);
void tcp_forget_failures(struct tcp_link *l);
#define TCP_STORY_TEXT 256
void tcp_tell_failures(const struct tcp_link *l, const char *why, char *text);    // why it is given up
// ---- lanes.c ----
struct tcp_link *tcp_lane_of(struct tcp_link *m, uint32_t lane);    // made when there is none; NULL: memory is out
void tcp_open_lanes(struct tcp_link *m);                            // those that are not there, if it is time to try
void tcp_lane_up(struct tcp_link *l);                               // its connection is there
void tcp_lane_failed(struct tcp_link *l);                           // a dial
void tcp_lane_down(struct tcp_link *l);                             // its connection broke
void tcp_count_carried(size_t n);                                   // bytes, by a lane
void tcp_end_lanes(struct tcp_link *m);                             // what they held is of no use any more
void tcp_free_lanes(struct tcp_link *m);

// ---- quick.c ----
void tcp_prefer_quickest(struct tcp_link *m, uint64_t now);    // for small messages, if it is time to compare

// ---- stall.c ----
void tcp_look_for_stalls(void);

// ---- address.c ----
int tcp_publish(const struct uno_net *card);
bool tcp_find_card(int proc, struct uno_net *card);    // false: the peer has not published it yet

// The payload of a PULL (from landing.c to direct.c), and of a LANDED: the transfer has arrived.
struct tcp_pull {
    uint64_t landing, bytes;
    uint32_t offer, pad;
};

// ---- direct.c: the sender of large messages ----
int tcp_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
bool tcp_withdraw(struct uno_link *link, const struct uno_rts *rts);
bool tcp_replace(struct uno_link *link, const struct uno_rts *rts, const void *copy);
const char *tcp_pulled(struct tcp_link *l, const void *payload, size_t n);    // a PULL came; NULL: good
const char *tcp_ended(struct tcp_link *l, const void *payload, size_t n);     // a LANDED came; NULL: good
void tcp_put_pieces(struct tcp_link *m);                                      // into the rings
void tcp_piece_acked(struct tcp_offer *o, const struct tcp_link *by, size_t n);
void tcp_piece_moved(struct tcp_offer *o);            // to the main link
void tcp_fail_offers(struct tcp_link *l, int err);    // all of a lost link end with err
void tcp_direct_close(void);

static inline uint64_t tcp_offset_of(const struct uno_hdr *h)
{
    return (uint64_t)(uint32_t)h->src << 32 | (uint32_t)h->tag;
}

// ---- landing.c: the receiver of large messages ----
int tcp_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
// Where the payload of a PIECE goes. NULL, or why the frame makes no sense.
const char *tcp_place_piece(struct tcp_link *l, const struct tcp_frame *f, struct tcp_straight *in);
void tcp_landed(struct tcp_link *l, struct tcp_landing *d, uint64_t offset, size_t n);
void tcp_pump(struct tcp_link *m);                      // puts pulls and pieces into the rings
void tcp_fail_landings(struct tcp_link *l, int err);    // all of a lost link end with err
void tcp_landings_close(void);
