// SPDX-License-Identifier: BSD-3-Clause
// unisono-simulate: what the collectives take on a machine that is not there. `unisono-tune --simulate` runs it and is
// its manual; a row per collective, size and algorithm:
//   COLLECTIVE BYTES ALGORITHM RANKS TIME-NS MEMORY-BYTES MESSAGES simulated|guessed|modelled
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "base/thresholds.h"
#include "simulate.h"

enum { MOST_SIZES = 32 };

struct options {
    struct sim_job job;
    double most;
    const char *only, *force;
    size_t size[MOST_SIZES];
    int nsizes;
    double bandwidth;
};

struct number {
    const char *name;
    double *at;
};

static bool set_number(struct options *o, const char *name, double value)
{
    struct sim_machine *m = &o->job.m;
    const struct number real[] = {{"latency", &m->latency}, {"bandwidth", &o->bandwidth}, {"post", &m->post},
                                  {"turn", &m->turn},       {"copy", &m->copy},           {"combine", &m->combine},
                                  {"eager", &m->eager},     {"most", &o->most},           {"alone", &m->alone},
                                  {"socket", &m->socket},   {"enter", &m->enter},         {"near", &m->near},
                                  {"both", &m->both}};
    const struct {
        const char *name;
        int64_t *at;
    } whole[] = {{"hosts", &m->hosts}, {"cores", &m->cores}, {"ranks", &m->ranks}};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (strcmp(name, real[i].name) == 0) return *real[i].at = value, true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i].name) == 0) return *whole[i].at = (int64_t)value, true;
    for (size_t i = 0; uno_cost_name(i); i++)
        if (strcmp(name, uno_cost_name(i)) == 0) return (&m->cost.line)[i] = (uint32_t)value, true;
    if (strcmp(name, "flat") == 0) return o->job.flat = value != 0, true;
    if (strcmp(name, "rounds") == 0) return o->job.rounds = (int)value, true;
    return false;
}

static bool set_sizes(struct options *o, const char *text)
{
    o->nsizes = 0;
    for (char *end; *text && o->nsizes < MOST_SIZES; text = *end == ',' ? end + 1 : end) {
        double value = strtod(text, &end);
        if (end == text || value < 0) return false;
        if (*end == 'k' || *end == 'K') value *= 1024, end++;
        if (*end == 'm' || *end == 'M') value *= 1048576, end++;
        o->size[o->nsizes++] = (size_t)value;
        if (*end && *end != ',') return false;
    }
    return o->nsizes > 0;
}

static bool set_option(struct options *o, char *word)
{
    char *value = strchr(word, '='), *end;
    if (!value) return false;
    *value++ = '\0';
    if (strcmp(word, "only") == 0) return o->only = value, true;
    if (strcmp(word, "force") == 0) return o->force = value, true;
    if (strcmp(word, "sizes") == 0) return set_sizes(o, value);
    double number = strtod(value, &end);
    return end != value && *end == '\0' && number >= 0 && set_number(o, word, number);
}

static bool is_wanted(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) return true;
    return !list;
}

static void print_row(const struct sim_job *job, const char *alg, const struct sim_result *r, const char *how)
{
    enum uno_coll_kind kind = job->kind == UNO_REDUCE_SCATTER_BLOCK ? UNO_REDUCE_SCATTER : job->kind;
    printf("%s %zu %s %.0f %.1f %.0f %.0f %s\n", uno_coll_word(kind), job->bytes, alg,
           (double)job->m.hosts * (double)job->m.ranks, r->time, r->memory, r->messages, how);
    fflush(stdout);
}

// What one algorithm takes; where the leaders have no choice there is one row, of the algorithm that is there.
static int row(const struct options *o, const struct sim_job *job, const char *name)
{
    struct sim_result r;
    const char *why = "";
    if (sim_predict(job, o->most, &r, &why)) {
        fprintf(stderr, "unisono-simulate: %s: %s\n", name, why);
        return 1;
    }
    print_row(job, name, &r, r.guessed ? "guessed" : "simulated");
    return 0;
}

static bool has_choice(const struct sim_job *job)
{
    if (job->m.hosts == 1 || job->m.ranks == 1 || job->flat) return true;
    switch (job->kind) {
    case UNO_BARRIER:
    case UNO_GATHER:
    case UNO_SCATTER: return false;
    case UNO_ALLTOALL: return job->bytes > 1024;    // the leaders' own exchange up to there (coll_hier_alltoall)
    default: return true;
    }
}

static bool has_algorithm(const struct sim_job *job, enum uno_alg alg)
{
    enum uno_coll_kind kind = job->kind == UNO_REDUCE_SCATTER_BLOCK ? UNO_REDUCE_SCATTER : job->kind;
    if (kind == UNO_ALLGATHER && job->m.hosts > 1 && job->m.ranks > 1 && !job->flat) kind = UNO_ALLGATHERV;
    return uno_choose_add(uno_coll_word(kind), uno_alg_word(alg), 0, 0) == 0;
}

// Blocking collectives inside one host are no schedules.
static void model_rows(const struct sim_job *job)
{
    for (enum uno_alg alg = UNO_ALG_SLOTS; alg <= UNO_ALG_WINDOWS; alg++) {
        if (alg > UNO_ALG_SLOTS && !has_algorithm(job, alg)) continue;
        struct sim_result r = {.time = sim_inside(&job->m, job->kind, job->bytes, alg)};
        print_row(job, uno_alg_word(alg), &r, "modelled");
    }
}

static int all_algorithms(const struct options *o, struct sim_job *job)
{
    int bad = 0;
    if (job->m.hosts == 1 && !job->flat) model_rows(job);
    job->alg = UNO_ALG_END;
    if (!has_choice(job)) return row(o, job, "hosts");
    for (int a = 0; a < UNO_ALG_SLOTS; a++) {
        job->alg = (enum uno_alg)a;
        if (!is_wanted(o->force, uno_alg_word(job->alg)) || !has_algorithm(job, job->alg)) continue;
        bad |= row(o, job, uno_alg_word(job->alg));
    }
    return bad;
}

static int simulate_all(struct options *o)
{
    static const enum uno_coll_kind kinds[] = {UNO_BARRIER,   UNO_BCAST,    UNO_REDUCE,
                                               UNO_ALLREDUCE, UNO_GATHER,   UNO_SCATTER,
                                               UNO_ALLGATHER, UNO_ALLTOALL, UNO_REDUCE_SCATTER_BLOCK,
                                               UNO_SCAN};
    int bad = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        enum uno_coll_kind kind = kinds[k];
        if (!is_wanted(o->only, uno_coll_word(kind == UNO_REDUCE_SCATTER_BLOCK ? UNO_REDUCE_SCATTER : kind))) continue;
        for (int i = 0; i < (kind == UNO_BARRIER ? 1 : o->nsizes); i++) {
            struct sim_job job = o->job;
            job.kind = kind;
            job.bytes = kind == UNO_BARRIER ? 0 : o->size[i];
            bad |= all_algorithms(o, &job);
        }
    }
    return bad;
}

int main(int argc, char **argv)
{
    struct uno_machine machine = {0};
    struct options o = {.most = 1e7, .nsizes = 3, .size = {8, 8192, 1048576}, .bandwidth = 12.5};
    o.job.m = (struct sim_machine){.hosts = 1, .cores = 1, .latency = 2000, .enter = 60, .post = 60, .turn = 900};
    o.job.m.copy = 20;
    o.job.m.combine = 40;
    o.job.m.socket = 100;
    o.job.rounds = 1;
    if (uno_params_load()) return 1;
    uno_machine_find(&machine);
    o.job.m.cost = machine.cost;
    struct uno_thresholds at = uno_thresholds_of(&machine.cost);
    o.job.m.eager = (double)at.eager;
    o.job.m.near = 8 << 20;
    o.job.m.both = 2.4;
    for (int i = 1; i < argc; i++) {
        if (!set_option(&o, argv[i])) {
            fprintf(stderr, "unisono-simulate: %s: expected NAME=NUMBER (man unisono-tune)\n", argv[i]);
            return 2;
        }
    }
    struct sim_machine *m = &o.job.m;
    if (m->ranks == 0) m->ranks = m->cores;
    if (m->alone == 0) m->alone = (double)(m->ranks > m->cores ? at.alone_crowded : at.alone);
    m->byte = 1000 / o.bandwidth;
    double ranks = (double)m->hosts * (double)m->ranks;
    if (m->hosts < 1 || m->cores < 1 || ranks < 2 || ranks > SIM_PEER || o.job.rounds < 1 || m->turn <= 0) {
        fprintf(stderr, "unisono-simulate: from 2 to %d ranks on at least one host with at least one core\n", SIM_PEER);
        return 2;
    }
    return simulate_all(&o);
}
