// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing windows (win.h). Called by src/api/twice/win_make.c and win.c.
//
// Always holds: every member comes to the same result, so none waits for one that gave up; a window is registered
// before any member can send to it.
#include "rma/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "chan/access.h"
#include "chan/door.h"
#include "chan/peer_memory.h"
#include "chan/proc.h"
#include "core/arena.h"
#include "core/errh.h"
#include "core/helper.h"
#include "core/info.h"
#include "core/world.h"
#include "p2p/fail.h"
#include "p2p/place.h"
#include "rma/errand.h"
#include "rma/remote.h"
#include "rma/rma.h"
#include "rma/words.h"

#define PAGE ((size_t)4096)

// What each member tells the others.
struct card {
    int64_t base, size, unit;
    int64_t opens;      // a channel of this member may open its part to the others
    int64_t errands;    // where what it may do for those on its host is left (errand.h)
    struct uno_arena_place place;
};

static _Atomic uint64_t made, gone, bytes_made, bytes_gone;
static const struct uno_pvar counts[] = {
    UNO_PVAR_LEVEL("window_count", &made, &gone, "windows that are there"),
    UNO_PVAR_LEVEL("window_bytes", &bytes_made, &bytes_gone, "bytes of this process in them"), UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_Win), .magic = UNO_WIN_MAGIC};
static struct MPI_ABI_Win *first;

struct MPI_ABI_Win *uno_win(MPI_Win h)
{
    return (uintptr_t)h >= 4096 && h->head.magic == UNO_WIN_MAGIC ? h : NULL;
}

const struct MPI_ABI_Win *uno_win_first(void)
{
    return first;
}

void uno_win_call_it(struct MPI_ABI_Win *w, const char *name)
{
    snprintf(w->comm->name, sizeof w->comm->name, name[0] ? "window %s" : "a window", name);
}

struct MPI_ABI_Win *uno_win_of_context(uint64_t context)
{
    struct MPI_ABI_Win *w = first;
    while (w && w->comm->context != context) w = w->next;
    return w;
}

static struct uno_rma_words *words_of(const struct MPI_ABI_Win *w, int index)
{
    char *members = w->shared->share.base + w->shared->before;
    return (struct uno_rma_words *)(void *)(members + (size_t)index * w->shared->stride);
}

_Atomic uint64_t *uno_win_posted(const struct MPI_ABI_Win *w, const struct uno_rma_part *p)
{
    return (_Atomic uint64_t *)(void *)(p->words + 1) + w->comm->rank;
}

_Atomic uint64_t *uno_win_completed(const struct MPI_ABI_Win *w, const struct uno_rma_part *p)
{
    return uno_win_posted(w, p) + w->comm->size;
}

void uno_win_raise(const struct MPI_ABI_Win *w, _Atomic uint64_t *word, int rank)
{
    // Release: pairs with the acquire in uno_word_reached: what was done before is seen after. Nobody else writes the
    // word, but an addition arrives 0.1 us before a plain store here (bench: rma-sync --variant pscw).
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    uno_door_ring(w->shared->door[rank]);
}

// ---- making ----

// w->comm, all members, and w->node, those on this host.
static int make_comms(struct MPI_ABI_Win *w, struct MPI_ABI_Comm *c)
{
    struct uno_team all = uno_team_all(c, 0);
    int err = uno_team_comm(&all, c->group, &w->comm);
    if (err) return err;
    int *member = malloc(2 * (size_t)c->size * sizeof *member), *host = NULL;
    if (!member) return uno_fail(MPI_ERR_NO_MEM, "no memory for a window");
    if (uno_comm_is_mixed(c)) {
        host = member + c->size;
        err = uno_places(c, host);
    }
    struct uno_team node = {.comm = c, .member = member, .tag = uno_coll_tag(c)};
    for (int r = 0; r < c->size && !err; r++) {
        if (!uno_place_is_here(c, host, r)) continue;
        if (r == c->rank) node.me = node.n;
        member[node.n++] = r;
    }
    if (err) {
        free(member);
        return err;
    }
    if (node.n == c->size) {
        uno_comm_hold(w->comm);
        w->node = w->comm;
    } else {
        err = uno_team_comm(&node, NULL, &w->node);
        if (!err) uno_comm_tie(w->node, w->comm);
    }
    free(member);
    if (!err) w->node->near = 1;
    return err;
}

static size_t waiters_offset(const struct MPI_ABI_Win *w)
{
    return sizeof(struct uno_rma_words) + 2 * (size_t)w->comm->size * sizeof(uint64_t);
}

struct uno_ticket_queue uno_win_queue(const struct MPI_ABI_Win *w, const struct uno_rma_part *p)
{
    return (struct uno_ticket_queue){.lock = &p->words->lock,
                                     .waiter = (_Atomic uint64_t *)(void *)((char *)p->words + waiters_offset(w)),
                                     .door = w->shared->door,
                                     .slots = (uint32_t)w->ranks,
                                     .me = (uint32_t)w->comm->rank};
}

static bool is_near(const struct MPI_ABI_Win *w, int rank)
{
    return w->shared->door[rank] != NULL;
}

// Of the members of w->node, which is part of w->comm in the same order.
static void find_doors(struct MPI_ABI_Win *w)
{
    for (int i = 0, r = 0; i < w->node->size; i++, r++) {
        int proc = w->node->group->proc[i];
        while (w->comm->group->proc[r] != proc) r++;
        w->shared->door[r] = uno_proc_door(proc);
    }
}

static size_t rounded(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

// Where the memory of the members of this host lies in the share: one after the other when the user wants them
// contiguous, else each on pages of its own. Returns the bytes of all; 0: the window has no memory of the library's.
static size_t lay_memory(struct MPI_ABI_Win *w, const struct card *card, size_t *offset)
{
    if (w->flavor != MPI_WIN_FLAVOR_ALLOCATE && w->flavor != MPI_WIN_FLAVOR_SHARED) return 0;
    bool together = w->flavor == MPI_WIN_FLAVOR_SHARED && !uno_win_hint_true(w, "alloc_shared_noncontig");
    const char *text = w->info ? uno_info_find(w->info, "mpi_minimum_memory_alignment") : NULL;
    size_t align = text ? (size_t)strtoull(text, NULL, 10) : 0, at = 0;
    size_t unit = together ? 1 : align > PAGE ? align : PAGE;
    for (int r = 0; r < w->ranks; r++) {
        if (!is_near(w, r)) continue;
        offset[r] = at;
        at = rounded(at + (size_t)card[r].size, unit);
    }
    return at ? at : 1;
}

// One share for all: the window's own lock, its barrier if all members are on this host, the words of the members here,
// what they attach, then `memory` bytes on pages of their own.
static int make_share(struct MPI_ABI_Win *w, size_t memory)
{
    struct uno_rma_shared *s = w->shared;
    size_t slots = (size_t)w->ranks * sizeof(uint64_t), meet = rounded(UNO_LINE + slots, 2 * UNO_LINE);
    s->before = meet + rounded(uno_meet_bytes(), 2 * UNO_LINE);
    s->stride = rounded(waiters_offset(w) + slots, 2 * UNO_LINE);
    size_t words = rounded(s->before + s->stride * (size_t)w->node->size + uno_win_regions_bytes(w), PAGE);
    int err = memory > SIZE_MAX - words ? uno_fail(MPI_ERR_NO_MEM, "a window of %zu bytes does not fit", memory)
                                        : uno_share_make(w->node, words + memory, &s->share);
    if (err) return err;
    char *base = s->share.base;
    s->memory = memory ? base + words : NULL;
    s->all = (struct uno_ticket_queue){.lock = (struct uno_ticket_lock *)(void *)base,
                                       .waiter = (_Atomic uint64_t *)(void *)(base + UNO_LINE),
                                       .door = s->door,
                                       .slots = (uint32_t)w->ranks,
                                       .me = (uint32_t)w->comm->rank,
                                       .many = true};
    uno_meet_make_in(w->comm, w->node == w->comm && w->ranks > 1 ? base + meet : NULL, &s->meet);
    return MPI_SUCCESS;
}

// For measuring and testing the slower paths.
static struct uno_param least_path =
    UNO_PARAM_INT("rma_path", 0, 0, 2,
                  "fastest path that windows may take: 0 mapped memory, 1 leaves nothing to targets that wait, "
                  "2 messages alone");
UNO_PARAM_DECLARE(least_path);

// Else some members copy across processes, and what an accumulate does there lies under one lock.
static bool is_mapped_by_all(const struct MPI_ABI_Win *w, int rank)
{
    return is_near(w, rank) && (w->shared->memory || uno_win_borrowed(w, rank));
}

static uint8_t path_of(const struct MPI_ABI_Win *w, int rank, struct uno_rma_part *p, int64_t told)
{
    if (!is_near(w, rank)) return UNO_RMA_MESSAGE;
    if (rank == w->comm->rank || w->flavor == MPI_WIN_FLAVOR_SHARED) return UNO_RMA_MAPPED;
    if (is_mapped_by_all(w, rank) && least_path.num < UNO_RMA_MESSAGE) return UNO_RMA_MAPPED;
    if (least_path.num == UNO_RMA_MESSAGE) return UNO_RMA_MESSAGE;
    p->pid = uno_peer_memory_pid_of(uno_comm_proc(w->comm, rank));
    if (p->pid) p->errands = uno_errands_of(uno_comm_proc(w->comm, rank), told);
    return p->pid ? UNO_RMA_REACH : UNO_RMA_MESSAGE;
}

// Where the part is, in the addresses that its path needs.
static char *address_of(const struct MPI_ABI_Win *w, int rank, size_t offset, const struct card *card)
{
    if (w->shared->memory && is_near(w, rank)) return w->shared->memory + offset;
    char *borrowed = uno_win_borrowed(w, rank);
    return borrowed ? borrowed : (char *)(uintptr_t)card->base;
}

// A window on memory of the user's: what comes from MPI_Alloc_mem can be mapped.
static int borrow(struct MPI_ABI_Win *w, const struct card *card)
{
    bool some = false, done = true;
    for (int r = 0; r < w->ranks; r++) {
        if (!is_near(w, r) || card[r].place.pid == 0) continue;
        some = true;
        done = done && uno_win_borrow(w, r, &card[r].place, (size_t)card[r].size);
    }
    return some && w->node->size > 1 ? uno_win_borrow_agree(w, done) : MPI_SUCCESS;
}

// Whether it is worth telling how parts are accessed by a channel, on which all members agree. What is attached to a
// dynamic window is not known when it is made.
static bool some_opens(const struct MPI_ABI_Win *w, const struct card *card)
{
    bool some = false;
    for (int r = 0; r < w->ranks && w->flavor != MPI_WIN_FLAVOR_DYNAMIC; r++) some |= card[r].opens;
    return some;
}

static void describe(struct MPI_ABI_Win *w, const struct card *card, const size_t *offset)
{
    int index = 0;
    for (int r = 0; r < w->ranks; r++) {
        struct uno_rma_part *p = &w->part[r];
        if (is_near(w, r)) p->words = words_of(w, index++);
        p->path = path_of(w, r, p, card[r].errands);
        p->base = address_of(w, r, offset[r], &card[r]);
        p->size = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? SIZE_MAX : (size_t)card[r].size;
        p->unit = (MPI_Aint)card[r].unit;
        p->direct = p->path == UNO_RMA_MAPPED && w->flavor != MPI_WIN_FLAVOR_DYNAMIC && !w->check;
        p->immediate = p->path != UNO_RMA_MESSAGE && !w->check;
        p->stripes = is_mapped_by_all(w, r) ? UNO_RMA_STRIPES - 1 : 0;
        w->messages |= p->path == UNO_RMA_MESSAGE;
    }
    struct uno_rma_part *mine = &w->part[w->comm->rank];
    if (w->shared->memory) w->base = mine->base;
    w->posted = uno_win_posted(w, mine) - w->comm->rank;
    w->completed = w->posted + w->ranks;
}

// Whether others on the host access the part by calls of the kernel, and do not share processors with it.
static bool is_reached(const struct MPI_ABI_Win *w)
{
    bool own = w->flavor == MPI_WIN_FLAVOR_CREATE || w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    return own && w->node->size > 1 && least_path.num < UNO_RMA_REACH && !uno_patience.crowded;
}

// The memory and the parts, once everybody's card is known.
static int fill_parts(struct MPI_ABI_Win *w, const struct uno_win_spec *spec)
{
    size_t n = (size_t)w->comm->size;
    struct card *card = calloc(n, sizeof *card);
    size_t *offset = calloc(n, sizeof *offset);
    w->part = calloc(n, sizeof *w->part);
    w->shared = calloc(1, sizeof *w->shared + n * sizeof(struct uno_door *));
    bool mine = card && offset && w->part && w->shared;
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC) mine = uno_win_regions_make(w) && mine;
    int64_t failed = !mine;
    struct uno_team all = uno_team_all(w->comm, 0);
    int err = uno_team_most(&all, &failed);
    if (!err && (failed || !mine)) err = uno_fail(MPI_ERR_NO_MEM, "no memory for a window of %zu members", n);
    if (!err) {
        find_doors(w);
        struct card *c = &card[w->comm->rank];
        *c = (struct card){(int64_t)(intptr_t)spec->base, spec->size, spec->unit, uno_access != NULL, 0, {0}};
        if (is_reached(w)) c->errands = uno_errands_open();
        w->errands = c->errands != 0;
        if (w->flavor == MPI_WIN_FLAVOR_CREATE) c->place = uno_arena_place(spec->base, (size_t)spec->size);
        err = uno_team_allgather(&all, card, sizeof *card);
    }
    if (!err) err = make_share(w, lay_memory(w, card, offset));
    if (!err) err = uno_win_check_make(w);
    if (!err && least_path.num < UNO_RMA_MESSAGE) err = borrow(w, card);
    if (!err && some_opens(w, card) && !uno_win_access_room(w)) err = uno_fail(MPI_ERR_NO_MEM, "no memory for cards");
    failed = err;
    int agreed = uno_team_most(&all, &failed);
    if (!err) err = agreed ? agreed : failed ? uno_fail((int)failed, "another member has no memory for its part") : 0;
    if (!err) describe(w, card, offset);
    if (!err && w->access) err = uno_win_access_open(w);
    free(card);
    free(offset);
    return err;
}

static void forget(struct MPI_ABI_Win *w)
{
    // Where a member has failed the living have not met: one may still leave something.
    if (w->errands && !w->comm->broken) uno_errands_close();
    uno_win_access_drop(w);
    uno_win_regions_drop(w);
    uno_win_borrow_drop(w);
    uno_win_check_drop(w);
    if (w->shared) {
        uno_share_drop(&w->shared->share);
        if (w->shared->meet.team.comm) uno_meet_drop(&w->shared->meet);
        free(w->shared);
    }
    if (w->started) uno_group_drop(w->started);    // epochs that a failure left open
    if (w->exposed) uno_group_drop(w->exposed);
    if (w->node) uno_comm_drop(w->node);
    if (w->comm) uno_comm_drop(w->comm);
    if (w->info) uno_info_drop(w->info);
    free(w->part);
    uno_pool_put(&pool, w);
}

// From now on all synchronisation goes the long way, which says what has happened.
static void notice(struct MPI_ABI_Comm *c)
{
    struct MPI_ABI_Win *w = uno_win_of_context(c->context);
    for (int r = 0; w && r < w->ranks; r++) w->part[r].immediate = false;
}

static void enlist(struct MPI_ABI_Win *w)
{
    uno_count_add(&made, 1);
    uno_count_add(&bytes_made, (uint64_t)w->size);
    w->next = first;
    if (first) first->prev = w;
    first = w;
    uno_tell_held = uno_win_tell_held;
    w->comm->owner = w->handle;
    w->comm->broke = notice;
    if (w->comm->broken) notice(w->comm);
}

static void strike(struct MPI_ABI_Win *w)
{
    w->comm->owner = NULL;
    w->comm->broke = NULL;
    uno_count_add(&gone, 1);
    uno_count_add(&bytes_gone, (uint64_t)w->size);
    if (w->next) w->next->prev = w->prev;
    if (w->prev)
        w->prev->next = w->next;
    else
        first = w->next;
}

// No message finds it any more.
static void leave(struct MPI_ABI_Win *w, bool helped)
{
    if (w->messages) uno_remote_forget(w);
    if (helped) uno_helper_need(false);
    strike(w);
    forget(w);
}

int uno_win_make(struct MPI_ABI_Comm *c, const struct uno_win_spec *spec, struct MPI_ABI_Win **win)
{
    if (spec->flavor == MPI_WIN_FLAVOR_SHARED && c->size > 1 && !uno_share_possible(c, true))
        return uno_fail(MPI_ERR_RMA_SHARED, "the members of the communicator are not all on one host");
    struct MPI_ABI_Win *w = uno_pool_get(&pool);
    if (!w) return uno_fail(MPI_ERR_NO_MEM, "no memory for a window");
    uno_arena_expect();
    w->handle = w;
    w->ranks = c->size;
    // What was sent may wait for its connection, and its receiver, before it comes here, for that.
    bool connects = !uno_chan_self.shares || (int)uno_chan_self.nlocal < uno_chan_self.nprocs;
    w->polls = connects || uno_comm_is_mixed(c);
    w->flavor = spec->flavor;
    w->base = spec->base;
    w->size = spec->size;
    w->unit = spec->unit;
    w->model = MPI_WIN_UNIFIED;
    int err = uno_win_hints_take(w, spec->info);
    if (!err) err = make_comms(w, c);
    if (!err) err = fill_parts(w, spec);
    if (err) {
        forget(w);
        return err;
    }
    uno_win_call_it(w, "");
    enlist(w);
    // Whoever is told of the window may use it: so the helper runs first.
    err = w->messages ? uno_helper_need(true) : MPI_SUCCESS;
    bool helped = !err;
    if (!err) err = uno_meet(&w->shared->meet);
    if (err) {
        leave(w, w->messages && helped);
        return err;
    }
    *win = w;
    return MPI_SUCCESS;
}

int uno_win_free(struct MPI_ABI_Win *w)
{
    (void)uno_rma_flush(w, -1);    // nobody is told of a refusal any more, and the others wait
    int err = uno_meet(&w->shared->meet);
    if (err && !w->comm->broken) return err;    // where members have failed the living free it without each other
    leave(w, w->messages);
    return MPI_SUCCESS;
}
