// SPDX-License-Identifier: BSD-3-Clause
// Agreements (agree.h). Each is known by its communicator's context and its number there. It is decided once every
// member has voted or is gone: the bits that all voters have in common, who of the members is dead, and the contexts
// that the lowest voter offered.
// Always holds: frames of a node come in order, so whatever a voter's node knew of the dead, the front knows when it
// counts the vote.
#include "agree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/pm.h"

struct agreement {
    struct agreement *next;
    struct uno_ballot b;    // as decided so far
    int lowest;             // voter
    uint64_t *members, *acknowledged, *voted;
};

struct uno_agreements {
    struct agreement *first;
    uint64_t *dead, *gone, *condemned;    // by world rank; condemned: to be killed, since another one cannot reach it
    size_t words;
    int deaths, well;    // well: that ended as they should
    int status;          // of the first death
};

static struct uno_agreements *of(struct uno_front_job *j)
{
    if (j->agreements == NULL) {
        struct uno_agreements *a = j->agreements = uno_xalloc(sizeof *a);
        a->words = ((size_t)j->plan->nranks + 63) / 64;
        a->dead = uno_xalloc(3 * a->words * sizeof *a->dead);
        a->gone = a->dead + a->words;
        a->condemned = a->gone + a->words;
    }
    return j->agreements;
}

static void set_bit(uint64_t *set, int rank)
{
    set[rank / 64] |= 1ULL << rank % 64;
}

static bool has_bit(const uint64_t *set, int rank)
{
    return set[rank / 64] >> rank % 64 & 1;
}

static void tell_all(struct uno_front_job *j, uint32_t type, int64_t arg, const void *data, size_t bytes)
{
    struct uno_frame fr = {.bytes = (uint32_t)bytes, .type = type, .rank = -1, .node = -1, .arg = arg};
    uno_relay_send(&j->down, &fr, data);
}

// ---- votes ----

static void decide(struct uno_front_job *j, struct agreement *a)
{
    const struct uno_agreements *all = j->agreements;
    size_t set = all->words * sizeof(uint64_t);
    char *out = uno_xalloc(sizeof a->b + UNO_BALLOT_SETS * set);
    uint64_t *dead = uno_xalloc(set);
    for (size_t w = 0; w < all->words; w++) {
        dead[w] = a->members[w] & all->dead[w];
        if (dead[w] & ~a->acknowledged[w]) a->b.uneasy = 1;
    }
    a->b.kind = UNO_BALLOT_DECISION;
    memcpy(out, &a->b, sizeof a->b);
    memcpy(out + sizeof a->b, a->members, set);
    memcpy(out + sizeof a->b + set, dead, set);
    tell_all(j, UNO_NEWS, 0, out, sizeof a->b + UNO_BALLOT_SETS * set);
    free(out);
    free(dead);
}

static bool is_complete(const struct uno_agreements *all, const struct agreement *a)
{
    for (size_t w = 0; w < all->words; w++) {
        if (a->members[w] & ~a->voted[w] & ~all->gone[w]) return false;
    }
    return true;
}

static void settle(struct uno_front_job *j)
{
    struct uno_agreements *all = j->agreements;
    for (struct agreement **at = &all->first, *a; (a = *at) != NULL;) {
        if (!is_complete(all, a)) {
            at = &a->next;
            continue;
        }
        decide(j, a);
        *at = a->next;
        free(a->members);
        free(a);
    }
}

static struct agreement *find(struct uno_agreements *all, const struct uno_ballot *b)
{
    struct agreement *a = all->first;
    while (a != NULL && (a->b.context != b->context || a->b.turn != b->turn)) a = a->next;
    if (a != NULL) return a;
    a = uno_xalloc(sizeof *a);
    a->b = *b;
    a->lowest = -1;
    a->members = uno_xalloc(3 * all->words * sizeof(uint64_t));
    a->acknowledged = a->members + all->words;
    a->voted = a->acknowledged + all->words;
    a->next = all->first;
    return all->first = a;
}

static void count_vote(struct uno_front_job *j, int rank, const struct uno_ballot *b, const char *sets)
{
    struct uno_agreements *all = of(j);
    struct agreement *a = find(all, b);
    bool first = a->lowest < 0;
    for (size_t w = 0; w < all->words; w++) {
        uint64_t members, known;
        memcpy(&members, sets + w * sizeof members, sizeof members);
        memcpy(&known, sets + (all->words + w) * sizeof known, sizeof known);
        a->members[w] |= members;
        a->acknowledged[w] = first ? known : a->acknowledged[w] & known;
    }
    a->b.flag &= b->flag;
    set_bit(a->voted, rank);
    if (first || rank < a->lowest) {
        a->lowest = rank;
        a->b.offer = b->offer;
    }
    settle(j);
}

// Two ranks that cannot reach each other say so both: the one that is heard first goes on.
static void condemn(struct uno_front_job *j, int by, int rank)
{
    struct uno_agreements *all = of(j);
    if (!j->plan->survive || rank < 0 || rank >= j->plan->nranks || has_bit(all->condemned, by)) return;
    struct uno_frame kill = {.type = UNO_KILL, .rank = rank, .node = -1};
    set_bit(all->condemned, rank);
    uno_relay_send(&j->down, &kill, NULL);
}

void uno_agree_take(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    struct uno_ballot b;
    if (fr->bytes < sizeof b || fr->rank < 0 || fr->rank >= j->plan->nranks) return;
    memcpy(&b, data, sizeof b);
    size_t sets = UNO_BALLOT_SETS * of(j)->words * sizeof(uint64_t);
    if (b.kind == UNO_BALLOT_VOTE && fr->bytes == sizeof b + sets) {
        count_vote(j, fr->rank, &b, data + sizeof b);
    } else if (b.kind == UNO_BALLOT_REVOKE && fr->bytes == sizeof b) {
        tell_all(j, UNO_NEWS, 0, &b, sizeof b);
    } else if (b.kind == UNO_BALLOT_SUSPECT) {
        condemn(j, fr->rank, b.flag);
    }
}

// ---- deaths ----

// If nobody has survived, the first death says how the job ended.
static void tally(struct uno_front_job *j)
{
    const struct uno_agreements *all = j->agreements;
    if (j->running == 0 && all->deaths > 0 && all->well == 0 && j->verdict.status == 0) j->verdict.status = all->status;
}

void uno_agree_gone(struct uno_front_job *j, int rank)
{
    set_bit(of(j)->gone, rank);
    settle(j);
    tally(j);
}

static void tell_death(struct uno_front_job *j, int rank)
{
    set_bit(of(j)->dead, rank);
    tell_all(j, UNO_FAILED, rank, NULL, 0);
}

static void note_death(struct uno_front_job *j, int rank, int status)
{
    struct uno_agreements *all = of(j);
    if (all->deaths++ == 0) all->status = status;
    tell_death(j, rank);
}

static char *who_is_left(const struct uno_front_job *j)
{
    if (j->running == 0) return uno_xstrdup("no rank is left");
    return uno_xformat("the job goes on with %d rank%s", j->running, j->running == 1 ? "" : "s");
}

bool uno_agree_survives(struct uno_front_job *j, int rank, const struct uno_exit *e)
{
    struct uno_verdict v = {0};
    bool ends_job = false;
    if (!j->plan->survive || j->ending || e->state == UNO_RANK_ABORTED) return false;
    bool failed = uno_verdict_rank(&v, j->plan, rank, e, &ends_job);
    bool dies = failed && (e->state != UNO_RANK_FINALIZED || WIFSIGNALED(e->status));
    if (dies) {
        note_death(j, rank, v.status);
        char *left = who_is_left(j), *text = uno_xformat("mpiexec: %s; %s", v.what, left);
        uno_sinks_say(j->front->sinks, text);
        free(text);
        free(left);
    } else {
        of(j)->well++;
        if (e->state == UNO_RANK_RUNNING) tell_death(j, rank);    // it ended in its own way, and without MPI_Finalize
    }
    free(v.what);
    free(v.forgot);
    return dies;
}

// What followed from the link's end is told by the frame behind this one.
void uno_agree_lost(struct uno_front_job *j, const struct uno_frame *fr, const char *data)
{
    of(j);
    for (size_t at = 0; at + sizeof(int) <= fr->bytes; at += sizeof(int)) {
        int host;
        memcpy(&host, data + at, sizeof host);
        for (int r = 0; r < j->plan->nranks; r++) {
            if (j->plan->rank_host[r] != host || has_bit(of(j)->gone, r)) continue;
            j->running--;
            note_death(j, r, 1);
            set_bit(j->agreements->gone, r);
        }
    }
    settle(j);
    tally(j);
}

void uno_agree_close(struct uno_front_job *j)
{
    struct uno_agreements *all = j->agreements;
    if (all == NULL) return;
    for (struct agreement *a = all->first, *next; a != NULL; a = next) {
        next = a->next;
        free(a->members);
        free(a);
    }
    free(all->dead);
    free(all);
}
