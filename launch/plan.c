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
#include "names.h"

struct uno_host *uno_plan_host(struct uno_plan *p, const char *name, size_t len, int slots)
{
    for (int i = 0; i < p->nhosts; i++) {
        struct uno_host *h = &p->host[i];
        if (strlen(h->name) != len || strncmp(h->name, name, len) != 0) continue;
        h->slots += slots;
        return h;
    }
    // It would be an option of the command that starts the daemon there.
    if (name[0] == '-') uno_usage("host %.*s: the name of a host does not begin with -", (int)len, name);
    p->host = uno_xrealloc(p->host, ((size_t)p->nhosts + 1) * sizeof *p->host);
    struct uno_host *h = &p->host[p->nhosts++];
    *h = (struct uno_host){.name = uno_xformat("%.*s", (int)len, name), .slots = slots};
    return h;
}

// The part of a host entry behind the name: ":4". A name in brackets may hold colons itself: [fe80::1]:4.
static struct uno_host *add_entry(struct uno_plan *p, struct uno_words *on, const char *entry, size_t len)
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
    long slots = 1;
    if (colon != NULL) {
        char *stop;
        slots = strtol(colon + 1, &stop, 10);
        if (stop != end || slots < 1 || slots > 1 << 20)
            uno_usage("host %.*s: a positive number of slots must follow the colon", (int)len, entry);
    }
    if (name_len == 0) uno_usage("empty host name in \"%.*s\"", (int)len, entry);
    struct uno_host *h = uno_plan_host(p, name, name_len, (int)slots);
    if (on != NULL) uno_words_add(on, h->name);
    return h;
}

void uno_plan_hosts(struct uno_plan *p, struct uno_words *on, const char *list)
{
    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        if (n == 0) uno_usage("a host name is missing in \"%s\"", list);
        add_entry(p, on, s, n);
        s += n;
        if (*s == '\0') return;
    }
}

// One line of a host file: name[:slots] [slots=N] [max_slots=N]; `#` starts a comment.
static void read_line(struct uno_plan *p, const char *path, int lineno, char *line)
{
    line[strcspn(line, "#\n")] = '\0';
    char *save, *word = strtok_r(line, " \t\r", &save);
    if (word == NULL) return;
    struct uno_host *h = add_entry(p, NULL, word, strlen(word));
    for (; (word = strtok_r(NULL, " \t\r", &save)) != NULL;) {
        char *value = strchr(word, '='), *stop = word;
        long n = value != NULL ? strtol(value + 1, &stop, 10) : 0;
        bool most = strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0;
        bool known = most || strncmp(word, "slots=", 6) == 0;
        if (known && *stop == '\0' && stop > value + 1 && n < 1)
            uno_usage("%s:%d: \"%s\": a positive number of slots is expected; leave the line out to leave out the host",
                      path, lineno, word);
        if (!known || *stop != '\0' || stop == value + 1 || n > 1 << 20)
            uno_usage("%s:%d: \"%s\" is not understood (NAME, NAME:N or NAME slots=N max_slots=N expected)", path,
                      lineno, word);
        if (most)
            h->max_slots += (int)n;
        else
            h->slots += (int)n - 1;    // the entry itself counted as one
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
    return p->per_host > 0 ? p->per_host : h->slots;
}

static int free_slots(const struct uno_plan *p, const struct uno_app *a)
{
    int n = 0;
    for (int h = 0; h < p->nhosts; h++) {
        if (allowed(a, &p->host[h])) n += slots_of(p, &p->host[h]);
    }
    return n;
}

int uno_plan_room(const struct uno_plan *p, const struct uno_app *a)
{
    int n = 0;
    for (int h = 0; h < p->nhosts; h++) {
        int left = slots_of(p, &p->host[h]) - p->host[h].taken;
        if (allowed(a, &p->host[h]) && left > 0) n += left;
    }
    return n;
}

// How many ranks a host may take in that round; no host takes more than its greatest number.
static int room_in(const struct uno_plan *p, const struct uno_host *h, int round)
{
    long n = (long)slots_of(p, h) * round;
    return h->max_slots > 0 && n > h->max_slots ? h->max_slots : n > 1 << 24 ? 1 << 24 : (int)n;
}

static _Noreturn void too_many(const struct uno_plan *p, const struct uno_app *a, bool limited)
{
    int slots = free_slots(p, a);
    const char *more = "give more (-host NAME:N, slots=N in the host file, -ppn N)";
    if (slots == 0) uno_usage("--nolocal leaves no host for %s", a->argv.item[0]);
    if (limited) uno_usage("%d ranks of %s do not fit: max_slots of the hosts is reached", a->nranks, a->argv.item[0]);
    uno_usage("--nooversubscribe: %d ranks are more than %d slot%s; %s or use --oversubscribe", p->nranks, slots,
              slots == 1 ? "" : "s", more);
}

// Where the next rank goes, and how full the hosts are.
struct filling {
    int *load, cursor, round;
};

// Ranks fill one host's slots after the other (or take hosts in turn when mapped by node) and begin again when all are
// full.
static int next_host(const struct uno_plan *p, const struct uno_app *a, struct filling *f)
{
    for (;; f->round++) {
        bool grows = false;
        for (int tries = 0; tries <= p->nhosts; tries++) {
            int at = f->cursor;
            const struct uno_host *h = &p->host[at];
            bool fits = allowed(a, h) && f->load[at] < room_in(p, h, f->round);
            grows |= allowed(a, h) && (h->max_slots == 0 || f->load[at] < h->max_slots);
            if (!fits || p->map == UNO_BY_NODE) f->cursor = (at + 1) % p->nhosts;
            if (!fits) continue;
            f->load[at]++;
            return at;
        }
        if (p->no_oversubscribe || !grows) too_many(p, a, !grows);
    }
}

// --nolocal: ranks run on the other hosts.
static void drop_local(struct uno_plan *p)
{
    int n = 0;
    for (int h = 0; h < p->nhosts; h++) {
        if (!p->host[h].local) p->host[n++] = p->host[h];
    }
    p->nhosts = n;
    if (n == 0) uno_usage("--nolocal: no other host is given (-host, -hostfile)");
}

// Each host keeps as many ranks of a program as it has; their numbers go host by host, or to the hosts in turn.
static void renumber(struct uno_plan *p)
{
    int *left = uno_xalloc((size_t)p->nhosts * sizeof(int));
    for (int first = 0, end; first < p->nranks; first = end) {
        memset(left, 0, (size_t)p->nhosts * sizeof(int));
        for (end = first; end < p->nranks && p->rank_app[end] == p->rank_app[first]; end++) left[p->rank_host[end]]++;
        for (int r = first, h = 0; r < end; h = (h + (p->rank_by == UNO_BY_NODE || left[h] == 0)) % p->nhosts) {
            if (left[h] == 0) continue;
            p->rank_host[r++] = h;
            left[h]--;
        }
    }
    free(left);
}

void uno_plan_place(struct uno_plan *p)
{
    if (p->nhosts == 0) {
        char own[256] = "localhost";
        gethostname(own, sizeof own - 1);
        uno_plan_host(p, own, strlen(own), uno_cpus_count(p))->local = true;
    }
    if (!p->united) uno_names_unite(p);
    p->united = true;
    if (p->no_local) drop_local(p);
    if (p->ranks_per_unit > 0 && p->map != UNO_BY_SLOT) p->per_host = p->ranks_per_unit * uno_cpus_units(p, p->map);
    for (int a = 0; a < p->napps; a++) {
        // A command of a spawned job may have no rank.
        if (p->app[a].nranks == 0 && p->number == 0) p->app[a].nranks = free_slots(p, &p->app[a]);
        p->nranks += p->app[a].nranks;
    }
    if (p->universe == 0) {
        for (int h = 0; h < p->nhosts; h++) p->universe += slots_of(p, &p->host[h]);
        if (p->universe < p->nranks) p->universe = p->nranks;
    }
    p->rank_app = uno_xalloc((size_t)p->nranks * sizeof(int));
    p->rank_host = uno_xalloc((size_t)p->nranks * sizeof(int));
    struct filling f = {.load = uno_xalloc((size_t)p->nhosts * sizeof(int)), .round = 1};
    for (int h = 0; h < p->nhosts; h++) f.load[h] = p->host[h].taken;
    for (int a = 0, rank = 0; a < p->napps; a++) {
        for (int i = 0; i < p->app[a].nranks; i++, rank++) {
            p->rank_app[rank] = a;
            p->rank_host[rank] = next_host(p, &p->app[a], &f);
        }
    }
    free(f.load);
    if (p->rank_by != UNO_BY_AUTO) renumber(p);
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
