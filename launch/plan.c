// SPDX-License-Identifier: BSD-3-Clause
// Builds the plan's list of hosts from -host lists and host files, and gives each rank its program and its host
// (plan.h). Called by options.c while it reads the command line and by main() after it. A bad host file ends mpiexec
// with one line.
#include "plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"

static bool is_local(const char *name)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    if (strcmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 || strcmp(name, "::1") == 0) return true;
    size_t n = strcspn(own, ".");
    return strcmp(name, own) == 0 || (strlen(name) == n && strncmp(name, own, n) == 0);
}

struct uno_host *uno_plan_host(struct uno_plan *p, const char *name, size_t len, int slots)
{
    for (int i = 0; i < p->nhosts; i++) {
        struct uno_host *h = &p->host[i];
        if (strlen(h->name) != len || strncmp(h->name, name, len) != 0) continue;
        h->slots += slots ? slots : (h->slots > 0);
        return h;
    }
    p->host = uno_xrealloc(p->host, ((size_t)p->nhosts + 1) * sizeof *p->host);
    struct uno_host *h = &p->host[p->nhosts++];
    *h = (struct uno_host){.name = uno_xformat("%.*s", (int)len, name), .slots = slots};
    h->local = is_local(h->name);
    return h;
}

// The part of a host entry behind the name: ":4". A name in brackets may hold colons itself: [fe80::1]:4.
static void add_entry(struct uno_plan *p, struct uno_words *on, const char *entry, size_t len)
{
    const char *name = entry, *end = entry + len, *colon;
    size_t name_len;
    if (*name == '[' && memchr(name, ']', len) != NULL) {
        const char *close = memchr(name, ']', len);
        name++;
        name_len = (size_t)(close - name);
        colon = close + 1 < end && close[1] == ':' ? close + 1 : NULL;
    } else {
        colon = memchr(entry, ':', len);
        if (colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) colon = NULL;
        name_len = colon ? (size_t)(colon - name) : len;
    }
    long slots = 0;
    if (colon != NULL) {
        char *stop;
        slots = strtol(colon + 1, &stop, 10);
        if (stop != end || slots < 1 || slots > 1 << 20)
            uno_usage("host %.*s: a positive number of slots must follow the colon", (int)len, entry);
    }
    if (name_len == 0) uno_usage("empty host name in \"%.*s\"", (int)len, entry);
    struct uno_host *h = uno_plan_host(p, name, name_len, (int)slots);
    if (on != NULL) uno_words_add(on, h->name);
}

void uno_plan_hosts(struct uno_plan *p, struct uno_words *on, const char *list)
{
    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        add_entry(p, on, s, n);
        s += n;
        if (*s == '\0') return;
    }
}

// One line of a host file: name[:slots] [slots=N] [max_slots=N ignored]; `#` starts a comment.
static void read_line(struct uno_plan *p, const char *path, int lineno, char *line)
{
    line[strcspn(line, "#\n")] = '\0';
    char *save, *word = strtok_r(line, " \t\r", &save);
    if (word == NULL) return;
    int before = p->nhosts;
    add_entry(p, NULL, word, strlen(word));
    struct uno_host *h = &p->host[p->nhosts - 1];
    while ((word = strtok_r(NULL, " \t\r", &save)) != NULL) {
        char *stop = word;
        long n = 0;
        if (strncmp(word, "slots=", 6) == 0) n = strtol(word + 6, &stop, 10);
        if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0) continue;
        if (*stop != '\0' || stop == word || n < 1 || n > 1 << 20)
            uno_usage("%s:%d: \"%s\" is not understood (NAME, NAME:N or NAME slots=N expected)", path, lineno, word);
        if (p->nhosts > before) h->slots = (int)n;
    }
}

void uno_plan_hostfile(struct uno_plan *p, const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) uno_usage("cannot read the host file %s: %s", path, strerror(errno));
    char *line = NULL;
    size_t cap = 0;
    int lineno = 0, before = p->nhosts;
    while (getline(&line, &cap, f) >= 0) read_line(p, path, ++lineno, line);
    free(line);
    fclose(f);
    if (p->nhosts == before) uno_usage("the host file %s names no host", path);
}

static bool allowed(const struct uno_app *a, const struct uno_host *h)
{
    if (a->on.count == 0) return true;
    for (int i = 0; i < a->on.count; i++) {
        if (strcmp(a->on.item[i], h->name) == 0) return true;
    }
    return false;
}

static int slots_of(const struct uno_plan *p, const struct uno_host *h)
{
    if (p->per_host > 0) return p->per_host;
    return h->slots > 0 ? h->slots : 1;
}

// Ranks fill one host's slots after the other (or take hosts in turn when mapped by node) and begin again when all are
// full.
static int next_host(const struct uno_plan *p, const struct uno_app *a, int *load, int *cursor, int *round)
{
    for (int tries = 0; tries <= p->nhosts; tries++) {
        const struct uno_host *h = &p->host[*cursor];
        if (allowed(a, h) && load[*cursor] < slots_of(p, h) * *round) {
            int at = *cursor;
            load[at]++;
            if (p->map == UNO_BY_NODE) *cursor = (*cursor + 1) % p->nhosts;
            return at;
        }
        *cursor = (*cursor + 1) % p->nhosts;
    }
    (*round)++;
    return next_host(p, a, load, cursor, round);
}

static int free_slots(const struct uno_plan *p, const struct uno_app *a, bool given)
{
    if (!given) return uno_cpus_count();
    int n = 0;
    for (int h = 0; h < p->nhosts; h++) {
        if (allowed(a, &p->host[h])) n += slots_of(p, &p->host[h]);
    }
    return n;
}

void uno_plan_place(struct uno_plan *p)
{
    bool given = p->nhosts > 0;
    if (!given) {
        char own[256] = "localhost";
        gethostname(own, sizeof own - 1);
        uno_plan_host(p, own, strlen(own), 0)->local = true;
    }
    for (int a = 0; a < p->napps; a++) {
        if (p->app[a].nranks == 0) p->app[a].nranks = free_slots(p, &p->app[a], given);
        p->nranks += p->app[a].nranks;
    }
    p->rank_app = uno_xalloc((size_t)p->nranks * sizeof(int));
    p->rank_host = uno_xalloc((size_t)p->nranks * sizeof(int));
    int *load = uno_xalloc((size_t)p->nhosts * sizeof(int));
    int cursor = 0, round = 1, rank = 0;
    for (int a = 0; a < p->napps; a++) {
        for (int i = 0; i < p->app[a].nranks; i++, rank++) {
            p->rank_app[rank] = a;
            p->rank_host[rank] = next_host(p, &p->app[a], load, &cursor, &round);
        }
    }
    free(load);
}

int uno_plan_local(const struct uno_plan *p, int rank)
{
    int n = 0;
    for (int r = 0; r < rank; r++) n += p->rank_host[r] == p->rank_host[rank];
    return n;
}

int uno_plan_count(const struct uno_plan *p, int host)
{
    int n = 0;
    for (int r = 0; r < p->nranks; r++) n += p->rank_host[r] == host;
    return n;
}

const char *uno_plan_name(const struct uno_plan *p, int rank)
{
    return p->host[p->rank_host[rank]].name;
}
