// SPDX-License-Identifier: BSD-3-Clause
// The job segment: one sparse memfd per host, made by mpiexec (or by a singleton for itself) and mapped by every rank
// on that host.
//
// It holds all that ranks of a host share: the head, one board and one door per rank, the pair areas (rings), and a
// heap of chunks for communicator segments. Pages cost memory only when touched, so the segment is laid out for all
// pairs at once. mpiexec formats it, hands its descriptor to the ranks (environment UNISONO_JOB=FD:LOCAL:KEEPER) and
// afterwards only reads the boards. KEEPER is a process that keeps the descriptor open under the same number, for ranks
// whose parent closed theirs. Ranks are numbered twice: by world rank, and by local index (0 .. nlocal-1) in this
// segment.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define UNO_JOB_MAGIC "unisono1"
#define UNO_JOB_ENV "UNISONO_JOB"
#define UNO_LINE 64
// Slots, rendezvous descriptors and byte ring of one direction of one pair, and what the ring may grow by: to twice the
// second-level cache, while all that a rank reads stays below UNO_PAIRS_MOST. Where more than UNO_PAIR_FEW ranks share
// a host it is the least, since all of it is touched sooner or later.
#define UNO_PAIR_BYTES (512 * 1024)
#define UNO_PAIRS_MOST (8 * 1024 * 1024)
#define UNO_PAIR_LEAST (128 * 1024)
#define UNO_PAIR_FEW 16
// A block of each direction that both sides of the pair write in turns (chan/shm/turn.h), and where it is the least.
#define UNO_TURN_BYTES (128 * 1024)
#define UNO_TURN_LEAST (32 * 1024)
// Wide blocks of each direction, for messages that leave from the user's memory because they would be copied otherwise,
// and are longer than a turn block: half of the second-level cache each, of all pairs UNO_WIDE_MOST (touched if used).
#define UNO_WIDE_BLOCKS 3
#define UNO_WIDE_MOST (256 * 1024 * 1024)
#define UNO_HEAP_CHUNK (64 * 1024)    // no smaller than a page of any machine
#define UNO_HEAP_CHUNKS 16384         // 1 GiB of address space; touched pages alone cost memory
#define UNO_NAME_MAX 32
#define UNO_HOLDS_ALL (-1)    // the locks of all ranks
#define UNO_CARD_BYTES 168    // of a rank's network addresses (the tcp channel's business)
#define UNO_PROBE 0x756e6970726f6265u

enum uno_rank_state {
    UNO_RANK_STARTING = 0,     // not yet in MPI_Init
    UNO_RANK_RUNNING = 1,      // initialised
    UNO_RANK_FINALIZED = 2,    // left MPI_Finalize: may exit 0
    UNO_RANK_FAILED = 4,       // died, and the job goes on (mpiexec --survive): written by mpiexec
    UNO_RANK_ABORTED = 3,      // called MPI_Abort or a fatal error handler: exit_code says with what
};

// What one rank tells the launcher. Written by the rank alone (by several threads under the library's lock), read by
// mpiexec at any time.
struct uno_board {
    _Atomic uint32_t state;    // enum uno_rank_state
    int32_t exit_code;         // valid once state is ABORTED
    int32_t pid;
    int32_t world_rank;         // filled by mpiexec
    int32_t appnum;             // filled by mpiexec: index of the `:`-separated program
    int32_t host;               // filled by mpiexec: host index in the job
    int32_t sharers;            // filled by mpiexec: ranks, this one included, that it gave one of its processors
    _Atomic uint32_t cma;       // 1: this process may copy across memory, 2: it may not (parameter, seccomp)
    uint64_t probe;             // address of a word with the value UNO_PROBE in this process, to try a copy on
    _Atomic uint32_t asleep;    // threads of this rank asleep in a blocking MPI call
    _Atomic int32_t sleeper;    // the thread that sleeps at the door, by the kernel's number
    _Atomic uint64_t naps;      // bumped whenever a thread falls asleep or wakes: unchanged means nothing happened
    int32_t wait_peer;          // of the last thread that fell asleep: world rank it waits for, -1 any, -2 several or
                                // none, -3 something that another job may end
    int32_t wait_tag;           // -1 any, -2 none
    char wait_call[UNO_NAME_MAX];    // "MPI_Recv"
    char wait_comm[UNO_NAME_MAX];    // "MPI_COMM_WORLD"
    int32_t holds;                 // lock of a window that it holds while it waits: of this world rank, plus 1; 0 none
    int32_t holds_alone;           // 1: exclusively
    char held_on[UNO_NAME_MAX];    // "window halo"
    char last_call[UNO_NAME_MAX];    // last MPI call entered, when known (set at sleep, abort and on fatal signals)
    _Atomic uint32_t card_bytes;     // 0 until the rank has published how it is reached
    unsigned char card[UNO_CARD_BYTES];
    _Atomic uint32_t profile;    // under mpiexec --profile: first heap chunk of what the rank recorded, plus 1
    _Atomic uint32_t stats;      // under mpiexec --stats: heap chunk of what the rank counted, plus 1
    _Atomic uint32_t fabric;     // heap chunk with how it is reached by libfabric (the ofi channel's business), plus 1
    char why[256];               // reason of an abort, one line, for the launcher's message
} __attribute__((aligned(UNO_LINE)));

enum uno_door_mode { UNO_DOOR_AWAKE = 0, UNO_DOOR_FUTEX = 1, UNO_DOOR_FD = 2 };

enum uno_door_waits { UNO_DOOR_WAITS = 1, UNO_DOOR_LOOKS };    // in MPI; for one sender, and runs its pollers alone

// Where a rank is woken. The owner stores mode; others read it after each message that they have left, and ring when it
// is not AWAKE.
struct uno_door {
    _Atomic uint32_t mode;     // enum uno_door_mode
    _Atomic uint32_t bell;     // futex word, bumped by each ring
    _Atomic uint32_t fresh;    // bumped when a peer activates its ring towards this rank
    _Atomic uint32_t cpu;      // where the owner last ran, plus 1, as it says when it waits or rings; 0: not said yet
    _Atomic uint32_t news;     // bumped when mpiexec has left something: a failed rank, a message (base/pm.h)
    unsigned char name[16], key[8];    // random, of the rank's doorbell socket: written before the mode is FD
    _Atomic uint32_t guests;    // rings of processes of other jobs not taken yet: first heap chunk of the last, plus 1
    // A line that no ringer looks at, for the owner stores here whenever it yields.
    _Atomic uint32_t turns __attribute__((aligned(UNO_LINE)));    // times it came back after a yield or a sleep
    _Atomic uint32_t ran;                                         // where it did, plus 1
    _Atomic uint64_t run;                                         // ticks from there to its next yield, all in all
    _Atomic uint32_t waits;                                       // enum uno_door_waits, 0: it does not. A hint
    _Atomic uint32_t runs;                                        // 0: it gave the processor away, or never said so
    _Atomic uint32_t called;    // threads of the owner that were woken, but have not run since. A hint
} __attribute__((aligned(UNO_LINE)));

struct uno_machine;    // base/machine.h

// What the first rank of this host has loaded (chan/alike.c).
struct uno_job_list {
    _Atomic uint32_t state;
    int32_t rank;
    char text[1024];    // as base/component.h has it
};

struct uno_job_head {
    char magic[8];
    uint32_t layout;    // sizeof checks: ranks and launcher must agree
    uint32_t nlocal, nworld;
    uint32_t universe_size;
    uint32_t nhosts, host;    // of this segment
    uint32_t processors;      // of this host that the job may use; 0: not known
    uint32_t survive;         // the job goes on when a rank dies (mpiexec --survive)
    uint32_t ordered;         // all ranks of the job are in this segment, and numbered alike in both ways
    uint64_t machine_off, board_off, door_off, active_off, failed_off, pair_off, pair_bytes, turn_off, turn_bytes,
        wide_off, wide_bytes, heap_off, bytes;
    uint64_t job_id;             // random, not secret
    unsigned char secret[32];    // the job's secret for the TCP handshake
    _Atomic uint32_t cma;        // 0 not yet tried, 1 cross-memory attach between ranks works, 2 it does not
    _Atomic uint32_t beside;     // ranks that would live beside those before and after them (base/cosched.h)
    struct uno_job_list components;
    _Atomic uint64_t heap_used[UNO_HEAP_CHUNKS / 64];    // bit set = chunk taken
};

// What the launcher (or a singleton) knows when it lays the segment out. Arrays have nlocal entries.
struct uno_job_spec {
    uint32_t nlocal, nworld, universe_size, nhosts, host, processors, survive;
    const int *world_rank;
    const int *appnum;
    const int *sharers;    // NULL: all ranks share all processors
    uint64_t job_id;
    const unsigned char *secret;    // 32 bytes
};

// Creates the memfd (no close-on-exec), sizes and formats it. 0, or an errno value; *fd on success.
int uno_job_create(const struct uno_job_spec *spec, int *fd) UNO_MUST_USE;

// Opens what process pid has under descriptor fd: memory that it made for others. A new descriptor, or -1 and errno.
// Where processes are numbered apart the path may lead to something else: the caller looks whether it is what it meant.
int uno_open_of(int pid, int fd) UNO_MUST_USE;

// The descriptor and the local index that the environment variable holds; -1 in *local_index if it is malformed. Opens
// the keeper's descriptor if our own is not the segment. The caller closes *fd. 0 or an errno value.
int uno_job_find(const char *text, int *fd, int *local_index) UNO_MUST_USE;

// Maps the segment. 0 or an errno value (EPROTO: the layout is of another version); *head on success.
int uno_job_map(int fd, struct uno_job_head **head) UNO_MUST_USE;

// What the paths of this host cost.
static inline struct uno_machine *uno_job_machine(struct uno_job_head *h)
{
    return (struct uno_machine *)((char *)h + h->machine_off);
}

static inline struct uno_board *uno_job_board(struct uno_job_head *h, uint32_t local)
{
    return (struct uno_board *)((char *)h + h->board_off) + local;
}

static inline struct uno_door *uno_job_door(struct uno_job_head *h, uint32_t local)
{
    return (struct uno_door *)((char *)h + h->door_off) + local;
}

// One bit per sender: set once when `from` starts to use its ring towards `to`.
static inline _Atomic uint64_t *uno_job_active(struct uno_job_head *h, uint32_t to)
{
    return (_Atomic uint64_t *)((char *)h + h->active_off) + (size_t)to * ((h->nlocal + 63) / 64);
}

// One bit per world rank: set by mpiexec once the rank is dead, in a job that goes on.
static inline _Atomic uint64_t *uno_job_failed(struct uno_job_head *h)
{
    return (_Atomic uint64_t *)((char *)h + h->failed_off);
}

static inline size_t uno_job_words(const struct uno_job_head *h)
{
    return (h->nworld + 63) / 64;
}

static inline void *uno_job_pair(struct uno_job_head *h, uint32_t to, uint32_t from)
{
    return (char *)h + h->pair_off + ((size_t)to * h->nlocal + from) * h->pair_bytes;
}

static inline void *uno_job_turn(struct uno_job_head *h, uint32_t to, uint32_t from)
{
    return (char *)h + h->turn_off + ((size_t)to * h->nlocal + from) * h->turn_bytes;
}

static inline void *uno_job_wide(struct uno_job_head *h, uint32_t to, uint32_t from, uint32_t i)
{
    return (char *)h + h->wide_off + (((size_t)to * h->nlocal + from) * UNO_WIDE_BLOCKS + i) * h->wide_bytes;
}

// The heap: runs of chunks of UNO_HEAP_CHUNK bytes, zero when taken, for what some ranks of a host share. take: the
// first chunk of a run, -1 when there is none.
int64_t uno_job_take(struct uno_job_head *h, size_t count);
void uno_job_give(struct uno_job_head *h, size_t first, size_t count);

// A single chunk of which no more than the first `bytes` were touched: few stay in memory, so that taking it again
// costs nothing.
void uno_job_give_short(struct uno_job_head *h, size_t first, size_t bytes);

static inline void *uno_job_chunk(struct uno_job_head *h, size_t first)
{
    return (char *)h + h->heap_off + first * UNO_HEAP_CHUNK;
}

// Whole pages of what ranks share, which this process will write: at once, for the faults of single pages would take
// longer.
void uno_job_touch(void *pages, size_t bytes);

// Core files leave out what ranks share, as it is large and sparse, and writing it would touch every page
// (MADV_DONTDUMP where it is mapped). With the parameter share_dump they hold what this process uses of it: whole
// pages.
void uno_dump_keep(void *p, size_t bytes);
void uno_dump_forget(void *p, size_t bytes);    // it is used no more
