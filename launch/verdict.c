// SPDX-License-Identifier: BSD-3-Clause
// Puts into words how a rank ended (verdict.h). Called by the front.
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/start.h"

// Of the first job nothing is said.
static char *of_job(const struct uno_plan *p)
{
    return p->number == 0 ? uno_xstrdup("") : uno_xformat(" of spawned job %d", p->number);
}

static char *who(const struct uno_plan *p, int rank, int pid)
{
    char *job = of_job(p);
    char *text = uno_xformat("rank %d%s (pid %d, host %s)", rank, job, pid, uno_plan_name(p, rank));
    free(job);
    return text;
}

static char *signal_text(int status)
{
    int sig = WTERMSIG(status);
    return uno_xformat("was killed by signal %d (%s%s)", sig, strsignal(sig), WCOREDUMP(status) ? ", core dumped" : "");
}

bool uno_verdict_rank(struct uno_verdict *v, const struct uno_plan *p, int rank, const struct uno_exit *e,
                      bool *ends_job)
{
    bool lives_in_mpi = e->state == UNO_RANK_RUNNING, aborted = e->state == UNO_RANK_ABORTED;
    *ends_job = e->state != UNO_RANK_FINALIZED;
    if (!aborted && WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0) {
        if (!lives_in_mpi) return false;
        if (strcmp(uno_start_unfinalized.text, "warn") == 0) {
            if (v->forgetters++ == 0) v->forgot = who(p, rank, e->pid);
            return false;
        }
    }
    if (v->what != NULL) return true;
    char *name = who(p, rank, e->pid), *how;
    if (aborted) {
        v->status = e->code & 0xff ? e->code & 0xff : 1;
        if (e->why[0])
            how = uno_xformat("ended the job: %s", e->why);
        else
            how = uno_xformat("called MPI_Abort with code %d", e->code);
    } else if (WIFSIGNALED(e->status)) {
        v->status = 128 + WTERMSIG(e->status);
        how = signal_text(e->status);
    } else if (WEXITSTATUS(e->status) == 0) {
        v->status = 1;
        how = uno_xstrdup("exited with status 0 without calling MPI_Finalize (--set unfinalized=warn accepts that)");
    } else {
        v->status = WEXITSTATUS(e->status);
        how = uno_xformat("exited with status %d%s", v->status, lives_in_mpi ? " without calling MPI_Finalize" : "");
    }
    bool told = e->call[0] && !aborted && WIFSIGNALED(e->status);
    const char *in = !told ? "" : e->asleep ? " in " : ", last MPI call ";
    v->what = uno_xformat("%s %s%s%s", name, how, in, told ? e->call : "");
    free(how);
    free(name);
    return true;
}

char *uno_verdict_text(const struct uno_verdict *v)
{
    if (v->what == NULL) return NULL;
    if (v->others <= 0) return uno_xformat("mpiexec: %s", v->what);
    if (v->others == 1) return uno_xformat("mpiexec: %s; the other rank was ended", v->what);
    return uno_xformat("mpiexec: %s; the other %d ranks were ended", v->what, v->others);
}

static void add(struct uno_bytes *b, char *text)
{
    uno_bytes_add(b, text, strlen(text));
    free(text);
}

// "0-2: 0, 3: signal 9": ranks that ended alike are listed together.
char *uno_verdict_codes(const struct uno_plan *p, const int *status)
{
    struct uno_bytes b = {0};
    char *job = of_job(p);
    add(&b, uno_xformat("mpiexec: exit codes%s by rank:", job));
    free(job);
    for (int r = 0, last; r < p->nranks; r = last + 1) {
        for (last = r; last + 1 < p->nranks && status[last + 1] == status[r];) last++;
        add(&b, last > r ? uno_xformat("%s %d-%d: ", r ? "," : "", r, last) : uno_xformat("%s %d: ", r ? "," : "", r));
        if (status[r] == -1)
            add(&b, uno_xstrdup("unknown"));
        else if (WIFSIGNALED(status[r]))
            add(&b, uno_xformat("signal %d", WTERMSIG(status[r])));
        else
            add(&b, uno_xformat("%d", WEXITSTATUS(status[r])));
    }
    uno_bytes_add(&b, "", 1);
    return b.data;
}

char *uno_verdict_warning(const struct uno_verdict *v)
{
    static const char text[] = "without calling MPI_Finalize (--set unfinalized=error makes that a failure)";
    if (v->forgetters == 0) return NULL;
    if (v->forgetters == 1) return uno_xformat("mpiexec: warning: %s exited %s", v->forgot, text);
    return uno_xformat("mpiexec: warning: %d ranks, %s the first, exited %s", v->forgetters, v->forgot, text);
}

static const struct uno_wait *of_rank(const struct uno_wait *w, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++) {
        if (w[i].rank == rank) return &w[i];
    }
    return NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct uno_wait *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool wants_lock(const struct uno_wait *w)
{
    return strcmp(w->call, "MPI_Win_lock") == 0 && w->peer >= 0;
}

// Somebody else who holds the lock that w waits for, NULL when that is not known.
static const struct uno_wait *holder(const struct uno_wait *w, const struct uno_wait *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool it = all[i].holds == UNO_HOLDS_ALL || all[i].holds == w->peer + 1;
        if (it && all[i].rank != w->rank && strcmp(all[i].held_on, w->comm) == 0) return &all[i];
    }
    return NULL;
}

// Whom w waits for, NULL when that is not one rank that sleeps.
static const struct uno_wait *next_of(const struct uno_wait *w, const struct uno_wait *all, size_t count)
{
    if (wants_lock(w)) return holder(w, all, count);
    return w->peer >= 0 ? of_rank(all, count, w->peer) : NULL;
}

static bool alike(const struct uno_wait *a, const struct uno_wait *b)
{
    return a->peer < 0 && !a->holds && !b->holds && a->peer == b->peer && a->tag == b->tag &&
           strcmp(a->call, b->call) == 0 && strcmp(a->comm, b->comm) == 0;
}

// "MPI_Recv on MPI_COMM_WORLD for rank 1, tag 7". `all`: the ranks that sleep, NULL if that is not known.
static void add_call(struct uno_bytes *b, const struct uno_wait *first, const struct uno_wait *all, size_t count)
{
    add(b, uno_xformat("%s", first->call[0] ? first->call : "an MPI call"));
    if (first->comm[0]) add(b, uno_xformat(" on %s", first->comm));
    if (wants_lock(first)) {
        const struct uno_wait *h = holder(first, all, count);
        add(b, uno_xformat(" for the lock of rank %d", first->peer));
        if (h) add(b, uno_xformat(", which rank %d holds", h->rank));
    } else if (first->peer >= 0) {
        bool gone = all != NULL && of_rank(all, count, first->peer) == NULL;
        add(b, uno_xformat(" for rank %d%s", first->peer, gone ? " (which has left MPI)" : ""));
    } else if (first->peer == -1) {
        add(b, uno_xformat(" for any rank"));
    }
    if (first->tag >= 0)
        add(b, uno_xformat(", tag %d", first->tag));
    else if (first->tag == -1)
        add(b, uno_xformat(", any tag"));
}

// Ranks first..last wait for the same thing.
static void add_wait(struct uno_bytes *b, const struct uno_plan *p, const struct uno_wait *first,
                     const struct uno_wait *last, const struct uno_wait *all, size_t count)
{
    bool many = first != last;
    if (many)
        add(b, uno_xformat("\n  ranks %d-%d wait in ", first->rank, last->rank));
    else
        add(b, uno_xformat("\n  rank %d (pid %d, host %s) waits in ", first->rank, first->pid,
                           uno_plan_name(p, first->rank)));
    add_call(b, first, all, count);
    if (first->holds == UNO_HOLDS_ALL)
        add(b, uno_xformat("; it holds the shared locks of all ranks on %s", first->held_on));
    else if (first->holds)
        add(b, uno_xformat("; it holds the lock of rank %d on %s (%s)", first->holds - 1, first->held_on,
                           first->holds_alone ? "exclusive" : "shared"));
}

// Follows which rank waits for which; a rank met twice closes a cycle.
static void add_cycle(struct uno_bytes *b, const struct uno_wait *w, size_t count)
{
    for (size_t start = 0; start < count; start++) {
        const struct uno_wait *at = &w[start];
        for (size_t steps = 0; at != NULL && steps <= count; steps++) {
            at = next_of(at, w, count);
            if (at == NULL || at->rank != w[start].rank) continue;
            add(b, uno_xformat("\n  cycle: %d", w[start].rank));
            do {
                at = next_of(at, w, count);
                if (at) add(b, uno_xformat(" -> %d", at->rank));
            } while (at != NULL && at->rank != w[start].rank);
            return;
        }
    }
}

char *uno_verdict_deadlock(const struct uno_plan *p, const struct uno_wait *wait, size_t count)
{
    enum { LINES = 64 };
    struct uno_bytes b = {0};
    struct uno_wait *w = uno_xalloc(count * sizeof *w);
    if (count > 0) memcpy(w, wait, count * sizeof *w);
    qsort(w, count, sizeof *w, by_rank);
    char *job = of_job(p);
    add(&b, uno_xformat("mpiexec: deadlock: every rank%s waits and no message is under way", job));
    free(job);
    size_t lines = 0;
    for (size_t i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && alike(&w[last], &w[last + 1]) && w[last + 1].rank == w[last].rank + 1;)
            last++;
        if (++lines > LINES) {
            add(&b, uno_xformat("\n  ... and %zu more ranks", count - i));
            break;
        }
        add_wait(&b, p, &w[i], &w[last], w, count);
    }
    add_cycle(&b, w, count);
    add(&b, uno_xstrdup("\nmpiexec: the job was ended (--keep-waiting lets it wait)"));
    uno_bytes_add(&b, "", 1);
    free(w);
    return b.data;
}

char *uno_verdict_where(const struct uno_plan *p, const struct uno_wait *wait, size_t count)
{
    struct uno_bytes b = {0};
    char *job = of_job(p);
    add(&b, uno_xformat("mpiexec: the ranks%s of host %s:", job, count > 0 ? uno_plan_name(p, wait[0].rank) : ""));
    free(job);
    for (size_t i = 0; i < count; i++) {
        const struct uno_wait *w = &wait[i];
        add(&b, uno_xformat("\n  rank %d (pid %d) ", w->rank, w->pid));
        if (w->asleep) {
            add(&b, uno_xstrdup("waits in "));
            add_call(&b, w, NULL, 0);
        } else {
            add(&b, uno_xformat("does not wait in MPI%s%s", w->call[0] ? "; last MPI call " : "", w->call));
        }
    }
    uno_bytes_add(&b, "", 1);
    return b.data;
}
