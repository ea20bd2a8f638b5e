// SPDX-License-Identifier: BSD-3-Clause
// Plans of collective accesses (joint.h). Called by collect.c and when a file is opened.
// Always holds: what is decided depends only on what all members know.
#include "io/joint.h"

#include <stdlib.h>

#include "io/datarep.h"
#include "io/file.h"
#include "p2p/place.h"
#include "p2p/team.h"

// Runs of a view below this are short. Writers of a file wait for each other at every call, and on a disk each call
// costs the file system's book-keeping; in memory, and reading, it takes smaller runs until one call costs more than
// another copy.
#define SHORT_WRITE 65536
#define SHORT_WRITE_MEMORY 8192
#define SHORT_READ 256
#define ALIGN ((int64_t)64 << 10)    // where the aggregators' parts are cut
#define PER_HOST 2                   // aggregators: one meets its neighbours while the other has the file
#define LEAST ((size_t)64 << 10)     // bytes of an offer, whatever the hint says

enum wish { AUTOMATIC, ENABLED, APART };

static enum wish wish_of(const struct MPI_ABI_File *f, const struct uno_access *a)
{
    char wish = f->wish.together[a->write];
    if (wish == 'd' || a->atomic || !uno_view_ascends(a->view, a->pos, a->bytes) ||
        a->view->rep->kind != UNO_REP_NATIVE)
        return APART;
    return wish == 'e' ? ENABLED : AUTOMATIC;
}

static struct uno_intent intent_of(const struct MPI_ABI_File *f, const struct uno_access *a, int err)
{
    struct uno_intent own = {.err = uno_file_worst(f, err), .aggregators = (uint64_t)uno_file_aggregators(f)};
    own.buffer = f->wish.buffer;
    if (err) return own;
    own.wish = wish_of(f, a);
    own.shorter = !a->write ? SHORT_READ : f->in_memory ? SHORT_WRITE_MEMORY : SHORT_WRITE;
    own.bytes = a->bytes;
    if (a->bytes == 0) return own;
    uno_view_run(a->view, a->pos, 1, &own.first);
    uno_view_run(a->view, a->pos + a->bytes - 1, 1, &own.end);
    own.end++;
    own.runs = uno_view_runs(a->view, a->bytes);
    return own;
}

// What all intents come to: the range of all, the worst error, the strictest wish.
static struct uno_intent sum_up(const struct uno_intent *all, int size, uint64_t *spans)
{
    struct uno_intent sum = {.first = INT64_MAX, .shorter = UINT64_MAX};
    sum.aggregators = all[0].aggregators;
    sum.buffer = all[0].buffer;
    *spans = 0;
    for (int r = 0; r < size; r++) {
        const struct uno_intent *i = &all[r];
        if (i->err > sum.err) sum.err = i->err;
        if (i->wish > sum.wish) sum.wish = i->wish;
        if (i->aggregators < sum.aggregators) sum.aggregators = i->aggregators;
        if (i->buffer < sum.buffer) sum.buffer = i->buffer;
        if (i->bytes == 0) continue;
        if (i->shorter < sum.shorter) sum.shorter = i->shorter;
        if (i->first < sum.first) sum.first = i->first;
        if (i->end > sum.end) sum.end = i->end;
        sum.bytes += i->bytes;
        sum.runs += i->runs;
        *spans += (uint64_t)(i->end - i->first);
    }
    return sum;
}

static bool is_worth_it(const struct uno_intent *sum, uint64_t spans)
{
    if (sum->bytes == 0 || sum->wish == APART) return false;
    if (sum->wish == ENABLED) return true;
    bool interleaved = spans > (uint64_t)(sum->end - sum->first);
    return interleaved && sum->bytes / sum->runs < sum->shorter;
}

int uno_joint_make(struct uno_joint *p, struct MPI_ABI_File *f, const struct uno_access *a, int err)
{
    int size = f->comm->size;
    uint64_t spans;
    struct uno_team team = uno_team_all(f->comm, 0);
    if (!err) err = uno_view_fits(a->view, a->pos, a->bytes);
    f->intent[f->comm->rank] = intent_of(f, a, err);
    int lost = uno_team_allgather(&team, f->intent, sizeof *f->intent);
    if (err || lost) return err ? err : lost;
    struct uno_intent sum = sum_up(f->intent, size, &spans);
    if (sum.err) return uno_file_verdict(f, sum.err);
    p->all = f->intent;
    p->first = sum.first;
    p->end = sum.end;
    p->together = is_worth_it(&sum, spans);
    p->aggregator = f->leader;
    p->aggregators = (int)sum.aggregators;
    p->quota = (size_t)sum.buffer / (size_t)size;
    if (p->quota < LEAST) p->quota = LEAST;
    return MPI_SUCCESS;
}

void uno_joint_part(const struct uno_joint *p, int number, int64_t *first, int64_t *end)
{
    int64_t begin = p->first / ALIGN * ALIGN, part = (p->end - begin) / p->aggregators / ALIGN * ALIGN + ALIGN;
    *first = number ? begin + number * part : p->first;
    *end = number + 1 < p->aggregators ? begin + (number + 1) * part : p->end;
}

bool uno_joint_meets(const struct uno_joint *p, int rank, int number)
{
    int64_t first, end;
    const struct uno_intent *i = &p->all[rank];
    uno_joint_part(p, number, &first, &end);
    return i->bytes > 0 && i->first < end && i->end > first;
}

// Members on this host with lower ranks.
static int count_before(struct MPI_ABI_Comm *c, int *count)
{
    bool mixed = uno_comm_is_mixed(c);
    int *host = mixed ? malloc((size_t)c->size * sizeof *host) : NULL;
    if (mixed && !host) return uno_fail(MPI_ERR_NO_MEM, "no memory for the members of a file");
    int err = host ? uno_places(c, host) : MPI_SUCCESS;
    *count = 0;
    for (int r = 0; r < c->rank && !err; r++) *count += uno_place_is_here(c, host, r);
    free(host);
    return err;
}

int uno_joint_prepare(struct MPI_ABI_File *f)
{
    struct MPI_ABI_Comm *c = f->comm;
    struct uno_team team = uno_team_all(c, 0);
    int *before = calloc((size_t)c->size, sizeof *before);    // of each member: those on its host with lower ranks
    f->leader = calloc((size_t)c->size, sizeof *f->leader);
    f->intent = calloc((size_t)c->size, sizeof *f->intent);
    f->turn = calloc((size_t)c->size, sizeof *f->turn);
    bool there = before && f->leader && f->intent && f->turn;
    int err = uno_file_agree(f, there ? MPI_SUCCESS : uno_fail(MPI_ERR_NO_MEM, "no memory for the members of a file"));
    if (!err && there) {
        err = count_before(c, &before[c->rank]);
        if (!err) err = uno_team_allgather(&team, before, sizeof *before);
        for (int turn = 0; turn < PER_HOST && !err; turn++)    // the first of each host come first
            for (int r = 0; r < c->size; r++)
                if (before[r] == turn) f->leader[f->leaders++] = r;
    }
    free(before);
    return err;
}
