// SPDX-License-Identifier: BSD-3-Clause
// run: np=3,4 chan=shm
// A communicator is revoked while ranks wait in a collective whose blocks differ: they get the error, whatever lay
// where they looked for counts (it was taken for a count once, and led out of the segment).
#include <mpi_ext.h>

#include "../check.h"

#define LINE 56     // bytes beside a stamp
#define LINES 64    // stamps of a rank
#define COUNT 100

enum form { SCATTERV, GATHERV, ALLTOALLV, FORMS };

// Every line of every rank with the same bytes; mark: those that a scatterv looks for among them.
static void fill_lines(MPI_Comm c, int n, int mark)
{
    unsigned char line[LINE];
    for (int i = 0; i < LINE; i++) line[i] = mark && (i == 6 || i == 7) ? 0xff : 0x41;
    for (int root = 0; root < n; root++)
        for (int i = 0; i < LINES; i++) MPI_Bcast(line, LINE, MPI_BYTE, root, c);
    MPI_Barrier(c);
}

static int call(enum form form, MPI_Comm c, int n, int count)
{
    static int in[4 * COUNT], out[4 * COUNT];
    int counts[4], displs[4];
    for (int i = 0; i < n; i++) counts[i] = count, displs[i] = i * COUNT;
    if (form == SCATTERV) return MPI_Scatterv(in, counts, displs, MPI_INT, out, count, MPI_INT, 0, c);
    if (form == GATHERV) return MPI_Gatherv(in, count, MPI_INT, out, counts, displs, MPI_INT, 1, c);
    return MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, c);
}

static void revoke_under(enum form form, int count, int mark)
{
    MPI_Comm c;
    int me, n, class = MPI_SUCCESS;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    fill_lines(c, n, mark);
    if (me == 0)
        MPIX_Comm_revoke(c);
    else
        MPI_Error_class(call(form, c, n, count), &class);
    // Those of a gatherv that give may be done before.
    int over = form == GATHERV && me != 1 && class == MPI_SUCCESS;
    CHECK(me == 0 || over || class == MPIX_ERR_REVOKED);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int form = 0; form < FORMS; form++)
        for (int mark = 0; mark < 2; mark++) {
            revoke_under((enum form)form, 1, mark);
            revoke_under((enum form)form, COUNT, mark);
        }
    MPI_Finalize();
    return 0;
}
