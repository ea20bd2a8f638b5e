// SPDX-License-Identifier: BSD-3-Clause
// What it costs that ranks share cores and caches (simulate.h). The exponents and factors are those that real runs of 2
// to 64 ranks on two cores show (docs/design/simulate.md); none depends on a collective or an algorithm.
#include <math.h>
#include <stdlib.h>

#include "simulate.h"

#define TURN_GROWS 0.45      // with the ranks of a core: misses go with the root of the part of a cache that each has
#define BYTE_GROWS 0.3       // likewise, of what a rank finds in its rings
#define RING_BYTES 28672u    // of a pair that sends more than lines
#define LINES_BYTES 4096u    // of a pair that sends lines
#define RING_FAR 5           // times, of what lies in no cache
#define COPY_FAR 2.5

static double grown(const struct sim_machine *m, double exponent)
{
    double share = (double)m->ranks / (double)m->cores;
    return share > 2 ? pow(share / 2, exponent) : 1;
}

double sim_turn(const struct sim_machine *m)
{
    return m->turn * grown(m, TURN_GROWS);
}

// `far` times for the part of the bytes, all used in turn, that the caches do not hold.
static double outgrown(const struct sim_machine *m, double bytes, double far)
{
    return bytes > m->near ? 1 + (far - 1) * (1 - m->near / bytes) : 1;
}

double sim_copy_far(const struct sim_machine *m, enum uno_coll_kind kind, double bytes)
{
    return outgrown(m, bytes * (double)uno_choose_footprint(kind, (int)m->ranks), COPY_FAR);
}

// Each pair of a host of which one sends the other something has lines, or a ring. seen: by peer, the last rank that
// sent there, plus 1, and what was counted for it.
static double bytes_of_rings(const struct sim_job *job, const struct sim_plan *plan, uint64_t *seen)
{
    double bytes = 0;
    for (size_t r = 0; r < (size_t)job->m.ranks; r++) {
        for (size_t i = plan->first[r]; i < plan->first[r + 1]; i++) {
            const struct sim_step *p = &plan->step[i];
            uint32_t to = p->what & SIM_PEER, need = p->bytes > 56 ? RING_BYTES : LINES_BYTES;
            if (p->what >> SIM_SHIFT != SIM_SEND || to >= job->m.ranks || p->bytes > job->m.eager) continue;
            uint32_t had = seen[to] >> 32 == r + 1 ? (uint32_t)seen[to] : 0;
            if (need <= had) continue;
            bytes += need - had;
            seen[to] = (uint64_t)(r + 1) << 32 | need;
        }
    }
    return bytes;
}

int sim_share(const struct sim_job *job, const struct sim_plan *plan, struct sim_shared *out)
{
    const struct sim_machine *m = &job->m;
    uint64_t *seen = calloc((size_t)m->ranks, sizeof *seen);
    if (!seen) return -1;
    *out = (struct sim_shared){.turn = sim_turn(m),
                               .thin = grown(m, BYTE_GROWS),
                               .ring = outgrown(m, bytes_of_rings(job, plan, seen), RING_FAR),
                               .copy = sim_copy_far(m, job->kind, (double)job->bytes)};
    free(seen);
    return 0;
}
