// SPDX-License-Identifier: BSD-3-Clause
// The command line: one table of options, their peers' spellings, and the checks. Called once by main before MPI_Init,
// so that a bad option costs one line on stderr (with the nearest name) and exit status 2. Nothing here calls MPI.
#include "bench.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, INT, LONG, BYTES, REAL, MICROS, TEXT, WORD, SIZES, ROOTS, UNSET };

struct option {
    const char *name, *alias;    // alias: the peers' spellings, comma-separated
    enum kind kind;
    size_t at;
    const char *words;    // WORD: allowed values, in the order of the enum
    const char *help;
};

#define AT(field) offsetof(struct opts, field)
static const struct option table[] = {
    {"--sizes", "-m,--message-size", SIZES, 0, NULL,
     "A:B[:xF] (steps of F, default 2) or a list; K, M, G; one number is the upper end for -m"},
    {"--iterations", "-i,-iter", LONG, AT(iterations), NULL, "fixed number of samples instead of adaptive repetition"},
    {"--warmup", "-x,--warm-up", LONG, AT(warmup), NULL, "fixed number of warm-up operations"},
    {"--time", NULL, REAL, AT(time), NULL, "most seconds of sampling per size (default 1)"},
    {"--ci", NULL, REAL, AT(ci), NULL, "stop when the 95 % interval of the median is within this per cent (default 2)"},
    {"--samples", NULL, WORD, AT(each), "batch,each",
     "batch: many operations per sample; each: one, for the true spread"},
    {"--window", "-W,--window-size", INT, AT(window), NULL, "messages in flight (default 64)"},
    {"--threads", "-t", INT, AT(threads), NULL, "threads per rank (default 2; partitioned: one per partition)"},
    {"--parts", "--partitions", INT, AT(parts), NULL, "partitions of the sender (default 8)"},
    {"--parts-recv", NULL, INT, AT(parts_recv), NULL, "partitions of the receiver (default: as the sender)"},
    {"--depth", NULL, INT, AT(depth), NULL, "queue depth, radius of a neighbourhood, children (row's default when 0)"},
    {"--dims", NULL, TEXT, AT(dims), NULL, "process grid of patterns, as 2x2x1"},
    {"--variant", NULL, TEXT, AT(variant), NULL, "one value of the row's axis, or all"},
    {"--mode", NULL, WORD, AT(mode), "blocking,nonblocking,persistent",
     "of collectives; also by name: iallreduce, pallreduce"},
    {"--sync", NULL, WORD, AT(sync), "auto,batch,barrier,window,apart",
     "how ranks start a sample (auto: window, or batch when ranks exceed cores; apart: a barrier before each call)"},
    {"--root", "-root", ROOTS, AT(root), NULL, "root of rooted collectives, or rotate"},
    {"--type", "-d", TEXT, AT(type), NULL, "byte, int, int64, float or double (reductions: float)"},
    {"--op", NULL, WORD, AT(op), NULL, "sum, prod, max, min, band, bor, bxor"},
    {"--in-place", NULL, FLAG, AT(in_place), NULL, "MPI_IN_PLACE where the call allows it"},
    {"--cache", NULL, WORD, AT(cache), "hot,rotate,flush",
     "buffers reused, walked, or flushed from the caches before each sample"},
    {"--flush-bytes", NULL, BYTES, AT(flush), NULL, "size of the walk for --cache flush (default 64M)"},
    {"--align", NULL, BYTES, AT(align), NULL, "offset of the buffers from a page boundary"},
    {"--mem", NULL, WORD, AT(mem), NULL, "host, hugepage, cuda, managed, rocm"},
    {"--no-check", NULL, FLAG, AT(no_check), NULL, "do not validate the data"},
    {"--check", "-c,--validation", UNSET, AT(no_check), NULL, "validate the data (default)"},
    {"--thread-level", NULL, WORD, AT(level), "single,funneled,serialized,multiple",
     "level asked of MPI_Init_thread (default: what the rows need)"},
    {"--session", NULL, FLAG, AT(session), NULL, "start through an MPI-4 session instead of MPI_Init"},
    {"--bridge", NULL, FLAG, AT(bridge), NULL,
     "the ranks spawn as many again, and all together are those that take part: half of them of another job"},
    {"--ranks", "-npmin", INT, AT(ranks), NULL, "ranks that take part (default all)"},
    {"--groups", "-multi", INT, AT(groups), NULL, "disjoint groups that run at once"},
    {"--map-reverse", NULL, FLAG, AT(map_reverse), NULL, "reverse the order of ranks"},
    {"--arrival", NULL, WORD, AT(arrival), NULL, "coll-skew: last, linear or random"},
    {"--win", NULL, WORD, AT(win), "allocate,create,dynamic,shared", "one-sided: how the window is made"},
    {"--compute", "--compute-time", MICROS, AT(compute), NULL, "work between messages, us (overlap, part, pattern)"},
    {"--tests", "--num-test-calls", INT, AT(tests), NULL, "ovl-coll: MPI_Test calls in the computation (default 8; 0)"},
    {"--idle", NULL, FLAG, AT(idle), NULL, "ovl-coll: the core sleeps instead of computing (as beside an accelerator)"},
    {"--noise", "--noise-type", WORD, AT(noise), "none,single,uniform,gauss", "noise on that work"},
    {"--noise-pct", "--percent-noise", REAL, AT(noise_pct), NULL,
     "amount of noise in per cent of the work (default 4)"},
    {"--noise-us", NULL, MICROS, AT(noise_abs), NULL, "amount of noise in us, on top of that"},
    {"--seed", NULL, LONG, AT(seed), NULL, "of content, noise and random patterns"},
    {"--graph", NULL, TEXT, AT(graph), NULL, "neighbourhood rows: file of edges, one line FROM TO per edge"},
    {"--file", NULL, TEXT, AT(file), NULL, "path for the io rows (default: in TMPDIR)"},
    {"--launcher", NULL, TEXT, AT(launcher), NULL,
     "hello, --launches: command that starts ranks, up to its -n (default mpiexec)"},
    {"--np", NULL, INT, AT(np), NULL, "hello, --launches: ranks per job (default 2)"},
    {"--launches", NULL, INT, AT(launches), NULL,
     "any row in so many jobs, medians over them (hello: default 5); without mpiexec"},
    {"--profile", NULL, TEXT, AT(profile), NULL, "project: profile written by mpiexec --profile (JSON) or by mpiP"},
    {"--gain", NULL, TEXT, AT(gain), NULL, "project: JSON of measured pattern rows, or a number"},
    {"--compat", NULL, WORD, AT(compat), NULL, "omb, imb or mpm: fixed counts and plain loop as that suite has them"},
    {"--format", NULL, WORD, AT(format), "table,csv,json,none", "what goes to stdout"},
    {"--json", NULL, TEXT, AT(json), NULL, "also write one JSON record per (row, size) to this file"},
    {"--raw", NULL, TEXT, AT(raw), NULL, "also write all samples to this file"},
    {"--label", NULL, TEXT, AT(label), NULL, "name of this run in the records"},
    {"--line", NULL, FLAG, AT(line), NULL,
     "records tell what a cache line took from core to core before and after each figure (one host, JSON)"},
    {"--quick", NULL, FLAG, AT(quick), NULL, "few sizes, 30 samples, at most 20 ms per size"},
};
enum { OPTIONS = sizeof table / sizeof *table };

static const char *const rank_names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "UNISONO_RANK",
                                         "SLURM_PROCID"};

int bench_in_job(void)
{
    for (int i = 0; i < 5; i++)
        if (getenv(rank_names[i])) return 1;
    return 0;
}

// What measures with processes of its own has no use for ranks beside it. 1: there are some, and the first one said so.
int bench_is_crowd(const char *tool)
{
    const char *names[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}, *size;
    for (int i = 0; i < 2; i++) {
        if (!(size = getenv(names[i])) || atoi(size) < 2) continue;
        if (bench_speaks())
            fprintf(stderr, "unisono-bench: %s starts its processes itself: run it without mpiexec around it\n", tool);
        return 1;
    }
    return 0;
}

// Before MPI is started every rank parses the same line; by the launchers' variables only rank 0 complains.
int bench_speaks(void)
{
    for (int i = 0; i < 5; i++) {
        const char *rank = getenv(rank_names[i]);
        if (rank && strcmp(rank, "0") != 0) return 0;
    }
    return 1;
}

// The status of a rank that was asked for what cannot be: of the one that says so, for a launcher that hears of another
// one first ends it before it can.
int bench_refusal(void)
{
    return bench_speaks() ? 2 : 0;
}

static int complain(const char *what, const char *word, const char *hint)
{
    if (bench_speaks())
        fprintf(stderr, "unisono-bench: %s '%s'%s%s%s\n", what, word, hint ? " (did you mean " : "", hint ? hint : "",
                hint ? "?)" : "");
    return 2;
}

// A number with K, M or G (binary) behind it; -1 if it is none.
static long bytes_parse(const char *s, char **end)
{
    errno = 0;
    long n = strtol(s, end, 10);
    if (*end == s || n < 0 || errno) return -1;
    const char *units = "KMG", *u = **end ? strchr(units, **end & ~32) : NULL;
    if (!u) return n;
    ++*end;
    int shift = 10 * (int)(u - units + 1);
    return n > (INT64_MAX >> shift) ? -1 : n << shift;
}

static int sizes_range(struct opts *o, long a, long b, double factor)
{
    if (b < a || factor <= 1) return -1;
    for (long n = a; n <= b && o->nsizes < BENCH_SIZES;) {
        o->sizes[o->nsizes++] = n;
        long next = (long)((double)n * factor + 0.5);
        n = next > n ? next : n + 1;
    }
    return 0;
}

int bench_sizes_parse(struct opts *o, const char *text)
{
    char *end;
    o->nsizes = 0;
    long a = bytes_parse(text, &end), b;
    if (a < 0) return -1;
    if (*end == ':') {
        double factor = 2;
        b = bytes_parse(end + 1, &end);
        if (b < 0) return -1;
        if (*end == ':' && (end[1] == 'x' || end[1] == 'X')) factor = strtod(end + 2, &end);
        return *end ? -1 : sizes_range(o, a, b, factor);
    }
    for (;;) {
        if (a < 0 || o->nsizes == BENCH_SIZES) return -1;
        o->sizes[o->nsizes++] = a;
        if (*end != ',') return *end ? -1 : 0;
        a = bytes_parse(end + 1, &end);
    }
}

static const struct option *find(const char *name)
{
    for (int i = 0; i < OPTIONS; i++)
        if (!strcmp(table[i].name, name) || (table[i].alias && bench_axis_find(table[i].alias, name) >= 0))
            return &table[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[OPTIONS];
    for (int i = 0; i < OPTIONS; i++) names[i] = table[i].name;
    return complain("unknown option", name, bench_nearest(name, names, OPTIONS));
}

static int word_value(struct opts *o, const struct option *opt, const char *value)
{
    if (!opt->words) {    // kept as text, checked here against the list in its help
        *(const char **)((char *)o + opt->at) = value;
        return 0;
    }
    int i = bench_axis_find(opt->words, value);
    if (i < 0) {
        if (bench_speaks())
            fprintf(stderr, "unisono-bench: %s takes one of %s, not '%s'\n", opt->name, opt->words, value);
        return 2;
    }
    memcpy((char *)o + opt->at, &i, sizeof i);
    return 0;
}

static int number_value(struct opts *o, const struct option *opt, const char *value)
{
    char *end = NULL, *field = (char *)o + opt->at;
    double real = 0;
    long n = 0;
    if (opt->kind == ROOTS && !strcmp(value, "rotate")) return memcpy(field, &(int){-1}, sizeof(int)), 0;
    if (opt->kind == BYTES)
        n = bytes_parse(value, &end);
    else if (opt->kind == REAL || opt->kind == MICROS)
        real = strtod(value, &end);
    else
        n = strtol(value, &end, 10);
    int narrow = opt->kind == INT || opt->kind == ROOTS;
    if (end == value || *end || !(real >= 0) || n < 0 || n > (narrow ? 1L << 20 : 1L << 40))
        return complain(opt->name, value, NULL);
    if (opt->kind == REAL)
        memcpy(field, &real, sizeof real);
    else if (opt->kind == MICROS)
        memcpy(field, &(double){real * 1e-6}, sizeof real);
    else if (narrow)
        memcpy(field, &(int){(int)n}, sizeof(int));
    else
        memcpy(field, &n, sizeof n);
    return 0;
}

// The peers' -m: one number is the upper end.
static int peer_sizes(struct opts *o, const char *value)
{
    char text[128];
    int lower = strchr(value, ':') && value[0] != ':';
    snprintf(text, sizeof text, "%s%s", lower ? "" : value[0] == ':' ? "1" : "1:", value);
    size_t len = strlen(text);
    if (text[len - 1] == ':') snprintf(text + len, sizeof text - len, "4M");
    return bench_sizes_parse(o, text);
}

static int apply(struct opts *o, const struct option *opt, const char *given, const char *value)
{
    if (opt->kind == FLAG || opt->kind == UNSET) {
        int on = opt->kind == FLAG;
        memcpy((char *)o + opt->at, &on, sizeof on);
        return 0;
    }
    if (!value) return complain("a value is missing after", given, NULL);
    if (opt->kind == SIZES) {
        int bad = strcmp(given, "--sizes") ? peer_sizes(o, value) : bench_sizes_parse(o, value);
        return bad ? complain("sizes are A:B, A:B:xF or A,B,C; this is not", value, NULL) : 0;
    }
    if (opt->kind == TEXT) {
        *(const char **)((char *)o + opt->at) = value;
        return 0;
    }
    return opt->kind == WORD ? word_value(o, opt, value) : number_value(o, opt, value);
}

// Values that are kept as text but belong to a list.
static int check_words(const struct opts *o)
{
    static const char *const lists[] = {"byte,int,int64,float,double", "sum,prod,max,min,band,bor,bxor",
                                        "host,hugepage,cuda,managed,rocm", "last,linear,random", "omb,imb,mpm"};
    const char *const values[] = {o->type, o->op, o->mem, o->arrival, o->compat};
    static const char *const names[] = {"--type", "--op", "--mem", "--arrival", "--compat"};
    for (int i = 0; i < 5; i++) {
        if (!values[i] || bench_axis_find(lists[i], values[i]) >= 0) continue;
        if (bench_speaks())
            fprintf(stderr, "unisono-bench: %s takes one of %s, not '%s'\n", names[i], lists[i], values[i]);
        return 2;
    }
    if (o->session && o->bridge) return complain("what --bridge spawns has no parents in", "--session", NULL);
    if (o->line && o->groups > 1) return complain("groups would measure at once with", "--line", NULL);
    int logic = o->op && o->op[0] == 'b';
    if (logic && o->type && (!strcmp(o->type, "float") || !strcmp(o->type, "double")))
        return complain("a bitwise --op has no meaning on --type", o->type, NULL);
    if (o->threads > 64 || o->parts < 1 || o->window < 1 || o->launches < 0 || o->np < 1 || o->groups < 1)
        return complain("counts must be 1 or more (threads at most 64): parts, window, groups, launches, np,",
                        "threads", NULL);
    return 0;
}

static void compat_apply(struct opts *o)
{
    if (!o->compat) return;
    if (!o->iterations) o->iterations = strcmp(o->compat, "mpm") ? 1000 : 100;
    if (!o->warmup) o->warmup = strcmp(o->compat, "imb") ? 100 : 1;
    o->sync = strcmp(o->compat, "omb") ? SYNC_BATCH : SYNC_APART;
}

static void help(void)
{
    puts("usage: unisono-bench ROW... [options]     under mpiexec; rows by name, family, or all\n"
         "       unisono-bench list                 every row and what it measures\n"
         "       unisono-bench floor                what this machine allows, without MPI\n"
         "       unisono-bench costs                what the paths between two cores cost (unisono-tune --machine)\n"
         "       unisono-bench core                 the core figures of two ranks beside that floor\n"
         "       unisono-bench hello [--np N]       start-up of whole jobs, without mpiexec around it\n"
         "       unisono-bench death                from a rank's death to its being known, under mpiexec --survive\n"
         "       unisono-bench project --profile F  what porting to partitioned would bring\n"
         "       unisono-bench compare ...          several MPIs side by side (see bench/compare --help)\n");
    for (int i = 0; i < OPTIONS; i++)
        printf("  %-16s %s%s%s%s\n", table[i].name, table[i].help, table[i].words ? " [" : "",
               table[i].words ? table[i].words : "", table[i].words ? "]" : "");
}

int bench_options(struct opts *o, int argc, char **argv)
{
    *o = (struct opts){.time = 1,
                       .ci = 2,
                       .window = 64,
                       .tests = 8,
                       .parts = 8,
                       .level = -1,
                       .mem = "host",
                       .noise_pct = 4,
                       .flush = 64L << 20,
                       .seed = 1,
                       .np = 2,
                       .launcher = "mpiexec",
                       .groups = 1,
                       .arrival = "last",
                       .argc = argc,
                       .argv = argv};
    for (int i = 1; i < argc; i++) {
        char name[64];
        const char *arg = argv[i], *equal = strchr(arg, '=');
        if (arg[0] != '-') {
            if (o->nrows == 64) return complain("too many rows at", arg, NULL);
            o->rows[o->nrows++] = arg;
            continue;
        }
        if (!strcmp(arg, "-h") || !strcmp(arg, "--help")) return help(), -1;
        int len = equal ? (int)(equal - arg) : (int)strlen(arg);
        snprintf(name, sizeof name, "%.*s", len, arg);
        const struct option *opt = find(name);
        if (!opt) return unknown(name);
        int takes = opt->kind != FLAG && opt->kind != UNSET;
        const char *value = equal ? equal + 1 : takes && i + 1 < argc ? argv[++i] : NULL;
        int bad = apply(o, opt, name, value);
        if (bad) return bad;
    }
    if (o->quick) o->time = 0.02;
    compat_apply(o);
    return check_words(o);
}
