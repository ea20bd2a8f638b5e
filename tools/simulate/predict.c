// SPDX-License-Identifier: BSD-3-Clause
// Predicts one row (simulate.h): by a simulation of all ranks, or, where that would have too many steps, from what
// fewer hosts take. Time, memory and messages per rank of every algorithm grow with the ranks or with their logarithm:
// the steps of the two largest simulations say with which.
#include <math.h>

#include "simulate.h"

static int simulate(struct sim_job job, int64_t hosts, struct sim_result *out, const char **why)
{
    struct sim_plan plan;
    job.m.hosts = hosts;
    if (sim_build(&job, &plan, why)) return -1;
    int err = sim_run(&job, &plan, out);
    sim_free(&plan);
    if (err) *why = "ranks wait for messages that nobody sends, or memory is out";
    return err;
}

// The builders of a reduce_scatter make a table of all ranks' parts on every rank, those of an allgather over hosts one
// of all hosts' parts: such an entry costs a fraction of a step.
static double work_of(const struct sim_job *job, double hosts, double steps)
{
    double ranks = hosts * (double)job->m.ranks;
    if (job->kind == UNO_REDUCE_SCATTER_BLOCK) return steps + ranks * ranks / 32;
    return job->kind == UNO_ALLGATHER ? steps + ranks * hosts / 32 : steps;
}

static double grow(double small, double large, double by_ranks, double by_log, bool with_ranks)
{
    double d = large - small;
    return large + (d > 0 ? d : 0) * (with_ranks ? by_ranks : by_log);
}

// a: of `hosts` / 2, b: of `hosts`.
static struct sim_result guess(const struct sim_job *job, double hosts, const struct sim_result *a,
                               const struct sim_result *b)
{
    double more = (double)job->m.hosts / hosts, by_ranks = 2 * (more - 1), by_log = log2(more);
    bool with_ranks = b->steps > 3 * a->steps;
    struct sim_result out = {.guessed = true, .steps = b->steps * more};
    out.time = grow(a->time, b->time, by_ranks, by_log, with_ranks);
    out.memory = grow(a->memory, b->memory, by_ranks, by_log, b->memory > 1.5 * a->memory);
    out.messages = more * grow(a->messages * 2, b->messages, by_ranks, by_log, with_ranks);
    return out;
}

// One host has fewer ranks instead: the simulation grows by hosts alone.
int sim_predict(const struct sim_job *job, double most, struct sim_result *out, const char **why)
{
    struct sim_result small = {0}, large = {0};
    int64_t hosts = 1;
    while (hosts < job->m.hosts) {
        small = large;
        int err = simulate(*job, hosts, &large, why);
        if (err) return err;
        double growth = small.steps > 0 ? large.steps / small.steps : 4, more = (double)job->m.hosts / (double)hosts;
        double all = large.steps * pow(more, log2(growth < 2 ? 2 : growth));
        if (hosts >= 16 && work_of(job, (double)job->m.hosts, all) <= most) break;
        if (hosts >= 4 && work_of(job, 2.0 * (double)hosts, large.steps * growth) > most) {
            *out = guess(job, (double)hosts, &small, &large);
            return 0;
        }
        hosts *= 2;
    }
    return simulate(*job, job->m.hosts, out, why);
}
