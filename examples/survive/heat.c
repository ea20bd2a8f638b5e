// SPDX-License-Identifier: BSD-3-Clause
// Heat in a rod, by ranks that may die: `mpiexec --survive -n 4 ./heat [CELLS STEPS [RANK STEP]]`. Every few steps each
// rank gives a copy of its cells to the next rank. When a rank dies the others shrink the communicator, go back to the
// last copies, share the rod out anew, and go on: the result is the one that no death would have changed. RANK kills
// itself at STEP, to show it. A rank and the keeper of its copy must not die within one interval: the program then says
// so and ends.
#include <mpi.h>
#include <mpi_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 10    // steps between copies

// Cells first .. end of the rod, at a step.
struct part {
    int first, end, step;
    double *cell;
};

static int cells = 1000, steps = 200;
static MPI_Comm comm = MPI_COMM_WORLD;
static int me, n;
static struct part now, saved, kept, fresh;    // at work; the last copies: own, the previous rank's; a new one of those
static int own, victim = -1, when;             // rank at the start; who is to die, at which step

static void *room(size_t count)
{
    void *p = calloc(count + 1, sizeof(double));
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

static void set(struct part *p, int first, int end, int step, const double *from)
{
    double *cell = room((size_t)(end - first));
    if (from) memcpy(cell, from, (size_t)(end - first) * sizeof *cell);
    free(p->cell);
    *p = (struct part){first, end, step, cell};
}

static int first_of(int rank)
{
    return (int)((long)cells * rank / n);
}

// One step: the ends of the neighbours' parts, then the cells. 0 or an error.
static int advance(void)
{
    int left = me ? me - 1 : MPI_PROC_NULL, right = me + 1 < n ? me + 1 : MPI_PROC_NULL, count = now.end - now.first;
    double *old = room((size_t)count + 2);
    memcpy(old + 1, now.cell, (size_t)count * sizeof *old);
    int err = MPI_Sendrecv(&old[1], 1, MPI_DOUBLE, left, 1, &old[count + 1], 1, MPI_DOUBLE, right, 1, comm,
                           MPI_STATUS_IGNORE);
    if (!err)
        err = MPI_Sendrecv(&old[count], 1, MPI_DOUBLE, right, 2, &old[0], 1, MPI_DOUBLE, left, 2, comm,
                           MPI_STATUS_IGNORE);
    for (int i = 1; i <= count && !err; i++) {
        int at = now.first + i - 1;
        if (at > 0 && at < cells - 1) now.cell[i - 1] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
    }
    if (!err) now.step++;
    free(old);
    return err;
}

// Own cells to the next rank, and the previous rank's into `fresh`. 0 or an error.
static int exchange(void)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, mine[3] = {now.first, now.end, now.step}, theirs[3];
    int err = MPI_Sendrecv(mine, 3, MPI_INT, to, 3, theirs, 3, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
    if (err) return err;
    set(&fresh, theirs[0], theirs[1], theirs[2], NULL);
    return MPI_Sendrecv(now.cell, now.end - now.first, MPI_DOUBLE, to, 4, fresh.cell, fresh.end - fresh.first,
                        MPI_DOUBLE, from, 4, comm, MPI_STATUS_IGNORE);
}

// The end of an interval, the same for all: if everybody came through it, the new copies replace the old ones.
static int settle(int err)
{
    if (err) MPIX_Comm_revoke(comm);    // who waits for this rank stops waiting
    int good = !err;
    if (MPIX_Comm_agree(comm, &good) != MPI_SUCCESS || !good) return 0;
    set(&saved, now.first, now.end, now.step, now.cell);
    set(&kept, fresh.first, fresh.end, fresh.step, fresh.cell);
    return 1;
}

// The rod of the last copies, put together from what the living have; then each takes its part. 0 or an error.
static int share_out(void)
{
    double *rod = room((size_t)cells), *all = room((size_t)cells);
    int *known = room((size_t)cells), *all_known = room((size_t)cells);
    const struct part *mine[2] = {&saved, &kept};
    for (int i = 0; i < 2; i++)
        for (int at = mine[i]->first; at < mine[i]->end; at++) {
            rod[at] = mine[i]->cell[at - mine[i]->first];
            known[at] = 1;
        }
    int err = MPI_Allreduce(known, all_known, cells, MPI_INT, MPI_SUM, comm);
    for (int at = 0; at < cells && !err; at++) {
        if (!all_known[at]) {
            if (me == 0) fprintf(stderr, "heat: cell %d is lost: its rank died, and the rank with its copy\n", at);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        rod[at] /= all_known[at];
    }
    if (!err) err = MPI_Allreduce(rod, all, cells, MPI_DOUBLE, MPI_SUM, comm);
    if (!err) set(&now, first_of(me), first_of(me + 1), saved.step, all + first_of(me));
    free(rod), free(all), free(known), free(all_known);
    return err;
}

// The living go on without the dead, from the last copies. The new copies are made at once, for a further death.
static void recover(void)
{
    int err;
    do {
        MPI_Comm smaller;
        MPIX_Comm_shrink(comm, &smaller);
        if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
        comm = smaller;
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &n);
        err = share_out();
        if (!err) err = exchange();
    } while (!settle(err));
    if (me == 0) fprintf(stderr, "heat: %d ranks go on from step %d\n", n, now.step);
}

// An interval: some steps, the copies, at the end of all steps the sum. 0 or an error.
static int work(double *sum)
{
    int err = 0, last = now.step + EVERY < steps ? now.step + EVERY : steps;
    while (now.step < last && !err) {
        if (own == victim && now.step == when) raise(SIGKILL);
        err = advance();
    }
    if (!err) err = exchange();
    if (err || now.step < steps) return err;
    double part = 0;
    for (int i = 0; i < now.end - now.first; i++) part += now.cell[i] * (now.first + i + 1);
    return MPI_Allreduce(&part, sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    double sum = 0;
    MPI_Init(&argc, &argv);
    if (argc > 2) cells = atoi(argv[1]), steps = atoi(argv[2]);
    if (argc > 4) victim = atoi(argv[3]), when = atoi(argv[4]);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    own = me;
    set(&now, first_of(me), first_of(me + 1), 0, NULL);
    for (int at = now.first; at < now.end; at++) now.cell[at - now.first] = at % 97;
    if (!settle(exchange())) MPI_Abort(MPI_COMM_WORLD, 2);    // nothing to go back to yet
    do {
        if (!settle(work(&sum))) recover();
    } while (saved.step < steps || sum == 0);
    if (me == 0) printf("heat: %.6f after %d steps\n", sum, now.step);
    MPI_Finalize();
    free(now.cell), free(saved.cell), free(kept.cell), free(fresh.cell);
    return 0;
}
