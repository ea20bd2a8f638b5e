// SPDX-License-Identifier: BSD-3-Clause
// What is polled whenever a call makes progress (progress.h). Called by progress.c, helper.c and the pollers' owners,
// with the lock held.
// Always holds: while pollers run each may leave, and others with it; the next one is known by its place in the list.
#include "base/invariant.h"
#include "core/helper.h"
#include "core/progress.h"
#include "core/world.h"

static struct uno_poller *pollers, *poller_cursor;
static int unattended;    // those whose owners do not wait

bool uno_pollers_queued(void)
{
    return unattended > 0;
}

int uno_pollers_run(void)
{
    int n = 0;
    for (struct uno_poller *p = pollers; p; p = poller_cursor) {
        poller_cursor = p->next;
        n += p->fn(p);
    }
    return n;
}

void uno_poller_add(struct uno_poller *p)
{
    uno_assert_locked();
    if (p->queued) return;
    p->queued = true;
    p->prev = NULL;
    p->next = pollers;
    if (pollers) pollers->prev = p;
    pollers = p;
    if (p->waited) return;
    unattended++;
    if (__builtin_expect(uno_helper_on, 0)) uno_helper_call();
}

void uno_poller_remove(struct uno_poller *p)
{
    uno_assert_locked();
    if (!p->queued) return;
    uno_assert((p->prev ? p->prev->next : pollers) == p && (!p->next || p->next->prev == p));
    p->queued = false;
    unattended -= !p->waited;
    if (poller_cursor == p) poller_cursor = p->next;
    if (p->prev)
        p->prev->next = p->next;
    else
        pollers = p->next;
    if (p->next) p->next->prev = p->prev;
}
