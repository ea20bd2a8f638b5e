// SPDX-License-Identifier: BSD-3-Clause
// Events (base/event.h) and who asked for them. A callback runs where its event happens, inside the library: it may
// call those functions of MPI_T that the standard lists for restricted callbacks, and no other of MPI. One that was
// registered for MPI_T_CB_REQUIRE_NONE alone cannot be called there: its events are dropped and counted, as are those
// that happen inside a callback.
// Always holds: while a callback runs no registration leaves the list.
#include <string.h>

#include "base/wait.h"
#include "core/world.h"
#include "tool/tool.h"

static struct uno_pool pool = {.bytes = sizeof(struct MPI_ABI_T_event_registration), .magic = UNO_REGISTRATION_MAGIC};
static MPI_T_event_registration first;
static bool inside;    // a callback runs
static bool any_dead;

static const MPI_T_cb_safety level[UNO_SAFETY_LEVELS] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                                         MPI_T_CB_REQUIRE_THREAD_SAFE,
                                                         MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

int uno_safety_index(MPI_T_cb_safety safety)
{
    for (int i = 0; i < UNO_SAFETY_LEVELS; i++)
        if (level[i] == safety) return i;
    return -1;
}

MPI_T_event_registration uno_registration_new(struct uno_event *e)
{
    MPI_T_event_registration r = uno_pool_get(&pool);
    if (!r) return NULL;
    r->event = e;
    r->next = first;
    first = r;
    // Relaxed: who is in the middle of the event may miss it (base/event.h).
    atomic_fetch_add_explicit(&e->wanted, 1, memory_order_relaxed);
    return r;
}

void uno_registration_free(MPI_T_event_registration r)
{
    r->dead = any_dead = true;
    atomic_fetch_sub_explicit(&r->event->wanted, 1, memory_order_relaxed);
}

void uno_registrations_free(void)
{
    for (MPI_T_event_registration r = first; r; r = r->next)
        if (!r->dead) uno_registration_free(r);
}

bool uno_registration_take(struct MPI_ABI_T_event_registration *out)
{
    for (MPI_T_event_registration *at = &first; any_dead && !inside && *at; at = &(*at)->next) {
        MPI_T_event_registration r = *at;
        if (!r->dead) continue;
        *at = r->next;
        *out = *r;
        out->next = r;
        uno_pool_put(&pool, r);
        return true;
    }
    if (!inside) any_dead = false;
    return false;
}

// Which callback may run where so much is required; NULL: none.
static const struct uno_tool_callback *callback_for(MPI_T_event_registration r, int required)
{
    for (int i = required; i < UNO_SAFETY_LEVELS; i++)
        if (r->callback[i].fn) return &r->callback[i];
    return NULL;
}

static void tell_dropped(MPI_T_event_registration r, int required)
{
    if (r->dropped == 0 || !r->dropped_fn || r->dead) return;
    MPI_Count n = (MPI_Count)r->dropped;
    r->dropped = 0;
    const struct uno_tool_callback *c = callback_for(r, 0);
    r->dropped_fn(n, r, 0, level[required], c ? c->data : NULL);
}

static void call_back(MPI_T_event_registration r, MPI_T_event_instance i, int required)
{
    const struct uno_tool_callback *c = callback_for(r, required);
    if (!c) r->dropped++;
    tell_dropped(r, required);
    if (c && !r->dead) c->fn(i, r, level[required], c->data);
}

void uno_event_happened(struct uno_event *e, const int64_t *values)
{
    struct MPI_ABI_T_event_instance i = {
        .head.magic = UNO_INSTANCE_MAGIC, .event = e, .value = values, .ns = uno_now_ns()};
    int required = uno_world.threads ? 2 : 1;    // thread-safe, or restricted
    uno_tool_lock();
    bool nested = inside;
    inside = true;
    for (MPI_T_event_registration r = first; r; r = r->next) {
        if (r->event != e || r->dead) continue;
        if (nested)
            r->dropped++;
        else
            call_back(r, &i, required);
    }
    inside = nested;
    i.head.magic = 0;
    uno_tool_unlock();
}
