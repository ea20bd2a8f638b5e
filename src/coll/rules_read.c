// SPDX-License-Identifier: BSD-3-Clause
// What rules are read from (rules.h): algorithms of components, the table file, the parameters; and the words in them.
//
// A line of the file reads `COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM`; # begins a comment. The same text after
// coll_force, with commas between entries of the form COLLECTIVE=ALGORITHM, is for tests and for measuring.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/outside.h"
#include "coll/rules.h"

static struct uno_param table =
    UNO_PARAM_TEXT("coll_table", "", "file with rules that choose collective algorithms (unisono-tune)");
UNO_PARAM_DECLARE(table);
static struct uno_param force =
    UNO_PARAM_TEXT("coll_force", "", "algorithms to use whatever the size: allreduce=ring+bcast=chain");
UNO_PARAM_DECLARE(force);

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
    [UNO_ALG_WINDOWS] = "windows",
    [UNO_ALG_MESSAGES] = "messages",
};

struct uno_rules uno_rules_loaded;

const char *uno_coll_word(enum uno_coll_kind kind)
{
    return kind < UNO_COLL_KINDS ? coll_words[kind] : NULL;
}

const char *uno_alg_word(enum uno_alg alg)
{
    return alg < UNO_ALG_END ? alg_words[alg] : NULL;
}

// An algorithm may be named for a collective only if the built-in table or the builder knows it there.
static bool knows(enum uno_coll_kind kind, int alg)
{
    static const unsigned extra[UNO_COLL_KINDS] = {
        [UNO_BCAST] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLGATHER] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLGATHERV] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLTOALLV] = 1u << UNO_ALG_PAIRWISE,
        [UNO_ALLTOALLW] = 1u << UNO_ALG_PAIRWISE,
        [UNO_SCAN] = 1u << UNO_ALG_DIRECT,
        [UNO_BARRIER] = 1u << UNO_ALG_LINEAR,
        [UNO_REDUCE] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLREDUCE] = 1u << UNO_ALG_DIRECT | 1u << UNO_ALG_LINEAR,
    };
    const struct uno_rules *all = &uno_rules_built_in;
    for (size_t i = 0; i < all->n; i++)
        if (all->rule[i].kind == kind && all->rule[i].alg == alg) return true;
    static const unsigned host = 1u << UNO_BCAST | 1u << UNO_REDUCE | 1u << UNO_ALLREDUCE | 1u << UNO_GATHER |
                                 1u << UNO_SCATTER | 1u << UNO_ALLGATHER | 1u << UNO_ALLTOALL |
                                 1u << UNO_REDUCE_SCATTER | 1u << UNO_SCAN;
    static const unsigned windows = 1u << UNO_BCAST | 1u << UNO_REDUCE | 1u << UNO_ALLREDUCE | 1u << UNO_GATHER |
                                    1u << UNO_ALLGATHER | 1u << UNO_ALLTOALL | 1u << UNO_REDUCE_SCATTER;
    if (uno_rule_in_host(alg)) return (alg == UNO_ALG_WINDOWS ? windows : host) >> kind & 1;
    return extra[kind] >> alg & 1;
}

static enum uno_coll_kind kind_of(const char *coll)
{
    int kind = 0;
    while (kind < UNO_COLL_KINDS && strcmp(coll, coll_words[kind]) != 0) kind++;
    return (enum uno_coll_kind)kind;
}

const char *uno_choose_unfit(const char *coll, const char *alg)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    enum uno_coll_kind kind = kind_of(coll);
    size_t n = strspn(alg, letters);
    if (n == 0 || n > 31 || alg[n]) return "has a name that is not 1 to 31 letters, digits and _";
    if (kind > UNO_ALLTOALL)
        return "is for none of barrier, bcast, reduce, allreduce, gather, scatter, allgather and alltoall";
    for (int i = 0; i < UNO_ALG_END; i++)
        if (strcmp(alg, alg_words[i]) == 0 && knows(kind, i)) return "has the name of an algorithm of the library";
    return NULL;
}

static int add_rule(struct uno_rule r)
{
    struct uno_rules *all = &uno_rules_loaded;
    struct uno_rule *more = realloc((struct uno_rule *)(uintptr_t)all->rule, (all->n + 1) * sizeof *more);
    if (!more) return uno_fail(MPI_ERR_NO_MEM, "no memory for the table of collective algorithms");
    more[all->n++] = r;
    all->rule = more;
    if (r.alg >= UNO_ALG_END) uno_outside_apart |= UINT32_C(1) << r.kind;
    return MPI_SUCCESS;
}

int uno_choose_add(const char *coll, const char *alg, int ranks, size_t bytes)
{
    int outside = uno_outside_named(coll, alg);
    struct uno_rule r = {kind_of(coll), ranks, bytes, UNO_ALG_END};
    for (int i = 0; i < UNO_ALG_END; i++)
        if (strcmp(alg, alg_words[i]) == 0) r.alg = i;
    if (r.kind == UNO_COLL_KINDS) return uno_fail(MPI_ERR_ARG, "no collective `%s` to choose an algorithm for", coll);
    if (outside >= 0)
        r.alg = UNO_ALG_END + outside;
    else if (r.alg == UNO_ALG_END || !knows(r.kind, r.alg))
        return uno_fail(MPI_ERR_ARG, "%s has no algorithm `%s`", coll, alg);
    return add_rule(r);
}

// Those of sets with a priority above that of the own one are taken wherever they say they fit.
static int add_outside(void)
{
    bool taken;
    const struct uno_algorithm *a;
    int err = MPI_SUCCESS;
    for (size_t i = 0; !err && (a = uno_outside_at(i, &taken)) != NULL; i++)
        if (taken)
            err = add_rule(
                (struct uno_rule){kind_of(a->collective), a->least_ranks, a->least_bytes, UNO_ALG_END + (int)i});
    return err;
}

static int read_table(const char *path)
{
    if (uno_param_is_foreign(&table)) {
        uno_log(0, "coll_table is not followed: this program has more rights than its caller (setuid)");
        return MPI_SUCCESS;
    }
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
            err = uno_choose_add(coll, alg, ranks, bytes);
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
        if (sscanf(text, "%63[a-z_]=%63[a-zA-Z0-9_]%n", coll, alg, &used) != 2)
            return uno_fail(MPI_ERR_ARG, "coll_force: expected COLLECTIVE=ALGORITHM at `%s`", text);
        int err = uno_choose_add(coll, alg, 0, 0);
        if (err) return err;
    }
    return MPI_SUCCESS;
}

int uno_choose_open(void)
{
    static bool open;
    if (open) return MPI_SUCCESS;
    int err = add_outside();
    if (!err && table.text && *table.text) err = read_table(table.text);
    if (!err && force.text) err = read_force(force.text);
    if (uno_agree_on()) uno_outside_apart = UINT32_MAX;
    open = !err;
    return err;
}
