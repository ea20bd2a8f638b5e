// SPDX-License-Identifier: BSD-3-Clause
// Serves what ranks ask of the front (request.h). Published names are kept here, for the ranks of all jobs and hosts.
#include "request.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/component.h"
#include "base/names.h"

#define WORDS 4    // of the longest request

struct uno_requests {
    struct uno_names names;
    struct first_list {    // of components, as the first host of a job said it
        struct first_list *next;
        int job;
        struct uno_component_list list;
    } * lists;
};

// Who asks, and what for.
struct request {
    struct uno_requests *q;
    struct uno_front_job *job;
    struct uno_asker from;
    const char *word[WORDS];
    int words;
};

struct uno_requests *uno_requests_new(void)
{
    return uno_xalloc(sizeof(struct uno_requests));
}

static void reply(const struct request *r, int mpi_class, const char *text)
{
    uno_front_reply(r->job->front, &r->from, mpi_class, text);
}

static uint64_t owner_of(const struct uno_front_job *j, int rank)
{
    return (uint64_t)j->number << 32 | (uint32_t)rank;
}

static void publish(const struct request *r)
{
    int err = uno_names_publish(&r->q->names, r->word[1], r->word[2], owner_of(r->job, r->from.rank));
    reply(r, err, err ? uno_fail_text() : "");
}

static void unpublish(const struct request *r)
{
    int err = uno_names_unpublish(&r->q->names, r->word[1]);
    reply(r, err, err ? uno_fail_text() : "");
}

static void look_up(const struct request *r)
{
    char port[MPI_MAX_PORT_NAME];
    int err = uno_names_look_up(&r->q->names, r->word[1], port, sizeof port);
    reply(r, err, err ? uno_fail_text() : port);
}

// rank host list
static void compare(const struct request *r)
{
    char why[512];
    struct uno_component_list own = {atoi(r->word[1]), r->word[2], r->word[3]};
    struct first_list *l = r->q->lists;
    while (l != NULL && l->job != r->job->number) l = l->next;
    if (l == NULL) {
        l = uno_xalloc(sizeof *l);
        *l = (struct first_list){.next = r->q->lists, .job = r->job->number};
        l->list = (struct uno_component_list){own.rank, uno_xstrdup(own.host), uno_xstrdup(own.text)};
        r->q->lists = l;
    }
    bool differ = uno_components_differ(&own, &l->list, why, sizeof why);
    reply(r, differ ? MPI_ERR_OTHER : MPI_SUCCESS, differ ? why : "");
}

static const struct {
    const char *name;
    int words;
    void (*serve)(const struct request *r);
} kinds[] = {{"publish", 3, publish}, {"unpublish", 3, unpublish}, {"lookup", 2, look_up}, {"components", 4, compare}};

void uno_request_take(struct uno_requests *q, struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    struct uno_asker from = {.job = j->number, .rank = fr->rank, .node = fr->node, .ticket = fr->arg};
    struct request r = {.q = q, .job = j, .from = from};
    if (fr->bytes == 0 || data[fr->bytes - 1] != '\0') return;
    for (const char *at = data; at < data + fr->bytes && r.words < WORDS; at += strlen(at) + 1) r.word[r.words++] = at;
    if (strcmp(data, "spawn") == 0) {
        uno_child_spawn(j, &from, data + sizeof "spawn", fr->bytes - sizeof "spawn");
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(data, kinds[i].name) != 0 || r.words < kinds[i].words) continue;
        kinds[i].serve(&r);
        return;
    }
    if (strcmp(data, "met") == 0 && r.words == 2) {
        uno_child_met(j->front, &from, atoll(r.word[1]) << 32 | (int32_t)from.ticket);
        return;
    }
    reply(&r, MPI_ERR_INTERN, "mpiexec does not know this request");
}

void uno_requests_gone(struct uno_requests *q, const struct uno_front_job *j, int rank)
{
    uno_names_drop(&q->names, owner_of(j, rank));
}

void uno_requests_close(struct uno_requests *q)
{
    uno_names_close(&q->names);
    for (struct first_list *l = q->lists, *next; l != NULL; l = next) {
        next = l->next;
        free((char *)(uintptr_t)l->list.host);
        free((char *)(uintptr_t)l->list.text);
        free(l);
    }
    free(q);
}
