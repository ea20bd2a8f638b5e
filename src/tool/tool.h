// SPDX-License-Identifier: BSD-3-Clause
// The tool interface behind MPI_T: its lock, its handles, and what they lead to. Users: src/api/tool_*.c.
// All functions are called with the tool lock held, but where a line says otherwise. An error is an MPI_T error code.
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/fail.h"
#include "base/param.h"
#include "base/pool.h"
#include "base/pvar.h"

#define UNO_TOOL_TEXT 1024    // characters of a text variable, its end included

// tool.c. The lock is recursive: a callback may call MPI_T.
void uno_tool_lock(void);
void uno_tool_unlock(void);    // the last one calls the free callbacks of registrations that were freed
bool uno_tool_is_open(void);
int uno_tool_open(void) UNO_MUST_USE;
void uno_tool_close(void);    // the last one gives back all handles

// ---- enumerations: the words of a choice, of yes and no, of an event's values ----

#define UNO_ENUM_MAGIC 0x55544e4du

struct MPI_ABI_T_enum {
    struct uno_head head;
    const char *name, *words;    // separated by `|`
};

static inline bool uno_enum_is_live(MPI_T_enum e)
{
    return uno_head_is(e, UNO_ENUM_MAGIC);
}

MPI_T_enum uno_enum_of(const char *name, const char *words);    // made once; MPI_T_ENUM_NULL without memory or words
int uno_enum_size(MPI_T_enum e);

// ---- cvar.c: control variables ----

#define UNO_CVAR_MAGIC 0x55544356u

struct MPI_ABI_T_cvar_handle {
    struct uno_head head;
    struct uno_param *param;
};

static inline bool uno_cvar_is_live(MPI_T_cvar_handle h)
{
    return uno_head_is(h, UNO_CVAR_MAGIC);
}

int uno_cvars_count(void);
struct uno_param *uno_cvar_at(int index);
MPI_Datatype uno_cvar_type(const struct uno_param *p);
MPI_T_enum uno_cvar_enum(const struct uno_param *p);
int uno_cvar_elements(const struct uno_param *p);
MPI_T_cvar_handle uno_cvar_new(struct uno_param *p);    // NULL: no memory
void uno_cvar_free(MPI_T_cvar_handle h);                // NULL: all
void uno_cvar_read(MPI_T_cvar_handle h, void *buf);
int uno_cvar_write(MPI_T_cvar_handle h, const void *buf) UNO_MUST_USE;

// ---- pvar.c: performance variables ----

#define UNO_PVAR_MAGIC 0x55545056u
#define UNO_PVAR_SESSION_MAGIC 0x55545053u

struct MPI_ABI_T_pvar_session {
    struct uno_head head;
    MPI_T_pvar_handle first;
};

// The value is what was counted while it ran: `sum`, and, while it runs, what was added since `base`.
struct MPI_ABI_T_pvar_handle {
    struct uno_head head;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle next;
    const struct uno_pvar *pvar;
    uint64_t base, sum;
    bool running;
};

static inline bool uno_pvar_session_is_live(MPI_T_pvar_session s)
{
    return uno_head_is(s, UNO_PVAR_SESSION_MAGIC);
}

static inline bool uno_pvar_is_live(MPI_T_pvar_handle h)
{
    return uno_head_is(h, UNO_PVAR_MAGIC);
}

int uno_pvar_class(const struct uno_pvar *v);
MPI_Datatype uno_pvar_type(const struct uno_pvar *v);
bool uno_pvar_is_steady(const struct uno_pvar *v);    // always runs, and cannot be written: levels
MPI_T_pvar_session uno_pvar_session_new(void);
void uno_pvar_session_free(MPI_T_pvar_session s);    // with its handles; NULL: all
MPI_T_pvar_handle uno_pvar_new(MPI_T_pvar_session s, const struct uno_pvar *v);
void uno_pvar_free(MPI_T_pvar_handle h);
int uno_pvar_run(MPI_T_pvar_handle h, bool on);    // starts or stops it
void uno_pvar_read(MPI_T_pvar_handle h, void *buf);
int uno_pvar_write(MPI_T_pvar_handle h, const void *buf);    // buf NULL: 0

// ---- event.c ----

#define UNO_REGISTRATION_MAGIC 0x55544556u
#define UNO_INSTANCE_MAGIC 0x5554494eu
#define UNO_SAFETY_LEVELS 4

struct uno_tool_callback {
    MPI_T_event_cb_function *fn;
    void *data;
};

struct MPI_ABI_T_event_registration {
    struct uno_head head;
    MPI_T_event_registration next;
    struct uno_event *event;
    struct uno_tool_callback callback[UNO_SAFETY_LEVELS];
    MPI_T_event_dropped_cb_function *dropped_fn;
    uint64_t dropped;    // and not yet told
    bool dead;           // freed; swept when nothing runs
    MPI_T_event_free_cb_function *free_fn;
    void *free_data;
};

// On the stack of the thread in which it happened, for as long as callbacks run.
struct MPI_ABI_T_event_instance {
    struct uno_head head;
    struct uno_event *event;
    const int64_t *value;
    uint64_t ns;
};

static inline bool uno_registration_is_live(MPI_T_event_registration r)
{
    return uno_head_is(r, UNO_REGISTRATION_MAGIC) && !r->dead;
}

static inline bool uno_instance_is_live(MPI_T_event_instance i)
{
    return uno_head_is(i, UNO_INSTANCE_MAGIC);
}

int uno_safety_index(MPI_T_cb_safety safety);    // 0 the least demanding; -1: it is none
MPI_T_event_registration uno_registration_new(struct uno_event *e);
void uno_registration_free(MPI_T_event_registration r);    // takes effect at once; its memory is swept later
void uno_registrations_free(void);
// Takes one that was freed off the list; its `next` is then the handle. False: there is none, or a callback runs.
bool uno_registration_take(struct MPI_ABI_T_event_registration *out);

// ---- category.c ----

struct uno_category {
    const char *name, *help;
    const char *prefixes;    // of the names in it, separated by `|`; NULL: none; "": what is nowhere else
    int scope, verbosity;    // of its control variables; verbosity also of the others
};

int uno_categories_count(void);
const struct uno_category *uno_category_at(int index);
const struct uno_category *uno_category_of(const char *name);    // of a variable or event
// Writes at most len indices of the members to `indices` and returns how many there are.
int uno_category_cvars(const struct uno_category *c, int len, int *indices);
int uno_category_pvars(const struct uno_category *c, int len, int *indices);
int uno_category_events(const struct uno_category *c, int len, int *indices);
int uno_category_kids(const struct uno_category *c, int len, int *indices);
