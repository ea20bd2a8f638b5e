// SPDX-License-Identifier: BSD-3-Clause
// The lock of the tool interface, its opening and closing, and enumerations (tool.h).
#define _GNU_SOURCE
#include "tool/tool.h"

#include <pthread.h>
#include <string.h>

#include "core/world.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int opens;    // calls of MPI_T_init_thread that MPI_T_finalize has not met
static int depth;    // of the lock

void uno_tool_lock(void)
{
    pthread_mutex_lock(&lock);
    depth++;
}

void uno_tool_unlock(void)
{
    struct MPI_ABI_T_event_registration r;
    while (depth == 1 && uno_registration_take(&r)) {
        depth = 0;
        pthread_mutex_unlock(&lock);
        if (r.free_fn)
            r.free_fn(r.next, uno_world.threads ? MPI_T_CB_REQUIRE_THREAD_SAFE : MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                      r.free_data);
        pthread_mutex_lock(&lock);
        depth = 1;
    }
    depth--;
    pthread_mutex_unlock(&lock);
}

bool uno_tool_is_open(void)
{
    return opens > 0;
}

int uno_tool_open(void)
{
    // Acquire: pairs with the release in uno_world_open. From MPI_Init on the parameters are read, and in use.
    bool before = atomic_load_explicit(&uno_world.phase, memory_order_acquire) == UNO_BEFORE_INIT;
    if (opens == 0 && before && uno_params_load()) return MPI_T_ERR_CANNOT_INIT;
    opens++;
    return MPI_SUCCESS;
}

void uno_tool_close(void)
{
    if (--opens > 0) return;
    uno_registrations_free();
    uno_pvar_session_free(NULL);
    uno_cvar_free(NULL);
}

// ---- enumerations ----

static struct uno_pool enums = {.bytes = sizeof(struct MPI_ABI_T_enum), .magic = UNO_ENUM_MAGIC};

struct wanted {
    const char *name, *words;
    MPI_T_enum found;
};

static void compare(void *object, void *arg)
{
    struct wanted *w = arg;
    MPI_T_enum e = object;
    if (e->words == w->words && e->name == w->name) w->found = e;
}

MPI_T_enum uno_enum_of(const char *name, const char *words)
{
    if (!words) return MPI_T_ENUM_NULL;
    struct wanted w = {.name = name, .words = words};
    uno_pool_each(&enums, compare, &w);
    if (w.found) return w.found;
    MPI_T_enum e = uno_pool_get(&enums);
    if (!e) return MPI_T_ENUM_NULL;
    e->name = name;
    e->words = words;
    return e;
}

int uno_enum_size(MPI_T_enum e)
{
    int n = 1;
    for (const char *c = e->words; *c; c++) n += *c == '|';
    return n;
}
