// SPDX-License-Identifier: BSD-3-Clause
// An example of collective algorithms from outside the library (<unisono/collective.h>): a broadcast that goes from
// rank to rank, and a barrier by way of rank 0. Its priority is above that of the library's own set, so both are taken
// wherever the set is loaded; the library's are better.
//
//   make && mpiexec --set component_path=$PWD -n 4 ./program
#include <stddef.h>
#include <unisono/collective.h>

static const struct uno_collective_host *host;

static void build_bcast(struct uno_sched *s, const struct uno_algorithm_call *c)
{
    int before = (c->rank - 1 + c->size) % c->size, after = (c->rank + 1) % c->size;
    if (c->rank != c->root) {
        host->receive(s, before, c->receive, c->receive_count, c->receive_type);
        host->fence(s);
    }
    if (after != c->root) host->send(s, after, c->receive, c->receive_count, c->receive_type);
}

static void build_barrier(struct uno_sched *s, const struct uno_algorithm_call *c)
{
    for (int i = 1; c->rank == 0 && i < c->size; i++) host->signal(s, -1, i);
    if (c->rank != 0) host->signal(s, 0, -1);
    host->fence(s);
    for (int i = 1; c->rank == 0 && i < c->size; i++) host->signal(s, i, -1);
    if (c->rank != 0) host->signal(s, -1, 0);
}

static const struct uno_algorithm algorithms[] = {
    {.collective = "bcast", .name = "relay", .least_ranks = 2, .build = build_bcast},
    {.collective = "barrier", .name = "by_zero", .least_ranks = 2, .build = build_barrier},
};
static const struct uno_algorithm_set set = {algorithms, sizeof algorithms / sizeof *algorithms};

static const char *start(const struct uno_component_host *library)
{
    host = library->services;
    return NULL;
}

static const struct uno_component component = {UNO_COMPONENT_IS_COLLECTIVE,
                                               .name = "relay",
                                               .version = "1.0",
                                               .about = "bcast=relay and barrier=by_zero (an example)",
                                               .priority = 60,
                                               .open = start,
                                               .table = &set};
UNO_COMPONENT_EXPORT(&component);
