// SPDX-License-Identifier: BSD-3-Clause
// Finds which members of a communicator are on one host (place.h). Called by share.c, windows, files, collectives and
// topologies.
//
// Always holds: all members come to the same numbers, from the same table. Hosts of one job are different ones, even
// where they are played on one machine; of several jobs on one kernel the first hosts are one, then the second, and so
// on.
#include "p2p/place.h"

#include <stdlib.h>
#include <string.h>

#include "chan/proc.h"
#include "core/world.h"
#include "p2p/peer.h"
#include "p2p/team.h"

struct place {
    uint64_t job;
    struct uno_kernel kernel;
    int32_t host;      // in its job
    int32_t played;    // how many other hosts of its job came before, on the same kernel
};

static bool is_same_host(const struct place *a, const struct place *b)
{
    return a->job == b->job && a->host == b->host;
}

// Of those before r, and r itself, for each r in turn.
static void count_played(struct place *place, int r)
{
    place[r].played = 0;
    for (int s = 0; s < r; s++) {
        if (is_same_host(&place[s], &place[r])) {
            place[r].played = place[s].played;
            return;
        }
        if (place[s].job == place[r].job && uno_kernel_same(&place[s].kernel, &place[r].kernel) &&
            place[s].played >= place[r].played)
            place[r].played = place[s].played + 1;
    }
}

// apart: each job for itself.
static void number_hosts(struct place *place, int n, bool apart, int *host)
{
    int hosts = 0;
    for (int r = 0; r < n; r++) {
        int s = 0;
        count_played(place, r);
        while (s < r && !is_same_host(&place[s], &place[r]) &&
               (apart || !uno_kernel_same(&place[s].kernel, &place[r].kernel) || place[s].played != place[r].played))
            s++;
        host[r] = s < r ? host[s] : hosts++;
    }
}

static int own_place(const struct MPI_ABI_Comm *c, struct place *p)
{
    struct uno_card own = {.host = (int32_t)uno_world.job->host};
    int err = uno_comm_is_mixed(c) ? uno_proc_own(&own) : MPI_SUCCESS;
    *p = (struct place){.job = own.job, .kernel = own.kernel, .host = own.host};
    return err;
}

// Maps the segments of the other jobs on this host, and watches over the processes that are to share memory with this
// one: nothing may ever be sent to them.
static bool reach_neighbours(const struct MPI_ABI_Comm *c, const int *host)
{
    for (int r = 0; r < c->size; r++) {
        int proc = uno_comm_proc(c, r);
        if (host[r] != host[c->rank] || !uno_proc_is_guest(proc)) continue;
        if (!uno_proc_is_near(proc)) return false;
        if (!uno_peer_of(proc)) uno_log(1, "%s", uno_fail_text());
    }
    return true;
}

int uno_places(struct MPI_ABI_Comm *c, int *host)
{
    struct place *place = calloc((size_t)c->size, sizeof *place);
    struct uno_team team = uno_team_all(c, 0);
    if (!place) return uno_fail(MPI_ERR_NO_MEM, "no memory for the places of %d processes", c->size);
    int err = own_place(c, &place[c->rank]);
    if (!err) err = uno_team_allgather(&team, place, sizeof *place);
    if (!err) number_hosts(place, c->size, false, host);
    if (!err && uno_comm_is_mixed(c)) {
        int64_t missed = !reach_neighbours(c, host);
        err = uno_team_most(&team, &missed);
        if (!err && missed) number_hosts(place, c->size, true, host);
    }
    free(place);
    return err;
}

bool uno_places_differ(const struct MPI_ABI_Comm *c)
{
    return uno_world.job->nhosts > 1 || uno_comm_is_mixed(c);
}

int uno_place_number(void)
{
    struct uno_card own;
    uint64_t word[UNO_BOOT_BYTES / sizeof(uint64_t)], sum;
    if (uno_proc_own(&own) != MPI_SUCCESS) return 0;
    memcpy(word, own.kernel.boot, sizeof word);
    sum = own.kernel.pids;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) sum = (sum ^ word[i]) * 0x9e3779b97f4a7c15ULL;
    return (int)(sum >> 33);
}

bool uno_place_is_here(const struct MPI_ABI_Comm *c, const int *host, int r)
{
    return host ? host[r] == host[c->rank] : uno_local_of(uno_comm_proc(c, r)) >= 0;
}
