// SPDX-License-Identifier: BSD-3-Clause
// Events that a tool may ask to hear of (MPI_T), declared in the .c file where they happen and found by the linker, as
// parameters are (param.h). An event that nobody asks for costs a look at its own word.
//
//   static struct uno_event broken = {"link_broken", "a connection broke", "rank"};
//   UNO_EVENT_DECLARE(broken);
//   ... uno_event_tell(&broken, (int64_t[]){proc}) ...
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#define UNO_EVENT_ELEMENTS 4

struct uno_event {
    const char *name, *help;
    const char *elements;       // names of its values, separated by `|`: at most UNO_EVENT_ELEMENTS
    _Atomic uint32_t wanted;    // registrations; relaxed: one that is made meanwhile may miss the event
};

#define UNO_EVENT_DECLARE(e)                                                                                           \
    static struct uno_event *const uno_event_##e __attribute__((used, section("uno_events"))) = &(e)

int uno_events_count(void);
struct uno_event *uno_event_at(int index);

// Defined in src/tool/event.c: calls back all who asked for it. The library's lock is held.
void uno_event_happened(struct uno_event *e, const int64_t *values);

static inline void uno_event_tell(struct uno_event *e, const int64_t *values)
{
    if (__builtin_expect(atomic_load_explicit(&e->wanted, memory_order_relaxed) != 0, 0)) uno_event_happened(e, values);
}
