// SPDX-License-Identifier: BSD-3-Clause
// `unisono-bench core`: the core rows between two ranks, with what the machine itself allows beside each figure. It is
// not an MPI program: it runs `floor` and a few jobs of this same program under --launcher, and prints as they end. Its
// table is the demo's first.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };
struct figure {
    char row[32];
    long size;
    double value, mbytes, mmsgs;
};
static struct figure got[MOST], floors[MOST];
static int gots, floor_count;
static char self[1024];

static const struct figure *look(const struct figure *list, int n, const char *row, long size)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].row, row) && (size < 0 || list[i].size == size)) return &list[i];
    return NULL;
}

// Lines of a command's output as fields between commas.
static int read_csv(const char *command, void (*take)(char **field, int n))
{
    char line[2048];
    FILE *f = popen(command, "r");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) {
        char *field[32], *rest = line, *word;
        int n = 0;
        while (n < 32 && (word = strsep(&rest, ",\n"))) field[n++] = word;
        take(field, n);
    }
    return pclose(f);
}

static void take_floor(char **field, int n)
{
    if (n < 4 || floor_count == MOST || !strcmp(field[0], "row")) return;
    struct figure *f = &floors[floor_count++];
    snprintf(f->row, sizeof f->row, "%s", field[0]);
    f->size = atol(field[1]);
    f->value = atof(field[2]);
}

// The columns of out.c: row, mode, variant, size, np, value, ... MB/s is the 18th, messages the 19th.
static void take_row(char **field, int n)
{
    if (n < 20 || gots == MOST || !strcmp(field[0], "row") || !field[5][0]) return;
    struct figure *f = &got[gots++];
    snprintf(f->row, sizeof f->row, "%s", field[0]);
    f->size = atol(field[3]);
    f->value = atof(field[5]);
    f->mbytes = atof(field[17]);
    f->mmsgs = atof(field[18]);
}

static int job(const struct opts *o, const char *args)
{
    char command[4096];
    int before = gots;
    snprintf(command, sizeof command, "%s -n 2 %s %s --format csv --time %g", o->launcher, self, args,
             o->quick ? 0.02 : 0.2);
    int status = read_csv(command, take_row);
    if (status == 0 && gots > before) return 0;
    fprintf(stderr, "unisono-bench: core: the job failed: %s\n", command);
    return 1;
}

static void line(const char *name, const struct figure *g, double value, const char *unit, double bound,
                 const char *why)
{
    if (!g) return;
    printf("%-28s %10.4g %-5s", name, value, unit);
    if (bound > 0) printf(" %10.4g   %s", bound, why);
    printf("\n");
    fflush(stdout);
}

static double allowed(const char *row, long size)
{
    const struct figure *f = look(floors, floor_count, row, size);
    return f ? f->value : 0;
}

static int latencies(const struct opts *o)
{
    static const struct {
        long size;
        const char *name;
    } sizes[] = {{1, "latency 1 B"},          {4096, "latency 4 KiB"},    {65536, "latency 64 KiB"},
                 {262144, "latency 256 KiB"}, {1 << 20, "latency 1 MiB"}, {4 << 20, "latency 4 MiB"}};
    if (job(o, "lat --sizes 1,4K,64K,256K,1M,4M")) return 1;
    for (int i = 0; i < 6; i++) {
        const struct figure *g = look(got, gots, "lat", sizes[i].size);
        if (i == 0)
            line(sizes[i].name, g, g ? g->value : 0, "us", allowed("slot-lat", -1), "a cache line from core to core");
        else
            line(sizes[i].name, g, g ? g->value : 0, "us", allowed("both-copy", sizes[i].size),
                 "both processes copy a half");
    }
    return 0;
}

static int rates(const struct opts *o)
{
    static const struct {
        long size;
        const char *row, *name;
    } rows[] = {{65536, "bw", "bandwidth 64 KiB"},
                {1 << 20, "bw", "bandwidth 1 MiB"},
                {4 << 20, "bw", "bandwidth 4 MiB"},
                {1 << 20, "bibw", "both ways 1 MiB"}};
    if (job(o, "bw bibw --sizes 8,64K,1M,4M")) return 1;
    const struct figure *g = look(got, gots, "bw", 8);
    line("message rate 8 B", g, g ? g->mmsgs : 0, "M/s", allowed("slot-rate", -1), "cache lines through a ring");
    for (int i = 0; i < 4; i++) {
        g = look(got, gots, rows[i].row, rows[i].size);
        double copy = allowed("both-copy", rows[i].size), bound = copy > 0 ? (double)rows[i].size / copy : 0;
        line(rows[i].name, g, g ? g->mbytes : 0, "MB/s", bound, "both processes copy a half, cache warm");
    }
    return 0;
}

static int collectives(const struct opts *o)
{
    double slot = allowed("slot-lat", -1);
    if (job(o, "barrier allreduce --sizes 8,64K --sync batch")) return 1;
    const struct figure *g = look(got, gots, "barrier", -1);
    line("barrier", g, g ? g->value : 0, "us", slot, "a cache line each way at once");
    g = look(got, gots, "allreduce", 8);
    line("allreduce 8 B", g, g ? g->value : 0, "us", slot, "a cache line each way at once");
    g = look(got, gots, "allreduce", 65536);
    line("allreduce 64 KiB", g, g ? g->value : 0, "us", allowed("both-copy", 65536), "one transfer, no sums");
    return 0;
}

static int life(const struct opts *o)
{
    if (job(o, "idle mem")) return 1;
    const struct figure *g = look(got, gots, "idle", -1);
    line("a rank that waits", g, g ? g->value : 0, "%", 0, "");
    g = look(got, gots, "mem", -1);
    line("memory per rank (PSS)", g, g ? g->value : 0, "KiB", 0, "");
    return 0;
}

int bench_core(const struct opts *o)
{
    char command[1100];
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 1;
    printf("measuring what the machine allows (one second)...\n");
    fflush(stdout);
    snprintf(command, sizeof command, "%s floor --format csv", self);
    if (read_csv(command, take_floor)) return 1;
    printf("%-28s %10s %-5s %10s\n", "two ranks", "measured", "", "floor");
    return latencies(o) || rates(o) || collectives(o) || life(o);
}
