// SPDX-License-Identifier: BSD-3-Clause
// The two queues of a context (match.h). Lists are short in well-behaved programs; what is looked for first is at the
// head. A search that takes DEEP steps makes an index of the list, and all later ones ask that.
#include "core/match.h"

#include "base/event.h"
#include "base/invariant.h"
#include "base/pvar.h"
#include "chan/chan.h"
#include "core/match_index.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/world.h"

static struct {
    _Atomic uint64_t posted, unposted;    // receives
    _Atomic uint64_t kept, taken;         // messages
    _Atomic uint64_t bytes_kept, bytes_taken, bytes_most;
} count;
static const struct uno_pvar counts[] = {
    UNO_PVAR_LEVEL("posted_receives", &count.posted, &count.unposted, "receives that wait for their messages"),
    UNO_PVAR_COUNTER("unexpected_arrivals", &count.kept, "messages that came before their receives"),
    UNO_PVAR_LEVEL("unexpected_messages", &count.kept, &count.taken, "messages that wait for their receives"),
    UNO_PVAR_LEVEL("unexpected_bytes", &count.bytes_kept, &count.bytes_taken, "bytes of them that lie here"),
    UNO_PVAR_HIGH("unexpected_bytes_most", &count.bytes_most, "most bytes of them that lay here at once"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);
static struct uno_event queued = {.name = "unexpected_queued",
                                  .help = "a message came before its receive: source in its communicator, tag, bytes "
                                          "of the whole message, and the sender's rank in MPI_COMM_WORLD",
                                  .elements = "source|tag|bytes|process"};
UNO_EVENT_DECLARE(queued);
static struct uno_event taken = {.name = "unexpected_taken",
                                 .help = "such a message met its receive, or was dropped",
                                 .elements = "source|tag|bytes|process"};
UNO_EVENT_DECLARE(taken);

// Of a message that is announced nothing lies here, unless it came with that.
static uint64_t bytes_here(const struct uno_unexp *u)
{
    return u->announced ? u->bytes - sizeof(struct uno_rts) : u->bytes;
}

static void tell(struct uno_event *e, const struct uno_unexp *u)
{
    uno_event_tell(e, (int64_t[]){u->src, u->tag, (int64_t)uno_unexp_bytes(u), u->proc});
}

static bool tag_fits(int wanted, int tag)
{
    // Any tag means any user's tag: negative ones are internal, and never wanted by wildcard.
    return wanted == tag || (wanted == MPI_ANY_TAG && tag >= 0);
}

// An index of 32 elements costs about as much as looking at a few hundred.
#define DEEP 32

// Element what goes into an index, which keeps its place there; without memory for either there is no index any more.
static void index_one(struct uno_index **ix, int tag, void *what, struct uno_entry **place)
{
    if (place && (*place = uno_index_add(*ix, tag, what)) != NULL) return;
    uno_index_drop(*ix);
    *ix = NULL;
}

static void index_receive(struct uno_queue *q, struct MPI_ABI_Request *r)
{
    if (q->index) index_one(&q->index, r->tag, r, &r->move.entry);
}

static void index_message(struct uno_index **ix, struct uno_unexp *u, enum uno_unexp_list list)
{
    if (*ix) index_one(ix, u->tag, u, uno_unexp_place(u, list));
}

static void unindex(struct uno_index **ix, struct uno_entry *e, bool last)
{
    if (!*ix) return;
    uno_index_remove(*ix, e);
    if (!last) return;
    uno_index_drop(*ix);
    *ix = NULL;
}

// ---- receives ----

static __attribute__((noinline, cold)) void index_queue(struct uno_queue *q)
{
    q->index = uno_index_new();
    for (struct MPI_ABI_Request *r = q->head; q->index && r; r = r->move.next) index_receive(q, r);
}

static struct MPI_ABI_Request *indexed_fit(const struct uno_queue *q, int tag)
{
    struct MPI_ABI_Request *r = uno_index_first(q->index, tag);
    struct MPI_ABI_Request *any = tag >= 0 ? uno_index_first(q->index, MPI_ANY_TAG) : NULL;
    return any && (!r || any->move.order < r->move.order) ? any : r;
}

static struct MPI_ABI_Request *first_fit(struct uno_queue *q, int tag)
{
    if (__builtin_expect(q->index != NULL, 0)) return indexed_fit(q, tag);
    struct MPI_ABI_Request *r = q->head;
    int steps = 0;
    for (; r && !tag_fits(r->tag, tag); r = r->move.next) steps++;
    if (__builtin_expect(steps >= DEEP, 0)) index_queue(q);
    return r;
}

static void unlink_request(struct uno_queue *q, struct MPI_ABI_Request *r)
{
    uno_count_add(&count.unposted, 1);
    uno_assert((r->move.prev ? r->move.prev->move.next : q->head) == r);
    uno_assert((r->move.next ? r->move.next->move.prev : q->tail) == r);
    if (r->move.prev)
        r->move.prev->move.next = r->move.next;
    else
        q->head = r->move.next;
    if (r->move.next)
        r->move.next->move.prev = r->move.prev;
    else
        q->tail = r->move.prev;
    r->move.queued = false;
    unindex(&q->index, r->move.entry, !q->head);
}

// A receive that was told of a failure gets its message after all.
static void wait_again(struct MPI_ABI_Request *r)
{
    if (__builtin_expect(uno_request_is_done(r), 0) && r->status.MPI_ERROR == UNO_ERR_PROC_FAILED_PENDING)
        uno_request_resume(r);
}

struct MPI_ABI_Request *uno_match_arrival(struct uno_match *m, int src, int tag)
{
    struct uno_queue *q = &m->source[src].posted;
    struct MPI_ABI_Request *r = first_fit(q, tag);
    if (__builtin_expect(m->any.head != NULL, 0)) {
        struct MPI_ABI_Request *w = first_fit(&m->any, tag);
        if (w && (!r || w->move.order < r->move.order)) {
            r = w;
            q = &m->any;
            wait_again(r);
        }
    }
    if (r) unlink_request(q, r);
    return r;
}

struct MPI_ABI_Request *uno_match_fit(struct uno_match *m, int src, int tag)
{
    struct MPI_ABI_Request *r = first_fit(&m->source[src].posted, tag), *w = first_fit(&m->any, tag);
    return w && (!r || w->move.order < r->move.order) ? w : r;
}

static struct uno_queue *queue_of(struct uno_match *m, struct MPI_ABI_Request *r)
{
    return r->rank == MPI_ANY_SOURCE ? &m->any : &m->source[r->rank].posted;
}

void uno_match_post(struct uno_match *m, struct MPI_ABI_Request *r)
{
    struct uno_queue *q = queue_of(m, r);
    uno_assert_locked();
    uno_assert(!uno_request_is_done(r));
    uno_assert(!q->tail || q->tail->move.order < m->order);
    uno_count_add(&count.posted, 1);
    r->move.order = m->order++;
    r->move.next = NULL;
    r->move.prev = q->tail;
    r->move.queued = true;
    if (q->tail)
        q->tail->move.next = r;
    else
        q->head = r;
    q->tail = r;
    index_receive(q, r);
}

bool uno_match_unpost(struct uno_match *m, struct MPI_ABI_Request *r)
{
    if (!r->move.queued) return false;
    unlink_request(queue_of(m, r), r);
    wait_again(r);
    return true;
}

// ---- unexpected messages ----

static __attribute__((noinline, cold)) void index_source(struct uno_match_source *s)
{
    s->index = uno_index_new();
    for (struct uno_unexp *u = s->first; s->index && u; u = u->next) index_message(&s->index, u, UNO_UNEXP_SOURCE);
}

static __attribute__((noinline, cold)) void index_all(struct uno_match *m)
{
    m->index = uno_index_new();
    for (struct uno_unexp *u = m->first; m->index && u; u = u->next_all) index_message(&m->index, u, UNO_UNEXP_ALL);
}

// Any tag is looked for in the list: all but internal messages fit.
struct uno_unexp *uno_match_posting(struct uno_match *m, int src, int tag)
{
    bool all = src == MPI_ANY_SOURCE;
    struct uno_match_source *s = all ? NULL : &m->source[src];
    struct uno_index *ix = all ? m->index : s->index;
    if (__builtin_expect(ix != NULL, 0) && tag != MPI_ANY_TAG) return uno_index_first(ix, tag);
    struct uno_unexp *u = all ? m->first : s->first;
    int steps = 0;
    for (; u && !tag_fits(tag, u->tag); u = all ? u->next_all : u->next) steps++;
    if (__builtin_expect(steps >= DEEP, 0) && tag != MPI_ANY_TAG) {
        if (all)
            index_all(m);
        else
            index_source(s);
    }
    return u;
}

void uno_match_keep(struct uno_match *m, struct uno_unexp *u)
{
    struct uno_match_source *s = &m->source[u->src];
    u->next = u->next_all = NULL;
    u->prev = s->last;
    u->prev_all = m->last;
    if (s->last)
        s->last->next = u;
    else
        s->first = u;
    if (m->last)
        m->last->next_all = u;
    else
        m->first = u;
    s->last = m->last = u;
    index_message(&s->index, u, UNO_UNEXP_SOURCE);
    index_message(&m->index, u, UNO_UNEXP_ALL);
    uno_count_add(&count.kept, 1);
    uno_count_add(&count.bytes_kept, bytes_here(u));
    uint64_t here = uno_count_get(&count.bytes_kept) - uno_count_get(&count.bytes_taken);
    if (here > uno_count_get(&count.bytes_most))
        uno_count_add(&count.bytes_most, here - uno_count_get(&count.bytes_most));
    tell(&queued, u);
    uno_wake_waiters();    // a thread may have fallen asleep in a probe before this one sent it to itself, or took it
}

void uno_match_take(struct uno_match *m, struct uno_unexp *u)
{
    struct uno_match_source *s = &m->source[u->src];
    uno_count_add(&count.taken, 1);
    uno_count_add(&count.bytes_taken, bytes_here(u));
    uno_assert((u->prev ? u->prev->next : s->first) == u && (u->next ? u->next->prev : s->last) == u);
    uno_assert((u->prev_all ? u->prev_all->next_all : m->first) == u);
    uno_assert((u->next_all ? u->next_all->prev_all : m->last) == u);
    if (u->prev)
        u->prev->next = u->next;
    else
        s->first = u->next;
    if (u->next)
        u->next->prev = u->prev;
    else
        s->last = u->prev;
    if (u->prev_all)
        u->prev_all->next_all = u->next_all;
    else
        m->first = u->next_all;
    if (u->next_all)
        u->next_all->prev_all = u->prev_all;
    else
        m->last = u->prev_all;
    if (s->index) unindex(&s->index, *uno_unexp_place(u, UNO_UNEXP_SOURCE), !s->first);
    if (m->index) unindex(&m->index, *uno_unexp_place(u, UNO_UNEXP_ALL), !m->first);
    tell(&taken, u);
}
