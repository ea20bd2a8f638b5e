// SPDX-License-Identifier: BSD-3-Clause
// The plan as bytes, for the daemons on other hosts: uno_plan_pack() and its inverse. Both ends run the same build (the
// greeting of a daemon carries the version), so numbers are written as they lie in memory. Unpacking trusts no length.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

struct reader {
    const char *at, *end;
    bool bad;
};

static void put_int(struct uno_bytes *b, int v)
{
    uno_bytes_add(b, &v, sizeof v);
}

static void put_text(struct uno_bytes *b, const char *s)
{
    int n = s ? (int)strlen(s) : -1;
    put_int(b, n);
    if (n > 0) uno_bytes_add(b, s, (size_t)n);
}

// What belongs to the host where mpiexec was started and would mislead on another.
static bool stays_here(const char *variable)
{
    static const char *const prefixes[] = {
        "SSH_", "HOSTNAME=", "DISPLAY=", "XAUTHORITY=", "DBUS_", "TMUX", "XDG_RUNTIME_DIR="};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return true;
    }
    return false;
}

static void put_words(struct uno_bytes *b, const struct uno_words *w, bool environment)
{
    int n = 0;
    for (int i = 0; i < w->count; i++) n += !(environment && stays_here(w->item[i]));
    put_int(b, n);
    for (int i = 0; i < w->count; i++) {
        if (!(environment && stays_here(w->item[i]))) put_text(b, w->item[i]);
    }
}

void uno_plan_pack(const struct uno_plan *p, struct uno_bytes *b)
{
    const int number[] = {p->napps,   p->nhosts,     p->nranks,   (int)p->bind,  (int)p->map, p->report_bindings,
                          p->verbose, p->stdin_rank, p->grace_ms, p->bind_count, p->pes,      p->ranks_per_unit,
                          p->ordered, p->hwthreads,  p->universe, p->number,     p->survive};
    uno_bytes_add(b, number, sizeof number);
    uno_bytes_add(b, &p->job_id, sizeof p->job_id);
    uno_bytes_add(b, p->secret, sizeof p->secret);
    put_text(b, p->cwd);
    put_text(b, p->agent);
    put_text(b, p->cpu_set);
    put_words(b, &p->env, true);
    for (int a = 0; a < p->napps; a++) {
        put_int(b, p->app[a].nranks);
        put_text(b, p->app[a].wdir);
        put_text(b, p->app[a].path);
        put_words(b, &p->app[a].argv, false);
        put_words(b, &p->app[a].env, false);
    }
    for (int h = 0; h < p->nhosts; h++) put_text(b, p->host[h].name);
    uno_bytes_add(b, p->rank_app, (size_t)p->nranks * sizeof(int));
    uno_bytes_add(b, p->rank_host, (size_t)p->nranks * sizeof(int));
}

static void get(struct reader *r, void *to, size_t n)
{
    r->bad |= (size_t)(r->end - r->at) < n;
    memset(to, 0, n);
    if (r->bad) return;
    memcpy(to, r->at, n);
    r->at += n;
}

static int get_int(struct reader *r, int least, int most)
{
    int v;
    get(r, &v, sizeof v);
    r->bad |= v < least || v > most;
    return r->bad ? least : v;
}

static char *get_text(struct reader *r)
{
    int n = get_int(r, -1, 1 << 26);
    if (n < 0 || (r->bad |= r->end - r->at < n)) return NULL;
    char *s = uno_xalloc((size_t)n + 1);
    get(r, s, (size_t)n);
    return s;
}

static void get_words(struct reader *r, struct uno_words *w)
{
    for (int n = get_int(r, 0, 1 << 20); n > 0 && !r->bad; n--) {
        char *s = get_text(r);
        if (s != NULL) uno_words_add(w, s);
        free(s);
    }
}

static int *get_ranks(struct reader *r, int count, int limit)
{
    r->bad |= (size_t)(r->end - r->at) < (size_t)count * sizeof(int);
    if (r->bad) return NULL;
    int *list = uno_xalloc((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++) list[i] = get_int(r, 0, limit - 1);
    return list;
}

static void free_words(struct uno_words *w)
{
    for (int i = 0; i < w->count; i++) free(w->item[i]);
    free(w->item);
}

void uno_plan_free(struct uno_plan *p)
{
    for (int a = 0; p->app != NULL && a < p->napps; a++) {
        free_words(&p->app[a].argv);
        free_words(&p->app[a].env);
        free(p->app[a].wdir);
        free(p->app[a].path);
    }
    for (int h = 0; p->host != NULL && h < p->nhosts; h++) free(p->host[h].name);
    free_words(&p->env);
    free(p->app);
    free(p->host);
    free(p->rank_app);
    free(p->rank_host);
    free(p->cwd);
    free(p->agent);
    free(p->cpu_set);
}

bool uno_plan_unpack(struct uno_plan *p, const char *data, size_t len)
{
    struct reader r = {.at = data, .end = data + len};
    p->napps = get_int(&r, 1, 1 << 20);
    p->nhosts = get_int(&r, 1, 1 << 20);
    p->nranks = get_int(&r, 1, 1 << 24);
    p->bind = (enum uno_unit)get_int(&r, 0, UNO_BY_SLOT);
    p->map = (enum uno_unit)get_int(&r, 0, UNO_BY_SLOT);
    p->report_bindings = get_int(&r, 0, 1);
    p->verbose = get_int(&r, 0, 1);
    p->stdin_rank = get_int(&r, UNO_STDIN_ALL, 1 << 24);
    p->grace_ms = get_int(&r, 0, 3600000);
    p->bind_count = get_int(&r, 0, 1 << 20);
    p->pes = get_int(&r, 0, 1 << 20);
    p->ranks_per_unit = get_int(&r, 0, 1 << 20);
    p->ordered = get_int(&r, 0, 1);
    p->hwthreads = get_int(&r, 0, 1);
    p->universe = get_int(&r, 0, 1 << 24);
    p->number = get_int(&r, 0, INT_MAX);
    p->survive = get_int(&r, 0, 1);
    get(&r, &p->job_id, sizeof p->job_id);
    get(&r, p->secret, sizeof p->secret);
    p->cwd = get_text(&r);
    p->agent = get_text(&r);
    p->cpu_set = get_text(&r);
    get_words(&r, &p->env);
    p->app = uno_xalloc((size_t)p->napps * sizeof *p->app);
    for (int a = 0; a < p->napps && !r.bad; a++) {
        p->app[a].nranks = get_int(&r, 0, 1 << 24);
        p->app[a].wdir = get_text(&r);
        p->app[a].path = get_text(&r);
        get_words(&r, &p->app[a].argv);
        get_words(&r, &p->app[a].env);
    }
    p->host = uno_xalloc((size_t)p->nhosts * sizeof *p->host);
    for (int h = 0; h < p->nhosts && !r.bad; h++) p->host[h].name = get_text(&r);
    p->rank_app = get_ranks(&r, p->nranks, p->napps);
    p->rank_host = get_ranks(&r, p->nranks, p->nhosts);
    return !r.bad && p->cwd != NULL && p->agent != NULL;
}

void uno_plan_pack_front(const struct uno_plan *p, struct uno_bytes *b)
{
    const int number[] = {p->keep_waiting, p->exit_codes, p->quiet,     p->merge,
                          p->keep_copy,    p->tags,       p->timeout_s, p->every_s};
    const char *text[] = {p->profile, p->stats, p->out_pattern, p->err_pattern, p->out_dir, p->tag_pattern};
    uno_bytes_add(b, number, sizeof number);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) put_text(b, text[i]);
}

bool uno_plan_unpack_front(struct uno_plan *p, const char *data, size_t len)
{
    struct reader r = {.at = data, .end = data + len};
    p->keep_waiting = get_int(&r, 0, 1);
    p->exit_codes = get_int(&r, 0, 1);
    p->quiet = get_int(&r, 0, 1);
    p->merge = get_int(&r, 0, 1);
    p->keep_copy = get_int(&r, 0, 1);
    p->tags = get_int(&r, 0, UNO_TAG_RANK | UNO_TAG_TIME);
    p->timeout_s = get_int(&r, 0, 1 << 30);
    p->every_s = get_int(&r, 0, 1 << 30);
    char **text[] = {&p->profile, &p->stats, &p->out_pattern, &p->err_pattern, &p->out_dir, &p->tag_pattern};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) *text[i] = get_text(&r);
    return !r.bad;
}
