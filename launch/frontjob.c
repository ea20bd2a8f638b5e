// SPDX-License-Identifier: BSD-3-Clause
// What one job's node tells, and what the front makes of it (frontjob.h). Called by front.c.
#include "frontjob.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agree.h"
#include "checkpoint.h"
#include "debug.h"
#include "guest.h"
#include "input.h"
#include "request.h"

void uno_front_job_order(struct uno_front_job *j, uint32_t type, int64_t arg)
{
    struct uno_frame fr = {.type = type, .rank = -1, .node = -1, .arg = arg};
    uno_relay_send(&j->down, &fr, NULL);
}

// Whether a job was spawned by ranks of that one, or of one that was.
static bool descends(const struct uno_front_job *j, const struct uno_front_job *from)
{
    while (j != NULL && j != from) j = j->parent;
    return j != NULL;
}

void uno_front_job_end(struct uno_front_job *j, int64_t grace)
{
    for (struct uno_front_job *d = j->front->jobs; d != NULL; d = d->next) {
        if (!descends(d, j)) continue;
        if (!d->ending) d->verdict.others = d == j ? d->running : 0;
        d->ending = true;
        uno_front_job_order(d, UNO_END, grace);
    }
}

void uno_front_job_fail(struct uno_front_job *j, int status, char *what)
{
    if (j->verdict.what != NULL) {
        free(what);
        return;
    }
    j->verdict.status = status;
    j->verdict.what = what;
    uno_front_job_end(j, j->front->first->plan->grace_ms);
    j->verdict.others = 0;
}

// A rank has failed, and gdb may look at the others as long as it likes.
static bool left_to_gdb(struct uno_front_job *j)
{
    if (j != j->front->first || !uno_debug_runs(j->front->debugger) || j->running == 0) return false;
    char *text = uno_xformat("mpiexec: %s; the other ranks are left to gdb until it is quit", j->verdict.what);
    uno_sinks_say(j->front->sinks, text);
    free(text);
    return true;
}

static void take_exit(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    struct uno_exit e;
    bool ends_job;
    if (!j->plan || fr->bytes != sizeof e || fr->rank < 0 || fr->rank >= j->plan->nranks) return;
    memcpy(&e, data, sizeof e);
    j->running--;
    j->status[fr->rank] = e.status;
    uno_output_end(j->output, fr->rank);
    uno_input_gone(j->input, fr->rank);
    uno_requests_gone(j->front->requests, j, fr->rank);
    if (j->plan->verbose) {
        char *text = uno_xformat("mpiexec: rank %d (pid %d) ended, %s %d", fr->rank, e.pid,
                                 WIFSIGNALED(e.status) ? "signal" : "status",
                                 WIFSIGNALED(e.status) ? WTERMSIG(e.status) : WEXITSTATUS(e.status));
        uno_sinks_say(j->front->sinks, text);
        free(text);
    }
    bool survives = uno_agree_survives(j, fr->rank, &e);
    uno_agree_gone(j, fr->rank);
    if (survives) return;
    if (j->ending || !uno_verdict_rank(&j->verdict, j->plan, fr->rank, &e, &ends_job)) return;
    if (ends_job && !left_to_gdb(j)) uno_front_job_end(j, j->plan->grace_ms);
}

static void report_deadlock(struct uno_front_job *j)
{
    char *text = uno_verdict_deadlock(j->plan, j->wait, j->nwait);
    uno_sinks_say(j->front->sinks, text);
    free(text);
    j->verdict.status = 1;
    uno_front_job_end(j, j->plan->grace_ms);
}

static void add_waits(struct uno_front_job *j, const char *data, size_t bytes)
{
    size_t count = bytes / sizeof *j->wait;
    j->wait = uno_xrealloc(j->wait, (j->nwait + count + 1) * sizeof *j->wait);
    memcpy(j->wait + j->nwait, data, count * sizeof *j->wait);
    j->nwait += count;
}

// A node says by itself (arg 1) that all its ranks sleep, or (arg 0) no longer. When all have said so, each is asked
// again (arg is the round, from 2 on): only then nothing can have been between two of them, nor between them and the
// front, as a vote and the outcome that wakes who waits for it.
static void take_quiet(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    if (fr->node < 0 || fr->node >= j->plan->nhosts || j->ending || j->plan->keep_waiting) return;
    if (fr->arg <= 1) {
        j->quiet_nodes += (int)fr->arg - j->quiet[fr->node];
        j->quiet[fr->node] = fr->arg == 1;
        j->confirmed = 0;
        j->nwait = 0;
        if (j->quiet_nodes < j->nodes) return;
        j->round++;
        uno_front_job_order(j, UNO_CONFIRM, j->round);
        return;
    }
    if (fr->arg != j->round) return;
    add_waits(j, data, fr->bytes);
    if (++j->confirmed == j->nodes && j->nwait > 0) report_deadlock(j);
}

static void take_where(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    size_t count = fr->bytes / sizeof *j->wait;
    struct uno_wait *list = uno_xalloc(count * sizeof *list);
    memcpy(list, data, count * sizeof *list);
    char *text = uno_verdict_where(j->plan, list, count);
    if (count > 0) uno_sinks_say(j->front->sinks, text);
    free(text);
    free(list);
}

static void say(struct uno_front_job *j, char *text)
{
    if (text != NULL) uno_sinks_say(j->front->sinks, text);
    free(text);
}

static void take_start(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    int32_t pid;
    if (fr->bytes != sizeof pid || fr->rank < 0 || fr->rank >= j->plan->nranks) return;
    memcpy(&pid, data, sizeof pid);
    uno_output_started(j->output, fr->rank, pid);
    if (j->plan->verbose)
        say(j, uno_xformat("mpiexec: rank %d started on %s, pid %d", fr->rank, uno_plan_name(j->plan, fr->rank), pid));
    if (j == j->front->first) uno_debug_started(j->front->debugger, fr->rank, pid);
    uno_child_started(j);
}

static void take_failure(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    bool lost = fr->type == UNO_LOST;
    int mpi_class = fr->rank > 0 ? fr->rank : MPI_ERR_SPAWN;
    char *why = uno_xformat("%.*s", (int)fr->bytes, data);
    if (uno_child_refused(j, mpi_class, why)) return;
    uno_front_job_fail(j, lost ? 1 : UNO_EXIT_USAGE, uno_xformat("%s%s", why, lost ? "; the job was ended" : ""));
    free(why);
}

static void take_frame(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    if (j == j->front->first) uno_checkpoint_hear(j->front->checkpoint, fr, data);
    if (fr->type == UNO_DONE) j->done = true;
    if (fr->type == UNO_PLAN) uno_child_planned(j, data, fr->bytes);
    if (fr->type == UNO_CANNOT || fr->type == UNO_LOST) take_failure(j, fr, data);
    if (fr->type == UNO_SAY) say(j, uno_xformat("%.*s", (int)fr->bytes, data));
    if (j->plan == NULL) return;
    switch (fr->type) {
    case UNO_OUTPUT: uno_output_put(j->output, fr->rank, (int)fr->arg, data, fr->bytes); break;
    case UNO_EXITED: take_exit(j, fr, data); break;
    case UNO_WHERE: take_where(j, fr, data); break;
    case UNO_QUIET: take_quiet(j, fr, data); break;
    case UNO_STDIN_ROOM: uno_input_room(j->input, fr->rank, fr->arg); break;
    case UNO_PROFILE: uno_profile_take(j->profile, data, fr->bytes); break;
    case UNO_STATS: uno_stats_take(j->stats, data, fr->bytes); break;
    case UNO_REQUEST: uno_request_take(j->front->requests, j, fr, data); break;
    case UNO_STARTED: take_start(j, fr, data); break;
    case UNO_VOTE: uno_agree_take(j, fr, data); break;
    case UNO_GONE: uno_agree_lost(j, fr, data); break;
    default: break;
    }
}

void uno_front_job_hear(struct uno_front_job *j)
{
    struct uno_frame fr;
    const char *data;
    uno_relay_flush(&j->down);
    uno_relay_fill(&j->down);
    while (uno_relay_next(&j->down, &fr, &data)) take_frame(j, &fr, data);
    if (j->down.ended && !j->done) j->done = j->broken = true;
}

void uno_front_job_replay(struct uno_front_job *j, const struct uno_bytes *frames)
{
    struct uno_relay past = {.rd = -1, .wr = -1};
    struct uno_frame fr;
    const char *data;
    if (frames->len > 0) uno_bytes_add(&past.in, uno_bytes_first(frames), frames->len);
    while (uno_relay_next(&past, &fr, &data)) take_frame(j, &fr, data);
    uno_bytes_free(&past.in);
}

void uno_front_job_begin(struct uno_front_job *j, const struct uno_plan *p, const struct uno_outfiles *files)
{
    j->plan = p;
    j->running = p->nranks;
    j->round = 1;
    j->output = uno_output_new(j->front->sinks, p, files);
    j->profile = uno_profile_new(p);
    j->stats = uno_stats_new(p);
    j->status = uno_xalloc((size_t)p->nranks * sizeof *j->status);
    for (int r = 0; r < p->nranks; r++) j->status[r] = -1;
    j->quiet = uno_xalloc((size_t)p->nhosts * sizeof *j->quiet);
    for (int h = 0; h < p->nhosts; h++) j->nodes += uno_plan_count(p, h) > 0;
}

static struct uno_front_job *find_job(const struct uno_front *f, int number)
{
    struct uno_front_job *j = f->jobs;
    while (j != NULL && j->number != number) j = j->next;
    return j;
}

void uno_front_reply(struct uno_front *f, const struct uno_asker *to, int mpi_class, const char *text)
{
    uno_front_send(f, to, UNO_ANSWER, mpi_class, text);
}

void uno_front_send(struct uno_front *f, const struct uno_asker *to, uint32_t type, int mpi_class, const char *text)
{
    struct uno_front_job *j = find_job(f, to->job);
    struct uno_frame fr = {
        .bytes = (uint32_t)strlen(text), .type = type, .rank = mpi_class, .node = to->node, .arg = to->ticket};
    if (j != NULL && j->number == 0 && f->guest >= 0)
        uno_guest_send(f, &fr, text);
    else if (j != NULL)
        uno_relay_send(&j->down, &fr, text);
}

void uno_front_job_close(struct uno_front_job *j)
{
    uno_agree_close(j);
    if (j->plan != NULL) {
        say(j, uno_profile_end(j->profile));
        say(j, uno_stats_end(j->stats));
        if (j->plan->exit_codes) say(j, uno_verdict_codes(j->plan, j->status));
        if (!j->plan->quiet) say(j, uno_verdict_warning(&j->verdict));
        uno_output_free(j->output);
    }
    say(j, uno_verdict_text(&j->verdict));
    free(j->verdict.what);
    free(j->verdict.forgot);
    free(j->status);
    free(j->quiet);
    free(j->wait);
    free(j->input);
    if (j->own) uno_plan_free(j->own);
    free(j->own);
}
