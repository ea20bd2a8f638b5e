// SPDX-License-Identifier: BSD-3-Clause
// One direction of a pair in shared memory: a ring of 64-byte lines, a table of rendezvous descriptors and a byte ring.
//
// A line holds one message with its full header, or up to four short ones in units of 16 bytes: eager messages of at
// most SHORT_MAX bytes with the same context and source as the last full one (word: stamp, kind, bytes, tag; then the
// payload). A line is full when its stamp equals the receiver's current lap, a further unit when its stamp equals that
// of its line. The receiver never writes lines: now and then it publishes how many it took, so that in a ping-pong
// the only line that moves is the message itself; and a sender that is faster than lines travel fills the line that is
// still on its way. A message of more than UNO_INLINE_MAX bytes lies in the byte ring, at a 64-byte boundary: small
// ones are complete there when the line appears, larger ones are copied in pieces while the receiver already reads
// (`put` says how far); hdr.chan then holds the binary logarithm of a piece, else 0.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "chan/chan.h"
#include "chan/shm/dear.h"
#include "chan/shm/round.h"
#include "chan/shm/turn.h"

#define SHM_SLOTS 126
#define SHM_UNIT 16
#define SHM_UNITS (UNO_LINE / SHM_UNIT)
#define SHM_SHORT 0x40      // kind of a short message, within this channel
#define SHM_SHORT_MAX 40    // its payload: three units
#define SHM_DESCS 64
#define SHM_DESC_OFF 8192
#define SHM_BYTES_OFF 12288
#define SHM_BYTES (UNO_PAIR_BYTES - SHM_BYTES_OFF)    // 500 KiB, at first

// Where many ranks share a host, and between jobs.
#define SHM_LEAST_BYTES (UNO_PAIR_LEAST - SHM_BYTES_OFF)
#define SHM_LEAST_EAGER (28 * 1024)
#define SHM_FEW 2    // messages in a row

// The wide blocks of a direction: messages that flow one way use the first two in turns, the last goes from side to
// side (turn.h).
#define SHM_WIDE_ROW (UNO_WIDE_BLOCKS - 1)

struct shm_slot {
    struct uno_hdr h;
    char payload[UNO_INLINE_MAX];
} __attribute__((aligned(UNO_LINE)));

// A message that both sides copy: the receiver fills dst and says GO, both claim pieces by `next` and count them in
// `done`.
struct shm_desc {
    _Atomic uint16_t state;     // enum desc_state
    _Atomic uint16_t failed;    // the error class of a copy that failed: the message is lost, both sides say so
    uint32_t dst_runs;          // above 1: dst is the address of a list of runs; so is src, as the announcement says
    uint64_t src, dst, bytes;
    _Atomic uint64_t next, done;
    uint32_t took;    // the receiver's last copy, in sixteenths of what is usual (dear.h); 0: not timed
} __attribute__((aligned(UNO_LINE)));

// LEFT: the receiver saw the end. KEPT: the sender's memory is gone, and the receiver, who still has to find that, will
// ask for the data.
enum desc_state { DESC_FREE = 0, DESC_OFFERED = 1, DESC_GO = 2, DESC_LEFT = 3, DESC_KEPT = 4 };

struct shm_pair {
    _Atomic uint32_t taken;          // written by the receiver: slots taken
    uint32_t next;                   // of a guest, until it is taken: as uno_door.guests
    _Atomic uint64_t bytes_taken;    // written by the receiver: bytes of the byte ring given back
    uint64_t job;                    // of a guest
    int32_t rank;                    // likewise
    _Atomic uint32_t wide_taken;     // written by the receiver: messages taken from its two wide blocks
    char pad1[UNO_LINE - 32];
    _Atomic uint64_t put;       // written by the sender: bytes of the byte ring that are complete
    _Atomic uint64_t turned;    // likewise: bytes in turn and wide blocks, of all messages
    _Atomic uint32_t ended;     // a guest: it sends no more
    char pad2[UNO_LINE - 20];
    struct shm_slot slot[SHM_SLOTS];
    struct shm_desc desc[SHM_DESCS];    // at SHM_DESC_OFF
    char bytes[];                       // at SHM_BYTES_OFF; shm_round.bytes of them are used
};

_Static_assert(sizeof(struct uno_hdr) == 24 && sizeof(struct shm_slot) == UNO_LINE, "a slot is a line");
_Static_assert(offsetof(struct shm_pair, desc) == SHM_DESC_OFF, "descriptors start on a page");
_Static_assert(offsetof(struct shm_pair, bytes) == SHM_BYTES_OFF, "and so do the bytes");

// One side of a direct copy that has a layout on either end: its own list, and a copy of the peer's.
struct shm_layouts {
    struct uno_run one;    // the own list when it is a single run
    const struct uno_run *mine;
    struct uno_run *theirs;
    size_t nmine, ntheirs;
};

struct uno_home;

struct shm_link {
    struct uno_link base;
    uint32_t local;             // of the peer, in its home segment
    struct uno_door *door;      // of the peer
    struct uno_board *board;    // of the peer
    struct uno_home *home;      // of a process of another job: its segment; NULL: ours
    int life;                   // then: a descriptor that is readable when the process has ended, -1: none
    size_t rx_chunk;            // then: where its ring lies in the heap of our segment
    bool sending;               // our direction is announced to the peer
    bool lost;                  // the peer is dead
    bool listening;             // the peer's direction is in the list of polled rings
    // our direction
    struct shm_pair *tx;
    char *tx_line;    // the line begun last, tx_unit: its next free unit, tx_stamp: its stamp
    uint32_t tx_unit;
    uint16_t tx_stamp, tx_lap;
    uint32_t tx_at, credit, sent;    // next line, lines that may be begun, lines begun
    uint64_t tx_ctx;                 // of the last full header
    int32_t tx_src;
    struct shm_round tx_round;
    uint64_t put, put_limit;    // byte ring: reserved so far; limit known from the receiver
    uint32_t wide_sent;         // messages in the two wide blocks
    uint64_t desc_used;         // bit set: offered and not yet free again
    // the peer's direction
    struct shm_pair *rx;
    const char *rx_line;
    uint32_t rx_unit;
    uint16_t rx_stamp, rx_lap;
    uint32_t rx_at, taken, taken_told;
    uint64_t rx_ctx;
    int32_t rx_src;
    struct shm_round rx_round;
    uint64_t got, got_told;     // byte ring: given back
    uint32_t wide_got;          // messages in the two wide blocks
    uint32_t few, few_taken;    // bytes of the last message there that had few; how many lines were taken by then
    // The message being delivered: its position, how far it has come, what says so, and where it lies.
    uint64_t read_at, read_ready;
    const _Atomic uint64_t *read_put;
    const char *read_from;
    struct shm_turn turn, wide;
    uint64_t copying;            // bit set: a receive into our memory that is under way
    uint64_t first;              // bit set: of those, the first piece is claimed and not yet copied
    bool polling;                // shm_direct_poll follows
    bool owes_ring;              // then: the peer's door is rung, once for all that was copied meanwhile
    bool cma;                    // a guest: its memory can be reached by a copy
    uint32_t ring, ring_most;    // bytes of its byte rings, at first and at last
    // base.eager_max, while lines cost little to write, and with a block that goes from side to side.
    uint32_t eager, eager_light, eager_turn;
    uint32_t eager_few;     // instead of eager, for the first SHM_FEW messages that are longer than that
    uint32_t row;           // such messages since this side has looked for what comes
    uint32_t eager_dear;    // while copies across are dear
    struct shm_dear dear;
    uint32_t untimed[2];    // copies, writing and reading, that are not timed before the next one that is
    bool ending;            // a guest: it sends no more, and what it sent is being read
    uint64_t send_token[SHM_DESCS], recv_token[SHM_DESCS];    // offered, being copied
    struct shm_layouts *layouts;    // of our descriptors, then of the peer's; NULL until a layout is copied
    struct shm_link *next;          // polled rings
};

// Bytes of the ring that a payload of n takes.
static inline size_t shm_rounded(size_t n)
{
    return (n + UNO_LINE - 1) & ~(size_t)(UNO_LINE - 1);
}

// Units of a line that a short message takes.
static inline uint32_t shm_units(size_t bytes)
{
    return bytes <= 8 ? 1 : 1 + (uint32_t)((bytes - 8 + SHM_UNIT - 1) / SHM_UNIT);
}

extern struct uno_chan uno_shm;

struct shm_link *shm_link_of(uint32_t local);
struct shm_link *shm_link_new(int proc, struct uno_door *door, struct uno_board *board);    // NULL: no memory
void shm_link_free(struct shm_link *l);
void shm_begin_rx(struct shm_link *l, struct shm_pair *rx);    // likewise the peer's

// send.c: our direction, which begins in an empty ring.
void shm_begin_tx(struct shm_link *l, struct shm_pair *tx);
int shm_send(struct uno_link *link, const struct uno_msg *m);
void shm_adapt(struct shm_link *l);    // what goes at once, to what it costs now

// guest.c: links to processes of other jobs.
int shm_guest_connect(int proc, struct uno_link **link);
int shm_guest_open(struct shm_link *l);      // our direction, before the first message; MPI_SUCCESS or why not
void shm_guests_look(void);                  // rings announced to us, rings that have ended
void shm_guest_ended(struct shm_link *l);    // all that came by a ring that has ended is read; the link may go
void shm_guest_leave(struct uno_link *link);
int shm_guests_fd(void);        // readable when one of them has ended, -1: there are none
void shm_guests_mourn(void);    // looks which
bool shm_guest_is_dead(const struct shm_link *l);
void shm_guests_close(void);

// direct.c: rendezvous by cross-memory attach.
int shm_offer(struct uno_link *link, const struct uno_mem *mem, struct uno_rts *rts);
int shm_accept(struct uno_link *link, const struct uno_rts *rts, const struct uno_mem *mem, uint64_t token);
void shm_direct_lose(struct shm_link *l, int err);    // all that is under way on this link ends with err
int shm_direct_poll(struct shm_link *l);    // copies a piece of what is under way on this link; how many things moved

// layouts.c: the lists of a descriptor; those of the peer's descriptors are counted from SHM_DESCS on.
bool shm_layouts_begin(struct shm_link *l, int i, const struct uno_mem *mem);    // false: no memory
bool shm_layouts_begun(const struct shm_link *l, int i);
bool shm_layouts_fetch(struct shm_link *l, int i, const struct uno_rts *from);    // the peer's: addr, direct, bytes
const struct shm_layouts *shm_layouts_of(const struct shm_link *l, int i);        // NULL: not both are known
void shm_layouts_forget(struct shm_link *l, int i);
// Copies n bytes from position `at` of the message on. Returns as uno_peer_memory_copy.
UNO_MUST_USE int shm_copy_layouts(int pid, const struct shm_layouts *y, size_t at, size_t n, bool reading);
