// SPDX-License-Identifier: BSD-3-Clause
// A simulation of the collectives (docs/design/simulate.md): what build.c makes of the library's own builders for every
// rank, engine.c runs on a cost model of hosts, links and cores. main.c reads the command line and prints the rows.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"
#include "coll/choose.h"

// What the simulated machine is. Times in ns, times per byte in ps.
struct sim_machine {
    int64_t hosts, ranks, cores;    // ranks and cores per host
    struct uno_costs cost;          // between two cores of a host
    double latency, byte;           // of a link between hosts: to the first byte, per byte
    double enter, post;             // of a core: per call, per message and side
    double turn;                    // of a core that ranks share: until the next of them has looked
    double copy, combine,
        socket;             // of a core, per byte: in its own memory, of a reduction, of a message between hosts
    double near;            // bytes that the caches close to the cores of a host hold
    double both;            // times that a copy across takes while the rank's own message is copied, too
    double eager, alone;    // bytes: larger messages inside a host are copied by the receiver, or by both sides
};

// One collective on all ranks.
struct sim_job {
    struct sim_machine m;
    enum uno_coll_kind kind;
    enum uno_alg alg;    // UNO_ALG_END: what the library chooses
    size_t bytes;        // of the whole vector (bcast and reductions), else of one block
    bool flat;           // one schedule over all ranks, as nonblocking calls have it until a layout is known
    int rounds;          // calls one after the other
};

struct sim_result {
    double time;        // ns per call, until the last rank leaves
    double memory;      // bytes of the rank that needs most: its schedule and scratch
    double messages;    // of all ranks, per call; a collective inside a host sends none
    double steps;       // of all ranks: what the simulation itself costs
    bool guessed;       // from smaller simulations, as this one would have too many steps
};

// A step of a rank. what: its kind, and whether it is done, above the peer (or the collective inside the host).
struct sim_step {
    uint32_t what, bytes;
};

enum sim_kind { SIM_SEND, SIM_RECV, SIM_COPY, SIM_REDUCE, SIM_FENCE, SIM_INSIDE };

#define SIM_PEER 0x07ffffffu
#define SIM_DONE 0x08000000u
#define SIM_SHIFT 28

// The schedules of all ranks, one behind the other: rank r has step[first[r]] to step[first[r + 1] - 1].
struct sim_plan {
    int ranks;
    size_t *first;
    struct sim_step *step;
    size_t room;
    double memory;
};

// Builds the schedules. 0; -1 with *why set (memory is out; an algorithm that the collective does not have).
int sim_build(const struct sim_job *job, struct sim_plan *plan, const char **why);
void sim_free(struct sim_plan *plan);

// Runs them. 0, or -1 when ranks wait for what nobody sends.
int sim_run(const struct sim_job *job, struct sim_plan *plan, struct sim_result *out);

// What it costs that ranks share the cores and caches of a host (shared.c).
struct sim_shared {
    double turn;          // ns, of a core that ranks share, until the next of them has looked
    double thin;          // times that a byte in a ring takes of which other ranks have used the caches since
    double ring, copy;    // times that a message in a ring, a copy across takes as what all use outgrows the caches
};

// 0, or -1 when memory is out.
int sim_share(const struct sim_job *job, const struct sim_plan *plan, struct sim_shared *out);
double sim_turn(const struct sim_machine *m);
double sim_copy_far(const struct sim_machine *m, enum uno_coll_kind kind, double bytes);

// What a collective takes inside a host, through slots or by copies; as the library chooses when alg is UNO_ALG_END.
double sim_inside(const struct sim_machine *m, enum uno_coll_kind kind, size_t bytes, enum uno_alg alg);

// Builds and runs, or, where that would take more than `most` steps, guesses from what fewer hosts take.
int sim_predict(const struct sim_job *job, double most, struct sim_result *out, const char **why);
