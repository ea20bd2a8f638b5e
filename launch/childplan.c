// SPDX-License-Identifier: BSD-3-Clause
// Reads a spawn request into a plan (childplan.h).
#include "childplan.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pm.h"
#include "base/start.h"
#include "layout.h"

struct reading {
    struct uno_plan *p;
    const struct uno_childplan *from;
    const char *at;
    struct uno_app *app;    // that is being read; NULL before the first
    bool hosts;             // one of them names its own
};

static const char *next(struct reading *r)
{
    const char *word = r->at;
    if (word >= r->from->end) r->from->refuse(MPI_ERR_INTERN, "the request is cut off");
    r->at += strlen(word) + 1;
    return word;
}

static void refuse(const struct reading *r, const char *key, const char *value, const char *what)
{
    char *text = uno_xformat("info key %s: \"%.200s\": %s", key, value, what);
    r->from->refuse(MPI_ERR_INFO_VALUE, text);
}

// NAME=VALUE, one per line.
static void read_env(struct reading *r, const char *key, const char *value)
{
    char *copy = uno_xstrdup(value), *save;
    for (char *line = strtok_r(copy, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *eq = strchr(line, '=');
        if (eq == NULL || eq == line) {
            refuse(r, key, line, "NAME=VALUE is expected, one per line");
            break;
        }
        *eq = '\0';
        uno_words_set(&r->app->env, line, eq + 1);
    }
    free(copy);
}

static void read_hosts(struct reading *r, const char *key, const char *value)
{
    (void)key;
    uno_plan_hosts(r->p, &r->app->on, value);
    r->hosts = true;
}

static void read_hostfile(struct reading *r, const char *key, const char *value)
{
    (void)key;
    struct uno_plan named = {0};
    char *path = value[0] == '/' ? uno_xstrdup(value) : uno_xformat("%s/%s", r->p->cwd, value);
    uno_plan_hostfile(&named, path);
    for (int h = 0; h < named.nhosts; h++) {
        const struct uno_host *n = &named.host[h];
        struct uno_host *host = uno_plan_host(r->p, n->name, strlen(n->name), n->slots);
        host->max_slots += n->max_slots;
        uno_words_add(&r->app->on, n->name);
    }
    r->hosts = true;
    free(path);
}

static void read_dir(struct reading *r, const char *key, const char *value)
{
    (void)key;
    r->app->wdir = uno_xstrdup(value);
}

static void read_path(struct reading *r, const char *key, const char *value)
{
    (void)key;
    r->app->path = uno_xstrdup(value);
}

static void read_map(struct reading *r, const char *key, const char *value)
{
    uno_layout_map(r->p, key, value);
}

static void read_bind(struct reading *r, const char *key, const char *value)
{
    uno_layout_bind(r->p, key, value);
}

// One of the numbers FIRST, FIRST:LAST or FIRST:LAST:STRIDE: the largest that is at most `most`, -1 none.
static long largest_of(const struct reading *r, const char *item, long most)
{
    long n[3] = {0, 0, 1};
    int count = 0;
    for (const char *s = item; count < 3; count++) {
        char *stop;
        errno = 0;
        n[count] = strtol(s, &stop, 10);
        if (stop == s || errno || (*stop != ':' && *stop != '\0') || (*stop == ':' && count == 2)) {
            refuse(r, "soft", item, "N, FIRST:LAST or FIRST:LAST:STRIDE are expected, separated by commas");
            return -1;
        }
        if (*stop == '\0') break;
        s = stop + 1;
    }
    if (count == 0) n[1] = n[0];
    if (n[2] == 0) {
        refuse(r, "soft", item, "the stride is 0");
        return -1;
    }
    long low = n[0], high = n[1], step = n[2];
    if (step < 0) {    // counted down, it holds LOW + K * STEP too, from its last number on
        if (low < high) return -1;
        long last = low - (low - high) / -step * -step;
        high = low, low = last, step = -step;
    }
    if (low > high || low > most) return -1;
    long end = high < most ? high : most;
    return low + (end - low) / step * step;
}

// The largest number of ranks that the user accepts and that are not more than asked for; they can always be started,
// but where hosts must not be oversubscribed.
static int soft_count(const struct reading *r, const char *set, int most)
{
    char *copy = uno_xstrdup(set), *save;
    long best = -1;
    for (char *item = strtok_r(copy, ", ", &save); item != NULL; item = strtok_r(NULL, ", ", &save)) {
        long n = largest_of(r, item, most);
        if (n > best) best = n;
    }
    free(copy);
    if (best < 0) refuse(r, "soft", set, "it holds no number from 0 to maxprocs");
    return (int)best;
}

// Applied when all is read: the number asked for is known then.
static void read_soft(struct reading *r, const char *key, const char *value)
{
    (void)key;
    free(r->app->soft);
    r->app->soft = uno_xstrdup(value);
}

static void read_errhandler(struct reading *r, const char *key, const char *value)
{
    size_t n, length = strlen(value);
    const char *word;
    for (int i = 0; (word = uno_word_of(uno_start_errhandler.choices, i, &n)) != NULL; i++) {
        if (n != length || strncmp(word, value, n) != 0) continue;
        uno_words_set(&r->app->env, UNO_ERRHANDLER_ENV, value);
        return;
    }
    refuse(r, key, value, "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return is expected");
}

static const struct {
    const char *key;
    void (*read)(struct reading *r, const char *key, const char *value);
} keys[] = {
    {"host", read_hosts},
    {"add-host", read_hosts},
    {"hostfile", read_hostfile},
    {"add-hostfile", read_hostfile},
    {"wdir", read_dir},
    {"path", read_path},
    {"env", read_env},
    {"soft", read_soft},
    {"map_by", read_map},
    {"bind_to", read_bind},
    {"mpi_initial_errhandler", read_errhandler},
};

static void read_info(struct reading *r)
{
    const char *key = next(r), *value = next(r);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].key, key) == 0) keys[i].read(r, key, value);
    }
}

static void begin_command(struct reading *r)
{
    struct uno_plan *p = r->p;
    p->app = uno_xrealloc(p->app, ((size_t)p->napps + 1) * sizeof *p->app);
    r->app = &p->app[p->napps++];
    *r->app = (struct uno_app){0};
    uno_words_add(&r->app->argv, next(r));
}

static void read_port(struct reading *r, const char *port)
{
    if (*port) uno_words_set(&r->p->env, UNO_PARENT_ENV, port);
}

static void read_word(struct reading *r)
{
    const char *word = next(r);
    if (strcmp(word, "dir") == 0)
        r->p->cwd = uno_xstrdup(next(r));
    else if (strcmp(word, "port") == 0)
        read_port(r, next(r));
    else if (strcmp(word, "command") == 0)
        begin_command(r);
    else if (r->app && strcmp(word, "count") == 0)
        r->app->nranks = atoi(next(r));
    else if (r->app && strcmp(word, "arg") == 0)
        uno_words_add(&r->app->argv, next(r));
    else if (r->app && strcmp(word, "info") == 0)
        read_info(r);
    else
        r->from->refuse(MPI_ERR_INTERN, "mpiexec does not understand the request");
}

static void copy_hosts(struct uno_plan *p, const struct uno_plan *first)
{
    p->host = uno_xalloc((size_t)first->nhosts * sizeof *p->host);
    memcpy(p->host, first->host, (size_t)first->nhosts * sizeof *p->host);
    for (int h = 0; h < p->nhosts; h++) p->host[h].name = uno_xstrdup(first->host[h].name);
}

// A command that names no hosts runs on those of the first job, should another one name more.
static void keep_to_first(struct reading *r)
{
    for (int a = 0; r->hosts && a < r->p->napps; a++) {
        struct uno_words *on = &r->p->app[a].on;
        if (on->count > 0) continue;
        for (int h = 0; h < r->from->first->nhosts; h++) uno_words_add(on, r->from->first->host[h].name);
    }
    if (r->hosts) r->p->united = false;
}

void uno_childplan_read(struct uno_plan *p, const struct uno_childplan *from)
{
    const struct uno_plan *first = from->first;
    struct reading r = {.p = p, .from = from, .at = from->words};
    int number = p->number;
    *p = *first;
    p->number = number;
    p->app = NULL;
    p->napps = p->nranks = 0;
    p->rank_app = p->rank_host = NULL;
    p->stdin_rank = UNO_STDIN_NONE;
    p->gdb = NULL;
    p->env = (struct uno_words){0};
    for (int i = 0; i < first->env.count; i++) uno_words_add(&p->env, first->env.item[i]);
    copy_hosts(p, first);
    while (r.at < from->end) read_word(&r);
    keep_to_first(&r);
}

void uno_childplan_count(struct uno_plan *p, const struct uno_childplan *from)
{
    const struct reading r = {.p = p, .from = from};
    for (int a = 0; a < p->napps; a++) {
        struct uno_app *app = &p->app[a];
        int room = p->no_oversubscribe ? uno_plan_room(p, app) : app->nranks;
        if (app->soft) app->nranks = soft_count(&r, app->soft, room < app->nranks ? room : app->nranks);
    }
}
