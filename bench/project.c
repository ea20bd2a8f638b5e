// SPDX-License-Identifier: BSD-3-Clause
// `unisono-bench project`: what porting a program's point-to-point traffic to partitioned communication would bring.
// Takes a profile (time and bytes per call site: the JSON of mpiexec --profile, or mpiP's text) and measured gains
// (--gain: records of pattern rows with the variants st and part, or one number), and prints T / (T - sum t_i + sum t_i
// / gain(bytes_i)) with its error bar from the gains' intervals.
#include "bench.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SITES = 512, GAINS = 64 };

struct site {
    char call[40], where[80];
    double time, bytes, count;    // seconds and bytes over all ranks
};
struct gain {
    long size;
    double st[3], part[3];    // median and its interval, us
};
struct profile {
    double app;    // seconds over all ranks
    int n;
    struct site site[SITES];
};
static struct profile profile;
static struct gain gains[GAINS];
static int gain_count;
static double fixed_gain;

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t room = 1 << 16, n = 0, got;
    char *text = malloc(room + 1);
    while ((got = fread(text + n, 1, room - n, f)) > 0) {
        n += got;
        if (n == room) text = realloc(text, (room *= 2) + 1);
    }
    text[n] = 0;
    fclose(f);
    return text;
}

// The number or text behind "key": in an object that ends before `end`; NULL if it has none.
static const char *member(const char *object, const char *end, const char *key)
{
    char quoted[48];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *p = strstr(object, quoted);
    if (!p || p >= end) return NULL;
    p += strlen(quoted);
    return p + strspn(p, " :\n\t[");
}

static double number(const char *object, const char *end, const char *key)
{
    const char *p = member(object, end, key);
    return p ? strtod(p, NULL) : 0;
}

static void text(const char *object, const char *end, const char *key, char *out, size_t len)
{
    const char *p = member(object, end, key);
    out[0] = 0;
    if (p && *p == '"') snprintf(out, len, "%.*s", (int)strcspn(p + 1, "\""), p + 1);
}

static int waits(const char *call)
{
    return !strncasecmp(call, "MPI_Wait", 8) || !strncasecmp(call, "MPI_Test", 8);
}

// {"app_s": seconds over ranks, "calls": [{"call": "MPI_Send", "site": "f.c:9", "count": n, "time_s": t, "bytes": b},
// ...]}. Where the time of waits is given with what was started ("wait_s"), the waits themselves are left out; "sized":
// how many of the calls had a size.
static int read_own(const char *json)
{
    const char *calls = strstr(json, "\"calls\""), *end = json + strlen(json);
    if (!calls) return -1;
    profile.app = number(json, end, "app_s");
    for (const char *p = strchr(calls, '{'); p && profile.n < SITES; p = strchr(p + 1, '{')) {
        const char *close = strchr(p, '}');
        struct site *s = &profile.site[profile.n];
        text(p, close ? close : end, "call", s->call, sizeof s->call);
        text(p, close ? close : end, "site", s->where, sizeof s->where);
        int told = member(p, close ? close : end, "wait_s") != NULL;
        s->time = number(p, close ? close : end, "time_s") + number(p, close ? close : end, "wait_s");
        s->bytes = number(p, close ? close : end, "bytes");
        s->count = number(p, close ? close : end, told ? "sized" : "count");
        if (s->call[0] && !(told && waits(s->call))) profile.n++;
    }
    return profile.app > 0 ? 0 : -1;
}

static struct site *find_site(const char *call, const char *where)
{
    for (int i = 0; i < profile.n; i++)
        if (!strcmp(profile.site[i].call, call) && !strcmp(profile.site[i].where, where)) return &profile.site[i];
    if (profile.n == SITES) return NULL;
    struct site *s = &profile.site[profile.n++];
    snprintf(s->call, sizeof s->call, "%s", call);
    snprintf(s->where, sizeof s->where, "%s", where);
    return s;
}

// One line of mpiP's tables. Time: Call Site Time(ms) App% MPI% COV (newer: with Count). Sizes: Call Site Count Total
// Avrg Sent%.
static void mpip_line(char *line, int sizes)
{
    char call[28], name[40];
    int where, used = 0;
    double a, b;
    if (sscanf(line, "%27s %d %n", call, &where, &used) < 2 || !isalpha((unsigned char)call[0])) return;
    if (sscanf(line + used, "%lf %lf", &a, &b) < 2) return;
    char site[16];
    snprintf(site, sizeof site, "%d", where);
    snprintf(name, sizeof name, "MPI_%s", call);
    struct site *s = find_site(name, site);
    if (!s) return;
    if (sizes)
        s->count = a, s->bytes = b;
    else
        s->time = a * 1e-3;
}

static int read_mpip(char *all)
{
    enum { NONE, TOTAL, TIMES, SENT } part = NONE;
    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n")) {
        double app;
        if (!strncmp(line, "@---", 4)) {
            if (strstr(line, "MPI Time (seconds)"))
                part = TOTAL;
            else if (strstr(line, "Aggregate Time"))
                part = TIMES;
            else if (strstr(line, "Aggregate Sent Message Size"))
                part = SENT;
            else
                part = NONE;
        } else if (part == TOTAL && sscanf(line, " * %lf", &app) == 1)
            profile.app = app;
        else if (part == TIMES || part == SENT)
            mpip_line(line, part == SENT);
    }
    return profile.app > 0 && profile.n > 0 ? 0 : -1;
}

static int read_profile(const char *path)
{
    char *all = slurp(path);
    if (!all) return fprintf(stderr, "unisono-bench: project: cannot read %s\n", path), -1;
    int bad = strstr(all, "@ mpiP") || strstr(all, "@--- MPI Time") ? read_mpip(all) : read_own(all);
    free(all);
    if (bad)
        fprintf(stderr, "unisono-bench: project: %s is neither our JSON profile nor mpiP's text with a total time\n",
                path);
    return bad;
}

// Records of pattern rows: st and part at the same size make one gain.
static void take_record(char *line)
{
    char variant[16], row[32];
    const char *end = line + strlen(line);
    text(line, end, "variant", variant, sizeof variant);
    text(line, end, "row", row, sizeof row);
    if ((strcmp(variant, "st") != 0 && strcmp(variant, "part") != 0) || !member(line, end, "value")) return;
    long size = (long)number(line, end, "size");
    int i = 0;
    while (i < gain_count && gains[i].size != size) i++;
    if (i == GAINS) return;
    if (i == gain_count) gains[gain_count++].size = size;
    double *to = strcmp(variant, "st") ? gains[i].part : gains[i].st;
    const char *ci = member(line, end, "ci");
    char *comma = NULL;
    to[0] = number(line, end, "value");
    to[1] = ci ? strtod(ci, &comma) : to[0];
    to[2] = ci && *comma == ',' ? strtod(comma + 1, NULL) : to[0];
}

static int read_gain(const char *given)
{
    char *end;
    fixed_gain = strtod(given, &end);
    if (!*end && end != given) return fixed_gain > 0 ? 0 : -1;
    fixed_gain = 0;
    char *all = slurp(given);
    if (!all) return fprintf(stderr, "unisono-bench: project: cannot read %s\n", given), -1;
    if (strstr(all, "\"oversubscribed\": true"))
        fprintf(stderr,
                "unisono-bench: project: the gains in %s were measured with more ranks than cores: they show how "
                "ranks waited for a core\n",
                given);
    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
        if (*line == '{') take_record(line);
    free(all);
    int whole = 0;
    for (int i = 0; i < gain_count; i++)
        if (gains[i].st[0] > 0 && gains[i].part[0] > 0) gains[whole++] = gains[i];
    gain_count = whole;
    if (!whole)
        fprintf(stderr, "unisono-bench: project: %s holds no pattern row with both variants, st and part\n", given);
    return whole ? 0 : -1;
}

// Gain at a message size: of the nearest measured size on a logarithmic scale. which: 0 median, 1 least, 2 most.
static double gain_at(double bytes, int which)
{
    if (fixed_gain > 0) return fixed_gain;
    int best = 0;
    double nearest = 1e30;
    for (int i = 0; i < gain_count; i++) {
        double a = bytes > 1 ? bytes : 1, b = (double)(gains[i].size > 1 ? gains[i].size : 1),
               off = a > b ? a / b : b / a;
        if (off < nearest) nearest = off, best = i;
    }
    const struct gain *g = &gains[best];
    double st = g->st[which == 1 ? 1 : which == 2 ? 2 : 0], part = g->part[which == 1 ? 2 : which == 2 ? 1 : 0];
    return st / part;
}

static int point_to_point(const char *call)
{
    static const char *const names[] = {"send",     "ssend", "rsend",    "bsend",   "isend",   "issend",
                                        "recv",     "irecv", "wait",     "waitall", "waitany", "waitsome",
                                        "sendrecv", "start", "startall", "probe",   "test"};
    if (strncmp(call, "MPI_", 4) == 0) call += 4;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(call, names[i])) return 1;
    return 0;
}

// A wait moves the bytes of what it waits for; profiles give it none, so it takes the mean message of the program.
static double mean_message(void)
{
    double bytes = 0, count = 0;
    for (int i = 0; i < profile.n; i++) {
        const struct site *s = &profile.site[i];
        if (!point_to_point(s->call) || s->bytes <= 0) continue;
        bytes += s->bytes;
        count += s->count;
    }
    return count > 0 ? bytes / count : 0;
}

static void show_site(const struct opts *o, const struct site *s, double size)
{
    if (o->format != TABLE) return;
    printf("%-18s %-24s %10.4g %8.2f %12.0f %8.3f\n", s->call, s->where, s->time, 100 * s->time / profile.app, size,
           gain_at(size, 0));
}

int bench_project(const struct opts *o)
{
    if (!o->profile || !o->gain) {
        fprintf(stderr,
                "unisono-bench: project needs --profile FILE and --gain FILE (records of pattern rows) or a number\n");
        return 2;
    }
    if (read_profile(o->profile) || read_gain(o->gain)) return 2;
    double spent = 0, after[3] = {0, 0, 0}, mean = mean_message();
    if (o->format == TABLE)
        printf("%-18s %-24s %10s %8s %12s %8s\n", "call", "site", "seconds", "% of run", "bytes", "gain");
    for (int i = 0; i < profile.n; i++) {
        const struct site *s = &profile.site[i];
        if (!point_to_point(s->call)) continue;
        double size = s->bytes > 0 && s->count > 0 ? s->bytes / s->count : mean;
        spent += s->time;
        for (int w = 0; w < 3; w++) after[w] += s->time / gain_at(size, w);
        show_site(o, s, size);
    }
    double up[3];
    for (int w = 0; w < 3; w++) up[w] = profile.app / (profile.app - spent + after[w]);
    if (o->format == JSON)
        printf("{\"schema\": 1, \"row\": \"project\", \"family\": \"pattern\", \"unit\": \"x\", \"value\": %.6g, "
               "\"ci\": [%.6g, %.6g], "
               "\"share\": %.6g}\n",
               up[0], up[1], up[2], spent / profile.app);
    else
        printf("point-to-point takes %.1f %% of the run; ported to partitioned it would run %.3f x as fast (%.3f .. "
               "%.3f)\n",
               100 * spent / profile.app, up[0], up[1], up[2]);
    return 0;
}
