// SPDX-License-Identifier: BSD-3-Clause
// Outcomes of nonblocking collective accesses (outcome.h). Called by async.c and src/api/file_move.c.
// The tree of p2p/team.c without its waits: the worst of each branch goes up to rank 0, the worst of all comes back, by
// messages in the collective context that a poller looks after. Where a member has failed they end with an error.
// Always holds: a member sends up once, after its branches and its own part are known, and then only hears.
#include "io/outcome.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/progress.h"
#include "io/file.h"
#include "p2p/p2p.h"

// A word on its way.
struct word {
    MPI_Request request;
    int64_t worst;    // as uno_file_worst says it
};

struct uno_outcome {
    struct uno_outcome *next;
    struct MPI_ABI_File *file;
    int tag;
    enum { GATHERS, AWAITS, SPREADS } phase;
    bool told;
    int64_t worst;
    int lost;    // class of an error on the way
    uno_outcome_fn *ended;
    void *arg;
    struct word up, answer;
    int branches;
    struct word branch[];    // of member rank + 2^i: what it sends up, later the answer to it
};

static struct uno_outcome *first;    // all that have not ended
static struct uno_poller poller;

static struct uno_where at_rank(const struct uno_outcome *o, int rank)
{
    return (struct uno_where){.comm = o->file->comm, .rank = rank, .tag = o->tag, .coll = true};
}

static int rank_above(const struct uno_outcome *o)
{
    int rank = o->file->comm->rank;
    return rank & (rank - 1);
}

static void begin_word(struct uno_outcome *o, struct word *w, int rank, bool receive)
{
    struct uno_where other = at_rank(o, rank);
    if (!receive) w->worst = o->worst;
    int err = receive ? uno_irecv(&w->worst, sizeof w->worst, uno_type(MPI_BYTE), &other, &w->request)
                      : uno_isend(&w->worst, sizeof w->worst, uno_type(MPI_BYTE), &other, UNO_STANDARD, &w->request);
    if (!err) return;
    w->request = MPI_REQUEST_NULL;
    o->lost = err;
}

// Whether it has come, or left.
static bool is_through(struct uno_outcome *o, struct word *w)
{
    if (w->request == MPI_REQUEST_NULL) return true;
    if (!uno_request_is_done(w->request)) return false;
    int err = uno_wait(&w->request, MPI_STATUS_IGNORE);
    if (err) o->lost = err;
    return true;
}

static bool branches_are_through(struct uno_outcome *o)
{
    for (int i = 0; i < o->branches; i++)
        if (!is_through(o, &o->branch[i])) return false;
    return true;
}

static void send_up(struct uno_outcome *o)
{
    for (int i = 0; i < o->branches; i++)
        if (o->branch[i].worst > o->worst) o->worst = o->branch[i].worst;
    if (o->file->comm->rank > 0) begin_word(o, &o->up, rank_above(o), false);
}

static void send_down(struct uno_outcome *o)
{
    int rank = o->file->comm->rank;
    if (rank > 0) o->worst = o->answer.worst;
    for (int i = 0; i < o->branches; i++) begin_word(o, &o->branch[i], rank + (1 << i), false);
}

// No reason is kept: that is the place of whatever call is under way.
static void tell_end(struct uno_outcome *o)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int err = o->lost ? o->lost : uno_file_verdict_text(o->file, o->worst, why, sizeof why);
    if (o->lost) snprintf(why, sizeof why, "%s: a process that has the file open has failed", o->file->path);
    o->ended(o->arg, err, why);
}

static void end(struct uno_outcome *o)
{
    struct uno_outcome **place = &first;
    while (*place != o) place = &(*place)->next;
    *place = o->next;
    if (!first) uno_poller_remove(&poller);
    o->file->pending--;
    if (o->ended) tell_end(o);
    free(o);
}

// Goes on as far as it can. Whether it moved.
static bool go_on(struct uno_outcome *o)
{
    int before = (int)o->phase;
    if (o->phase == GATHERS && o->told && branches_are_through(o)) {
        if (!o->lost) send_up(o);
        o->phase = AWAITS;
    }
    if (o->phase == AWAITS && is_through(o, &o->up) && is_through(o, &o->answer)) {
        if (!o->lost) send_down(o);
        o->phase = SPREADS;
    }
    if (o->phase == SPREADS && branches_are_through(o)) {
        end(o);
        return true;
    }
    return (int)o->phase != before;
}

static int look_at_all(struct uno_poller *self)
{
    int n = 0;
    (void)self;
    for (struct uno_outcome *o = first, *next; o; o = next) {
        next = o->next;
        n += go_on(o);
    }
    return n;
}

static int branches_of(const struct MPI_ABI_Comm *c)
{
    int n = 0;
    while (1 << n < c->size - c->rank && !(c->rank & 1 << n)) n++;
    return n;
}

int uno_outcome_open(struct MPI_ABI_File *f, struct uno_outcome **out)
{
    int n = branches_of(f->comm);
    struct uno_outcome *o = calloc(1, sizeof *o + (size_t)n * sizeof o->branch[0]);
    if (!o) return uno_fail(MPI_ERR_NO_MEM, "no memory for the outcome of a collective access");
    o->file = f;
    o->tag = uno_coll_tag(f->comm);
    o->branches = n;
    o->up.request = o->answer.request = MPI_REQUEST_NULL;
    for (int i = 0; i < n; i++) begin_word(o, &o->branch[i], f->comm->rank + (1 << i), true);
    if (f->comm->rank > 0) begin_word(o, &o->answer, rank_above(o), true);
    o->next = first;
    first = o;
    f->pending++;
    poller.fn = look_at_all;
    uno_poller_add(&poller);
    *out = o;
    return MPI_SUCCESS;
}

void uno_outcome_tell(struct uno_outcome *o, int error, uno_outcome_fn *ended, void *arg)
{
    int64_t own = uno_file_worst(o->file, error);
    if (own > o->worst) o->worst = own;
    o->ended = ended;
    o->arg = arg;
    o->told = true;
    go_on(o);
}
