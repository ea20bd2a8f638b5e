// SPDX-License-Identifier: BSD-3-Clause
// Selection of algorithms (choose.h): the built-in rules, the table file and the parameters. Called by the builders.
//
// A line of the file reads `COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM`; # begins a comment. The same text after
// coll_force, with commas between entries of the form COLLECTIVE=ALGORITHM, is for tests and for measuring.
#include "coll/choose.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"

static struct uno_param table =
    UNO_PARAM_TEXT("coll_table", "", "file with rules that choose collective algorithms (unisono-tune)");
UNO_PARAM_DECLARE(table);
static struct uno_param force =
    UNO_PARAM_TEXT("coll_force", "", "algorithms to use whatever the size: allreduce=ring+bcast=chain");
UNO_PARAM_DECLARE(force);

struct rule {
    enum uno_coll_kind kind;
    int ranks;
    size_t bytes;
    enum uno_alg alg;
};

static const struct rule built_in[] = {
    {UNO_BARRIER, 0, 0, UNO_ALG_DISSEMINATION},
    {UNO_BCAST, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 4, 128 << 10, UNO_ALG_SCATTER},
    {UNO_BCAST, 4, 2 << 20, UNO_ALG_CHAIN},
    {UNO_REDUCE, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 3, 32 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 0, 0, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 0, 16 << 10, UNO_ALG_RING},
    {UNO_GATHER, 0, 0, UNO_ALG_LINEAR},
    {UNO_GATHER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_GATHER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_SCATTER, 0, 0, UNO_ALG_LINEAR},
    {UNO_SCATTER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_SCATTER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_BRUCK},
    {UNO_ALLGATHER, 0, 2 << 10, UNO_ALG_RING},
    {UNO_ALLGATHERV, 0, 0, UNO_ALG_RING},
    {UNO_ALLTOALL, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 0, UNO_ALG_BRUCK},
    {UNO_ALLTOALL, 8, 256, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 64 << 10, UNO_ALG_PAIRWISE},
    {UNO_ALLTOALLV, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALLW, 0, 0, UNO_ALG_LINEAR},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_DIRECT},
    {UNO_REDUCE_SCATTER, 8, 0, UNO_ALG_REDUCE},
    {UNO_REDUCE_SCATTER, 3, 16 << 10, UNO_ALG_RING},
    {UNO_SCAN, 0, 0, UNO_ALG_DOUBLING},
    {UNO_SCAN, 4, 64 << 10, UNO_ALG_CHAIN},
    // Inside a host, up to what fits a slot (bench: allgather --sizes 1K:8K).
    {UNO_ALLGATHER, 0, 6 << 10, UNO_ALG_COPIES},
};

static const char *const coll_words[UNO_COLL_KINDS] = {
    [UNO_BARRIER] = "barrier",
    [UNO_BCAST] = "bcast",
    [UNO_REDUCE] = "reduce",
    [UNO_ALLREDUCE] = "allreduce",
    [UNO_GATHER] = "gather",
    [UNO_SCATTER] = "scatter",
    [UNO_ALLGATHER] = "allgather",
    [UNO_ALLTOALL] = "alltoall",
    [UNO_GATHERV] = "gatherv",
    [UNO_SCATTERV] = "scatterv",
    [UNO_ALLGATHERV] = "allgatherv",
    [UNO_ALLTOALLV] = "alltoallv",
    [UNO_ALLTOALLW] = "alltoallw",
    [UNO_REDUCE_SCATTER] = "reduce_scatter",
    [UNO_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [UNO_SCAN] = "scan",
    [UNO_EXSCAN] = "exscan",
    [UNO_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
    [UNO_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
    [UNO_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
    [UNO_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
    [UNO_NEIGHBOR_ALLTOALLW] = "neighbor_alltoallw",
};

static const char *const alg_words[UNO_ALG_END] = {
    [UNO_ALG_DISSEMINATION] = "dissemination",
    [UNO_ALG_LINEAR] = "linear",
    [UNO_ALG_BINOMIAL] = "binomial",
    [UNO_ALG_CHAIN] = "chain",
    [UNO_ALG_SCATTER] = "scatter",
    [UNO_ALG_DOUBLING] = "doubling",
    [UNO_ALG_RING] = "ring",
    [UNO_ALG_BRUCK] = "bruck",
    [UNO_ALG_PAIRWISE] = "pairwise",
    [UNO_ALG_DIRECT] = "direct",
    [UNO_ALG_REDUCE] = "reduce",
    [UNO_ALG_SLOTS] = "slots",
    [UNO_ALG_COPIES] = "copies",
};

static struct rule *loaded;
static size_t nloaded;

const char *uno_coll_word(enum uno_coll_kind kind)
{
    return kind < UNO_COLL_KINDS ? coll_words[kind] : NULL;
}

const char *uno_alg_word(enum uno_alg alg)
{
    return alg < UNO_ALG_END ? alg_words[alg] : NULL;
}

// The rules for messages and those for inside a host do not meet.
static bool in_host(enum uno_alg alg)
{
    return alg == UNO_ALG_SLOTS || alg == UNO_ALG_COPIES;
}

static void pick(const struct rule *rules, size_t n, const struct rule *want, enum uno_alg *alg)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].kind == want->kind && in_host(rules[i].alg) == in_host(want->alg) &&
            want->ranks >= rules[i].ranks && want->bytes >= rules[i].bytes)
            *alg = rules[i].alg;
}

enum uno_alg uno_choose(enum uno_coll_kind kind, int size, size_t bytes)
{
    struct rule want = {kind, size, bytes, UNO_ALG_LINEAR};
    enum uno_alg alg = UNO_ALG_LINEAR;
    pick(built_in, sizeof built_in / sizeof *built_in, &want, &alg);
    pick(loaded, nloaded, &want, &alg);
    uno_log(3, "%s of %zu bytes over %d ranks: %s", uno_coll_word(kind), bytes, size, uno_alg_word(alg));
    return alg;
}

static size_t border(const struct rule *rules, size_t n, enum uno_coll_kind kind, int size, size_t least)
{
    for (size_t i = 0; i < n; i++) {
        if (rules[i].kind != kind || rules[i].alg != UNO_ALG_COPIES || rules[i].bytes >= least) continue;
        struct rule want = {kind, size, rules[i].bytes, UNO_ALG_SLOTS};
        enum uno_alg alg = UNO_ALG_SLOTS;
        pick(built_in, sizeof built_in / sizeof *built_in, &want, &alg);
        pick(loaded, nloaded, &want, &alg);
        if (alg == UNO_ALG_COPIES) least = rules[i].bytes;
    }
    return least;
}

size_t uno_choose_copies(enum uno_coll_kind kind, int size)
{
    if (kind == UNO_REDUCE_SCATTER_BLOCK) kind = UNO_REDUCE_SCATTER;
    if (kind == UNO_EXSCAN) kind = UNO_SCAN;
    if (kind == UNO_ALLGATHERV) kind = UNO_ALLGATHER;
    size_t least = border(built_in, sizeof built_in / sizeof *built_in, kind, size, SIZE_MAX);
    return border(loaded, nloaded, kind, size, least);
}

// An algorithm may be named for a collective only if the built-in table or the builder knows it there.
static bool knows(enum uno_coll_kind kind, enum uno_alg alg)
{
    static const unsigned extra[UNO_COLL_KINDS] = {
        [UNO_BCAST] = 1u << UNO_ALG_LINEAR,       [UNO_ALLGATHER] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLGATHERV] = 1u << UNO_ALG_LINEAR,  [UNO_ALLTOALLV] = 1u << UNO_ALG_PAIRWISE,
        [UNO_ALLTOALLW] = 1u << UNO_ALG_PAIRWISE,
    };
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (built_in[i].kind == kind && built_in[i].alg == alg) return true;
    static const unsigned host = 1u << UNO_BCAST | 1u << UNO_REDUCE | 1u << UNO_ALLREDUCE | 1u << UNO_GATHER |
                                 1u << UNO_SCATTER | 1u << UNO_ALLGATHER | 1u << UNO_ALLTOALL |
                                 1u << UNO_REDUCE_SCATTER | 1u << UNO_SCAN;
    if (in_host(alg)) return host >> kind & 1;
    return extra[kind] >> alg & 1;
}

static int add_rule(const char *coll, const char *alg, int ranks, size_t bytes)
{
    struct rule r = {UNO_COLL_KINDS, ranks, bytes, UNO_ALG_END};
    for (int i = 0; i < UNO_COLL_KINDS; i++)
        if (strcmp(coll, coll_words[i]) == 0) r.kind = (enum uno_coll_kind)i;
    for (int i = 0; i < UNO_ALG_END; i++)
        if (strcmp(alg, alg_words[i]) == 0) r.alg = (enum uno_alg)i;
    if (r.kind == UNO_COLL_KINDS) return uno_fail(MPI_ERR_ARG, "no collective `%s` to choose an algorithm for", coll);
    if (r.alg == UNO_ALG_END || !knows(r.kind, r.alg))
        return uno_fail(MPI_ERR_ARG, "%s has no algorithm `%s`", coll, alg);
    struct rule *more = realloc(loaded, (nloaded + 1) * sizeof *more);
    if (!more) return uno_fail(MPI_ERR_NO_MEM, "no memory for the table of collective algorithms");
    loaded = more;
    loaded[nloaded++] = r;
    return MPI_SUCCESS;
}

static int read_table(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) return uno_fail_errno(MPI_ERR_ARG, "coll_table %s", path);
    char line[256], coll[64], alg[64], rest[2];
    int err = MPI_SUCCESS;
    for (int n = 1; !err && fgets(line, sizeof line, f); n++) {
        int ranks;
        size_t bytes;
        line[strcspn(line, "#\n")] = '\0';
        int got = sscanf(line, "%63s %d %zu %63s %1s", coll, &ranks, &bytes, alg, rest);
        if (got <= 0) continue;
        if (got == 4)
            err = add_rule(coll, alg, ranks, bytes);
        else
            err = uno_fail(MPI_ERR_ARG, "%s:%d: expected COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM", path, n);
    }
    fclose(f);
    return err;
}

static int read_force(const char *text)
{
    char coll[64], alg[64];
    int used = 0;
    for (; *text; text += used + (text[used] == ',' || text[used] == '+')) {
        if (sscanf(text, "%63[a-z_]=%63[a-z]%n", coll, alg, &used) != 2)
            return uno_fail(MPI_ERR_ARG, "coll_force: expected COLLECTIVE=ALGORITHM at `%s`", text);
        int err = add_rule(coll, alg, 0, 0);
        if (err) return err;
    }
    return MPI_SUCCESS;
}

int uno_choose_open(void)
{
    static bool open;
    if (open) return MPI_SUCCESS;
    int err = table.text && *table.text ? read_table(table.text) : MPI_SUCCESS;
    if (!err && force.text) err = read_force(force.text);
    open = !err;
    return err;
}
