// SPDX-License-Identifier: BSD-3-Clause
// The writing half of `mpiexec --stats` (stats.h). Called by core/world.c and by waits that have slept.
#include "base/stats.h"

#include <string.h>

#include "base/param.h"
#include "base/pvar.h"

static struct uno_param stats = UNO_PARAM_BOOL(
    "stats", 0,
    "leave the performance variables where mpiexec finds them, and count what takes a look at the clock per message "
    "(mpiexec --stats sets it)");
UNO_PARAM_DECLARE(stats);

static struct uno_stats *place;

bool uno_stats_wanted(void)
{
    return stats.num;
}

void uno_stats_open(struct uno_job_head *job, struct uno_board *board, int rank)
{
    if (!stats.num || place) return;
    int64_t chunk = uno_job_take(job, 1);
    if (chunk < 0) return;
    place = uno_job_chunk(job, (size_t)chunk);
    place->rank = rank;
    int n = uno_pvars_count();
    for (int i = 0; i < n && (size_t)i < UNO_STATS_ROWS; i++) {
        const struct uno_pvar *v = uno_pvar_at(i);
        strncpy(place->row[i].name, v->name, UNO_STATS_NAME - 1);
        place->row[i].kind = v->kind;
    }
    uno_stats_leave();
    // Release: pairs with the acquire in launch/stats.c.
    atomic_store_explicit(&board->stats, (uint32_t)chunk + 1, memory_order_release);
}

void uno_stats_leave(void)
{
    if (!place) return;
    uint32_t n = (uint32_t)uno_pvars_count();
    if (n > UNO_STATS_ROWS) n = (uint32_t)UNO_STATS_ROWS;
    for (uint32_t i = 0; i < n; i++) {
        const struct uno_pvar *v = uno_pvar_at((int)i);
        uint64_t value = uno_pvar_value(v);
        place->row[i].value = v->kind == UNO_PVAR_IS_TIME ? (uint64_t)(uno_pvar_seconds(value) * 1e9) : value;
    }
    // Release: pairs with the acquire in launch/stats.c.
    atomic_store_explicit(&place->rows, n, memory_order_release);
}
