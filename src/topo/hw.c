// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: by host, by part of the hardware (hwloc, loaded when first asked for), by process set.
// Always holds: all processes see the whole table of who is where, so they come to the same parts.
#include "topo/hw.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "coll/construct.h"
#include "coll/team.h"
#include "core/info.h"
#include "core/world.h"
#include "topo/hwloc.h"

static int my_host(void)
{
    return uno_world.job ? (int)uno_world.job->host : 0;
}

// Where a process is: its host (-1: it takes no part in the split), and for each level the number of the part it is bound to, -1
// when it is in several.
struct spot { int host, part[UNO_HW_LEVELS]; };

// Level -1 is the host itself.
static bool same_part(const struct spot *a, const struct spot *b, int level)
{
    return a->host == b->host && (level < 0 || (a->part[level] >= 0 && a->part[level] == b->part[level]));
}

// The color of this process for a level: the lowest rank that shares the part; MPI_UNDEFINED when it is in none.
static int level_color(const struct spot *spot, int n, int me, int level)
{
    if (level >= 0 && spot[me].part[level] < 0) return MPI_UNDEFINED;
    for (int r = 0; r < n; r++) {
        if (same_part(&spot[r], &spot[me], level)) return r;
    }
    return MPI_UNDEFINED;
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

static int unguided_color(const struct spot *spot, int n, int me, struct MPI_ABI_Info *info)
{
    int level = -1;
    while (level < UNO_HW_LEVELS && !divides(spot, n, level)) level++;
    if (level == UNO_HW_LEVELS) return MPI_UNDEFINED;
    // Told to the caller as the standard wants; memory for it may be out, the split stands all the same.
    if (info && !info->readonly) {
        uno_info_set(info, "mpi_hw_resource_type", level < 0 ? "mpi_shared_memory" : uno_hwloc_level(level));
    }
    return level_color(spot, n, me, level);
}

// A name that this library does not know gives MPI_UNDEFINED: the caller then gets MPI_COMM_NULL, as the standard says.
static int guided_color(const struct spot *spot, int n, int me, const struct MPI_ABI_Info *info)
{
    const char *name = uno_info_find(info, "mpi_hw_resource_type");
    if (!name) return MPI_UNDEFINED;
    if (strcmp(name, "mpi_shared_memory") == 0) return spot[me].host;
    if (strncmp(name, "hwloc://", 8) == 0) name += 8;
    int level = 0;
    while (level < UNO_HW_LEVELS && strcasecmp(name, uno_hwloc_level(level)) != 0) level++;
    return level < UNO_HW_LEVELS ? level_color(spot, n, me, level) : MPI_UNDEFINED;
}

static int resource_color(const struct spot *spot, int n, int me, const struct MPI_ABI_Info *info)
{
    const char *pset = uno_info_find(info, "mpi_pset_name");
    if (!pset) return guided_color(spot, n, me, info);
    if (strcasecmp(pset, "mpi://WORLD") == 0) return 0;
    return strcasecmp(pset, "mpi://SELF") == 0 ? me : MPI_UNDEFINED;
}

// Processes that say MPI_UNDEFINED do not know what the others say, so all exchange the same table whatever they say.
int uno_hw_split(struct MPI_ABI_Comm *c, int split_type, int key, struct MPI_ABI_Info *info, struct MPI_ABI_Comm **out)
{
    struct spot *spot = calloc((size_t)c->size, sizeof *spot);
    if (!spot) return uno_fail(MPI_ERR_NO_MEM, "no memory to compare places");
    spot[c->rank].host = split_type == MPI_UNDEFINED ? -1 : my_host();
    if (split_type != MPI_UNDEFINED && split_type != MPI_COMM_TYPE_SHARED) uno_hwloc_parts(spot[c->rank].part);
    struct uno_team team = uno_team_all(c, 0);
    int color = MPI_UNDEFINED, err = uno_team_allgather(&team, spot, sizeof *spot);
    if (!err && split_type == MPI_COMM_TYPE_SHARED) color = my_host();
    if (!err && split_type == MPI_COMM_TYPE_HW_UNGUIDED) color = unguided_color(spot, c->size, c->rank, info);
    if (!err && split_type == MPI_COMM_TYPE_HW_GUIDED) color = guided_color(spot, c->size, c->rank, info);
    if (!err && split_type == MPI_COMM_TYPE_RESOURCE_GUIDED) color = resource_color(spot, c->size, c->rank, info);
    free(spot);
    return err ? err : uno_comm_split(c, color, key, out);
}
