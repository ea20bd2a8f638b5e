// SPDX-License-Identifier: BSD-3-Clause
// The beginning of a job (begin.h).
#include "begin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/streams.h"
#include "cpus.h"
#include "node.h"

static void check(const struct uno_plan *p)
{
    for (int a = 0; a < p->napps; a++) {
        char *why, *path;
        bool here = false;
        for (int r = 0; r < p->nranks; r++) here |= p->rank_app[r] == a && p->host[p->rank_host[r]].local;
        if (!here) continue;
        path = uno_spawn_find(p, &p->app[a], &why);
        if (path == NULL) uno_usage("%s", why);
        free(path);
    }
    for (int h = 0; h < p->nhosts; h++) {
        char *why = p->host[h].local && uno_plan_count(p, h) > 0 ? uno_cpus_refusal(p) : NULL;
        if (why) uno_usage("%s", why);
    }
    if (p->stdin_rank >= p->nranks) uno_usage("--stdin %d: the job has ranks 0 to %d", p->stdin_rank, p->nranks - 1);
}

void uno_begin_check(struct uno_plan *p)
{
    if (getrandom(&p->job_id, sizeof p->job_id, 0) != sizeof p->job_id ||
        getrandom(p->secret, sizeof p->secret, 0) != sizeof p->secret)
        uno_usage("the system gives no random numbers: %s", strerror(errno));
    check(p);
}

static int root_of(const struct uno_plan *p)
{
    for (int h = 0; h < p->nhosts; h++) {
        if (p->host[h].local) return h;
    }
    return -1;
}

// What ps shows of a node; a kill by the name of mpiexec is not meant for the guard.
static void rename_node(const struct uno_setting *s)
{
    int argc = s->argc;
    char **argv = s->argv;
    size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
    memset(argv[0], 0, room);
    strncpy(argv[0], "unisono-node", room);
}

// In the child: keeps no descriptor that the user's shell or a reader of our output waits for.
int uno_begin_node(struct uno_plan *p, int link, const struct uno_setting *s)
{
    struct uno_node_place place = {
        .index = root_of(p), .root = true, .stdin_fd = -1, .mask = &s->mask, .files = &s->files};
    struct uno_relay up;
    rename_node(s);
    uno_relay_open(&up, link, link);
    bool pass_stdin = s->pass_stdin && p->number == 0;
    int null = uno_streams_null();
    if (null < 0) return uno_node_refuse(&up, place.index, "open /dev/null", errno);
    if (pass_stdin) place.stdin_fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
    if (pass_stdin && place.stdin_fd < 0) return uno_node_refuse(&up, place.index, "pass standard input on", errno);
    for (int fd = 0; fd <= 2; fd++) {
        if (dup2(null, fd) < 0) return uno_node_refuse(&up, place.index, "close the standard streams", errno);
    }
    close(null);
    int *below = uno_xalloc((size_t)p->nhosts * sizeof(int));
    for (int h = 0; h < p->nhosts; h++) {
        if (h != place.index && uno_plan_count(p, h) > 0) below[place.nbelow++] = h;
    }
    place.below = below;
    return uno_node_run(p, &place, &up);
}
