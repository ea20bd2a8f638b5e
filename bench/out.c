// SPDX-License-Identifier: BSD-3-Clause
// What is printed: a table for people, CSV, or JSON records; called on rank 0 only, apart from bench_out_begin. With
// groups, rank 0 of every group would print; only group 0 does. One record per (row, variant, size); the schema has a
// version.
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

double bench_init_time;
static const struct opts *opt;
static FILE *json;
static int ranks, silent, oversubscribed, records;
static char library[128], host[256];
static const char *level_name;

double bench_scale(const char *unit)
{
    if (!unit || !strcmp(unit, "us")) return 1e6;
    if (!strcmp(unit, "ns")) return 1e9;
    if (!strcmp(unit, "ms")) return 1e3;
    return 1;
}

static void json_text(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', f);
        if ((unsigned char)*s >= ' ') fputc(*s, f);
    }
    fputc('"', f);
}

static void json_head(FILE *f)
{
    fprintf(f, "{\"schema\": 1, \"library\": ");
    json_text(f, library);
    fprintf(f, ", \"mpi\": \"%d.%d\", \"host\": ", MPI_VERSION, MPI_SUBVERSION);
    json_text(f, host);
    fprintf(f, ", \"np\": %d, \"cores\": %ld, \"oversubscribed\": %s, \"thread_level\": \"%s\", \"label\": ", ranks,
            sysconf(_SC_NPROCESSORS_ONLN), oversubscribed ? "true" : "false", level_name);
    json_text(f, opt->label ? opt->label : "");
    fprintf(f, ", \"time\": %ld, \"command\": ", (long)time(NULL));
    char line[2048] = "";
    for (int i = 0; i < opt->argc; i++) {
        size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "", opt->argv[i]);
    }
    json_text(f, line);
}

void bench_out_begin(const struct opts *o, MPI_Comm world, int level)
{
    static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int rank, len;
    struct utsname u;
    opt = o;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    silent = rank != 0;
    if (silent) return;
    MPI_Get_library_version(text, &len);
    const char *start = text + strspn(text, " ");
    snprintf(library, sizeof library, "%.*s", (int)strcspn(start, "\n\r,"), start);
    char *open = strrchr(library, '(');
    if (open && open > library && !strchr(open, ')')) open[-1] = 0;    // the comma was inside brackets
    for (char *tab = library; (tab = strchr(tab, '\t'));) *tab = ' ';
    uname(&u);
    snprintf(host, sizeof host, "%s %s %s", u.nodename, u.sysname, u.machine);
    oversubscribed = ranks > sysconf(_SC_NPROCESSORS_ONLN);
    level_name = names[level == MPI_THREAD_MULTIPLE     ? 3
                       : level == MPI_THREAD_SERIALIZED ? 2
                       : level == MPI_THREAD_FUNNELED   ? 1
                                                        : 0];
    if (o->json) json = fopen(o->json, "w");
    if (o->json && !json) fprintf(stderr, "unisono-bench: cannot write %s\n", o->json);
    if (o->format == TABLE)
        printf("# %s | %d rank%s on %ld cores%s | threads: %s | %s\n", library, ranks, ranks == 1 ? "" : "s",
               sysconf(_SC_NPROCESSORS_ONLN), oversubscribed ? " (over-subscribed)" : "", level_name, host);
    if (o->format == CSV)
        printf("row,mode,variant,size,np,value,unit,ci_lo,ci_hi,min,p5,p95,max,mean,sd,n,batch,MB_s,Mmsg_s,rank_min,"
               "rank_mean,rank_max,"
               "skew,sync,stop,checked,extras\n");
}

static const char *prefix(const struct run *r)
{
    return r->mode == NONBLOCKING && r->k->flags & MODES  ? "i"
           : r->mode == PERSISTENT && r->k->flags & MODES ? "p"
                                                          : "";
}

static int collective(const struct run *r)
{
    return (r->k->flags & SPAN) && r->size > 1;
}

static int rated(const struct run *r)
{
    return r->payload > 0 && !r->k->unit;    // a figure that is no time of an operation has no bandwidth
}

void bench_out_row(const struct run *r, const char *variant)
{
    if (silent || opt->format != TABLE) return;
    char word[64], unit[24];
    printf("\n%s%s%s%s: %s\n", prefix(r), r->k->name, *variant ? "/" : "", variant, r->k->what);
    snprintf(unit, sizeof unit, "%s", r->k->unit ? r->k->unit : "us");
    printf("%10s %12s %10s %10s",
           r->k->flags & NOSIZE  ? ""
           : r->k->flags & DEPTH ? "count"
                                 : "bytes",
           unit, "p5", "p95");
    if (collective(r)) printf(" %10s %10s", "ranks' avg", "skew us");
    if (rated(r)) printf(" %10s", "MB/s");
    if (r->msgs > 0) printf(" %10s", "Mmsg/s");
    for (int e = 0; r->k->extras && bench_axis(r->k->extras, e, word, sizeof word) == 0; e++) printf(" %14s", word);
    printf(" %7s %s\n", "n", "stop");
}

static double scaled(const struct run *r, double v)
{
    return v * bench_scale(r->k->unit);
}

static void extra_name(const char *list, int e, char *name, char *unit)
{
    char word[64] = "";
    bench_axis(list, e, word, sizeof word);
    char *space = strrchr(word, ' ');
    snprintf(unit, 16, "%.15s", space ? space + 1 : "");
    if (space) *space = 0;
    for (char *c = word; *c; c++)
        if (*c == ' ') *c = '_';
    snprintf(name, 48, "%.47s", word);
}

static void record(FILE *f, const struct run *r, const char *variant, const struct figures *g)
{
    const struct stats *s = &g->s;
    double k = bench_scale(r->k->unit);
    char name[48], unit[16];
    json_head(f);
    fprintf(
        f,
        ", \"row\": \"%s%s\", \"family\": \"%s\", \"variant\": \"%s\", \"size\": %ld, \"ranks\": %d, \"unit\": \"%s\"",
        prefix(r), r->k->name, r->k->family, variant, r->bytes, r->size, r->k->unit ? r->k->unit : "us");
    fprintf(f,
            ", \"value\": %.6g, \"ci\": [%.6g, %.6g], \"n\": %ld, \"mean\": %.6g, \"sd\": %.6g, \"min\": %.6g, \"p1\": "
            "%.6g",
            s->median * k, s->lo * k, s->hi * k, s->n, s->mean * k, s->sd * k, s->min * k, s->p1 * k);
    fprintf(f,
            ", \"p5\": %.6g, \"p25\": %.6g, \"p75\": %.6g, \"p95\": %.6g, \"p99\": %.6g, \"max\": %.6g, \"lag1\": %.3g",
            s->p5 * k, s->p25 * k, s->p75 * k, s->p95 * k, s->p99 * k, s->max * k, s->lag1);
    fprintf(f, ", \"rank_min\": %.6g, \"rank_mean\": %.6g, \"rank_max\": %.6g, \"skew\": %.6g, \"late\": %ld",
            g->rank_min * k, g->rank_mean * k, g->rank_max * k, g->skew * k, g->late);
    if (!strcmp(g->sync, "window"))
        fprintf(f, ", \"drift_us\": %.3g, \"drift_bound_us\": %.3g", g->drift * 1e6, g->drift_bound * 1e6);
    fprintf(f,
            ", \"batch\": %d, \"stop\": \"%s\", \"sync\": \"%s\", \"checked\": %s, \"window\": %d, \"threads\": %d, "
            "\"parts\": %d",
            g->batch, g->stop, g->sync, g->checked ? "true" : "false", r->window, opt->threads, opt->parts);
    if (g->line[1] > 0) fprintf(f, ", \"line_us\": [%.4g, %.4g]", g->line[0], g->line[1]);
    if (rated(r) && s->median > 0) fprintf(f, ", \"MB_s\": %.6g", r->payload / s->median * 1e-6);
    if (r->msgs > 0 && s->median > 0) fprintf(f, ", \"Mmsg_s\": %.6g", r->msgs / s->median * 1e-6);
    for (int e = 0; e < g->nextra; e++) {
        extra_name(r->k->extras, e, name, unit);
        double ke = bench_scale(unit[0] ? unit : "1");
        fprintf(f, ", \"%s\": %.6g, \"%s_lo\": %.6g, \"%s_hi\": %.6g", name, g->extra[e].median * ke, name,
                g->extra[e].lo * ke, name, g->extra[e].hi * ke);
    }
    fprintf(f, "}\n");
    fflush(f);
}

static void csv(const struct run *r, const char *variant, const struct figures *g)
{
    const struct stats *s = &g->s;
    double k = bench_scale(r->k->unit);
    char name[48], unit[16];
    printf("%s%s,%s,%s,%ld,%d,%.6g,%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%ld,%d,", prefix(r), r->k->name,
           r->mode == BLOCKING      ? ""
           : r->mode == NONBLOCKING ? "i"
                                    : "p",
           variant, r->bytes, r->size, s->median * k, r->k->unit ? r->k->unit : "us", s->lo * k, s->hi * k, s->min * k,
           s->p5 * k, s->p95 * k, s->max * k, s->mean * k, s->sd * k, s->n, g->batch);
    printf("%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s,%s,%d,", rated(r) && s->median > 0 ? r->payload / s->median * 1e-6 : 0,
           s->median > 0 ? r->msgs / s->median * 1e-6 : 0, g->rank_min * k, g->rank_mean * k, g->rank_max * k,
           g->skew * k, g->sync, g->stop, g->checked);
    for (int e = 0; e < g->nextra; e++) {
        extra_name(r->k->extras, e, name, unit);
        printf("%s%s=%.6g", e ? ";" : "", name, g->extra[e].median * bench_scale(unit[0] ? unit : "1"));
    }
    printf("\n");
}

static void table(const struct run *r, const struct figures *g)
{
    const struct stats *s = &g->s;
    char name[48], unit[16], size[24] = "";
    if (!(r->k->flags & NOSIZE)) snprintf(size, sizeof size, "%ld", r->bytes);
    printf("%10s %12.5g %10.4g %10.4g", size, scaled(r, s->median), scaled(r, s->p5), scaled(r, s->p95));
    if (collective(r)) printf(" %10.4g %10.3g", scaled(r, g->rank_mean), g->skew * 1e6);
    if (rated(r)) printf(" %10.5g", s->median > 0 ? r->payload / s->median * 1e-6 : 0);
    if (r->msgs > 0) printf(" %10.4g", s->median > 0 ? r->msgs / s->median * 1e-6 : 0);
    for (int e = 0; e < g->nextra; e++) {
        extra_name(r->k->extras, e, name, unit);
        printf(" %14.5g", g->extra[e].median * bench_scale(unit[0] ? unit : "1"));
    }
    printf(" %7ld %s%s\n", s->n, g->stop, g->checked || !r->k->check ? "" : " unchecked");
}

void bench_out_line(const struct run *r, const char *variant, const struct figures *f)
{
    if (silent) return;
    records++;
    if (opt->format == TABLE) table(r, f);
    if (opt->format == CSV) csv(r, variant, f);
    if (opt->format == JSON) record(stdout, r, variant, f);
    if (json) record(json, r, variant, f);
    fflush(stdout);
}

static void skip_record(FILE *f, const char *name, const char *variant, const char *why)
{
    json_head(f);
    fprintf(f, ", \"row\": \"%s\", \"variant\": \"%s\", \"skipped\": ", name, variant);
    json_text(f, why);
    fprintf(f, "}\n");
}

void bench_out_skip(const char *name, const char *variant, const char *why)
{
    if (silent) return;
    if (opt->format == TABLE) printf("\n%s%s%s: skipped: %s\n", name, *variant ? "/" : "", variant, why);
    if (opt->format == CSV) printf("%s,,%s,,,,,,,,,,,,,,,,,,,,,,,,skipped: %s\n", name, variant, why);
    if (opt->format == JSON) skip_record(stdout, name, variant, why);
    if (json) skip_record(json, name, variant, why);
    fflush(stdout);
}

void bench_out_end(void)
{
    if (json) fclose(json);
}
