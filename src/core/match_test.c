// SPDX-License-Identifier: BSD-3-Clause
// Unit test of matching (match.c) against a plain model: random receives, messages and withdrawals with wildcards and
// internal tags; every match is the one that the standard's order asks for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/match.h"
#include "core/request.h"

#define SOURCES 3
#define STEPS 200000
#define MOST 1000

// How long the queues get, and how many tags there are, in one walk.
static int longest, tags;

// The model: lists in the order posted and arrived, searched from the front.
static struct MPI_ABI_Request *posted[MOST];
static struct uno_unexp *arrived[MOST];
static int nposted, narrived;

static uint64_t seed = 20260101;

static int draw(int below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (int)((seed >> 33) % (uint64_t)below);
}

static int draw_tag(bool wanted)
{
    int t = draw(wanted ? tags + 2 : tags + 1);
    return t > tags ? MPI_ANY_TAG : t == tags ? -1000 : t;    // -1000: internal, for no wildcard
}

static bool fits(const struct MPI_ABI_Request *r, int src, int tag)
{
    bool source = r->rank == MPI_ANY_SOURCE || r->rank == src;
    return source && (r->tag == tag || (r->tag == MPI_ANY_TAG && tag >= 0));
}

static void drop_posted(int i)
{
    free(posted[i]);
    memmove(&posted[i], &posted[i + 1], (size_t)(--nposted - i) * sizeof posted[0]);
}

static void post(struct uno_match *m)
{
    struct MPI_ABI_Request *r = calloc(1, sizeof *r);
    int source = draw(SOURCES + 1), i = 0;
    r->rank = source == SOURCES ? MPI_ANY_SOURCE : source;
    r->tag = draw_tag(true);
    while (i < narrived && !fits(r, arrived[i]->src, arrived[i]->tag)) i++;
    struct uno_unexp *u = uno_match_posting(m, r->rank, r->tag);
    assert_ptr_equal(u, i < narrived ? arrived[i] : NULL);
    if (!u) {
        uno_match_post(m, r);
        posted[nposted++] = r;
        return;
    }
    uno_match_take(m, u);
    memmove(&arrived[i], &arrived[i + 1], (size_t)(--narrived - i) * sizeof arrived[0]);
    uno_unexp_give(u);
    free(r);
}

static void arrive(struct uno_match *m)
{
    int src = draw(SOURCES), tag = draw_tag(false), i = 0;
    while (i < nposted && !fits(posted[i], src, tag)) i++;
    struct MPI_ABI_Request *want = i < nposted ? posted[i] : NULL;
    assert_ptr_equal(uno_match_fit(m, src, tag), want);
    assert_ptr_equal(uno_match_arrival(m, src, tag), want);
    if (want) {
        assert_false(uno_match_unpost(m, want));    // off its queue
        drop_posted(i);
        return;
    }
    struct uno_unexp *u = uno_unexp_new(0, false);
    u->proc = 0;
    u->src = src;
    u->tag = tag;
    uno_match_keep(m, u);
    arrived[narrived++] = u;
}

static void withdraw(struct uno_match *m)
{
    if (nposted == 0) return;
    int i = draw(nposted);
    assert_true(uno_match_unpost(m, posted[i]));
    assert_false(uno_match_unpost(m, posted[i]));
    drop_posted(i);
}

static void walk(int most, int ntags)
{
    longest = most;
    tags = ntags;
    struct uno_match_source source[SOURCES] = {0};
    struct uno_match m = {.source = source};
    int met = 0, deepest = 0;
    for (int step = 0; step < STEPS; step++) {
        int what = draw(20), before = nposted + narrived;
        if (nposted >= longest - 1 || (what == 0 && narrived < longest - 1))
            withdraw(&m);
        else if (narrived >= longest - 1 || what < 10)
            post(&m);
        else
            arrive(&m);
        met += what && nposted + narrived < before;
        if (nposted > deepest) deepest = nposted;
    }
    assert_true(met > STEPS / 10);
    assert_true(deepest >= (most < 100 ? 10 : 100));
    while (nposted) {
        assert_true(uno_match_unpost(&m, posted[0]));
        drop_posted(0);
    }
    while (narrived) {
        uno_match_take(&m, arrived[--narrived]);
        uno_unexp_give(arrived[narrived]);
    }
    assert_null(m.first);
    assert_null(m.last);
    assert_null(m.any.head);
    for (int s = 0; s < SOURCES; s++) assert_true(!source[s].first && !source[s].last && !source[s].posted.head);
    assert_true(!m.index && !m.any.index);
    for (int s = 0; s < SOURCES; s++) assert_true(!source[s].index && !source[s].posted.index);
}

static void as_the_model(void **state)
{
    (void)state;
    walk(64, 3);
}

// Long queues, which have indexes.
static void as_the_model_when_deep(void **state)
{
    (void)state;
    walk(MOST, 700);
    walk(MOST, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_model), cmocka_unit_test(as_the_model_when_deep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
