// SPDX-License-Identifier: BSD-3-Clause
// Errands (errand.h). Called by op.c at the origin and by each look for progress at the target.
//
// A request is one line in the target's memory, which only its origin writes; the reply is one line in the origin's,
// which only the target that does what is asked writes: so an errand of a word takes two lines across, and no atomic
// exchange. What a target says before it begins lies with it, where a late word of another target, of an errand that
// was taken back long ago, overwrites nothing.
// Always holds: an origin has one errand under way; what it asks for is done once, by the target or by the origin:
// whoever takes it says so and then looks whether the other one has, too, with a barrier between.
#include "rma/errand.h"

#include <stddef.h>
#include <string.h>

#include "base/fail.h"
#include "base/patience.h"
#include "base/pvar.h"
#include "base/thresholds.h"
#include "base/wait.h"
#include "chan/door.h"
#include "chan/peer_memory.h"
#include "chan/proc.h"
#include "core/progress.h"
#include "core/world.h"
#include "rma/combine.h"
#include "rma/wire.h"
#include "rma/words.h"

#define ORIGINS 64                         // of a host, that may leave errands for each other
#define NEAR ((size_t)UNO_ERRAND_NEAR)     // bytes that travel in the lines
#define STAGE ((size_t)UNO_ERRAND_MOST)    // and in the origin's memory; more of an accumulate the target copies across
#define FAR ((size_t)32768)                // bytes of that per call
#define BEGIN_US 2                         // a target that has not begun by then is not there
#define SHY_MOST 255
#define ORPHAN (1u << 16)    // looks at a reply whose target seems to have died
#define OFF 0x80000000u      // of a number: the origin has taken its errand back

// Above, the addresses of an accumulate's buffers in the origin's process instead of data.
struct far {
    uint64_t in, out;
};

struct request {
    _Alignas(UNO_LINE) _Atomic uint32_t number;    // of the origin's errands; another one than before: there is one
    uint32_t chunk;                                // of the origin's, in the heap
    uint8_t what, op;                              // enum what, and as in struct wire
    uint16_t element;
    uint32_t bytes : 31, is_far : 1;    // of the layout, which lies together; copied across by the target
    uint64_t context;                   // of the window
    uint64_t at;                        // relative to its base; of a dynamic window an address
    char near[NEAR];
};
_Static_assert(sizeof(struct request) == UNO_LINE, "an errand of a word is one line");

// What the target says of the last errand of an origin, by numbers: it has begun it, it leaves it to the origin.
struct note {
    _Alignas(UNO_LINE) _Atomic uint32_t taken, left;
};

struct reply {
    _Alignas(UNO_LINE) _Atomic uint32_t done;    // the number
    int32_t error;                               // the class
    char near[NEAR];
};

struct uno_errands {
    struct request request[ORIGINS];    // for this process, by the local index of the origin
    struct note note[ORIGINS];          // of this process, to each of them
    struct reply reply;                 // to what it has asked for itself
    _Alignas(UNO_LINE) char stage[STAGE];
};
_Static_assert(sizeof(struct uno_errands) <= UNO_HEAP_CHUNK, "errands lie in one chunk");

static _Atomic uint64_t left, taken_back;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("rma_left", &left, "one-sided operations left to a target that waited, which did them"),
    UNO_PVAR_COUNTER("rma_taken_back", &taken_back, "left to a target that was not there, and done without it"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static struct uno_errands *mine;
static int64_t chunk;
static unsigned opened;
static uint32_t seen[ORIGINS];    // the last number of each
static uint32_t numbers;          // of this process's own errands

// What goes along with a request for n bytes of a layout.
static size_t bytes_along(int what, size_t n)
{
    return what == SWAP ? 2 * n : n;
}

// ---- at the target ----

// Accumulates in the origin's memory, piece by piece through a copy.
static int act_far(struct uno_rma_part *p, struct uno_rma_layout *l, const struct wire *h, const struct far *f, int pid)
{
    static char in[FAR], old[FAR];    // not on the stack of whatever thread makes progress; the lock is held
    size_t unit = (size_t)uno_type((MPI_Datatype)(uintptr_t)h->element)->size;
    if (unit == 0) return MPI_ERR_OP;    // it is what a peer says: no type
    size_t most = FAR / unit * unit;
    char *at = l->one.at;
    int err = MPI_SUCCESS;
    for (size_t n, done = 0, bytes = l->bytes; done < bytes && !err; done += n) {
        n = bytes - done < most ? bytes - done : most;
        *l = (struct uno_rma_layout){.one = {at + done, n}, .run = &l->one, .runs = 1, .bytes = n};
        if (f->in) err = uno_peer_memory_move(pid, in, f->in + done, n, true);
        if (!err) err = uno_wire_act(p, l, h, in, old);
        if (!err && f->out) err = uno_peer_memory_move(pid, old, f->out + done, n, false);
    }
    return err;
}

// A request is copied before it is looked at: its writer shares the memory.
static int act(const struct request *shared, struct uno_errands *from)
{
    struct request q;
    memcpy(&q, shared, sizeof q);
    struct MPI_ABI_Win *w = uno_win_of_context(q.context);
    struct wire h = {.what = q.what, .op = q.op, .element = q.element, .runs = 1, .bytes = q.bytes};
    struct wire_run r = {q.at, q.bytes};
    struct uno_rma_layout l;
    struct uno_run run;
    size_t along = bytes_along(q.what, q.bytes);
    if (!w || q.what > SWAP) return MPI_ERR_INTERN;
    if (uno_wire_layout(w, &h, (const char *)&r, q.bytes, &run, &l)) return MPI_ERR_RMA_RANGE;
    struct uno_rma_part *p = &w->part[w->comm->rank];
    if (!q.is_far && along <= NEAR) {
        char back[NEAR];
        int err = uno_wire_act(p, &l, &h, q.near, back);
        memcpy(from->reply.near, back, sizeof back);
        return err;
    }
    if (q.is_far) {
        struct far f;
        memcpy(&f, q.near, sizeof f);
        l.one = run;
        int pid = uno_peer_memory_pid((int)(shared - mine->request));
        if (q.what != ACCUMULATE && q.what != FETCH) return MPI_ERR_INTERN;
        return pid ? act_far(p, &l, &h, &f, pid) : UNO_DECLINED;
    }
    if (along > STAGE) return MPI_ERR_INTERN;
    if (q.what != FETCH) return uno_wire_act(p, &l, &h, from->stage, from->stage);
    static char old[STAGE];
    int err = uno_wire_act(p, &l, &h, from->stage, old);
    memcpy(from->stage, old, q.bytes);
    return err;
}

// A new request: taken, unless its origin takes it back.
static void take(struct request *q, struct note *note, uint32_t number)
{
    if (q->chunk >= UNO_HEAP_CHUNKS) return;
    struct uno_errands *from = uno_job_chunk(uno_chan_self.job, q->chunk);
    // Relaxed, both: the barrier between them is that of whoever takes the request back (take_back).
    atomic_store_explicit(&note->taken, number, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    int err = atomic_load_explicit(&q->number, memory_order_relaxed) == number ? act(q, from) : UNO_DECLINED;
    if (err == UNO_DECLINED) {
        // Release: pairs with the acquire in is_left.
        atomic_store_explicit(&note->left, number, memory_order_release);
        return;
    }
    from->reply.error = err;
    // Release: pairs with the acquire in is_done.
    atomic_store_explicit(&from->reply.done, number, memory_order_release);
}

static int serve(struct uno_poller *self)
{
    int n = 0;
    (void)self;
    for (uint32_t i = 0; i < uno_chan_self.nlocal; i++) {
        // Acquire: pairs with the release in leave.
        uint32_t number = atomic_load_explicit(&mine->request[i].number, memory_order_acquire);
        if (__builtin_expect(number == seen[i], 1)) continue;
        seen[i] = number;
        if (number & OFF) continue;
        take(&mine->request[i], &mine->note[i], number);
        n++;
    }
    return n;
}

static struct uno_poller server = {.fn = serve, .waited = true};

int64_t uno_errands_open(void)
{
    // Without the barrier of the kernel nothing could be taken back.
    bool possible = uno_chan_self.nlocal <= ORIGINS && uno_door_limit() < 0;
    if (!mine && possible && (chunk = uno_job_take(uno_chan_self.job, 1)) >= 0) {
        mine = uno_job_chunk(uno_chan_self.job, (size_t)chunk);
        memset(seen, 0, sizeof seen);
        uno_poller_add(&server);
    }
    if (!mine) return 0;
    opened++;
    return chunk + 1;
}

void uno_errands_close(void)
{
    if (--opened > 0) return;
    uno_poller_remove(&server);
    uno_job_give_short(uno_chan_self.job, (size_t)chunk, sizeof *mine);
    mine = NULL;
}

struct uno_errands *uno_errands_of(int proc, int64_t told)
{
    if (!mine || told < 1 || told > UNO_HEAP_CHUNKS || uno_proc_is_guest(proc)) return NULL;
    return uno_job_chunk(uno_chan_self.job, (size_t)told - 1);
}

// ---- at the origin ----

// Whether the target waits in MPI, awake; asleep, too, if it is worth waking. It may be wrong: the last times it was
// are remembered.
static bool is_there(const struct MPI_ABI_Win *w, int rank, size_t bytes)
{
    const struct uno_door *d = w->shared->door[rank];
    struct uno_rma_part *p = &w->part[rank];
    if (p->shy > 0 && p->passed++ < p->shy) return false;
    p->passed = 0;
    if (bytes > STAGE) return uno_patience_is_there(d, bytes >= uno_thresholds.rouse);
    // Relaxed: hints, stored by uno_tell_wait() and uno_door_arm().
    return atomic_load_explicit(&d->waits, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&d->mode, memory_order_relaxed) == UNO_DOOR_AWAKE;
}

static bool is_done(uint32_t number)
{
    // Acquire: pairs with the release in take.
    return atomic_load_explicit(&mine->reply.done, memory_order_acquire) == number;
}

static bool is_left(const struct note *note, uint32_t number)
{
    // Acquire: pairs with the release in take.
    return atomic_load_explicit(&note->left, memory_order_acquire) == number;
}

// The target has not begun for long, or has not ended. Whether the errand is the origin's again for sure.
static bool take_back(struct request *q, const struct note *note, uint32_t number)
{
    // Relaxed: pairs, by the barrier, with the two accesses in take. Either the target sees that it is off, or its
    // taking is seen here.
    atomic_store_explicit(&q->number, number | OFF, memory_order_relaxed);
    uno_membarrier_global();
    return atomic_load_explicit(&note->taken, memory_order_relaxed) != number;
}

static int answer(int rank)
{
    int err = mine->reply.error;
    return err ? uno_fail(err, "rank %d refused an operation: what it names is not attached or not known there", rank)
               : MPI_SUCCESS;
}

// The target has begun, and ends soon, unless it dies. UNO_DECLINED: it has left it after all.
static int await_end(const struct MPI_ABI_Win *w, int rank, const struct note *note, uint32_t number)
{
    struct uno_patience p = {0};
    for (unsigned looks = 1; !is_done(number); looks++) {
        if (is_left(note, number)) return UNO_DECLINED;
        if (looks % ORPHAN == 0 && uno_proc_is_dead(uno_comm_proc(w->comm, rank)))
            return uno_fail(UNO_ERR_PROC_FAILED, "rank %d has failed", rank);
        uno_patience_copy(&p);
    }
    return answer(rank);
}

// 0 or the class once the target has done it; UNO_DECLINED: it has not begun within so many us. Those that are left
// here meanwhile are served: their origins may be who is waited for. The target's note is not looked at before, so that
// its line stays there.
static int await(const struct MPI_ABI_Win *w, int rank, uint32_t number, uint64_t us)
{
    struct uno_errands *e = w->part[rank].errands;
    struct note *note = &e->note[uno_chan_self.local];
    uint64_t since = uno_ticks(), most = us * uno_ticks_per_us();
    for (unsigned looks = 1; !is_done(number); looks++) {
        uno_rest();
        if (looks % 16 != 0) continue;
        serve(&server);
        if (uno_ticks() - since <= most) continue;
        bool taken = atomic_load_explicit(&note->taken, memory_order_relaxed) == number;    // a hint
        if (!taken && take_back(&e->request[uno_chan_self.local], note, number)) return UNO_DECLINED;
        return await_end(w, rank, note, number);
    }
    return answer(rank);
}

// An operation as it is left: both buffers at the origin lie together.
struct errand {
    struct MPI_ABI_Win *win;
    const struct uno_rma_op *op;
    const void *compare;
    char *in, *out;    // NULL: none
};

// The request for n bytes at `at`, `done` bytes behind the beginning of the operation.
static void describe(const struct errand *e, struct request *q, const char *at, size_t n, size_t done)
{
    const struct uno_rma_op *o = e->op;
    const struct MPI_ABI_Win *w = e->win;
    bool back = o->get || o->result.type;
    q->what = e->compare ? SWAP : o->get ? GET : !o->op ? PUT : back ? FETCH : ACCUMULATE;
    q->op = o->op ? (uint8_t)(uintptr_t)o->op->handle : 0;
    q->element = o->op ? (uint16_t)(uintptr_t)uno_rma_element(o->type)->handle : 0;
    q->is_far = o->op && n > uno_thresholds.brought;
    q->bytes = (uint32_t)n;
    q->context = w->comm->context;
    q->at = (uint64_t)(at - (w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? NULL : w->part[o->rank].base));
    if (q->is_far) {
        struct far f = {e->in ? (uintptr_t)e->in + done : 0, e->out ? (uintptr_t)e->out + done : 0};
        memcpy(q->near, &f, sizeof f);
    } else if (e->compare && e->in) {
        memcpy(q->near, e->compare, n);
        memcpy(q->near + n, e->in, n);
    } else if (e->in) {
        memcpy(n <= NEAR ? q->near : mine->stage, e->in + done, n);
    }
}

// Leaves those n bytes, and waits until the target has done them. UNO_DECLINED: it is not there.
static int leave(const struct errand *e, const char *at, size_t n, size_t done)
{
    struct uno_rma_part *p = &e->win->part[e->op->rank];
    int rank = e->op->rank;
    if (!is_there(e->win, rank, n)) return UNO_DECLINED;
    struct request *q = &p->errands->request[uno_chan_self.local];
    uint32_t number = numbers = numbers + 1 < OFF ? numbers + 1 : 1;
    // Put together here: to read the line again while it is on its way would wait for it.
    struct request as = {.chunk = (uint32_t)chunk};
    describe(e, &as, at, n, done);
    memcpy(&q->chunk, &as.chunk, sizeof as - offsetof(struct request, chunk));
    // Release: pairs with the acquire in serve.
    atomic_store_explicit(&q->number, number, memory_order_release);
    bool roused = e->op->op && n >= uno_thresholds.rouse;
    if (roused) uno_door_ring(e->win->shared->door[rank]);
    int err = await(e->win, rank, number, roused ? 2 * uno_thresholds.spin : BEGIN_US);
    uno_count_add(err == UNO_DECLINED ? &taken_back : &left, 1);
    p->shy = err == UNO_DECLINED ? (p->shy < SHY_MOST ? 2 * p->shy + 1 : SHY_MOST) : 0;
    if (!err && e->out && !as.is_far) memcpy(e->out + done, n <= NEAR ? mine->reply.near : mine->stage, n);
    return err;
}

// A part of an accumulate whose target is not there.
static int do_alone(const struct errand *e, char *at, size_t n, size_t done)
{
    struct uno_rma_layout l = {.one = {at, n}, .runs = 1, .bytes = n};
    struct uno_rma_stream in = {.plain = e->in + done}, out = {.plain = e->out + done};
    struct uno_rma_combination c = {.op = e->op->op,
                                    .element = uno_rma_element(e->op->type),
                                    .in = e->in ? &in : NULL,
                                    .out = e->out ? &out : NULL};
    l.run = &l.one;
    return uno_rma_combine(&e->win->part[e->op->rank], &l, &c);
}

// From part to part, for a target that was not there may have begun to wait.
static int leave_long(const struct errand *e, char *at, size_t bytes)
{
    size_t unit = (size_t)uno_rma_element(e->op->type)->size, most = (size_t)uno_thresholds.rouse / unit * unit;
    int err = MPI_SUCCESS;
    for (size_t n, done = 0; done < bytes && !err; done += n) {
        n = bytes - done < most ? bytes - done : most;
        err = leave(e, at + done, n, done);
        if (err == UNO_DECLINED) err = do_alone(e, at + done, n, done);
    }
    return err;
}

static bool is_plain(const struct uno_rma_side *side)
{
    return !side->type || (side->type->flags & UNO_TYPE_PLAIN) != 0;
}

int uno_errand_run(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l,
                   const void *compare)
{
    bool no_op = o->op && o->op->handle == MPI_NO_OP, back = o->result.type != NULL;
    if (!w->part[o->rank].errands || w->comm->broken || l->runs != 1) return UNO_DECLINED;
    if ((!o->op && !compare && l->bytes > uno_thresholds.left) || !is_plain(&o->result)) return UNO_DECLINED;
    if (!no_op && !is_plain(&o->origin)) return UNO_DECLINED;
    struct errand e = {.win = w, .op = o, .compare = compare};
    e.in = o->get || no_op ? NULL : o->origin.buf;
    e.out = o->get ? o->origin.buf : back ? o->result.buf : NULL;
    char *at = l->run[0].at;
    return l->bytes > uno_thresholds.rouse ? leave_long(&e, at, l->bytes) : leave(&e, at, l->bytes, 0);
}
