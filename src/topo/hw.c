// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: by host, by part of the hardware, by process set.
// Always holds: all processes see the whole table of places, so they come to the same parts.
#include "topo/hw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "core/info.h"
#include "core/world.h"
#include "p2p/place.h"
#include "topo/parts.h"

static int unguided_color(const struct uno_spot *spot, int n, const struct uno_spot *me, struct MPI_ABI_Info *info)
{
    int level = uno_spot_level(spot, n);
    if (level == UNO_HW_LEVELS) return MPI_UNDEFINED;
    // Told to the caller as the standard wants; memory for it may be out, the split stands all the same.
    const char *name = level < 0 ? "mpi_shared_memory" : uno_hw_level_name(level);
    if (info && !info->readonly && uno_info_set(info, "mpi_hw_resource_type", name))
        uno_log(1, "the info is not told that the split is by %s: %s", name, uno_fail_text());
    return uno_spot_part(me, level);
}

// The level that a name means: -1 the host, UNO_HW_LEVELS when the library does not know it.
static int guided_level(const struct MPI_ABI_Info *info)
{
    const char *name = uno_info_find(info, "mpi_hw_resource_type");
    if (!name) return UNO_HW_LEVELS;
    if (strcmp(name, "mpi_shared_memory") == 0) return -1;
    if (strncmp(name, "hwloc://", 8) == 0) name += 8;
    int level = 0;
    while (level < UNO_HW_LEVELS && strcasecmp(name, uno_hw_level_name(level)) != 0) level++;
    return level;
}

static int pset_color(const char *pset)
{
    if (strcasecmp(pset, "mpi://WORLD") == 0) return 0;
    return strcasecmp(pset, "mpi://SELF") == 0 ? uno_world.rank : MPI_UNDEFINED;
}

// What is known without the others. An unknown name gives MPI_UNDEFINED: the caller then gets MPI_COMM_NULL, as the
// standard says.
static int own_color(int split_type, const struct MPI_ABI_Info *info, const struct uno_spot *me)
{
    if (split_type == MPI_UNDEFINED) return MPI_UNDEFINED;
    const char *pset = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED ? uno_info_find(info, "mpi_pset_name") : NULL;
    if (pset) return pset_color(pset);
    int level = split_type == MPI_COMM_TYPE_SHARED ? -1 : guided_level(info);
    return level == UNO_HW_LEVELS ? MPI_UNDEFINED : uno_spot_part(me, level);
}

// Processes that say MPI_UNDEFINED do not know what the others say, so all exchange the same table whatever they say.
int uno_hw_color(struct MPI_ABI_Comm *c, int split_type, struct MPI_ABI_Info *info, int *color)
{
    bool unguided = split_type == MPI_COMM_TYPE_HW_UNGUIDED, shared = split_type == MPI_COMM_TYPE_SHARED;
    struct uno_spot me = {.host = uno_world.job ? (int)uno_world.job->host : 0};
    if (split_type == MPI_UNDEFINED)
        me.host = -1;
    else if (!shared)
        me = uno_spot_here();
    if (c->inter) {    // both sides must find the same color: only what a process knows by itself will do
        if (unguided)
            return uno_fail(MPI_ERR_COMM, "an intercommunicator cannot be split by MPI_COMM_TYPE_HW_UNGUIDED");
        *color = own_color(split_type, info, &me);
        if (shared && uno_comm_is_mixed(c)) *color = uno_place_number();
        return MPI_SUCCESS;
    }
    int err;
    struct uno_spot *spot = uno_spots(c, me, &err);
    if (spot) me = spot[c->rank];    // which host is known now
    if (spot) *color = unguided ? unguided_color(spot, c->size, &me, info) : own_color(split_type, info, &me);
    free(spot);
    return err;
}

int uno_hw_info(struct MPI_ABI_Info *info)
{
    int err = uno_info_set(info, "mpi_shared_memory", "true");
    struct uno_spot me = uno_spot_here();
    for (int i = 0; i < UNO_HW_LEVELS && !err; i++) {
        char key[32];
        snprintf(key, sizeof key, "hwloc://%s", uno_hw_level_name(i));
        err = uno_info_set(info, key, me.part[i] >= 0 ? "true" : "false");
    }
    return err;
}
