// SPDX-License-Identifier: BSD-3-Clause
// Finds the segments of other jobs on this host (home.h). Called by proc.c.
#include "chan/home.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/job.h"
#include "chan/proc.h"

static struct uno_home *homes;

static int open_home(const struct uno_card *card, struct uno_job_head **job)
{
    int fd = uno_open_of(card->pid, card->fd);
    if (fd < 0) return errno;
    int err = uno_job_map(fd, job);
    close(fd);
    return err;
}

// Where processes are numbered apart, the path may have led to something else.
static bool is_home_of(const struct uno_job_head *job, const struct uno_card *card)
{
    return job->job_id == card->job && (int32_t)job->host == card->host && (uint32_t)card->local < job->nlocal;
}

static struct uno_home *map_home(const struct uno_card *card, int *error)
{
    struct uno_job_head *job = NULL;
    struct uno_home *h = NULL;
    *error = open_home(card, &job);
    if (*error || !job) return NULL;
    if (!is_home_of(job, card))
        *error = ESTALE;
    else if (!(h = malloc(sizeof *h)))
        *error = ENOMEM;
    if (!h) {
        munmap(job, job->bytes);
        return NULL;
    }
    *h = (struct uno_home){.next = homes, .job = job, .id = card->job, .host = card->host, .users = 1};
    return homes = h;
}

struct uno_home *uno_home_take(const struct uno_card *card, int *error)
{
    *error = EXDEV;
    if (!uno_proc_same_host(card)) return NULL;
    for (struct uno_home *h = homes; h; h = h->next) {
        if (h->id != card->job || h->host != card->host) continue;
        *error = ESTALE;
        if ((uint32_t)card->local >= h->job->nlocal) return NULL;
        h->users++;
        return h;
    }
    struct uno_home *h = map_home(card, error);
    if (!h && *error != ENOENT)
        uno_log(1, "the shared memory of process %d is out of reach: %s", card->pid, strerror(*error));
    return h;
}

void uno_home_give(struct uno_home *h)
{
    if (--h->users > 0) return;
    struct uno_home **at = &homes;
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    munmap(h->job, h->job->bytes);
    free(h);
}
