// SPDX-License-Identifier: BSD-3-Clause
// The reading half of `mpiexec --profile` (profile.h): packs what a rank recorded, adds the ranks up by call and call
// site, and hands everything to report.c, which prints it.
#include "profile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "paper.h"
#include "prof.h"
#include "report.h"

#define LIBRARY "libunisono-profile.so"

// What travels: this, the modules' names, the sites in use, the peers.
struct packed {
    int32_t rank, nranks;
    uint64_t begun, ended, in_mpi, lost;
    uint32_t modules, sites;
};

void uno_profile_prepare(struct uno_plan *p)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) uno_usage("--profile: the place of mpiexec is not known");
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    char *library = uno_xformat("%s/../lib/%s", self, LIBRARY);
    if (access(library, R_OK) != 0) uno_usage("--profile: %s is not installed", library);
    const char *others = uno_words_get(&p->env, "LD_PRELOAD");
    char *all = uno_xformat("%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    uno_words_set(&p->env, "LD_PRELOAD", all);
    free(all);
    free(library);
}

void uno_profile_pack(struct uno_job_head *job, struct uno_board *b, struct uno_bytes *out)
{
    // Acquire: pairs with the release in profiler/record.c. The rest is relaxed: the writer has ended.
    uint32_t at = atomic_load_explicit(&b->profile, memory_order_acquire);
    if (at == 0 || at > UNO_HEAP_CHUNKS) return;
    const struct uno_prof *p = uno_job_chunk(job, at - 1);
    struct packed h = {.rank = p->rank, .nranks = p->nranks};
    h.begun = atomic_load_explicit(&p->begun, memory_order_relaxed);
    h.ended = atomic_load_explicit(&p->ended, memory_order_relaxed);
    h.lost = atomic_load_explicit(&p->lost, memory_order_relaxed);
    h.modules = atomic_load_explicit(&p->modules, memory_order_relaxed);
    if (h.modules > UNO_PROF_MODULES || h.nranks < 1) return;
    if (h.ended == 0) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        h.ended = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    h.in_mpi = atomic_load_explicit(&p->in_mpi, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&p->since, memory_order_relaxed);    // it died in a call
    if (atomic_load_explicit(&p->inside, memory_order_relaxed) && h.ended > since) h.in_mpi += h.ended - since;
    for (int i = 0; i < UNO_PROF_SITES; i++)
        h.sites += atomic_load_explicit(&p->site[i].key, memory_order_relaxed) != 0;
    uno_bytes_add(out, &h, sizeof h);
    uno_bytes_add(out, p->module, h.modules * sizeof p->module[0]);
    for (int i = 0; i < UNO_PROF_SITES; i++)
        if (atomic_load_explicit(&p->site[i].key, memory_order_relaxed))
            uno_bytes_add(out, &p->site[i], sizeof p->site[i]);
    uno_bytes_add(out, p->peer, (size_t)h.nranks * sizeof p->peer[0]);
}

struct uno_profile *uno_profile_new(const struct uno_plan *p)
{
    if (!p->profile) return NULL;
    struct uno_profile *f = uno_xalloc(sizeof *f);
    f->nranks = p->nranks;
    f->number = p->number;
    f->path = uno_paper_path(p->profile, p->number);
    f->rank = uno_xalloc((size_t)p->nranks * sizeof *f->rank);
    return f;
}

static struct uno_profile_site *find(struct uno_profile *f, int call, const char *module, uint64_t offset)
{
    for (size_t i = 0; i < f->nsites; i++) {
        struct uno_profile_site *s = &f->site[i];
        if (s->call == call && s->place.offset == offset && strcmp(s->module, module) == 0) return s;
    }
    f->site = uno_xrealloc(f->site, (f->nsites + 1) * sizeof *f->site);
    struct uno_profile_site *s = &f->site[f->nsites++];
    *s = (struct uno_profile_site){.call = call, .module = uno_xstrdup(module), .place = {.offset = offset}};
    s->rank_ns = uno_xalloc((size_t)f->nranks * sizeof *s->rank_ns);
    return s;
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);    // a copy that nobody else sees
}

static void add_site(struct uno_profile *f, int rank, const struct uno_prof_site *from, const char *module)
{
    int call = (int)(get(&from->key) >> 48);
    if (call >= uno_prof_calls) return;
    struct uno_profile_site *s = find(f, call, module, from->offset);
    s->count += get(&from->count);
    s->ns += get(&from->ns);
    s->wait_ns += get(&from->wait_ns);
    s->bytes += get(&from->bytes);
    s->sized += get(&from->sized);
    s->rank_ns[rank] += get(&from->ns);
    for (int c = 0; c < UNO_PROF_CLASSES; c++) s->size[c] += get(&from->size[c]);
}

void uno_profile_take(struct uno_profile *f, const char *data, size_t bytes)
{
    struct packed h;
    if (!f || bytes < sizeof h) return;
    memcpy(&h, data, sizeof h);
    size_t names = h.modules * (size_t)sizeof((struct uno_prof *)0)->module[0];
    size_t sites = h.sites * sizeof(struct uno_prof_site), peers = (size_t)f->nranks * sizeof(struct uno_prof_peer);
    if (h.rank < 0 || h.rank >= f->nranks || h.nranks != f->nranks || bytes != sizeof h + names + sites + peers) return;
    const char *module = data + sizeof h;
    struct uno_profile_rank *r = &f->rank[h.rank];
    r->there = true;
    r->app_ns = h.ended > h.begun && h.begun ? h.ended - h.begun : 0;
    r->mpi_ns = h.in_mpi;
    f->lost += h.lost;
    for (uint32_t i = 0; i < h.sites; i++) {
        struct uno_prof_site s;
        memcpy(&s, data + sizeof h + names + i * sizeof s, sizeof s);
        bool known = s.ready && s.module < h.modules;
        add_site(f, h.rank, &s, known ? module + s.module * sizeof((struct uno_prof *)0)->module[0] : "?");
    }
    r->peer = uno_xalloc(peers);
    memcpy(r->peer, data + sizeof h + names + sites, peers);
}

// Each module's sites at once.
static void resolve(struct uno_profile *f)
{
    struct uno_place *place = uno_xalloc(f->nsites * sizeof *place);
    bool *done = uno_xalloc(f->nsites);
    for (size_t i = 0; i < f->nsites; i++) {
        size_t n = 0;
        for (size_t k = i; k < f->nsites && !done[i]; k++)
            if (strcmp(f->site[k].module, f->site[i].module) == 0) place[n++].offset = f->site[k].place.offset;
        if (n) uno_symbols_find(f->site[i].module, place, n);
        for (size_t k = f->nsites; n > 0 && k-- > i;)
            if (strcmp(f->site[k].module, f->site[i].module) == 0) f->site[k].place = place[--n], done[k] = true;
        memset(place, 0, f->nsites * sizeof *place);
    }
    free(place);
    free(done);
}

static bool same_line(const struct uno_profile_site *a, const struct uno_profile_site *b)
{
    return a->call == b->call && a->place.file && b->place.file && a->place.line == b->place.line &&
           strcmp(a->place.file, b->place.file) == 0;
}

void uno_profile_add(const struct uno_profile *f, struct uno_profile_site *sum, const struct uno_profile_site *s)
{
    sum->count += s->count, sum->ns += s->ns, sum->wait_ns += s->wait_ns, sum->bytes += s->bytes,
        sum->sized += s->sized;
    for (int c = 0; c < UNO_PROF_CLASSES; c++) sum->size[c] += s->size[c];
    for (int r = 0; r < f->nranks; r++) sum->rank_ns[r] += s->rank_ns[r];
}

// A compiler may have made several calls of one line.
static void merge_lines(struct uno_profile *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nsites; i++) {
        size_t k = 0;
        while (k < n && !same_line(&f->site[k], &f->site[i])) k++;
        if (k < n)
            uno_profile_add(f, &f->site[k], &f->site[i]);
        else
            f->site[n++] = f->site[i];
    }
    f->nsites = n;
}

// Most time first: in the call and in waiting for what it started.
static int by_time(const void *a, const void *b)
{
    const struct uno_profile_site *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

char *uno_profile_end(struct uno_profile *f)
{
    if (!f) return NULL;
    int there = 0;
    for (int r = 0; r < f->nranks; r++) there += f->rank[r].there;
    if (there == 0 && f->number > 0) return NULL;
    if (there == 0) return uno_xstrdup("mpiexec: --profile: no rank called MPI_Init, so there is nothing to report");
    resolve(f);
    merge_lines(f);
    qsort(f->site, f->nsites, sizeof *f->site, by_time);
    struct uno_bytes text = {0};
    if (uno_paper_is_json(f->path))
        uno_report_json(f, &text);
    else
        uno_report_table(f, &text);
    return uno_paper_finish(f->path, "--profile", &text);
}
