// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees a communicator's segment (segment.h) out of the job segment's heap, and carries its protocol:
// posting, waiting. Called under the library lock by the files that segment.h names.
//
// Always holds: stamps only grow. Waiting spins a moment, then goes through uno_wait_on, where other operations make
// progress and a rank sleeps until rung.
#include "coll/segment.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/param.h"
#include "base/patience.h"
#include "chan/door.h"
#include "chan/self.h"
#include "coll/choose.h"
#include "core/word.h"
#include "core/world.h"

static struct uno_param enabled = UNO_PARAM_BOOL("coll_shm", 1, "collectives inside a host go through shared memory");
UNO_PARAM_DECLARE(enabled);
static struct uno_param flat =
    UNO_PARAM_INT("coll_flat", -1, -1, 1 << 20,
                  "ranks of a host up to which each looks at all others in a small collective; above, a tree (barrier, "
                  "bcast, reduce, allreduce of up to 56 bytes; -1: 32 where each rank has a core, else never a tree)");
UNO_PARAM_DECLARE(flat);

#define FLAT 32

#define PAGE 4096

// ---- making and freeing ----

static bool all_here(const struct MPI_ABI_Comm *c)
{
    if (c->inter || c->size < 2 || !enabled.num) return false;
    for (int r = 0; r < c->size; r++)
        if (uno_comm_proc(c, r) >= uno_world.size || uno_local_of(uno_comm_proc(c, r)) < 0) return false;
    return uno_chan_self.shares;
}

// On crowded cores each level of a tree is one more turn of all ranks: 64 ranks on 2 cores take 1.5 times as long.
static bool wants_tree(int n)
{
    return flat.num >= 0 ? n > flat.num : n > FLAT && !uno_patience.crowded;
}

static size_t lines_bytes(int n)
{
    size_t bytes = sizeof(struct uno_line) * (1 + (size_t)n * (1 + UNO_SEG_DEPTH + 3));
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void lay_out_segment(struct uno_coll *u, size_t first, bool tree)
{
    char *base = uno_job_chunk(uno_world.job, first);
    u->first = first;
    u->left = (_Atomic uint32_t *)base;
    u->line = (struct uno_line *)base + 1;
    u->data = base + lines_bytes(u->n);
    if (tree) u->tree.line = u->line + (size_t)u->n * (1 + UNO_SEG_DEPTH);
}

static int set_up(struct uno_coll *u)
{
    struct MPI_ABI_Comm *c = u->comm;
    u->n = c->size;
    u->me = c->rank;
    u->chunks = (lines_bytes(u->n) + (size_t)u->n * UNO_SEG_DEPTH * UNO_SEG_SLOT + UNO_HEAP_CHUNK - 1) / UNO_HEAP_CHUNK;
    u->local = malloc((size_t)u->n * sizeof *u->local);
    int64_t made[2] = {-1, wants_tree(u->n)};    // by rank 0: the first chunk, whether to use a tree
    if (c->rank == 0 && u->local) made[0] = uno_job_take(uno_world.job, u->chunks);
    int err = uno_coll_bcast(c, made, sizeof made, 0);
    if (err) return err;
    if (!u->local) return uno_fail(MPI_ERR_NO_MEM, "no memory for the collectives of %d ranks", u->n);
    if (made[0] < 0) return MPI_SUCCESS;
    for (int r = 0; r < u->n; r++) u->local[r] = (uint32_t)uno_local_of(uno_comm_proc(c, r));
    lay_out_segment(u, (size_t)made[0], made[1] != 0);
    for (int kind = 0; kind < UNO_COLL_KINDS; kind++)
        u->copies[kind] = uno_choose_copies((enum uno_coll_kind)kind, u->n);
    u->on = true;
    uno_seg_agree_on_cma(u);
    return MPI_SUCCESS;
}

static void free_coll(struct MPI_ABI_Comm *comm)
{
    struct uno_coll *u = comm->coll;
    if (!u) return;
    comm->coll = NULL;
    // Acq_rel: the last one must come after all others' last look at the segment.
    if (u->on && atomic_fetch_add_explicit(u->left, 1, memory_order_acq_rel) == (uint32_t)u->n - 1)
        uno_job_give(uno_world.job, u->first, u->chunks);
    uno_cache_drop(u);
    uno_hier_free(u->hier);
    free(u->local);
    free(u->scratch);
    free(u);
}

struct uno_coll *uno_coll_of(struct MPI_ABI_Comm *comm, int *err)
{
    if (comm->coll) return comm->coll;
    struct uno_coll *u = calloc(1, sizeof *u);
    if (!u) {
        *err = uno_fail(MPI_ERR_NO_MEM, "no memory for the collectives of a communicator");
        return NULL;
    }
    u->comm = comm;
    comm->coll = u;
    comm->coll_free = free_coll;
    return u;
}

struct uno_coll *uno_seg_get(struct MPI_ABI_Comm *comm, int *err)
{
    struct uno_coll *u = uno_coll_of(comm, err);
    if (!u) return NULL;
    if (u->settled) return u->on ? u : NULL;
    u->settled = true;
    if (all_here(comm)) *err = set_up(u);
    return u->on && !*err ? u : NULL;
}

// ---- the protocol ----

static struct uno_line *done_line(const struct uno_coll *u, int r)
{
    return &u->line[(size_t)r * (1 + UNO_SEG_DEPTH)];
}

static struct uno_line *slot_line(const struct uno_coll *u, int r, uint64_t k)
{
    return &u->line[(size_t)r * (1 + UNO_SEG_DEPTH) + 1 + k % UNO_SEG_DEPTH];
}

static inline bool reached(const struct uno_line *line, uint64_t k)
{
    // Pairs with the release in uno_seg_post and uno_seg_done.
    return uno_word_reached(&line->stamp, k);
}

// In a broken communicator it returns at once: what is read then is nothing, and nothing is made of it (coll.c).
static void wait_line(struct uno_coll *u, int r, struct uno_line *line, uint64_t k)
{
    if (!u->comm->broken && uno_word_wait(&line->stamp, k, u->comm, r)) uno_log(2, "a collective was broken off");
}

void uno_seg_wait_line(struct uno_coll *u, int r, struct uno_line *line, uint64_t k)
{
    if (!reached(line, k)) wait_line(u, r, line, k);
}

void uno_seg_ring(struct uno_coll *u, int r)
{
    uno_door_ring(uno_job_door(uno_world.job, u->local[r]));
}

static void ring_all(struct uno_coll *u)
{
    for (int r = 0; r < u->n; r++)
        if (r != u->me) uno_seg_ring(u, r);
}

// A done line is looked at when it must be, and for all that it says: looking takes it from the rank that writes it.
uint64_t uno_seg_begin(struct uno_coll *u)
{
    uint64_t k = ++u->phase, least = k;
    if (k <= u->safe + UNO_SEG_DEPTH) return k;
    for (int r = 0; r < u->n; r++) {
        if (r == u->me) continue;
        struct uno_line *line = done_line(u, r);
        if (!reached(line, k - UNO_SEG_DEPTH)) wait_line(u, r, line, k - UNO_SEG_DEPTH);
        // Acquire: pairs with the release in uno_seg_done; what that rank read is over before the slot is filled anew.
        uint64_t done = atomic_load_explicit(&line->stamp, memory_order_acquire);
        if (done < least) least = done;
    }
    u->safe = least;
    return k;
}

void uno_seg_post(struct uno_coll *u, uint64_t k)
{
    uno_assert(k <= u->phase);
    if (__builtin_expect(u->comm->broken, 0)) return;    // it may not be the right data
    // Release: pairs with the acquire in reached(); the slot's bytes come before its stamp.
    atomic_store_explicit(&slot_line(u, u->me, k)->stamp, k, memory_order_release);
    ring_all(u);
}

void uno_seg_wait(struct uno_coll *u, int r, uint64_t k)
{
    struct uno_line *line = slot_line(u, r, k);
    if (!reached(line, k)) wait_line(u, r, line, k);
}

void uno_seg_wait_all(struct uno_coll *u, uint64_t k)
{
    for (int r = 0; r < u->n; r++)
        if (r != u->me) uno_seg_wait(u, r, k);
}

void uno_seg_done(struct uno_coll *u, uint64_t k)
{
    uno_assert(k <= u->phase);
    if (__builtin_expect(u->comm->broken, 0)) return;    // what was to be written to others may not be there
    // Release: pairs with the acquire in reached(); our reads of the slots come before.
    atomic_store_explicit(&done_line(u, u->me)->stamp, k, memory_order_release);
    ring_all(u);
}

void uno_seg_wait_done(struct uno_coll *u, int r, uint64_t k)
{
    if (!reached(done_line(u, r), k)) wait_line(u, r, done_line(u, r), k);
}
