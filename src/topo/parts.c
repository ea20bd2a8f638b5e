// SPDX-License-Identifier: BSD-3-Clause
// Finds the parts of the hardware that processes stay in (parts.h). Called by hw.c and by the topologies that may
// reorder ranks.
// Always holds: the binding is asked anew each time, since a process may be bound at any moment.
#define _GNU_SOURCE
#include "topo/parts.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "core/world.h"
#include "p2p/place.h"
#include "p2p/team.h"

#define PARTS_MAX 8192    // more parts of one kind than a host has

// Whether this process stays on the i-th of the machine's processors. On an imagined machine the ranks of a host count
// as bound to equal, neighbouring shares of it.
static bool stays_on(const struct uno_hw *hw, int i, const cpu_set_t *set)
{
    if (!hw->imagined) return hw->pu[i].cpu < CPU_SETSIZE && CPU_ISSET(hw->pu[i].cpu, set);
    long share = uno_world.nlocal ? (long)i * uno_world.nlocal / hw->n : 0;
    return hw->n < (int)uno_world.nlocal ? i == (int)uno_world.local % hw->n : share == (long)uno_world.local;
}

static void find_parts(const struct uno_hw *hw, const cpu_set_t *set, int part[UNO_HW_LEVELS])
{
    for (int level = 0; level < UNO_HW_LEVELS; level++) {
        bool first = true;
        for (int i = 0; i < hw->n; i++) {
            if (!stays_on(hw, i, set)) continue;
            part[level] = first || part[level] == hw->pu[i].part[level] ? hw->pu[i].part[level] : -1;
            first = false;
            if (part[level] < 0) break;
        }
    }
}

static struct uno_spot find_spot(bool only_if_bound)
{
    struct uno_spot me = {.host = uno_world.job ? (int)uno_world.job->host : 0};
    for (int level = 0; level < UNO_HW_LEVELS; level++) me.part[level] = -1;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return me;
    if (only_if_bound && !uno_hw_imagined() && CPU_COUNT(&set) >= sysconf(_SC_NPROCESSORS_ONLN)) return me;
    const struct uno_hw *hw = uno_hw_read();
    if (hw) find_parts(hw, &set, me.part);
    return me;
}

struct uno_spot uno_spot_here(void)
{
    return find_spot(false);
}

struct uno_spot uno_spot_if_bound(void)
{
    return find_spot(true);
}

// Each job counts its hosts for itself: over several, they are counted anew.
static int number_hosts(struct MPI_ABI_Comm *c, struct uno_spot *spot)
{
    int *host = malloc((size_t)c->size * sizeof *host);
    int err = host ? uno_places(c, host) : uno_fail(MPI_ERR_NO_MEM, "no memory to compare places");
    for (int r = 0; r < c->size && !err; r++)
        if (spot[r].host >= 0) spot[r].host = host[r];
    free(host);
    return err;
}

struct uno_spot *uno_spots(struct MPI_ABI_Comm *c, struct uno_spot mine, int *err)
{
    struct uno_spot *spot = malloc((size_t)c->size * sizeof *spot);
    if (!spot) {
        *err = uno_fail(MPI_ERR_NO_MEM, "no memory to compare places");
        return NULL;
    }
    spot[c->rank] = mine;
    struct uno_team team = uno_team_all(c, 0);
    *err = uno_team_allgather(&team, spot, sizeof *spot);
    if (!*err && uno_comm_is_mixed(c)) *err = number_hosts(c, spot);
    if (!*err) return spot;
    free(spot);
    return NULL;
}

bool uno_spot_same(const struct uno_spot *a, const struct uno_spot *b, int level)
{
    return a->host == b->host && (level < 0 || (a->part[level] >= 0 && a->part[level] == b->part[level]));
}

int uno_spot_part(const struct uno_spot *a, int level)
{
    if (level < 0) return a->host;
    return a->part[level] < 0 ? MPI_UNDEFINED : a->host * PARTS_MAX + a->part[level];
}

static bool divides(const struct uno_spot *spot, int n, int level)
{
    const struct uno_spot *first = NULL;
    bool differ = false;
    for (int r = 0; r < n; r++) {
        if (spot[r].host < 0) continue;
        if (level >= 0 && spot[r].part[level] < 0) return false;
        if (!first) first = &spot[r];
        differ = differ || !uno_spot_same(&spot[r], first, level);
    }
    return differ;
}

int uno_spot_level(const struct uno_spot *spot, int n)
{
    int level = -1;
    while (level < UNO_HW_LEVELS && !divides(spot, n, level)) level++;
    return level;
}
