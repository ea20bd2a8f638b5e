// SPDX-License-Identifier: BSD-3-Clause
// Performance variables are the counters (base/pvar.h): counts, bytes and levels as MPI_UNSIGNED_LONG_LONG, times in
// seconds as MPI_DOUBLE, one element each, bound to no object. A handle counts from zero and only while it runs, so
// that tools do not disturb each other; levels show what is, always.
#include "tool/tool.h"

static struct uno_pool handles = {.bytes = sizeof(struct MPI_ABI_T_pvar_handle), .magic = UNO_PVAR_MAGIC};
static struct uno_pool sessions = {.bytes = sizeof(struct MPI_ABI_T_pvar_session), .magic = UNO_PVAR_SESSION_MAGIC};

int uno_pvar_class(const struct uno_pvar *v)
{
    static const int class[] = {
        [UNO_PVAR_IS_COUNTER] = MPI_T_PVAR_CLASS_COUNTER,    [UNO_PVAR_IS_SUM] = MPI_T_PVAR_CLASS_AGGREGATE,
        [UNO_PVAR_IS_TIME] = MPI_T_PVAR_CLASS_TIMER,         [UNO_PVAR_IS_LEVEL] = MPI_T_PVAR_CLASS_LEVEL,
        [UNO_PVAR_IS_HIGH] = MPI_T_PVAR_CLASS_HIGHWATERMARK,
    };
    return class[v->kind];
}

MPI_Datatype uno_pvar_type(const struct uno_pvar *v)
{
    return v->kind == UNO_PVAR_IS_TIME ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG;
}

bool uno_pvar_is_steady(const struct uno_pvar *v)
{
    return v->kind == UNO_PVAR_IS_LEVEL || v->kind == UNO_PVAR_IS_HIGH;
}

MPI_T_pvar_session uno_pvar_session_new(void)
{
    return uno_pool_get(&sessions);
}

static void free_session(void *object, void *arg)
{
    (void)arg;
    uno_pvar_session_free(object);
}

void uno_pvar_session_free(MPI_T_pvar_session s)
{
    if (!s) {
        uno_pool_each(&sessions, free_session, NULL);
        return;
    }
    while (s->first) uno_pvar_free(s->first);
    uno_pool_put(&sessions, s);
}

MPI_T_pvar_handle uno_pvar_new(MPI_T_pvar_session s, const struct uno_pvar *v)
{
    MPI_T_pvar_handle h = uno_pool_get(&handles);
    if (!h) return NULL;
    h->session = s;
    h->pvar = v;
    h->running = uno_pvar_is_steady(v);
    h->next = s->first;
    s->first = h;
    return h;
}

void uno_pvar_free(MPI_T_pvar_handle h)
{
    MPI_T_pvar_handle *at = &h->session->first;
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    uno_pool_put(&handles, h);
}

static uint64_t value_of(MPI_T_pvar_handle h)
{
    return h->running ? h->sum + uno_pvar_value(h->pvar) - h->base : h->sum;
}

int uno_pvar_run(MPI_T_pvar_handle h, bool on)
{
    if (uno_pvar_is_steady(h->pvar))
        return uno_fail(MPI_T_ERR_PVAR_NO_STARTSTOP, "handle: %s is a level, which always runs", h->pvar->name);
    if (on == h->running) return MPI_SUCCESS;
    h->sum = value_of(h);
    h->base = uno_pvar_value(h->pvar);
    h->running = on;
    return MPI_SUCCESS;
}

void uno_pvar_read(MPI_T_pvar_handle h, void *buf)
{
    uint64_t value = value_of(h);
    if (h->pvar->kind == UNO_PVAR_IS_TIME)
        *(double *)buf = uno_pvar_seconds(value);
    else
        *(unsigned long long *)buf = value;
}

int uno_pvar_write(MPI_T_pvar_handle h, const void *buf)
{
    if (uno_pvar_is_steady(h->pvar))
        return uno_fail(MPI_T_ERR_PVAR_NO_WRITE, "handle: %s is a level, which cannot be set", h->pvar->name);
    uint64_t value = 0;
    if (buf && h->pvar->kind == UNO_PVAR_IS_TIME) {
        double seconds = *(const double *)buf, ticks = seconds / uno_pvar_seconds(1);
        if (!(ticks >= 0 && ticks < 0x1p63))    // not a number, neither
            return uno_fail(MPI_T_ERR_INVALID, "buf: %g s is no time that %s can have (0 or more allowed)", seconds,
                            h->pvar->name);
        value = (uint64_t)ticks;
    } else if (buf)
        value = *(const unsigned long long *)buf;
    h->sum = value;
    h->base = uno_pvar_value(h->pvar);
    return MPI_SUCCESS;
}
