// SPDX-License-Identifier: BSD-3-Clause
// Prints a profile (report.h): as a table for people, most time first, and as JSON, whose members mpiexec(1) describes.
// Called by profile.c when the job is over.
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper.h"

#define ROWS 40      // sites in the table; all are in the JSON
#define MATRIX 16    // ranks up to which the matrix is printed
#define SITE_WIDTH 38

static const char *const class_name[UNO_PROF_CLASSES] = {"0",    "<8",    "<64", "<512", "<4K",
                                                         "<32K", "<256K", "<2M", "<16M", "more"};
static const uint64_t class_least[UNO_PROF_CLASSES] = {0, 1, 8, 64, 512, 4096, 32768, 262144, 2097152, 16777216};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// "function file:line", as much of it as is known.
static char *site_name(const struct uno_profile_site *s)
{
    const char *function = s->place.function;
    if (s->place.file)
        return uno_xformat("%s %s:%d", function ? function : "?", base_name(s->place.file), s->place.line);
    if (function) return uno_xformat("%s (%s)", function, base_name(s->module));
    return uno_xformat("%s+0x%llx", base_name(s->module), (unsigned long long)s->place.offset);
}

struct spread {
    double least, mean, most;    // seconds
};

static struct spread spread_of(const uint64_t *ns, int n)
{
    struct spread x = {1e30, 0, 0};
    for (int r = 0; r < n; r++) {
        double s = (double)ns[r] * 1e-9;
        if (s < x.least) x.least = s;
        if (s > x.most) x.most = s;
        x.mean += s / n;
    }
    return x;
}

struct totals {
    double app, mpi;    // seconds over all ranks
    double calls;       // in all calls, those of several threads added up
    int there;
};

static struct totals totals_of(const struct uno_profile *f)
{
    struct totals t = {0};
    for (int r = 0; r < f->nranks; r++) {
        t.app += (double)f->rank[r].app_ns * 1e-9;
        t.mpi += (double)f->rank[r].mpi_ns * 1e-9;
        t.there += f->rank[r].there;
    }
    for (size_t i = 0; i < f->nsites; i++) t.calls += (double)f->site[i].ns * 1e-9;
    return t;
}

static void put_row(struct uno_bytes *out, const char *name, const char *site, const struct uno_profile_site *s,
                    const struct uno_profile *f)
{
    char data[16] = "";
    struct spread x = spread_of(s->rank_ns, f->nranks);
    double calls = totals_of(f).calls;
    if (s->sized) uno_paper_human(s->bytes, data);
    uno_paper_put(out, "%-24s %-*.*s %10llu %10.4f %6.1f %9.4f %9.4f %9.4f %9.4f %9s\n", name, SITE_WIDTH, SITE_WIDTH,
                  site, (unsigned long long)s->count, (double)s->ns * 1e-9,
                  calls > 0 ? (double)s->ns * 1e-7 / calls : 0, x.least, x.mean, x.most, (double)s->wait_ns * 1e-9,
                  data);
}

static void put_head(struct uno_bytes *out, const char *what, const char *site)
{
    uno_paper_put(out, "\n%-24s %-*s %10s %10s %6s %9s %9s %9s %9s %9s\n", what, SITE_WIDTH, site, "calls", "time s",
                  "% MPI", "rank min", "mean", "max", "+ waits s", "data");
}

// The sites of one call together.
static struct uno_profile_site sum_of(const struct uno_profile *f, int call)
{
    struct uno_profile_site sum = {.call = call, .rank_ns = uno_xalloc((size_t)f->nranks * sizeof(uint64_t))};
    for (size_t i = 0; i < f->nsites; i++) {
        const struct uno_profile_site *s = &f->site[i];
        if (s->call != call) continue;
        uno_profile_add(f, &sum, s);
    }
    return sum;
}

static int by_time(const void *a, const void *b)
{
    const struct uno_profile_site *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void put_sizes(const struct uno_profile *f, const struct uno_profile_site *sum, int n, struct uno_bytes *out)
{
    (void)f;
    uno_paper_put(out, "\n%-24s", "calls by bytes");
    for (int c = 0; c < UNO_PROF_CLASSES; c++) uno_paper_put(out, " %9s", class_name[c]);
    uno_paper_put(out, "\n");
    for (int i = 0; i < n; i++) {
        if (sum[i].sized == 0) continue;
        uno_paper_put(out, "%-24s", uno_prof_call[sum[i].call]);
        for (int c = 0; c < UNO_PROF_CLASSES; c++) uno_paper_put(out, " %9llu", (unsigned long long)sum[i].size[c]);
        uno_paper_put(out, "\n");
    }
}

static uint64_t sent(const struct uno_profile *f, int from, int to, bool bytes)
{
    const struct uno_prof_peer *p = f->rank[from].peer;
    if (!p) return 0;
    return atomic_load_explicit(bytes ? &p[to].bytes : &p[to].messages, memory_order_relaxed);    // nobody writes
}

static void put_matrix(const struct uno_profile *f, struct uno_bytes *out)
{
    if (f->nranks > MATRIX) {
        uno_paper_put(out, "\nThe matrix of %d ranks is in the JSON form (--profile=FILE.json).\n", f->nranks);
        return;
    }
    for (int bytes = 0; bytes < 2; bytes++) {
        uno_paper_put(out, "\n%-24s", bytes ? "bytes from \\ to" : "messages from \\ to");
        for (int to = 0; to < f->nranks; to++) uno_paper_put(out, " %8d", to);
        uno_paper_put(out, "\n");
        for (int from = 0; from < f->nranks; from++) {
            char text[16];
            uno_paper_put(out, "%-24d", from);
            for (int to = 0; to < f->nranks; to++) {
                uint64_t n = sent(f, from, to, bytes);
                if (bytes && n)
                    uno_paper_put(out, " %8s", uno_paper_human(n, text));
                else
                    uno_paper_put(out, n ? " %8llu" : " %8.0llu", (unsigned long long)n);
            }
            uno_paper_put(out, "\n");
        }
    }
}

void uno_report_table(const struct uno_profile *f, struct uno_bytes *out)
{
    struct totals t = totals_of(f);
    uno_paper_put(out, "Profile of %d rank%s", f->nranks, f->nranks == 1 ? "" : "s");
    if (f->number > 0) uno_paper_put(out, " of spawned job %d", f->number);
    if (t.there < f->nranks) uno_paper_put(out, " (%d never called MPI_Init or left nothing)", f->nranks - t.there);
    uno_paper_put(out, ": %.4f s each from MPI_Init to MPI_Finalize, %.1f %% of it in MPI\n", t.app / t.there,
                  t.app > 0 ? 100 * t.mpi / t.app : 0);
    struct uno_profile_site *sum = uno_xalloc((size_t)uno_prof_calls * sizeof *sum);
    int n = 0;
    for (int call = 0; call < uno_prof_calls; call++) {
        sum[n] = sum_of(f, call);
        if (sum[n].count) n++;
    }
    qsort(sum, (size_t)n, sizeof *sum, by_time);
    put_head(out, "call", "");
    for (int i = 0; i < n; i++) put_row(out, uno_prof_call[sum[i].call], "", &sum[i], f);
    put_head(out, "call", "site");
    for (size_t i = 0; i < f->nsites && i < ROWS; i++) {
        char *name = site_name(&f->site[i]);
        put_row(out, uno_prof_call[f->site[i].call], name, &f->site[i], f);
        free(name);
    }
    if (f->nsites > ROWS) uno_paper_put(out, "and %zu sites more\n", f->nsites - ROWS);
    put_sizes(f, sum, n, out);
    put_matrix(f, out);
    uno_paper_put(
        out, "\nTime is that inside the call over all ranks; \"+ waits\": in Wait and Test for what the call started "
             "(counted "
             "there too).");
    if (f->lost) uno_paper_put(out, "\n%llu calls came from more sites than are kept.", (unsigned long long)f->lost);
}

static void put_text(struct uno_bytes *out, const char *key, const char *text)
{
    uno_paper_put(out, "\"%s\": \"", key);
    for (; text && *text; text++)
        uno_paper_put(out, *text == '"' || *text == '\\' ? "\\%c" : (unsigned char)*text < 32 ? "?" : "%c", *text);
    uno_paper_put(out, "\", ");
}

static void put_counts(struct uno_bytes *out, const char *key, const uint64_t *n, int count)
{
    uno_paper_put(out, "\"%s\": [", key);
    for (int i = 0; i < count; i++) uno_paper_put(out, "%s%llu", i ? ", " : "", (unsigned long long)n[i]);
    uno_paper_put(out, "]");
}

static void put_json_site(struct uno_bytes *out, const struct uno_profile *f, const struct uno_profile_site *s)
{
    struct spread x = spread_of(s->rank_ns, f->nranks);
    char *name = site_name(s);
    uno_paper_put(out, "  {");
    put_text(out, "call", uno_prof_call[s->call]);
    put_text(out, "site", name);
    put_text(out, "function", s->place.function);
    put_text(out, "file", s->place.file);
    put_text(out, "module", s->module);
    uno_paper_put(out, "\"line\": %d, \"offset\": %llu, \"count\": %llu, \"time_s\": %.9g, \"wait_s\": %.9g, ",
                  s->place.line, (unsigned long long)s->place.offset, (unsigned long long)s->count,
                  (double)s->ns * 1e-9, (double)s->wait_ns * 1e-9);
    uno_paper_put(
        out, "\"bytes\": %llu, \"sized\": %llu, \"rank_min_s\": %.9g, \"rank_mean_s\": %.9g, \"rank_max_s\": %.9g, ",
        (unsigned long long)s->bytes, (unsigned long long)s->sized, x.least, x.mean, x.most);
    put_counts(out, "sizes", s->size, UNO_PROF_CLASSES);
    uno_paper_put(out, "}");
    free(name);
}

static void put_json_matrix(struct uno_bytes *out, const struct uno_profile *f, const char *key, bool bytes)
{
    uno_paper_put(out, "\"%s\": [\n", key);
    for (int from = 0; from < f->nranks; from++) {
        uno_paper_put(out, "  [");
        for (int to = 0; to < f->nranks; to++)
            uno_paper_put(out, "%s%llu", to ? ", " : "", (unsigned long long)sent(f, from, to, bytes));
        uno_paper_put(out, "]%s\n", from + 1 < f->nranks ? "," : "");
    }
    uno_paper_put(out, "]");
}

void uno_report_json(const struct uno_profile *f, struct uno_bytes *out)
{
    struct totals t = totals_of(f);
    uno_paper_put(out, "{\"schema\": 2, \"ranks\": %d, \"app_s\": %.9g, \"mpi_s\": %.9g, \"lost_calls\": %llu,\n",
                  f->nranks, t.app, t.mpi, (unsigned long long)f->lost);
    uno_paper_put(out, "\"rank_app_s\": [");
    for (int r = 0; r < f->nranks; r++) uno_paper_put(out, "%s%.9g", r ? ", " : "", (double)f->rank[r].app_ns * 1e-9);
    uno_paper_put(out, "],\n\"rank_mpi_s\": [");
    for (int r = 0; r < f->nranks; r++) uno_paper_put(out, "%s%.9g", r ? ", " : "", (double)f->rank[r].mpi_ns * 1e-9);
    uno_paper_put(out, "],\n");
    put_counts(out, "size_least", class_least, UNO_PROF_CLASSES);
    uno_paper_put(out, ",\n\"calls\": [\n");
    for (size_t i = 0; i < f->nsites; i++) {
        put_json_site(out, f, &f->site[i]);
        uno_paper_put(out, i + 1 < f->nsites ? ",\n" : "\n");
    }
    uno_paper_put(out, "],\n");
    put_json_matrix(out, f, "messages", false);
    uno_paper_put(out, ",\n");
    put_json_matrix(out, f, "bytes_sent", true);
    uno_paper_put(out, "}\n");
}
