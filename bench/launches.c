// SPDX-License-Identifier: BSD-3-Clause
// `--launches K`: the rows asked for in K jobs of their own, one after the other, started by this parent, which is not
// an MPI program. What a job measures depends on where its memory and its ranks happened to be; the median over jobs
// and its interval do not. Called by main.c; `hello`, which times whole jobs, starts them in the same way.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64, MOST = 100, FIGURES = 512 };

struct figure {
    char row[40], variant[24], unit[16];
    long size, n;
    double value[MOST];
};
static struct figure figures[FIGURES];
static int figure_count;

int bench_job_words(const struct opts *o, char **words, int room)
{
    static char command[1024], self[1024], np[16];
    int n = 0;
    snprintf(command, sizeof command, "%s", o->launcher);
    for (char *w = strtok(command, " "); w && n < room - 4; w = strtok(NULL, " ")) words[n++] = w;
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0 || n == 0) return -1;
    snprintf(np, sizeof np, "%d", o->np);
    words[n++] = "-n";
    words[n++] = np;
    words[n++] = self;
    return n;
}

// Our own command line without what is for the parent.
static int pass_on(const struct opts *o, char **words, int n)
{
    static const char *const ours[] = {"--launches", "--launcher", "--np", "--format", "--json"};
    for (int i = 1; i < o->argc && n < WORDS - 3; i++) {
        int skip = 0;
        for (int k = 0; k < 5; k++) {
            size_t len = strlen(ours[k]);
            if (!strcmp(o->argv[i], ours[k])) skip = 2;
            if (!strncmp(o->argv[i], ours[k], len) && o->argv[i][len] == '=') skip = 1;
        }
        if (skip)
            i += skip - 1;
        else
            words[n++] = o->argv[i];
    }
    words[n++] = "--format";
    words[n++] = "json";
    words[n] = NULL;
    return n;
}

static void text_of(const char *line, const char *key, char *out, size_t len)
{
    const char *p = strstr(line, key);
    p = p ? p + strlen(key) : "";
    snprintf(out, len, "%.*s", (int)strcspn(p, "\""), p);
}

static void take(const char *line)
{
    struct figure f = {.size = 0};
    const char *value = strstr(line, "\"value\": "), *size = strstr(line, "\"size\": ");
    if (!value) return;
    text_of(line, "\"row\": \"", f.row, sizeof f.row);
    text_of(line, "\"variant\": \"", f.variant, sizeof f.variant);
    text_of(line, "\"unit\": \"", f.unit, sizeof f.unit);
    if (size) f.size = strtol(size + 8, NULL, 10);
    int i = 0;
    while (i < figure_count && (figures[i].size != f.size || strcmp(figures[i].row, f.row) != 0 ||
                                strcmp(figures[i].variant, f.variant) != 0))
        i++;
    if (i == FIGURES) return;
    if (i == figure_count) figures[figure_count++] = f;
    if (figures[i].n < MOST) figures[i].value[figures[i].n++] = strtod(value + 9, NULL);
}

// Runs one job and takes its records in. Its exit status.
static int run_job(char **words)
{
    static char line[65536];
    int fd[2], status = -1;
    if (pipe(fd)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], 1);
        close(fd[0]);
        close(fd[1]);
        execvp(words[0], words);
        fprintf(stderr, "unisono-bench: cannot run %s\n", words[0]);
        _exit(127);
    }
    close(fd[1]);
    FILE *f = fdopen(fd[0], "r");
    while (f && fgets(line, sizeof line, f))
        if (*line == '{') take(line);
    if (f) fclose(f);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void put(FILE *out, enum format format, const struct figure *f, int np)
{
    double sorted[MOST];
    struct stats s;
    memcpy(sorted, f->value, sizeof sorted);
    bench_stats(sorted, f->n, &s);
    const char *slash = *f->variant ? "/" : "";
    if (format == TABLE)
        fprintf(out, "%s%s%-*s %10ld %12.5g %-6s %10.4g %10.4g %6ld\n", f->row, slash,
                (int)(28 - strlen(f->row) - strlen(slash)), f->variant, f->size, s.median, f->unit, s.min, s.max, f->n);
    if (format == CSV)
        fprintf(out, "%s%s%s,%ld,%d,%.6g,%s,%.6g,%.6g,%ld\n", f->row, slash, f->variant, f->size, np, s.median, f->unit,
                s.min, s.max, f->n);
    if (format != JSON) return;
    fprintf(
        out,
        "{\"schema\": 1, \"row\": \"%s\", \"variant\": \"%s\", \"size\": %ld, \"np\": %d, \"unit\": \"%s\", \"value\": "
        "%.6g, \"ci\": [%.6g, %.6g], \"min\": %.6g, \"max\": %.6g, \"launches\": %ld, \"each\": [",
        f->row, f->variant, f->size, np, f->unit, s.median, s.lo, s.hi, s.min, s.max, f->n);
    for (long i = 0; i < f->n; i++) fprintf(out, "%s%.6g", i ? ", " : "", f->value[i]);
    fprintf(out, "]}\n");
}

int bench_launches(const struct opts *o)
{
    char *words[WORDS];
    int n = bench_job_words(o, words, WORDS / 2), jobs = o->launches > MOST ? MOST : o->launches;
    if (bench_in_job()) {
        if (bench_speaks())
            fprintf(stderr, "unisono-bench: --launches starts the jobs itself (--launcher, --np): run it without "
                            "mpiexec around it\n");
        return bench_refusal();
    }
    if (n < 0) return 2;
    pass_on(o, words, n);
    for (int i = 0; i < jobs; i++) {
        int status = run_job(words);
        if (status) {
            fprintf(stderr, "unisono-bench: job %d of %d ended with status %d\n", i + 1, jobs, status);
            return status == 2 ? 2 : 1;
        }
    }
    FILE *json = o->json ? fopen(o->json, "w") : NULL;
    if (o->format == TABLE)
        printf("%-28s %10s %12s %-6s %10s %10s %6s\n", "row", "bytes", "median", "", "least", "most", "jobs");
    if (o->format == CSV) printf("row,size,np,value,unit,min,max,launches\n");
    for (int i = 0; i < figure_count; i++) {
        put(stdout, o->format, &figures[i], o->np);
        if (json) put(json, JSON, &figures[i], o->np);
    }
    if (json) fclose(json);
    return 0;
}
