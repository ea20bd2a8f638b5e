// SPDX-License-Identifier: BSD-3-Clause
// The contract between the driver and its kernels. A benchmark is one `struct kernel` row in the table of its family
// (k_<family>.c) and a few small functions; the driver owns sizes, repetition, clocks, statistics, validation, output.
// Times are seconds in `double` inside; a row's unit is applied when its figures are printed.
// Kernels use only r->comm (and communicators made from it), never MPI_COMM_WORLD, so that sessions work.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE    // affinity, cross-memory attach; this header comes first in every file
#endif
#include "compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define BENCH_SIZES 64
#define BENCH_EXTRAS 8

enum mode { BLOCKING, NONBLOCKING, PERSISTENT };
enum sync { SYNC_AUTO, SYNC_BATCH, SYNC_BARRIER, SYNC_WINDOW, SYNC_APART };
enum format { TABLE, CSV, JSON, SILENT };
enum noise { NOISE_NONE, NOISE_SINGLE, NOISE_UNIFORM, NOISE_GAUSS };
enum cache { HOT, ROTATE, FLUSH };

// Everything the command line can say; options.c fills it, nothing writes it afterwards.
struct opts {
    long sizes[BENCH_SIZES];
    int nsizes;                 // 0: the row's default
    long iterations, warmup;    // 0: adaptive
    double time, ci;            // bound in seconds per size; wanted half width of the interval of the median
    int each;                   // 1: one operation per sample
    int window, threads, parts, parts_recv, depth, groups, ranks, tests;
    int root;    // -1: rotating
    int in_place, no_check, quick, bounded, idle, line;
    int level;    // thread level asked for, -1: what the rows need
    int session, bridge, map_reverse, win;
    enum sync sync;
    enum format format;
    enum cache cache;
    enum noise noise;
    enum mode mode;
    double noise_pct, noise_abs, compute;    // per cent of compute, seconds, seconds
    long align, flush;
    unsigned long seed;
    const char *variant, *type, *op, *mem, *json, *raw, *profile, *launcher, *compat, *arrival, *file, *gain, *graph,
        *dims, *label;
    int launches, np;
    const char *rows[64];
    int nrows;
    int argc;
    char **argv;    // as given, for the record
};

struct stats {
    long n;
    double mean, sd, min, p1, p5, p25, median, p75, p95, p99, max, lo, hi, lag1;
};

struct kernel;

// One run of one row at one size on the ranks that take part.
struct run {
    const struct kernel *k;
    const struct opts *o;
    MPI_Comm comm;
    int rank, size;
    int peer;      // partner in rows that work in pairs (r, r + size/2)
    long bytes;    // the size axis of this run
    int count;     // elements of `type` in `bytes`
    MPI_Datatype type;
    MPI_Op op;
    enum mode mode;
    int variant;    // index in the row's list
    int root;       // root of this sample
    int window;     // slots in flight, already bounded by memory
    char *sbuf, *rbuf;
    MPI_Request *req;              // 2 * window requests
    void *priv;                    // of the row, from setup to teardown
    double extra[BENCH_EXTRAS];    // further figures of this sample, read on rank 0
    double in, out;                // an op may set both when its own interval is truer than the driver's (threads)
    double payload;                // bytes of one operation for the MB/s column; 0: no such column
    double msgs;                   // messages of one operation for the rate column; 0: no such column
    char skip[256];                // why the row cannot run
};

enum {
    EVEN = 1,             // works in pairs; an odd last rank stays idle
    THREADED = 2,         // needs MPI_THREAD_MULTIPLE
    NOSIZE = 4,           // no size axis
    DEPTH = 8,            // the size axis is a count, not bytes
    VECTOR = 16,          // default sizes end at 1 MiB (collectives)
    ROOT = 32,            // the figure is rank 0's own interval (ping-pong); otherwise the slowest rank's
    SPAN = 64,            // last rank out minus agreed start, where clocks are aligned
    MODES = 128,          // also as i<name> and p<name>
    ALLVARIANTS = 256,    // runs over the whole axis unless one is asked for
    TYPED = 512,          // elements of --type, default float (reductions)
    NOBATCH = 1024,       // sample() times itself, or one call per sample
    ONESHOT = 2048,       // one sample says it all (start-up, memory)
    ALONE = 4096,         // not part of `all`: a tool or a row that costs seconds
    HALF = 8192,          // an operation is a round trip, the figure half of it
};

struct kernel {
    const char *name, *family, *what;
    int min_ranks, max_ranks;    // max 0: any number
    unsigned flags;
    const char *variants;                 // "std,sync,..."; the first is the default
    const char *extras;                   // "overlap %,busy us"; name and unit of r->extra[], in order
    const char *unit;                     // of the main figure; NULL: us
    int (*setup)(struct run *r);          // 0, or -1 with r->skip; may call bench_buffers()
    void (*op)(struct run *r, long n);    // n operations, between the clock reads
    double (*sample)(struct run *r);      // instead of op: one sample, timed by the row itself
    void (*fill)(struct run *r);          // before a validated operation
    long (*check)(struct run *r);         // after it: offset of the first wrong byte, or -1
    void (*teardown)(struct run *r);
    void (*call)(struct run *r, MPI_Request *q);    // collectives: one call in r->mode
    const char *absent;                             // set: this mpi.h lacks what the row needs
};

// rows.c
const struct kernel *bench_row(int i);    // NULL after the last
const struct kernel *bench_find(const char *name, enum mode *mode, const char **variant);
const char *bench_nearest(const char *word, const char *const *words, int n);
int bench_axis(const char *list, int i, char *out, size_t len);    // i-th word of "a,b,c": 0, or -1
int bench_axis_find(const char *list, const char *word);
void bench_list(void);

// options.c
int bench_options(struct opts *o, int argc, char **argv);    // 0, or 2 after its one line on stderr
int bench_sizes_parse(struct opts *o, const char *text);
int bench_in_job(void);                  // 1: a launcher has started this process as a rank
int bench_refusal(void);                 // the exit status of a rank whose command line is wrong
int bench_is_crowd(const char *tool);    // 1: there are other ranks, of which the tool has no use; one line says so
int bench_speaks(void);                  // 1 on the one rank that complains about the command line

// driver.c: runs one row over sizes and variants; returns the number of failures.
int bench_run(const struct kernel *k, enum mode mode, const char *variant, const struct opts *o, MPI_Comm world);
double bench_quiet_op(struct run *r, long n);    // n operations timed on this rank, no statistics
void bench_guard(MPI_Comm comm);
int bench_ok(struct run *r, int code, const char *what);    // 1, or 0 with r->skip

// stats.c
void bench_stats(double *sample, long n, struct stats *s);    // sorts the samples
double bench_median(double *sample, long n);                  // sorts too
double bench_sqrt(double x);

// buffers.c
int bench_buffers(struct run *r, size_t sbytes, size_t rbytes);
void bench_buffers_free(void);
void bench_fill(void *buf, size_t n, unsigned long seed);
long bench_check(const void *buf, size_t n, unsigned long seed);
void bench_flush(size_t bytes);
void bench_values(struct run *r, void *buf, long first, long n, int rank);    // elements for a reduction
long bench_values_check(struct run *r, const void *buf, long first, long n, int lo, int hi);
unsigned long bench_random(unsigned long *state);
double bench_uniform(unsigned long *state);
double bench_gauss(unsigned long *state);

// clock.c
// Between two looks at a word that another core writes.
static inline void bench_rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
extern double bench_offset;    // this rank's clock minus rank 0's
struct bench_clock {
    double cost, tick;
};
void bench_clock_measure(struct bench_clock *c);
double bench_clock_sync(MPI_Comm comm, int remote_only);    // returns the error bound of this rank's offset
// How far the offsets have moved since then: the worst rank's, with the error bound; on rank 0.
double bench_clock_drift(MPI_Comm comm, int remote_only, double *bound);
void bench_compute_calibrate(void);
void bench_compute(double seconds);    // a work loop of about that long, without MPI or clock reads

// team.c: threads that stay for a whole run; thread 0 is the caller
struct team;
struct team *bench_team(int n, void (*work)(void *arg, int thread), void *arg);
void bench_team_run(struct team *t, double *in, double *out);    // all threads once; first start and last end
void bench_team_meet(struct team *t);                            // a barrier between the threads, inside work()
int bench_threads(const struct run *r, int least, int most);     // --threads, or `least`; never above `most`
void bench_delays(const struct run *r, unsigned long *state, double *delay,
                  int n);    // work and noise of n partitions or threads
void bench_team_end(struct team *t);

// k_io.c: the path of a row's file, by --file or TMPDIR
void bench_io_path(struct run *r, char *path, size_t n);

// coll.c: what all collective rows share
struct coll {
    int *counts, *displs;      // per rank, of the imbalance asked for
    int *rcounts, *rdispls;    // of the receiving side (alltoallv, alltoallw)
    MPI_Datatype *types;       // alltoallw
    int largest;               // of counts
    long total;                // sum of counts
    MPI_Request q;             // persistent mode
    int ready;                 // q exists
};
int bench_coll_setup(struct run *r, size_t sbytes,
                     size_t rbytes);    // buffers, r->priv as struct coll, persistent request
int bench_coll_counts(struct run *r);
void bench_coll_op(struct run *r, long n);
void bench_coll_end(struct run *r);

// line.c: --line. Both collective; microseconds that a cache line takes from core to core, on rank 0.
int bench_line_begin(MPI_Comm world);    // 0, or -1 with the reason on stderr
double bench_line(int rank, int ranks);

// out.c
void bench_out_begin(const struct opts *o, MPI_Comm world, int level);
void bench_out_row(const struct run *r, const char *variant);
struct figures {
    struct stats s;
    struct stats extra[BENCH_EXTRAS];
    int nextra, batch, checked;
    double rank_min, rank_mean, rank_max, skew;    // over ranks: medians of the per-sample values, seconds
    double line[2];                                // us from core to core before and after; 0: not measured
    double drift, drift_bound;                     // of the clocks' offsets by the end, where start times were agreed
    long late;
    const char *stop, *sync;
};
void bench_out_line(const struct run *r, const char *variant, const struct figures *f);
void bench_out_skip(const char *name, const char *variant, const char *why);
void bench_out_end(void);
double bench_scale(const char *unit);    // seconds to unit; 1 for units that are not times
extern double bench_init_time;           // seconds MPI_Init took on this rank

// main.c: the rows of a command line on a communicator of a program that has started MPI itself, as the suite in Python
// has; the sources are then compiled with -shared -fPIC. Collective over comm; 0, 1 (wrong data) or 2 (usage).
int bench_rows_on(MPI_Comm comm, int argc, char **argv);

// tools that need no MPI
int bench_floor(const struct opts *o);
double bench_floor_line(int cpu, int other);    // seconds that a cache line takes between these two
void bench_pin_nth(int which);                  // this process to the allowed core of that number
char *bench_huge_buffer(size_t bytes);          // on huge pages where there are some; NULL: no memory
int bench_costs(void);
int bench_hello(const struct opts *o);
int bench_launches(const struct opts *o);
int bench_death(const struct opts *o);                                // a job of its own, of which rank 0 is left
int bench_job_words(const struct opts *o, char **words, int room);    // launcher -n np self; how many, or -1
int bench_core(const struct opts *o);
int bench_project(const struct opts *o);
#endif
