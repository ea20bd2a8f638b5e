// SPDX-License-Identifier: BSD-3-Clause
// The contract of a manager (docs/components.md): other people's launchers, which start our programs as they are. What
// is needed of one is a rank, a size, and texts that ranks leave for each other. The one with the highest priority is
// asked first. All functions are called with the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "component.h"

#define UNO_MANAGER_MAJOR 1
#define UNO_MANAGER_MINOR 0
#define UNO_COMPONENT_IS_MANAGER UNO_COMPONENT_HEAD(UNO_COMPONENT_MANAGER, UNO_MANAGER_MAJOR, UNO_MANAGER_MINOR)
#define UNO_MANAGER_TEXT 512    // bytes of one piece of what ranks leave for each other, with its zero

// This process's place, as its manager tells it.
struct uno_manager_place {
    int rank, size;
    int universe, appnum;    // processes that the job may grow to; which of its programs this is
};

struct uno_manager {
    const char *title;    // for people
    // Whether this process was started by it: from the environment, which is cleared so that programs that this one
    // starts do not take themselves for the same rank. *err: an MPI error class, when it was but there is no way on.
    bool (*find)(struct uno_manager_place *place, int *err);
    int (*put)(const char *key, const char *text);                     // 0 or an errno value, as the two below
    int (*get)(int rank, const char *key, char *text, size_t room);    // what that rank had put before the last fence
    int (*fence)(void);
    void (*abort)(int status, const char *why);    // ends the job, if it can; may return
    void (*leave)(void);                           // this process has ended its part: MPI_Finalize
};
