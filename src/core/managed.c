// SPDX-License-Identifier: BSD-3-Clause
// Joins the job of another launcher (managed.h). Called by world.c.
//
// Each rank leaves the place where it runs; all come to the same table of hosts from that. The first rank of each host
// lays out the segment and leaves its descriptor's number; the others open that through /proc, as a rank of mpiexec
// does whose descriptor was closed (base/job.c). Rank 0 draws the job's number and secret.
#define _GNU_SOURCE
#include "core/managed.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/component.h"
#include "base/job.h"
#include "base/manager.h"
#include "chan/proc.h"
#include "core/world.h"

struct place {
    struct uno_kernel kernel;    // on which it runs
    uint64_t job_id;             // of rank 0
    uint64_t components;         // what it has loaded (base/component.h)
    unsigned char secret[32];
    int32_t pid, appnum;
};

struct table {
    struct place *place;    // [size]
    int *host;              // [size]: numbered in the order of their first ranks
    int size, hosts;
};

static int broken(const char *what)
{
    return uno_fail_errno(MPI_ERR_OTHER, "%s, through the launcher (%s)", what, uno_manager->title);
}

static int leave_place(void)
{
    struct place p = {.pid = getpid(), .appnum = uno_manager_self.appnum};
    uno_components_open(UNO_COMPONENTS_ALIKE, true);    // one rank per host tells what is wrong, once it is known
    p.components = uno_components_hash(UNO_COMPONENTS_ALIKE);
    uno_kernel_own(&p.kernel);
    if (uno_manager_self.rank == 0 && (getrandom(p.secret, sizeof p.secret, 0) != sizeof p.secret ||
                                       getrandom(&p.job_id, sizeof p.job_id, 0) != sizeof p.job_id))
        return uno_fail_errno(MPI_ERR_OTHER, "draw the job's secret");
    errno = uno_manager_put("place", &p, sizeof p);
    if (!errno) errno = uno_manager->fence();
    return errno ? broken("tell the other ranks where this one runs") : MPI_SUCCESS;
}

static int read_places(struct table *t)
{
    for (int r = 0; r < t->size; r++) {
        size_t bytes = sizeof t->place[r];
        errno = uno_manager_get(r, "place", &t->place[r], &bytes);
        if (!errno && bytes != sizeof t->place[r]) errno = EPROTO;
        if (errno)
            return uno_fail_errno(MPI_ERR_OTHER, "learn where rank %d runs, through the launcher (%s)", r,
                                  uno_manager->title);
        if (t->place[r].components != t->place[0].components)
            return uno_fail(MPI_ERR_OTHER,
                            "rank %d has loaded other components than rank 0 (here: %s): give all ranks the same "
                            "component_path, and the same files in its folders",
                            r, uno_components_text(UNO_COMPONENTS_ALIKE));
        int s = 0;
        while (s < r && !uno_kernel_same(&t->place[s].kernel, &t->place[r].kernel)) s++;
        t->host[r] = s < r ? t->host[s] : t->hosts++;
    }
    return MPI_SUCCESS;
}

// The ranks of this host, in order, go to world_rank and appnum ([size]). How many there are.
static uint32_t own_host(const struct table *t, int *world_rank, int *appnum)
{
    uint32_t n = 0;
    for (int r = 0; r < t->size; r++) {
        if (t->host[r] != t->host[uno_manager_self.rank]) continue;
        world_rank[n] = r;
        appnum[n++] = t->place[r].appnum;
    }
    return n;
}

static int make_segment(const struct table *t, int *fd)
{
    int *numbers = calloc((size_t)t->size, 2 * sizeof *numbers), err = 0;
    cpu_set_t set;
    if (!numbers) return uno_fail(MPI_ERR_NO_MEM, "no memory for a table of %d ranks", t->size);
    struct uno_job_spec spec = {.nlocal = own_host(t, numbers, numbers + t->size),
                                .nworld = (uint32_t)t->size,
                                .universe_size = (uint32_t)uno_manager_self.universe,
                                .nhosts = (uint32_t)t->hosts,
                                .host = (uint32_t)t->host[uno_manager_self.rank],
                                .processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
                                .world_rank = numbers,
                                .appnum = numbers + t->size,
                                .job_id = t->place[0].job_id,
                                .secret = t->place[0].secret};
    // A launcher that binds gives each rank processors of its own.
    bool bound = sched_getaffinity(0, sizeof set, &set) == 0 && (uint32_t)CPU_COUNT(&set) < spec.processors;
    int *sharers = bound && spec.nlocal <= spec.processors ? malloc(spec.nlocal * sizeof *sharers) : NULL;
    for (uint32_t i = 0; sharers && i < spec.nlocal; i++) sharers[i] = 1;
    spec.sharers = sharers;
    errno = uno_job_create(&spec, fd);
    if (errno) err = uno_fail_errno(MPI_ERR_NO_MEM, "make the job segment");
    free(sharers);
    free(numbers);
    return err;
}

static int open_segment(const struct table *t, int first, int *fd)
{
    int32_t theirs;
    size_t bytes = sizeof theirs;
    errno = uno_manager_get(first, "segment", &theirs, &bytes);
    if (errno) return broken("learn of the job segment");
    *fd = uno_open_of(t->place[first].pid, theirs);
    if (*fd < 0)
        return uno_fail_errno(MPI_ERR_OTHER, "open the job segment that rank %d made on this host, process %d", first,
                              t->place[first].pid);
    return MPI_SUCCESS;
}

static int share_segment(const struct table *t, int *fd, uint32_t *local)
{
    int first = 0, err = MPI_SUCCESS;
    *local = 0;
    while (t->host[first] != t->host[uno_manager_self.rank]) first++;
    for (int r = first; r < uno_manager_self.rank; r++) *local += t->host[r] == t->host[first];
    if (*local == 0) {
        err = make_segment(t, fd);
        if (err) return err;
        int32_t mine = *fd;
        errno = uno_manager_put("segment", &mine, sizeof mine);
        if (errno) return broken("tell of the job segment");
    }
    errno = uno_manager->fence();
    if (errno) return broken("wait for the job segments");
    return *local == 0 ? MPI_SUCCESS : open_segment(t, first, fd);
}

int uno_managed_join(bool *there, int *fd, uint32_t *local)
{
    int err = uno_manager_find();
    *there = uno_manager;
    if (err || !uno_manager) return err;
    struct table t = {.size = uno_manager_self.size};
    t.place = calloc((size_t)t.size, sizeof *t.place);
    t.host = calloc((size_t)t.size, sizeof *t.host);
    err = t.place && t.host ? leave_place() : uno_fail(MPI_ERR_NO_MEM, "no memory for %d ranks", t.size);
    if (!err) err = read_places(&t);
    if (!err) err = share_segment(&t, fd, local);
    free(t.place);
    free(t.host);
    return err;
}

int uno_managed_publish(void)
{
    if (!uno_manager || uno_world.job->nhosts == 1) return MPI_SUCCESS;
    errno = uno_manager->fence();
    return errno ? broken("wait for the addresses of the other ranks") : MPI_SUCCESS;
}

bool uno_managed(void)
{
    return uno_manager;
}

void uno_managed_abort(int status, const char *why)
{
    if (uno_manager) uno_manager->abort(status, why);
}

void uno_managed_leave(void)
{
    if (uno_manager) uno_manager->leave();
}
