// SPDX-License-Identifier: BSD-3-Clause
// Runs one row: picks the ranks that take part, makes their communicator, walks the axis and the sizes, calls measure.c
// for each, prints. A row that cannot run here ends as `skipped: reason` on all ranks alike; a call that the library
// does not have yet (MPI_ERR_UNSUPPORTED_OPERATION) is such a reason. Any other MPI error ends the job with its text.
#include "measure.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf escape;
static int may_escape;
static char unsupported[256];

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class = 0, len = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(*code, &class);
    MPI_Error_string(*code, text, &len);
    if (may_escape && class == MPI_ERR_UNSUPPORTED_OPERATION) {
        snprintf(unsupported, sizeof unsupported, "not in this MPI yet: %.200s", text);
        longjmp(escape, 1);
    }
    fprintf(stderr, "unisono-bench: MPI error: %s\n", text);
    MPI_Abort(*comm, 1);
}

void bench_guard(MPI_Comm comm)
{
    static MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (handler == MPI_ERRHANDLER_NULL) MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
}

int bench_absent(const char *call)
{
    fprintf(stderr, "unisono-bench: this program was compiled against an mpi.h without %s\n", call);
    exit(2);
}

int bench_ok(struct run *r, int code, const char *what)
{
    if (code == MPI_SUCCESS) return 1;
    int len;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_string(code, text, &len);
    snprintf(r->skip, sizeof r->skip, "%s: %.200s", what, text);
    return 0;
}

double bench_quiet_op(struct run *r, long n)
{
    double start = bench_now();
    r->k->op(r, n);
    return (bench_now() - start) / (double)n;
}

static void take_type(struct run *r)
{
    static const char *const ops[] = {"sum", "prod", "max", "min", "band", "bor", "bxor"};
    const MPI_Op codes[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR};
    const char *t = r->o->type;
    int logic = r->o->op && r->o->op[0] == 'b';
    r->op = MPI_SUM;
    for (int i = 0; r->o->op && i < 7; i++)
        if (!strcmp(ops[i], r->o->op)) r->op = codes[i];
    if (!t) t = !(r->k->flags & TYPED) ? "byte" : logic ? "int" : "float";
    if (!strcmp(t, "float"))
        r->type = MPI_FLOAT;
    else if (!strcmp(t, "double"))
        r->type = MPI_DOUBLE;
    else if (!strcmp(t, "int64"))
        r->type = MPI_INT64_T;
    else if (!strcmp(t, "int"))
        r->type = MPI_INT;
    else
        r->type = MPI_BYTE;
}

// Sets what depends on the size; false if this size is none for the type.
static bool take_size(struct run *r, long bytes)
{
    int width = 1;
    MPI_Type_size(r->type, &width);
    r->bytes = bytes;
    if (r->k->flags & DEPTH) width = 1;
    if (bytes % width) return false;
    r->count = (int)(bytes / width);
    long slots = (64L << 20) / (bytes > 0 ? bytes : 1);
    r->window = r->o->window;
    if (!(r->k->flags & DEPTH) && r->window > slots) r->window = slots < 1 ? 1 : (int)slots;
    r->payload = r->msgs = 0;
    r->skip[0] = 0;
    r->priv = NULL;
    memset(r->extra, 0, sizeof r->extra);
    r->root = r->o->root < 0 ? 0 : r->o->root % r->size;
    return true;
}

static int begin(struct run *r)
{
    if (r->k->setup) return r->k->setup(r);
    return bench_buffers(r, (size_t)r->bytes + 8, (size_t)r->bytes + 8);
}

// Setup and a first operation, where a missing call shows. 0 on all ranks, or -1 with r->skip on rank 0.
static int attempt(struct run *r)
{
    int bad = -1, worst;
    may_escape = 1;
    if (setjmp(escape))
        snprintf(r->skip, sizeof r->skip, "%s", unsupported);
    else
        bad = begin(r);
    MPI_Allreduce(&bad, &worst, 1, MPI_INT, MPI_MIN, r->comm);
    if (worst == 0 && !(r->k->flags & ONESHOT)) {
        bad = -1;
        if (setjmp(escape))
            snprintf(r->skip, sizeof r->skip, "%s", unsupported);
        else {
            if (r->k->op)
                r->k->op(r, 1);
            else
                r->k->sample(r);
            bad = 0;
        }
        MPI_Allreduce(&bad, &worst, 1, MPI_INT, MPI_MIN, r->comm);
    }
    may_escape = 0;
    if (worst == 0) return 0;
    struct {
        int bad, rank;
    } me = {r->skip[0] ? -1 : 0, r->rank}, who;
    MPI_Allreduce(&me, &who, 1, MPI_2INT, MPI_MINLOC, r->comm);
    MPI_Bcast(r->skip, sizeof r->skip, MPI_CHAR, who.rank, r->comm);
    return -1;
}

static const long *default_sizes(const struct kernel *k, const struct opts *o, int *n)
{
    static struct opts own;
    if (o->nsizes && !(k->flags & NOSIZE)) return *n = o->nsizes, o->sizes;
    const char *text = "0,1:4M";
    if (k->flags & NOSIZE)
        text = "0";
    else if (k->flags & DEPTH)
        text = o->quick ? "0,16,256" : "0,1,4,16,64,256,1024,4096";
    else if (o->quick)
        text = k->flags & TYPED ? "4,1K,64K" : "1,1K,64K";
    else if (k->flags & TYPED)
        text = "4:1M";
    else if (k->flags & VECTOR)
        text = "1:1M";
    else {
        bench_sizes_parse(&own, "1:4M");
        memmove(own.sizes + 1, own.sizes, sizeof own.sizes - sizeof own.sizes[0]);
        own.sizes[0] = 0;
        return *n = own.nsizes + 1, own.sizes;
    }
    bench_sizes_parse(&own, text);
    return *n = own.nsizes, own.sizes;
}

static int run_variant(struct run *r, const char *variant)
{
    int n, failed = 0;
    const long *sizes = default_sizes(r->k, r->o, &n);
    double line = r->o->line ? bench_line(r->rank, r->size) : 0;
    for (int i = 0; i < n; i++) {
        if (!take_size(r, sizes[i])) continue;
        if (attempt(r)) {
            if (r->rank == 0) bench_out_skip(r->k->name, variant, r->skip);
            break;
        }
        struct figures f = {.line = {line}};
        if (i == 0 && r->rank == 0) bench_out_row(r, variant);
        failed += bench_measure(r, &f);
        if (r->o->line) f.line[1] = line = bench_line(r->rank, r->size);
        if (r->rank == 0) bench_out_line(r, variant, &f);
        if (r->k->teardown) r->k->teardown(r);
    }
    return failed;
}

static int run_variants(struct run *r, const char *asked)
{
    char word[64] = "";
    int failed = 0, everything = asked ? !strcmp(asked, "all") : (r->k->flags & ALLVARIANTS) != 0;
    if (!r->k->variants) {
        return run_variant(r, "");
    }
    for (int i = 0; bench_axis(r->k->variants, i, word, sizeof word) == 0; i++) {
        if (!everything && (asked ? strcmp(asked, word) != 0 : i > 0)) continue;
        r->variant = i;
        failed += run_variant(r, word);
    }
    return failed;
}

// How many of `size` ranks take part; 0 with a reason if too few.
static int ranks_used(const struct kernel *k, int size, char *why, size_t len)
{
    int n = k->max_ranks && size > k->max_ranks ? k->max_ranks : size;
    if (k->flags & EVEN) n -= n % 2;
    if (n >= k->min_ranks) return n;
    snprintf(why, len, "needs %d ranks, this job has %d", k->min_ranks, size);
    return 0;
}

static const char *cannot(const struct kernel *k, enum mode mode, const char *variant, char *why, size_t len)
{
    int level = 0;
    if (k->absent) return k->absent;
    MPI_Query_thread(&level);
    if ((k->flags & THREADED) && level < MPI_THREAD_MULTIPLE)
        return "needs MPI_THREAD_MULTIPLE, which this MPI did not grant";
    if (mode == PERSISTENT && !HAVE_MPI4) return "persistent collectives need MPI 4";
    if (variant && strcmp(variant, "all") != 0 && (!k->variants || bench_axis_find(k->variants, variant) < 0)) {
        snprintf(why, len, "has no variant '%s' (%s)", variant, k->variants ? k->variants : "no axis");
        return why;
    }
    return NULL;
}

int bench_run(const struct kernel *k, enum mode mode, const char *variant, const struct opts *o, MPI_Comm world)
{
    int rank, size, failed = 0;
    char why[256] = "";
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int group = size / o->groups, used = 0;
    const char *reason = cannot(k, mode, variant, why, sizeof why);
    if (!reason && group) used = ranks_used(k, group, why, sizeof why);
    if (!reason && !used) reason = why[0] ? why : "fewer ranks than groups";
    if (reason) {
        if (rank == 0) bench_out_skip(k->name, variant ? variant : "", reason);
        return 0;
    }
    struct run r = {.k = k, .o = o, .mode = mode};
    int mine = rank / group < o->groups && rank % group < used;
    MPI_Comm_split(world, mine ? rank / group : MPI_UNDEFINED, o->map_reverse ? -rank : rank, &r.comm);
    if (mine) {
        MPI_Comm_rank(r.comm, &r.rank);
        r.size = used;
        r.peer = (r.rank + used / 2) % used;
        r.req = malloc((size_t)(2 * (o->window + used) + 2) * sizeof *r.req);
        bench_guard(r.comm);
        take_type(&r);
        failed = run_variants(&r, variant);
        free(r.req);
        MPI_Comm_free(&r.comm);
    }
    return failed;
}
