// SPDX-License-Identifier: BSD-3-Clause
// The shared segment of a communicator whose ranks, of one job or several, are all on one host, and the one protocol in
// it. Used by what runs inside a host (shm.c, small.c, tree.c, large*.c, direct.c) and by what is kept beside it
// (schedule.c, cache.c, hier.c).
//
// A collective is made of phases, numbered alike on all ranks. In a phase a rank may post: it fills its slot and stamps
// it with the phase's number; others see the stamp and read. A rank says with its `done` stamp which phases it will not
// read again; what lies where it posts is overwritten only when every rank is done with that phase. A rank may so run
// ahead of its readers by UNO_SEG_DEPTH phases; where ranks outnumber cores, by four times as many that post at most a
// quarter of a slot, and UNO_SEG_LINES that post at most a sixteenth: a slot is four small ones or sixteen tiny ones.
// What does not fit a slot goes into a wide one, of which there are UNO_SEG_WIDE_DEPTH per rank, taken at first use.
// Where lines that others have in their caches are dear to write, a wide slot is longer than what is posted in it,
// phases post in turn along it, and what does not fit a small slot goes there, too; but as pages cost, not before
// UNO_SEG_SPREAD_AFTER phases. A rank that posts about as many bytes each time may then run ahead along all of it.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "coll/coll.h"

#define UNO_SEG_DEPTH 4
#define UNO_SEG_CUT 4        // small slots in a slot, and tiny ones in each
#define UNO_SEG_SLOT 8192    // bytes of a slot
#define UNO_SEG_SMALL (UNO_SEG_SLOT / UNO_SEG_CUT)
#define UNO_SEG_TINY (UNO_SEG_SMALL / UNO_SEG_CUT)
#define UNO_SEG_LINES (UNO_SEG_DEPTH * UNO_SEG_CUT * UNO_SEG_CUT)
#define UNO_SEG_WIDE_DEPTH 2
#define UNO_SEG_SPREAD_AFTER 1024
#define UNO_SEG_SPREAD_RANKS 16    // at most: a table of so many fits a small slot
#define UNO_SEG_INLINE 56          // bytes that travel with the stamp, in its cache line

struct uno_line {
    _Atomic uint64_t stamp;
    unsigned char data[UNO_SEG_INLINE];
} __attribute__((aligned(64)));

struct uno_hier;
struct uno_sched;
struct uno_trials;

// A rank of the communicator: where it is woken, what it tells.
struct uno_neighbour {
    struct uno_door *door;
    struct uno_board *board;
};

// Lines of a tree (tree.c), for communicators of more than coll_flat ranks.
struct uno_tree {
    struct uno_line *line;         // [n][3], NULL for few ranks
    uint64_t ops;                  // the operations so far
    uint64_t up_at, down_at;       // the last ones that filled this rank's lines, 0 when free
    int up_reader, down_reader;    // the ranks that read them; -1: the children
};

// What is copied in windows: other things cost other times (windows.h).
enum uno_flow_use { UNO_FLOW_MOVED, UNO_FLOW_MOVED_FAR, UNO_FLOW_FOLDED, UNO_FLOW_FOLDED_FAR, UNO_FLOW_USES };

// Windows in which large vectors go from rank to rank (windows.h).
struct uno_flow {
    struct uno_line *line;        // [n][2]: the windows that a rank has made ready, has taken
    size_t bytes;                 // of a window
    size_t each;                  // windows in a wide slot
    size_t depth;                 // windows under way at a time
    size_t cached;                // bytes in buffers of all ranks that a cache holds
    size_t cold, far;             // likewise, beyond which huge pages gain less than asking for them costs (choose.h)
    uint32_t fixed;               // bit per kind: it goes as it was chosen (choose.h)
    uint32_t gathered;            // likewise: this rank's buffers lay in huge pages the last time (gathered.h)
    uint64_t calls, said_at;      // how often it has said so, the phase that published the last time
    uint32_t gathers, cost[2];    // of this rank as a root: how many, and ps per byte by UNO_WINDOWS_NEAR and _PAST
    uint32_t puts[UNO_FLOW_USES];      // windows that it filled
    uint32_t put[UNO_FLOW_USES][2];    // ticks per MiB of that, plain and past the caches
    uint8_t past;                      // bit per use: it fills them past the caches
};

// What a communicator keeps for its collectives.
struct uno_coll {
    // In one line what every small collective looks at.
    struct MPI_ABI_Comm *comm;
    bool crowded;    // ranks outnumber cores, as rank 0 knows it
    bool on;         // the segment exists: the same on all ranks
    bool cma;        // every rank may read every other's memory
    bool widened;    // wide slots were tried: the same on all ranks
    bool packs;      // blocks are lent that have to be packed first (large.h): the same on all ranks
    bool looks;      // in the call under way, where ranks outnumber cores: for what one rank does (base/cosched.h)
    int n, me;
    uint32_t lines;                // in use, of UNO_SEG_LINES: a power of two
    uint64_t phase;                // the last one begun
    uint64_t safe;                 // every rank is done with this one
    uint64_t filled[2];            // the last ones in which this rank filled a slot, or a small one
    uint64_t wide_last;            // likewise its wide slot
    uint64_t wide_other;           // the last one in which that was not filled in units of wide_unit bytes
    struct uno_line *line;         // [n][1 + LINES]: done, stamps
    struct uno_neighbour *near;    // [n]

    size_t copies[UNO_COLL_KINDS];      // bytes from which a kind goes by copies, where it may
    size_t windows[UNO_COLL_KINDS];     // likewise in windows, which comes first
    size_t messages[UNO_COLL_KINDS];    // likewise by messages,
    size_t until[UNO_COLL_KINDS];       // up to these, from which another way begins
    char *data;                         // [n][DEPTH][SLOT]
    char *wide;                         // [n][WIDE_DEPTH][stride], NULL before the first use
    size_t narrow;                      // bytes up to which a slot takes them, and no wide one
    size_t stride;                      // of wide slots: a power of two, room or more
    size_t wide_unit;
    bool spread;                 // they will be used along their whole length
    uint64_t spread_from;        // phase from which on they are
    size_t room;                 // bytes of the widest slots there are
    size_t wide_most;            // bytes of wide ones
    size_t alone, call_worth;    // thresholds (base/thresholds.h), as rank 0 knows them
    size_t piece;                // of a broadcast in slots (choose.h), likewise
    size_t wide_first, wide_chunks;
    size_t mean;             // bytes of a block of an alltoallv or w of late, the same on all ranks; 0: not known
    unsigned by_messages;    // such calls that went by messages
    uint64_t sent_at;        // the phase of the one under way in which ranks tell what they send, 0: none
    struct uno_tree tree;
    struct uno_flow flow;
    struct uno_trials *trials;    // of ways that its collectives may go (trial.h)
    _Atomic uint32_t *left;       // ranks that let go of the segment
    struct uno_job_head *job;     // that of rank 0
    size_t first, chunks;         // place in its heap
    char *scratch;                // pieces of peers' data under reduction
    bool settled;                 // `on` is known
    struct uno_sched *idle;       // kept schedules (cache.h)
    int nidle;
    unsigned built, reused;    // schedules
    unsigned walks;            // large calls that walk to and fro (large.c)
    struct uno_hier *hier;     // how its ranks lie on hosts (hier.h), once known
    bool hier_known;
};

// Whether a kind goes by messages at this size.
static inline bool uno_seg_by_messages(const struct uno_coll *u, enum uno_coll_kind kind, size_t bytes)
{
    return bytes >= u->messages[kind] && bytes < u->until[kind];
}

// The segment of comm, made at the first call (collective). NULL: not all on one host, or no room; the same answer on
// all ranks. *err is set when memory is out on this rank.
struct uno_coll *uno_seg_get(struct MPI_ABI_Comm *comm, int *err);

// What comm keeps, without any agreement with others. NULL: memory is out, and *err says so.
struct uno_coll *uno_coll_of(struct MPI_ABI_Comm *comm, int *err);

// Their own files give back what else hangs there: cache.c, hier.c.
void uno_cache_drop(struct uno_coll *u);
void uno_hier_free(struct uno_hier *h);

// Likewise trial.c: what rank 0 plans for all; what a communicator keeps, which free() gives back (NULL: memory is
// out).
struct uno_trial_plan {
    uint32_t kinds;    // bit per kind: it is tried
    unsigned first;    // calls before the first trial
    size_t least;      // bytes from which on
};
struct uno_trial_plan uno_trial_plan(int n, bool crowded);
struct uno_trials *uno_trials_new(const struct uno_trial_plan *plan);

// Begins a phase in which this rank posts so many bytes: waits until their place is free. A phase in which it only
// reads begins with a plain ++u->phase.
uint64_t uno_seg_begin(struct uno_coll *u, size_t bytes);
void uno_seg_claim(struct uno_coll *u, uint64_t k, size_t bytes);    // the same for a phase that it has begun
void uno_seg_ask(struct uno_coll *u, uint64_t k, const char *at, size_t bytes);    // few lines that it will fill
void uno_seg_lend(struct uno_coll *u, uint64_t k);           // its wide slot is filled by others in phase k
void uno_seg_post(struct uno_coll *u, uint64_t k);           // stamps, wakes those that sleep
void uno_seg_wait(struct uno_coll *u, int r, uint64_t k);    // until rank r has posted in phase k
void uno_seg_wait_soon(struct uno_coll *u, int r, uint64_t k, const char *at, size_t bytes);    // and reads these then
void uno_seg_wait_all(struct uno_coll *u, uint64_t k, size_t bytes);                            // as many from each
void uno_seg_done(struct uno_coll *u, uint64_t k);    // this rank reads nothing of phases up to k any more
void uno_seg_wait_done(struct uno_coll *u, int r, uint64_t k);
void uno_seg_wait_all_done(struct uno_coll *u, uint64_t k);

// For lines outside the phases: until a line of rank r has stamp k; wakes rank r if it sleeps.
void uno_seg_wait_line(struct uno_coll *u, int r, struct uno_line *line, uint64_t k);
void uno_seg_ring(struct uno_coll *u, int r);

static inline struct uno_line *uno_seg_line(const struct uno_coll *u, int r, uint64_t k)
{
    return &u->line[(size_t)r * (1 + UNO_SEG_LINES) + 1 + (k & (u->lines - 1))];
}

static inline char *uno_seg_wide(const struct uno_coll *u, int r, uint64_t k)
{
    return u->wide + ((size_t)r * UNO_SEG_WIDE_DEPTH + k % UNO_SEG_WIDE_DEPTH) * u->stride;
}

// What the bytes of phase k take of a wide slot.
static inline size_t uno_seg_unit(const struct uno_coll *u, uint64_t k, size_t bytes)
{
    return k < u->spread_from ? u->stride : (size_t)1 << (64 - __builtin_clzll(bytes - 1));
}

// Where in a wide slot the bytes of phase k lie. All who look for them know how many there are, or at least the power
// of two above.
static inline size_t uno_seg_along(const struct uno_coll *u, uint64_t k, size_t bytes)
{
    return (size_t)(k / UNO_SEG_WIDE_DEPTH) * uno_seg_unit(u, k, bytes) & (u->stride - 1);
}

// Where the bytes of rank r in phase k lie: beside the stamp when they fit there.
static inline char *uno_seg_slot(const struct uno_coll *u, int r, uint64_t k, size_t bytes)
{
    if (__builtin_expect(bytes > u->narrow, 0)) return uno_seg_wide(u, r, k) + uno_seg_along(u, k, bytes);
    if (bytes <= UNO_SEG_INLINE) return (char *)uno_seg_line(u, r, k)->data;
    char *slot = u->data + ((size_t)r * UNO_SEG_DEPTH + k % UNO_SEG_DEPTH) * UNO_SEG_SLOT;
    uint64_t turn = (k & (u->lines - 1)) / UNO_SEG_DEPTH;
    if (bytes <= UNO_SEG_SMALL) slot += turn % UNO_SEG_CUT * UNO_SEG_SMALL;
    return bytes <= UNO_SEG_TINY ? slot + turn / UNO_SEG_CUT * UNO_SEG_TINY : slot;
}

// After a phase in which all ranks posted and were seen: they are all done with the one before.
static inline void uno_seg_all_seen(struct uno_coll *u, uint64_t k)
{
    u->safe = k - 1;
}

// All ranks have sent so many bytes to each other in an alltoallv.
static inline void uno_seg_set_mean(struct uno_coll *u, uint64_t all)
{
    uint64_t n = (uint64_t)u->n;
    u->mean = n > 1 ? (size_t)(all / (n * (n - 1))) : 0;
}

// Makes room for `bytes` in a slot if that may be (collective). False, alike on all ranks: there is none.
bool uno_seg_widen(struct uno_coll *u, size_t bytes);

// Sets u->cma, alike on all ranks (collective; segment_copy.c).
void uno_seg_agree_on_cma(struct uno_coll *u);

// Reads (pull) or writes (push) bytes at an address of rank r; its own by memmove. Return as uno_peer_memory_copy.
int uno_seg_pull(struct uno_coll *u, int r, void *to, uint64_t from, size_t bytes);
int uno_seg_push(struct uno_coll *u, int r, uint64_t to, const void *from, size_t bytes);
