// SPDX-License-Identifier: BSD-3-Clause
// Decides whether and how a blocking collective runs in shared memory (shm.h). Called by coll.c.
//
// Always holds: the decision looks only at what every rank of the communicator knows: the collective, the bytes of a
// block, the operation, and what was agreed when the segment was made.
#include "coll/shm.h"

#include "base/pvar.h"
#include "coll/build.h"
#include "coll/gathered.h"
#include "coll/trial.h"

static _Atomic uint64_t small, large;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("coll_shm_small", &small, "blocking collectives inside a host through its segment"),
    UNO_PVAR_COUNTER("coll_shm_large", &large, "blocking collectives inside a host from memory to memory"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static int run_scatterv(struct uno_coll *u, const struct uno_call *c)
{
    int err = uno_dense_scatterv(u, c);
    return err == UNO_SHM_TABLE ? uno_large_move(u, c) : err;
}

static int pick_large(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (!u->cma) return UNO_SHM_DECLINED;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    switch (c->kind) {
    case UNO_BCAST: return uno_large_bcast(u, c, bytes);
    case UNO_REDUCE:
    case UNO_ALLREDUCE:
    case UNO_SCAN:
    case UNO_EXSCAN: return uno_large_reduce(u, c);
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return in_place ? UNO_SHM_DECLINED : uno_large_reduce(u, c);
    case UNO_ALLTOALL:
    case UNO_ALLTOALLV:
    case UNO_ALLTOALLW: return in_place || u->n > UNO_SEG_SLOT / 64 ? UNO_SHM_DECLINED : uno_large_move(u, c);
    case UNO_GATHERV: return u->n > UNO_SEG_SLOT / 64 ? UNO_SHM_DECLINED : uno_large_move(u, c);
    case UNO_SCATTERV: return u->n > UNO_SEG_SLOT / 64 ? UNO_SHM_DECLINED : run_scatterv(u, c);
    default: return uno_large_move(u, c);
    }
}

static int run_large(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    int err = pick_large(u, c, bytes);
    uno_count_add(&large, err != UNO_SHM_DECLINED);
    return err;
}

// These have no other way than the slots in place.
static bool stays_in_slots(const struct uno_call *c)
{
    bool whole = c->kind == UNO_ALLTOALL || c->kind == UNO_REDUCE_SCATTER || c->kind == UNO_REDUCE_SCATTER_BLOCK;
    return whole && c->sbuf == MPI_IN_PLACE;
}

// What a rank posts of it in a slot.
static size_t posted(const struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool others = c->kind == UNO_ALLTOALL || c->kind == UNO_SCATTER;
    return others ? bytes * (size_t)(u->n - 1) : bytes;
}

static bool fits(struct uno_coll *u, size_t slot)
{
    return slot <= u->room || uno_seg_widen(u, slot);
}

static enum uno_alg ruled(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t windows = u->windows[c->kind], copies = u->copies[c->kind], slot = posted(u, c, bytes);
    if (uno_seg_by_messages(u, c->kind, bytes)) return UNO_ALG_MESSAGES;
    if (bytes >= windows && uno_seg_widen(u, u->flow.bytes) && u->wide) return UNO_ALG_WINDOWS;
    if (u->spread && !u->widened && slot > UNO_SEG_SMALL && u->phase > UNO_SEG_SPREAD_AFTER) uno_seg_widen(u, slot);
    if (bytes >= copies && u->cma && !stays_in_slots(c)) return UNO_ALG_COPIES;
    return fits(u, slot) ? UNO_ALG_SLOTS : UNO_ALG_COPIES;
}

#define KIND(k) (UINT32_C(1) << (k))
#define BY_WINDOWS                                                                                                     \
    (KIND(UNO_BCAST) | KIND(UNO_REDUCE) | KIND(UNO_ALLREDUCE) | KIND(UNO_ALLGATHER) | KIND(UNO_ALLGATHERV) |           \
     KIND(UNO_ALLTOALL) | KIND(UNO_REDUCE_SCATTER))
#define BY_MESSAGES (KIND(UNO_SCATTER) | KIND(UNO_ALLGATHER) | KIND(UNO_ALLGATHERV) | KIND(UNO_ALLTOALL))
#define TRIED (BY_WINDOWS | BY_MESSAGES | KIND(UNO_GATHER) | KIND(UNO_REDUCE_SCATTER_BLOCK))
#define RUN_AHEAD (KIND(UNO_BCAST) | KIND(UNO_REDUCE) | KIND(UNO_GATHER) | KIND(UNO_SCATTER))
#define LEAST_AHEAD (128 << 10)
#define LEAST_COPIES (8 << 10)
#define LEAST_WINDOWS (16 << 10)

// The ways that a call may go, for trials. None: those that fold in another order, or whose root learns the way itself,
// and short ones in which ranks that share cores run ahead of each other: what a call takes then says nothing.
static unsigned ways_of(const struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t slot = posted(u, c, bytes), widest = u->spread ? u->stride : u->wide_most;
    uint32_t kind = KIND(c->kind);
    if (!(kind & TRIED) || stays_in_slots(c)) return 0;
    if (c->kind == UNO_GATHER && bytes >= u->windows[c->kind]) return 0;
    if (u->crowded && bytes < LEAST_AHEAD && kind & RUN_AHEAD) return 0;
    unsigned ways = slot <= u->room || (!u->widened && slot <= widest) ? UNO_TRIAL_BIT(UNO_ALG_SLOTS) : 0;
    if (bytes >= LEAST_COPIES && u->cma) ways |= UNO_TRIAL_BIT(UNO_ALG_COPIES);
    if (bytes >= LEAST_WINDOWS && kind & BY_WINDOWS && u->flow.bytes && (u->wide || !u->widened))
        ways |= UNO_TRIAL_BIT(UNO_ALG_WINDOWS);
    return kind & BY_MESSAGES ? ways | UNO_TRIAL_BIT(UNO_ALG_MESSAGES) : ways;
}

static enum uno_alg choose_way(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    enum uno_alg way = ruled(u, c, bytes);
    bool far = way == UNO_ALG_MESSAGES || (way == UNO_ALG_WINDOWS && c->kind != UNO_GATHER);
    if (far && uno_gathered_asks(u, c, bytes)) return uno_gathered(u, c, bytes) ? UNO_ALG_COPIES : way;
    bool copied = way == UNO_ALG_COPIES;
    if (bytes < u->trials->plan.least && (!copied || !uno_trial_looks(u->trials))) return way;
    if (!(u->trials->plan.kinds >> c->kind & 1)) return way;
    unsigned ways = ways_of(u, c, bytes);
    if (ways && copied) ways |= UNO_TRIAL_BIT(way);
    return ways ? uno_trial_way(u, c->kind, bytes, way, ways) : way;
}

static int run_windows(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uno_count_add(&large, 1);
    if (c->kind == UNO_ALLTOALL) return uno_windows_alltoall(u, c, bytes);
    if (!uno_coll_reduces(c->kind)) return uno_windows_spread(u, c, bytes);
    uno_windows_reduce(u, c, bytes);
    return MPI_SUCCESS;
}

static int run_by(struct uno_coll *u, const struct uno_call *c, size_t bytes, enum uno_alg way)
{
    if (way == UNO_ALG_MESSAGES) return UNO_SHM_DECLINED;
    if (way == UNO_ALG_WINDOWS && c->kind != UNO_GATHER && uno_seg_widen(u, u->flow.bytes) && u->wide)
        return run_windows(u, c, bytes);
    if (way != UNO_ALG_SLOTS || !fits(u, posted(u, c, bytes))) return run_large(u, c, bytes);
    uno_count_add(&small, 1);
    return uno_small_run(u, c, bytes);
}

// Of an alltoallv no rank knows what blocks others have; but what all have sent in one call, they learn from its
// tables, or by the way of messages in a phase of one call in LOOK, so by that mean the next ones are tried.
#define LOOK 4
#define LOOK_SHORT 16    // of short ones, which are not tried

static void tell_sent(struct uno_coll *u, const struct uno_call *c)
{
    uint64_t sent = 0, k = uno_seg_begin(u, sizeof sent);
    for (int r = 0; r < u->n; r++)
        if (r != u->me) sent += uno_block_bytes(uno_send_block(c, r));
    memcpy(uno_seg_slot(u, u->me, k, sizeof sent), &sent, sizeof sent);
    uno_seg_post(u, k);
    u->sent_at = k;
}

static void learn_sent(struct uno_coll *u)
{
    uint64_t all = 0, k = u->sent_at;
    for (int r = 0; r < u->n; r++) {
        if (r != u->me) uno_seg_wait(u, r, k);
        all += *(uint64_t *)(void *)uno_seg_slot(u, r, k, sizeof all);
    }
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    uno_seg_set_mean(u, all);
    u->sent_at = 0;
}

// Whether blocks lie in slots, beside the tables.
static bool is_short(const struct uno_coll *u, size_t bytes)
{
    return bytes < u->copies[UNO_ALLTOALL] && bytes * (size_t)(u->n - 1) <= u->room;
}

// Whether the buffers of a rank that shares its core are so long that what they held has left the caches, or that the
// rules for even blocks say messages: then these are the better start (Zen 4, ms by tables and by messages: 4 ranks 2
// MiB 1.8 and 2.3, 4 MiB 4.6 and 3.9, 16 MiB 22.7 and 17.5; 8 ranks 1 MiB 5.0 and 6.2, 2 MiB 13.6 and 11.4).
static bool is_far(const struct uno_coll *u, size_t bytes)
{
    return u->crowded && (bytes > u->flow.cold / (2 * (size_t)u->n) || uno_seg_by_messages(u, UNO_ALLTOALL, bytes));
}

static enum uno_alg varied_way(struct uno_coll *u, enum uno_coll_kind kind, size_t mean)
{
    enum uno_alg tables = is_short(u, mean) ? UNO_ALG_SLOTS : UNO_ALG_COPIES;
    if (mean < u->trials->plan.least) return uno_seg_by_messages(u, UNO_ALLTOALL, mean) ? UNO_ALG_MESSAGES : tables;
    enum uno_alg start = is_far(u, mean) ? UNO_ALG_MESSAGES : tables;
    if (!(u->trials->plan.kinds >> kind & 1)) return start;
    return uno_trial_way(u, kind, mean, start, UNO_TRIAL_BIT(tables) | UNO_TRIAL_BIT(UNO_ALG_MESSAGES));
}

static bool goes_by_messages(struct uno_coll *u, const struct uno_call *c)
{
    size_t mean = u->mean;
    if (!uno_coll_exchanges_varied(c->kind) || c->sbuf == MPI_IN_PLACE || !u->cma) return false;
    if (varied_way(u, c->kind, mean) != UNO_ALG_MESSAGES) return false;
    if (u->by_messages++ % (mean < u->trials->plan.least ? LOOK_SHORT : LOOK) == 0) tell_sent(u, c);
    return true;
}

// Where ranks outnumber cores: whether others look for the root that runs elsewhere. Where one takes from all, many
// waits come true at once when the core is given away, and where all wait for all, whoever shares the core has to do
// its part. (4 ranks on two cores, one chiplet: bcast of 1 KiB 0.26 to 0.17 us, 4 KiB 0.43 to 0.29, 32 KiB 3.0 to 1.6,
// scatter of 4 KiB 0.85 to 0.5; between two chiplets scatterv of 128 B 0.32 to 0.25, bcast of 256 B 0.31 to 0.21; but
// scan of 8 B 0.7 to 1.1.)
static bool looks(enum uno_coll_kind kind)
{
    return kind == UNO_BCAST || kind == UNO_SCATTER || kind == UNO_SCATTERV;
}

static int run_varied(struct uno_coll *u, const struct uno_call *c)
{
    return goes_by_messages(u, c) ? UNO_SHM_DECLINED : run_large(u, c, 0);
}

static int run_even(struct uno_coll *u, const struct uno_call *c)
{
    size_t bytes = uno_call_bytes(c);
    if (bytes == 0 && c->kind != UNO_BARRIER) return MPI_SUCCESS;
    unsigned ready = UNO_TYPE_PREDEFINED | UNO_TYPE_PLAIN;
    if (uno_coll_reduces(c->kind) && (c->rtype->flags & ready) != ready) return UNO_SHM_DECLINED;
    return run_by(u, c, bytes, choose_way(u, c, bytes));
}

int uno_shm_run(const struct uno_call *c)
{
    int err = MPI_SUCCESS;
    if (c->kind >= UNO_NEIGHBOR_ALLGATHER || c->comm->inter || c->comm->size < 2) return UNO_SHM_DECLINED;
    struct uno_coll *u = uno_seg_get(c->comm, &err);
    if (!u) return err ? err : UNO_SHM_DECLINED;
    bool varied = c->kind == UNO_GATHERV || c->kind == UNO_SCATTERV || uno_coll_exchanges_varied(c->kind);
    u->looks = looks(c->kind);
    err = varied ? run_varied(u, c) : run_even(u, c);
    if (err != UNO_SHM_DECLINED) uno_trial_end(u->trials);
    return err;
}

void uno_shm_over(const struct MPI_ABI_Comm *comm)
{
    if (!comm->coll || !comm->coll->trials) return;
    uno_trial_end(comm->coll->trials);
    if (comm->coll->sent_at) learn_sent(comm->coll);
}
