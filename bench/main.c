// SPDX-License-Identifier: BSD-3-Clause
// unisono-bench: parses the command line, runs the tools that need no MPI (list, floor, hello, project, compare) and
// `death`; otherwise starts MPI at the thread level that the chosen rows need, and runs them in order. Ends non-zero if
// any validation failed (1) or the usage was wrong (2).
#include "bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct choice {
    const struct kernel *k;
    enum mode mode;
    const char *variant;
};
static struct choice chosen[256];
static int chosen_count;

static void choose(const struct kernel *k, enum mode mode, const char *variant)
{
    if (chosen_count < 256) chosen[chosen_count++] = (struct choice){k, mode, variant};
}

static int misspelt(const char *name)
{
    const char *names[300];
    int n = 0;
    const struct kernel *k;
    for (int i = 0; n < 290 && (k = bench_row(i)); i++) names[n++] = k->name;
    static const char *const tools[] = {"list", "floor",   "costs",   "hello", "death",
                                        "core", "project", "compare", "all"};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) names[n++] = tools[i];
    const char *near = bench_nearest(name, names, n);
    if (!bench_speaks()) return 2;
    fprintf(stderr, "unisono-bench: no row or family '%s'%s%s%s\n", name,
            near ? " (did you mean " : "; try `unisono-bench list`", near ? near : "", near ? "?)" : "");
    return 2;
}

static int choose_rows(const struct opts *o)
{
    for (int w = 0; w < o->nrows; w++) {
        const struct kernel *k;
        int before = chosen_count, all = !strcmp(o->rows[w], "all");
        for (int i = 0; (k = bench_row(i)); i++)
            if (!(k->flags & ALONE) && (all || !strcmp(k->family, o->rows[w])))
                choose(k, k->flags & MODES ? o->mode : BLOCKING, o->variant);
        if (chosen_count > before) continue;
        enum mode mode = o->mode;
        const char *variant = o->variant;
        k = bench_find(o->rows[w], &mode, &variant);
        if (!k) return misspelt(o->rows[w]);
        choose(k, k->flags & MODES ? mode : BLOCKING, variant);
    }
    if (chosen_count) return 0;
    if (bench_speaks())
        fprintf(stderr, "unisono-bench: name a row, a family, all, list or floor; --help shows the options\n");
    return 2;
}

static int level_needed(const struct opts *o)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    if (o->level >= 0) return levels[o->level];
    for (int i = 0; i < chosen_count; i++)
        if (chosen[i].k->flags & THREADED) return MPI_THREAD_MULTIPLE;
    return MPI_THREAD_SINGLE;
}

#if HAVE_MPI4
static MPI_Session session = MPI_SESSION_NULL;

static MPI_Comm session_world(void)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "org.unisono.bench", info, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void session_end(void)
{
    MPI_Session_finalize(&session);
}
#else
static MPI_Comm session_world(void)
{
    bench_absent("sessions");
    return MPI_COMM_NULL;
}

static void session_end(void)
{
}
#endif

// The ranks of the job and as many that they spawn, alternating, so that neighbours are of different jobs. The spawned
// ones come here too, with the same command line.
static MPI_Comm bridged_world(const struct opts *o)
{
    char self[PATH_MAX] = "";
    int rank, size;
    MPI_Comm parent, other, merged, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    other = parent;
    if (parent == MPI_COMM_NULL) {
        if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) exit(2);
        MPI_Comm_spawn(self, o->argv + 1, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    }
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
    MPI_Comm_split(merged, 0, 2 * rank + (parent != MPI_COMM_NULL), &world);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    return world;
}

// The world communicator of the suite, and the thread level got.
static MPI_Comm start(const struct opts *o, int *argc, char ***argv, int *level)
{
    MPI_Comm comm, world;
    *level = MPI_THREAD_SINGLE;
    double begun = bench_now();
    if (o->session)
        world = session_world();
    else {
        MPI_Init_thread(argc, argv, level_needed(o), level);
        world = MPI_COMM_WORLD;
    }
    bench_init_time = bench_now() - begun;
    if (!o->session) bench_guard(MPI_COMM_SELF);
    if (!o->session) bench_guard(MPI_COMM_WORLD);
    if (o->bridge) world = bridged_world(o);
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int in = !o->ranks || rank < o->ranks;
    MPI_Comm_split(world, in ? 0 : MPI_UNDEFINED, rank, &comm);
    if (o->session || o->bridge) MPI_Comm_free(&world);
    return comm;
}

// Ranks that share cores start one after the other, and an MPI that watches what its waits cost needs a while to see
// that this is over.
static void settle(MPI_Comm world)
{
    double begun = bench_now();
    int size, more = 1;
    MPI_Comm_size(world, &size);
    while (size > sysconf(_SC_NPROCESSORS_ONLN) && more) {
        more = bench_now() - begun < 0.1;
        MPI_Bcast(&more, 1, MPI_INT, 0, world);
        MPI_Barrier(world);
    }
}

static int run_chosen(const struct opts *o, MPI_Comm world, int level)
{
    int failed = 0;
    bench_guard(world);
    bench_clock_sync(world, 1);
    bench_out_begin(o, world, level);
    settle(world);
    if (o->line && bench_line_begin(world)) return 2;
    for (int i = 0; i < chosen_count; i++) {
        failed += bench_run(chosen[i].k, chosen[i].mode, chosen[i].variant, o, world);
        MPI_Barrier(world);
    }
    bench_out_end();
    return failed;
}

int bench_rows_on(MPI_Comm comm, int argc, char **argv)
{
    static struct opts o;
    MPI_Comm world;
    int level, bad = bench_options(&o, argc, argv);
    chosen_count = 0;
    if (bad || choose_rows(&o)) return 2;
    MPI_Query_thread(&level);
    MPI_Comm_dup(comm, &world);
    int failed = run_chosen(&o, world, level);
    MPI_Comm_free(&world);
    return failed ? 1 : 0;
}

static int run_all(const struct opts *o, int argc, char **argv)
{
    int level, failed = 0;
    MPI_Comm world = start(o, &argc, &argv, &level);
    if (world != MPI_COMM_NULL) {
        failed = run_chosen(o, world, level);
        MPI_Comm_free(&world);
    }
    bench_buffers_free();
    if (o->session)
        session_end();
    else
        MPI_Finalize();
    return failed ? 1 : 0;
}

// The comparison is a Python program beside this one, or in share/unisono/bench of an installed tree.
static int compare(char **argv)
{
    static const char *const places[] = {"compare", "../bench/compare", "../../bench/compare",
                                         "../share/unisono/bench/compare"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        if (access(path, X_OK) == 0) execv(path, argv + 1);
    }
    fprintf(stderr, "unisono-bench: the program `compare` is not beside this one\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct opts o;
    if (argc > 1 && !strcmp(argv[1], "compare")) return compare(argv);
    int bad = bench_options(&o, argc, argv);
    if (bad) return bad < 0 ? 0 : bench_refusal();
    const char *first = o.nrows ? o.rows[0] : "";
    if (!strcmp(first, "list")) return bench_list(), 0;
    if (!strcmp(first, "floor")) return bench_is_crowd(first) ? bench_refusal() : bench_floor(&o);
    if (!strcmp(first, "costs")) return bench_is_crowd(first) ? bench_refusal() : bench_costs();
    if (!strcmp(first, "hello")) return bench_hello(&o);
    if (!strcmp(first, "death")) return bench_death(&o);
    if (!strcmp(first, "core")) return bench_core(&o);
    if (!strcmp(first, "project")) return bench_project(&o);
    if (choose_rows(&o)) return bench_refusal();
    if (o.launches > 0) return bench_launches(&o);
    return run_all(&o, argc, argv);
}
