// SPDX-License-Identifier: BSD-3-Clause
// The list of events (event.h), as the linker gathered it.
#include "base/event.h"

#include <stddef.h>

// Weak: in a program of the launcher nothing happens.
extern struct uno_event *const first_event[] __asm__("__start_uno_events") __attribute__((weak, visibility("hidden")));
extern struct uno_event *const end_event[] __asm__("__stop_uno_events") __attribute__((weak, visibility("hidden")));

int uno_events_count(void)
{
    return (int)(end_event - first_event);
}

struct uno_event *uno_event_at(int index)
{
    return first_event[index];
}
