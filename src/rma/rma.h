// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication for the entry points. The lock is held, arguments are checked (but for what is said here).
// Results: 0 or an MPI error class with the reason kept; the window stays usable.
#pragma once
#include "rma/win.h"

// ---- making and freeing: collective ----

struct uno_win_spec {
    int flavor;
    void *base;       // create: the user's memory
    MPI_Aint size;    // but of dynamic windows
    int unit;
    const struct MPI_ABI_Info *info;
};
// w->base: where the memory of this process is.
int uno_win_make(struct MPI_ABI_Comm *c, const struct uno_win_spec *spec, struct MPI_ABI_Win **win);
int uno_win_free(struct MPI_ABI_Win *w);    // all epochs are closed; attributes are gone

// borrow.c: parts on this host that lie in memory of MPI_Alloc_mem. Maps one, false: not possible; then all members of
// the host agree (done: all could be mapped here) and take what they mapped, or none of it.
struct uno_arena_place;
bool uno_win_borrow(struct MPI_ABI_Win *w, int rank, const struct uno_arena_place *place, size_t bytes);
int uno_win_borrow_agree(struct MPI_ABI_Win *w, bool done);
void uno_win_borrow_drop(struct MPI_ABI_Win *w);
char *uno_win_borrowed(const struct MPI_ABI_Win *w, int rank);    // where the part is mapped, NULL: it is not

// access.c: parts whose memory a channel may access (chan/access.h). Making is collective. Room first (false: memory is
// out), of which nobody else hears; open: opens one's own part, and learns which of the others are.
bool uno_win_access_room(struct MPI_ABI_Win *w);
int uno_win_access_open(struct MPI_ABI_Win *w);
void uno_win_access_drop(struct MPI_ABI_Win *w);

// held.c: tells which lock this process holds.
struct uno_board;
void uno_win_tell_held(struct uno_board *b);

// How waits and reports name the window: "window halo".
void uno_win_call_it(struct MPI_ABI_Win *w, const char *name);

// hint.c: takes what it knows from info (NULL: nothing); all hints with the values in use, NULL when memory is out.
int uno_win_hints_take(struct MPI_ABI_Win *w, const struct MPI_ABI_Info *info);
struct MPI_ABI_Info *uno_win_hints_all(const struct MPI_ABI_Win *w);
const char *uno_win_hint(const struct MPI_ABI_Win *w, const char *key);    // as the user gave it, or NULL
bool uno_win_hint_true(const struct MPI_ABI_Win *w, const char *key);

// region.c: dynamic windows. make: false when memory is out; `bytes` of all members of this host lie in the share, zero
// at first, behind the words; none of other windows. MPI_ERR_RMA_ATTACH: attached already, or not attached.
bool uno_win_regions_make(struct MPI_ABI_Win *w);
size_t uno_win_regions_bytes(const struct MPI_ABI_Win *w);
void uno_win_regions_drop(struct MPI_ABI_Win *w);
int uno_win_attach(struct MPI_ABI_Win *w, void *base, MPI_Aint bytes);
int uno_win_detach(struct MPI_ABI_Win *w, const void *base);
// Whether the bytes from address `at` of the member lie in one region; true where only the target can tell.
bool uno_win_is_attached(const struct MPI_ABI_Win *w, int rank, uint64_t at, size_t bytes);

// ---- operations ----

struct uno_rma_side {
    void *buf;
    MPI_Count count;
    struct MPI_ABI_Datatype *type;
};

struct uno_rma_op {
    struct uno_rma_side origin, result;    // result: fetched values (type NULL: none)
    int rank;
    MPI_Aint disp;
    MPI_Count count;    // at the target
    struct MPI_ABI_Datatype *type;
    const struct MPI_ABI_Op *op;    // accumulates; NULL: put or get
    bool get;                       // the origin's buffer is filled
};

// req NULL: completes by a flush or another synchronisation; else *req completes as the request-based forms do.
int uno_rma_start(struct MPI_ABI_Win *w, const struct uno_rma_op *o, MPI_Request *req);

// One element of a predefined type: fetch and op (compare NULL), compare and swap.
int uno_rma_fetch(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const void *compare);

// The predefined type whose elements a type consists of; NULL when there are several.
struct MPI_ABI_Datatype *uno_rma_element(const struct MPI_ABI_Datatype *type);

// ---- the short way (direct.c, word.c): what the entry points try first ----
// Of plain bytes of mapped memory. False: nothing was done; whatever is unusual, wrong arguments too, takes the long
// way above, which says what is wrong.

struct uno_rma_at {
    MPI_Win win;
    int rank;
    MPI_Aint disp;
    MPI_Count count;
    MPI_Datatype type;
};

bool uno_rma_put_now(const struct uno_rma_at *at, const void *buf, MPI_Count count, MPI_Datatype type);
bool uno_rma_get_now(const struct uno_rma_at *at, void *buf, MPI_Count count, MPI_Datatype type);
// result: gets the old values, count elements of type; NULL: nobody wants them.
bool uno_rma_accumulate_now(const struct uno_rma_at *at, const void *buf, void *result, MPI_Count count,
                            MPI_Datatype type, MPI_Op op);
bool uno_rma_fetch_now(const struct uno_rma_at *at, MPI_Op op, const void *in, void *old);    // one element
bool uno_rma_swap_now(const struct uno_rma_at *at, const void *compare, const void *in, void *old);

// ---- synchronisation ----

int uno_rma_fence(struct MPI_ABI_Win *w, int assert);
int uno_rma_post(struct MPI_ABI_Win *w, struct MPI_ABI_Group *g, int assert);
int uno_rma_begin(struct MPI_ABI_Win *w, struct MPI_ABI_Group *g, int assert);    // MPI_Win_start
int uno_rma_complete(struct MPI_ABI_Win *w);
int uno_rma_wait(struct MPI_ABI_Win *w, bool *done);    // done not NULL: does not wait, says whether it ended

int uno_rma_lock(struct MPI_ABI_Win *w, int rank, bool exclusive, bool checked);
int uno_rma_unlock(struct MPI_ABI_Win *w, int rank);
// The short way of a shared lock: false when there is something to wait for, to send, or to complain of, and nothing
// was done.
bool uno_rma_lock_now(MPI_Win win, int rank);
bool uno_rma_unlock_now(MPI_Win win, int rank);
int uno_rma_lock_all(struct MPI_ABI_Win *w, bool checked);
int uno_rma_unlock_all(struct MPI_ABI_Win *w);
int uno_rma_flush(struct MPI_ABI_Win *w, int rank);    // rank -1: all
int uno_rma_flush_local(struct MPI_ABI_Win *w, int rank);

// Whether an operation may go to the part now: MPI_ERR_RMA_SYNC with the reason.
int uno_rma_in_epoch(const struct MPI_ABI_Win *w, int rank);

// ---- the checking mode (check.c, parameter check_windows) ----

// Every operation is compared with those that are not complete, of this process and of all on its host, and every
// synchronisation with what it follows. w->check is NULL when the mode is off: then none of this is called, and
// operations may go short ways (direct.h).
int uno_win_check_make(struct MPI_ABI_Win *w);    // collective; MPI_SUCCESS too when the mode is off
void uno_win_check_drop(struct MPI_ABI_Win *w);

// Before an operation: MPI_ERR_RMA_CONFLICT when it and another one touch the same bytes and nothing orders them.
// local: the buffers here are in use until a synchronisation (false: until the request is complete, which is not seen
// here).
int uno_win_check_op(struct MPI_ABI_Win *w, const struct uno_rma_op *o, bool local);

// Before what ends or cannot follow an epoch of MPI_Win_fence: MPI_ERR_RMA_SYNC.
int uno_win_check_fence(struct MPI_ABI_Win *w, int assert);
int uno_win_check_passive(const struct MPI_ABI_Win *w);    // lock, lock_all, start, post, free
int uno_win_check_start(const struct MPI_ABI_Win *w, const struct MPI_ABI_Group *g, int assert);

// What was sent to the part (-1: all) is complete, here alone or at the part too: called before others may know of it,
// but after a flush, which only its caller knows of. A fence counts on all members.
void uno_win_check_local(struct MPI_ABI_Win *w, int rank);
void uno_win_check_done(struct MPI_ABI_Win *w, int rank);
void uno_win_check_fenced(struct MPI_ABI_Win *w);

// Whether a member has failed: then no operation on the window can be relied on. The class, its reason kept; 0.
static inline int uno_win_refusal(const struct MPI_ABI_Win *w)
{
    if (__builtin_expect(uno_news_waits(), 0)) uno_news_take();
    if (__builtin_expect(w->polls, 0) && uno_guests_due()) uno_guests_look();
    if (__builtin_expect(!w->comm->broken, 1)) return MPI_SUCCESS;
    return uno_fail(w->comm->broken, "a member of the window has failed");
}
