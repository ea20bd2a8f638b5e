// SPDX-License-Identifier: BSD-3-Clause
// The two queues of a context (match.h). Lists are short in well-behaved programs; what is looked for first is at the
// head.
#include "core/match.h"

#include "base/invariant.h"
#include "core/request.h"
#include "core/world.h"

static bool tag_fits(int wanted, int tag)
{
    // Any tag means any user's tag: negative ones are internal, and never wanted by wildcard.
    return wanted == tag || (wanted == MPI_ANY_TAG && tag >= 0);
}

static struct MPI_ABI_Request *first_fit(const struct uno_queue *q, int tag)
{
    struct MPI_ABI_Request *r = q->head;
    while (r && !tag_fits(r->tag, tag)) r = r->move.next;
    return r;
}

static void unlink_request(struct uno_queue *q, struct MPI_ABI_Request *r)
{
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
        }
    }
    if (r) unlink_request(q, r);
    return r;
}

struct MPI_ABI_Request *uno_match_fit(const struct uno_match *m, int src, int tag)
{
    struct MPI_ABI_Request *r = first_fit(&m->source[src].posted, tag), *w = first_fit(&m->any, tag);
    return w && (!r || w->move.order < r->move.order) ? w : r;
}

struct uno_unexp *uno_match_posting(struct uno_match *m, int src, int tag)
{
    struct uno_unexp *u;
    if (src == MPI_ANY_SOURCE) {
        for (u = m->first; u && !tag_fits(tag, u->tag); u = u->next_all) continue;
    } else {
        for (u = m->source[src].first; u && !tag_fits(tag, u->tag); u = u->next) continue;
    }
    return u;
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
    r->move.order = m->order++;
    r->move.next = NULL;
    r->move.prev = q->tail;
    if (q->tail)
        q->tail->move.next = r;
    else
        q->head = r;
    q->tail = r;
}

bool uno_match_unpost(struct uno_match *m, struct MPI_ABI_Request *r)
{
    struct uno_queue *q = queue_of(m, r);
    struct MPI_ABI_Request *i = q->head;
    while (i && i != r) i = i->move.next;
    if (i) unlink_request(q, i);
    return i != NULL;
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
}

void uno_match_take(struct uno_match *m, struct uno_unexp *u)
{
    struct uno_match_source *s = &m->source[u->src];
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
}
