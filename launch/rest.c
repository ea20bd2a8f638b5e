// SPDX-License-Identifier: BSD-3-Clause
// A node stands still while a checkpoint is made (node.h). Nothing is then on its way between it and the front, so the
// link is the one thing that is not part of the checkpoint: processes that are made anew get another. What criu does
// not bring back is noted before and done again after: the processors of each thread, and the name of a bound job.
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpus.h"
#include "node.h"

struct bound {
    int thread;
    cpu_set_t cpus;
};

struct places {
    struct bound *item;
    size_t count;
};

static void note_threads(struct places *p, int pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        struct bound b = {.thread = atoi(e->d_name)};
        if (b.thread <= 0 || sched_getaffinity(b.thread, sizeof b.cpus, &b.cpus) != 0) continue;
        p->item = uno_xrealloc(p->item, (p->count + 1) * sizeof *p->item);
        p->item[p->count++] = b;
    }
    if (d != NULL) closedir(d);
}

// Processors that this machine does not have, or that we may not use here, are no failure.
static void bind_again(const struct places *p)
{
    for (size_t i = 0; i < p->count; i++) sched_setaffinity(p->item[i].thread, sizeof(cpu_set_t), &p->item[i].cpus);
}

static void tell_rested(struct uno_node *n)
{
    struct stat st = {0};
    fstat(n->up.rd, &st);
    uint64_t link = st.st_ino;
    uno_node_tell(n, UNO_RESTED, -1, getpid(), &link, sizeof link);
}

// -1: the link has ended; else what UNO_GO says. Nothing else is sent before it.
static int64_t await_go(struct uno_relay *up)
{
    struct uno_frame f;
    const char *data;
    while (!up->ended && !up->deaf) {
        struct pollfd p = {.fd = up->rd, .events = (short)(POLLIN | (up->out.len > 0 ? POLLOUT : 0))};
        if (poll(&p, 1, -1) < 0 && errno != EINTR) break;
        uno_relay_flush(up);
        uno_relay_fill(up);
        if (uno_relay_next(up, &f, &data) && f.type == UNO_GO) return f.arg;
    }
    return -1;
}

bool uno_rest_stand(struct uno_node *n)
{
    struct places places = {0};
    if (n->up.out.len > 0) return false;
    for (int i = 0; i < n->nlocal; i++) {
        if (n->rank[i].pid > 0 && !n->rank[i].exited) note_threads(&places, n->rank[i].pid);
    }
    uno_cpus_yield();
    tell_rested(n);
    int64_t anew = await_go(&n->up);
    if (uno_cpus_retake() && anew == 1) bind_again(&places);
    free(places.item);
    n->resting = false;
    return true;
}
