// SPDX-License-Identifier: BSD-3-Clause
// Jobs that ranks spawn: their beginning (frontjob.h). The front forks at once; the fork plans the job (childplan.h),
// sends the plan up its link, and becomes the root node, as the first job's did. The rank that asked is answered when
// all ranks run, or none can; until then what goes wrong is told to it and to nobody else.
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "childplan.h"
#include "frontjob.h"
#include "input.h"

#define LINK_BYTES (1 << 20)

static int link_up;    // in the fork: to the front

// ---- in the fork ----

static void send_up(uint32_t type, int rank, const void *data, size_t bytes)
{
    struct uno_relay up;
    struct uno_frame f = {.bytes = (uint32_t)bytes, .type = type, .rank = rank, .node = -1};
    uno_relay_open(&up, link_up, link_up);
    uno_nonblock(link_up, false);
    uno_relay_send(&up, &f, data);
    uno_bytes_free(&up.in);
    uno_bytes_free(&up.out);
}

static void refuse(int mpi_class, const char *text)
{
    send_up(UNO_CANNOT, mpi_class, text, strlen(text));
    send_up(UNO_DONE, -1, NULL, 0);
    _exit(0);
}

static int usage_class = MPI_ERR_INFO_VALUE;    // of what uno_usage() is told: while the request is read, a key's value

static void refuse_usage(const char *text)
{
    refuse(usage_class, text);
}

// Ranks that other jobs have on the hosts.
static void count_taken(struct uno_plan *p, const struct uno_front *f)
{
    for (const struct uno_front_job *j = f->jobs; j != NULL; j = j->next) {
        for (int r = 0; j->plan != NULL && !j->done && r < j->plan->nranks; r++) {
            for (int h = 0; h < p->nhosts; h++) {
                if (strcmp(p->host[h].name, uno_plan_name(j->plan, r)) == 0) p->host[h].taken++;
            }
        }
    }
}

// Nothing of the front's stays open: locks of names, files, and links whose end others wait for.
static void close_others(void)
{
    if (link_up > 3) close_range(3, (unsigned)link_up - 1, 0);
    close_range((unsigned)link_up + 1, ~0u, 0);
    uno_guard_forget();
}

static _Noreturn void become_job(struct uno_front *f, int number, const char *words, size_t bytes)
{
    struct uno_childplan from = {.first = f->first->plan, .words = words, .end = words + bytes, .refuse = refuse};
    struct uno_plan p = {.number = number};
    struct uno_bytes packed = {0};
    close_others();
    uno_usage_told = refuse_usage;
    uno_childplan_read(&p, &from);
    usage_class = MPI_ERR_SPAWN;
    count_taken(&p, f);
    uno_childplan_count(&p, &from);
    uno_plan_place(&p);
    if (p.nranks == 0) refuse(MPI_ERR_SPAWN, "there is no process to start");
    uno_begin_check(&p);
    uno_plan_pack(&p, &packed);
    send_up(UNO_PLAN, -1, uno_bytes_first(&packed), packed.len);
    uno_bytes_free(&packed);
    _exit(uno_begin_node(&p, link_up, f->setting));
}

// ---- in the front ----

static struct uno_front_job *add_job(struct uno_front *f, struct uno_front_job *parent, const struct uno_asker *by)
{
    struct uno_front_job *j = uno_xalloc(sizeof *j), **at = &f->jobs;
    *j = (struct uno_front_job){.front = f, .parent = parent, .number = ++f->spawned, .asker = *by};
    j->input = uno_input_new(f->first->plan, false);
    while (*at != NULL) at = &(*at)->next;
    *at = j;
    return j;
}

void uno_child_spawn(struct uno_front_job *parent, const struct uno_asker *by, const char *words, size_t bytes)
{
    struct uno_front *f = parent->front;
    int pair[2], size = LINK_BYTES;
    if (parent->ending || f->signals > 0) {
        uno_front_reply(f, by, MPI_ERR_SPAWN, "the job is being ended");
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        uno_front_reply(f, by, MPI_ERR_SPAWN, uno_reason(errno));
        return;
    }
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    pid_t node = fork();
    if (node == 0) {
        link_up = pair[1];
        become_job(f, f->spawned + 1, words, bytes);
    }
    close(pair[1]);
    if (node < 0) {
        uno_front_reply(f, by, MPI_ERR_SPAWN, uno_reason(errno));
        close(pair[0]);
        return;
    }
    struct uno_front_job *j = add_job(f, parent, by);
    j->node = node;
    uno_relay_open(&j->down, pair[0], pair[0]);
    for (int stream = 1; stream <= 2; stream++) {
        if (f->closed[stream - 1]) uno_front_job_order(j, UNO_CLOSE, stream);
    }
}

// What the front alone knows of is as in the first job.
static void copy_front(struct uno_plan *p, const struct uno_plan *first)
{
    p->tags = first->tags;
    p->tag_pattern = first->tag_pattern;
    p->merge = first->merge;
    p->keep_copy = first->keep_copy;
    p->out_pattern = first->out_pattern;
    p->err_pattern = first->err_pattern;
    p->out_dir = first->out_dir;
    p->exit_codes = first->exit_codes;
    p->quiet = first->quiet;
    p->profile = first->profile;
    p->stats = first->stats;
    p->keep_waiting = first->keep_waiting;
}

void uno_child_planned(struct uno_front_job *j, const char *data, size_t bytes)
{
    struct uno_plan *p = uno_xalloc(sizeof *p);
    struct uno_outfiles *files = NULL;
    char *why = NULL;
    if (j->plan == NULL && uno_plan_unpack(p, data, bytes)) {
        j->own = p;
        copy_front(p, j->front->first->plan);
        why = uno_outfiles_open(p, true, &files);
        uno_front_job_begin(j, p, files);
        uno_outfiles_free(files);
    } else {
        uno_plan_free(p);
        free(p);
        why = uno_xstrdup("the plan of the spawned job is damaged");
    }
    if (why && !uno_child_refused(j, MPI_ERR_SPAWN, why)) free(why);
}

// "2 1": ranks of each command.
void uno_child_started(struct uno_front_job *j)
{
    struct uno_bytes text = {0};
    if (++j->started < j->plan->nranks || j->up) return;
    for (int a = 0; a < j->plan->napps; a++) {
        char *n = uno_xformat("%d ", j->plan->app[a].nranks);
        uno_bytes_add(&text, n, strlen(n));
        free(n);
    }
    uno_bytes_add(&text, "", 1);
    uno_front_reply(j->front, &j->asker, MPI_SUCCESS, uno_bytes_first(&text));
    uno_bytes_free(&text);
    j->up = true;
}

bool uno_child_refused(struct uno_front_job *j, int mpi_class, char *why)
{
    if (j->number == 0 || j->up || j->asker.ticket < 0) return false;
    uno_front_reply(j->front, &j->asker, mpi_class, why);
    free(why);
    j->asker.ticket = -1;
    j->ending = true;
    uno_front_job_order(j, UNO_END, 0);
    return true;
}

// The rank waits for the processes to be initialised, which they will not be any more.
void uno_child_ended(struct uno_front_job *j)
{
    char *why = uno_xstrdup("the processes ended before all of them had started");
    if (uno_child_refused(j, MPI_ERR_SPAWN, why)) return;
    free(why);
    if (j->up && j->asker.ticket >= 0) uno_front_send(j->front, &j->asker, UNO_ENDED, 0, "");
}

void uno_child_met(struct uno_front *f, const struct uno_asker *by, int64_t ticket)
{
    for (struct uno_front_job *j = f->jobs; j != NULL; j = j->next) {
        bool its = j->asker.job == by->job && j->asker.node == by->node && j->asker.ticket == ticket;
        if (j->up && its) j->asker.ticket = -1;
    }
}
