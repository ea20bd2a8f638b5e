// SPDX-License-Identifier: BSD-3-Clause
// Memory attached to dynamic windows: each member keeps a list sorted by address, without a limit, and publishes it to
// the members of its host with a version, so that they know before they access it: a short one in the window's share,
// behind the words, a longer one in the job's heap, which all of them map. Members elsewhere are checked against the
// list at the target. Called by src/api/win.c, op.c and target.c.
//
// Always holds: regions do not overlap; an odd version is being written.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/patience.h"
#include "chan/proc.h"
#include "rma/rma.h"
#include "rma/words.h"

#define SHORT 62                     // regions that a member publishes in the window's share
#define PUBLISHED ((size_t)16384)    // and in the job's heap; with more, others on its host do not check it

struct region {
    uint64_t base, bytes;
};

// Of one member, in the share.
struct table {
    _Atomic uint64_t version, count;
    _Atomic uint64_t chunk, room;        // of the job's heap, one more than its number: a longer list; 0: it is below
    _Atomic uint64_t word[2 * SHORT];    // base and bytes of each
};

struct list {
    struct region *region;
    size_t count, room;
    uint64_t version;    // of the table that it is a copy of
};

struct uno_win_regions {
    struct uno_job_head *job;    // where longer lists are
    size_t first, chunks;        // this member's, 0 chunks: none
    struct list of[];            // by rank: one's own, and what was last seen of the others on this host
};

bool uno_win_regions_make(struct MPI_ABI_Win *w)
{
    size_t n = (size_t)w->comm->size;
    w->attached = calloc(1, sizeof *w->attached + n * sizeof w->attached->of[0]);
    if (w->attached) w->attached->job = uno_proc_job(uno_comm_proc(w->node, 0));
    return w->attached;
}

void uno_win_regions_drop(struct MPI_ABI_Win *w)
{
    struct uno_win_regions *a = w->attached;
    if (!a) return;
    for (int r = 0; r < w->comm->size; r++) free(a->of[r].region);
    if (a->chunks) uno_job_give(a->job, a->first, a->chunks);
    free(a);
}

size_t uno_win_regions_bytes(const struct MPI_ABI_Win *w)
{
    return w->attached ? sizeof(struct table) * (size_t)w->node->size : 0;
}

// The members of a host have their tables in the order of their words.
static struct table *table_of(const struct MPI_ABI_Win *w, int rank)
{
    char *members = w->shared->share.base + w->shared->before;
    size_t index = (size_t)((char *)w->part[rank].words - members) / w->shared->stride;
    return (struct table *)(void *)(members + w->shared->stride * (size_t)w->node->size) + index;
}

static bool make_room(struct list *l, size_t count)
{
    if (count <= l->room) return true;
    size_t room = 2 * l->room > count ? 2 * l->room : count + 16;
    struct region *more = realloc(l->region, room * sizeof *more);
    if (!more) return false;
    l->region = more;
    l->room = room;
    return true;
}

// How many regions begin at `at` or below.
static size_t count_below(const struct list *l, uint64_t at)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->region[middle].base <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Regions that there is room for where this member's list is now.
static size_t room_of(const struct uno_win_regions *a)
{
    return a->chunks ? a->chunks * UNO_HEAP_CHUNK / sizeof(struct region) : SHORT;
}

static _Atomic uint64_t *words_in(const struct MPI_ABI_Win *w, struct table *t, uint64_t chunk)
{
    return chunk ? uno_job_chunk(w->attached->job, (size_t)chunk - 1) : t->word;
}

// A longer run of chunks for this member's list, where the one that it has is full. Returns whether there is one, which
// is empty; without, the list stays too short.
static bool lengthen(struct uno_win_regions *a, struct table *t, size_t count)
{
    size_t room = room_of(a), chunks = a->chunks ? 2 * a->chunks : 1;
    int64_t first = count > room && room < PUBLISHED ? uno_job_take(a->job, chunks) : -1;
    if (first < 0) return false;
    a->first = (size_t)first;
    a->chunks = chunks;
    // Relaxed: the version is odd (publish).
    atomic_store_explicit(&t->chunk, (uint64_t)first + 1, memory_order_relaxed);
    atomic_store_explicit(&t->room, room_of(a), memory_order_relaxed);
    return true;
}

// What this member has attached, as far as it has changed: from region `from` on.
static void publish(const struct MPI_ABI_Win *w, size_t from)
{
    struct uno_win_regions *a = w->attached;
    const struct list *l = &a->of[w->comm->rank];
    struct table *t = table_of(w, w->comm->rank);
    size_t first = a->first, chunks = a->chunks;
    // Relaxed: only this process writes; the fence orders the odd version before the words for whoever sees one of them
    // (pairs with the fences in look).
    uint64_t version = atomic_load_explicit(&t->version, memory_order_relaxed);
    atomic_store_explicit(&t->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    bool moved = lengthen(a, t, l->count);
    _Atomic uint64_t *word = words_in(w, t, a->chunks ? a->first + 1 : 0);
    atomic_store_explicit(&t->count, l->count, memory_order_relaxed);
    for (size_t i = moved ? 0 : from; i < l->count && i < room_of(a); i++) {
        atomic_store_explicit(&word[2 * i], l->region[i].base, memory_order_relaxed);
        atomic_store_explicit(&word[2 * i + 1], l->region[i].bytes, memory_order_relaxed);
    }
    // Release: pairs with the acquire in look.
    atomic_store_explicit(&t->version, version + 2, memory_order_release);
    if (moved && chunks) uno_job_give(a->job, first, chunks);    // who still reads there looks again
}

static bool overlap(const struct region *a, const struct region *b)
{
    return a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

int uno_win_attach(struct MPI_ABI_Win *w, void *base, MPI_Aint bytes)
{
    struct list *l = &w->attached->of[w->comm->rank];
    struct region new = {(uint64_t)(uintptr_t)base, (uint64_t)bytes};
    size_t at = count_below(l, new.base);
    if (bytes == 0 && at > 0 && l->region[at - 1].base == new.base) at--;    // an empty one comes first
    for (size_t i = at > 0 ? at - 1 : 0; i < l->count && i <= at; i++)
        if (overlap(&new, &l->region[i]))
            return uno_fail(MPI_ERR_RMA_ATTACH, "memory %p .. %p overlaps what is attached at %#llx (%llu bytes)", base,
                            (void *)((char *)base + bytes), (unsigned long long)l->region[i].base,
                            (unsigned long long)l->region[i].bytes);
    if (!make_room(l, l->count + 1)) return uno_fail(MPI_ERR_RMA_ATTACH, "no memory to attach a region");
    memmove(&l->region[at + 1], &l->region[at], (l->count - at) * sizeof new);
    l->region[at] = new;
    l->count++;
    publish(w, at);
    return MPI_SUCCESS;
}

int uno_win_detach(struct MPI_ABI_Win *w, const void *base)
{
    struct list *l = &w->attached->of[w->comm->rank];
    size_t at = count_below(l, (uint64_t)(uintptr_t)base);
    if (at == 0 || l->region[at - 1].base != (uint64_t)(uintptr_t)base)
        return uno_fail(MPI_ERR_RMA_ATTACH, "nothing is attached at %p (%zu regions are attached)", base, l->count);
    memmove(&l->region[at - 1], &l->region[at], (l->count - at) * sizeof l->region[0]);
    l->count--;
    publish(w, at - 1);
    return MPI_SUCCESS;
}

// Whether what was read belongs to this version.
static bool is_version(const struct table *t, uint64_t version)
{
    // Acquire: pairs with the fence in publish.
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&t->version, memory_order_relaxed) == version;
}

// Copies the table of another member as it is now; false when it is too long, there is no memory for it, or the member
// has died while it wrote.
static bool look(const struct MPI_ABI_Win *w, int rank)
{
    struct list *l = &w->attached->of[rank];
    struct table *t = table_of(w, rank);
    for (struct uno_patience patience = {0};; uno_patience_copy(&patience)) {
        // Acquire: pairs with the release in publish.
        uint64_t version = atomic_load_explicit(&t->version, memory_order_acquire);
        if (version == l->version) return true;
        if (version % 2 == 1 && uno_proc_is_dead(uno_comm_proc(w->comm, rank))) return false;
        if (version % 2 == 1) continue;
        size_t count = (size_t)atomic_load_explicit(&t->count, memory_order_relaxed);
        uint64_t chunk = atomic_load_explicit(&t->chunk, memory_order_relaxed);
        size_t room = chunk ? (size_t)atomic_load_explicit(&t->room, memory_order_relaxed) : SHORT;
        if (!is_version(t, version)) continue;    // so the three belong together, and the words are all there
        if (count > room || !make_room(l, count)) return false;
        const _Atomic uint64_t *word = words_in(w, t, chunk);
        for (size_t i = 0; i < count; i++)
            l->region[i] = (struct region){atomic_load_explicit(&word[2 * i], memory_order_relaxed),
                                           atomic_load_explicit(&word[2 * i + 1], memory_order_relaxed)};
        if (!is_version(t, version)) continue;
        l->count = count;
        l->version = version;
        return true;
    }
}

bool uno_win_is_attached(const struct MPI_ABI_Win *w, int rank, uint64_t at, size_t bytes)
{
    struct list *l = &w->attached->of[rank];
    if (bytes == 0 || !w->part[rank].words) return true;    // on another host: the target looks
    if (rank != w->comm->rank && !look(w, rank)) return true;
    size_t i = count_below(l, at);
    if (i > 0) i--;
    for (; i < l->count && l->region[i].base <= at; i++) {    // regions that touch are as good as one
        const struct region *r = &l->region[i];
        if (at - r->base > r->bytes) return false;
        uint64_t here = r->bytes - (at - r->base);
        if (bytes <= here) return true;
        at += here;
        bytes -= here;
    }
    return false;
}
