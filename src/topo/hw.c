// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: by host, by part of the hardware, by process set.
// Always holds: all processes see the whole table of who is where, so they come to the same parts.
#include "topo/hw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "p2p/team.h"
#include "core/info.h"
#include "core/world.h"
#include "topo/parts.h"

#define PARTS_MAX 8192                // more parts of one kind than a host has

// Where a process is: its host (-1: it takes no part in the split), and for each level the number of the part it is
// bound to, -1 when it is in several.
struct spot { int host, part[UNO_HW_LEVELS]; };

// Level -1 is the host itself.
static bool same_part(const struct spot *a, const struct spot *b, int level)
{
    return a->host == b->host && (level < 0 || (a->part[level] >= 0 && a->part[level] == b->part[level]));
}

// The same number in all processes of a part and in no other; MPI_UNDEFINED when this one is in no part of the level.
static int level_color(const struct spot *me, int level)
{
    if (level < 0) return me->host;
    return me->part[level] < 0 ? MPI_UNDEFINED : me->host * PARTS_MAX + me->part[level];
}

// Whether the level makes strictly smaller parts: every process is in one, and not all in the same.
static bool divides(const struct spot *spot, int n, int level)
{
    const struct spot *first = NULL;
    bool differ = false;
    for (int r = 0; r < n; r++) {
        if (spot[r].host < 0) continue;
        if (level >= 0 && spot[r].part[level] < 0) return false;
        if (!first) first = &spot[r];
        differ = differ || !same_part(&spot[r], first, level);
    }
    return differ;
}

static int unguided_color(const struct spot *spot, int n, const struct spot *me, struct MPI_ABI_Info *info)
{
    int level = -1;
    while (level < UNO_HW_LEVELS && !divides(spot, n, level)) level++;
    if (level == UNO_HW_LEVELS) return MPI_UNDEFINED;
    // Told to the caller as the standard wants; memory for it may be out, the split stands all the same.
    if (info && !info->readonly) {
        uno_info_set(info, "mpi_hw_resource_type", level < 0 ? "mpi_shared_memory" : uno_parts_level(level));
    }
    return level_color(me, level);
}

// The level that a name means: -1 the host, UNO_HW_LEVELS when the library does not know it.
static int guided_level(const struct MPI_ABI_Info *info)
{
    const char *name = uno_info_find(info, "mpi_hw_resource_type");
    if (!name) return UNO_HW_LEVELS;
    if (strcmp(name, "mpi_shared_memory") == 0) return -1;
    if (strncmp(name, "hwloc://", 8) == 0) name += 8;
    int level = 0;
    while (level < UNO_HW_LEVELS && strcasecmp(name, uno_parts_level(level)) != 0) level++;
    return level;
}

static int pset_color(const char *pset)
{
    if (strcasecmp(pset, "mpi://WORLD") == 0) return 0;
    return strcasecmp(pset, "mpi://SELF") == 0 ? uno_world.rank : MPI_UNDEFINED;
}

// What can be told without the others. An unknown name gives MPI_UNDEFINED: the caller then gets MPI_COMM_NULL, as the
// standard says.
static int own_color(int split_type, const struct MPI_ABI_Info *info, struct spot *me)
{
    if (split_type == MPI_UNDEFINED) return MPI_UNDEFINED;
    const char *pset = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED ? uno_info_find(info, "mpi_pset_name") : NULL;
    if (pset) return pset_color(pset);
    int level = split_type == MPI_COMM_TYPE_SHARED ? -1 : guided_level(info);
    if (level == UNO_HW_LEVELS) return MPI_UNDEFINED;
    if (level >= 0) uno_parts_find(me->part);
    return level_color(me, level);
}

// Processes that say MPI_UNDEFINED do not know what the others say, so all exchange the same table whatever they say.
int uno_hw_color(struct MPI_ABI_Comm *c, int split_type, struct MPI_ABI_Info *info, int *color)
{
    bool unguided = split_type == MPI_COMM_TYPE_HW_UNGUIDED;
    struct spot me = {.host = split_type == MPI_UNDEFINED ? -1 : uno_world.job ? (int)uno_world.job->host : 0};
    for (int i = 0; i < UNO_HW_LEVELS; i++) me.part[i] = -1;
    if (unguided) uno_parts_find(me.part);
    *color = unguided ? MPI_UNDEFINED : own_color(split_type, info, &me);
    if (c->inter) {    // both sides must find the same color: only what a process knows by itself will do
        if (unguided)
            return uno_fail(MPI_ERR_COMM, "an intercommunicator cannot be split by MPI_COMM_TYPE_HW_UNGUIDED");
        return MPI_SUCCESS;
    }
    struct spot *spot = malloc((size_t)c->size * sizeof *spot);
    if (!spot) return uno_fail(MPI_ERR_NO_MEM, "no memory to compare places");
    spot[c->rank] = me;
    struct uno_team team = uno_team_all(c, 0);
    int err = uno_team_allgather(&team, spot, sizeof *spot);
    if (!err && unguided) *color = unguided_color(spot, c->size, &me, info);
    free(spot);
    return err;
}

int uno_hw_info(struct MPI_ABI_Info *info)
{
    int part[UNO_HW_LEVELS], err = uno_info_set(info, "mpi_shared_memory", "true");
    uno_parts_find(part);
    for (int i = 0; i < UNO_HW_LEVELS && !err; i++) {
        char key[32];
        snprintf(key, sizeof key, "hwloc://%s", uno_parts_level(i));
        err = uno_info_set(info, key, part[i] >= 0 ? "true" : "false");
    }
    return err;
}
