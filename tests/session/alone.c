// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp
// Sessions that a process uses by itself: rank 0 opens three, the last rank none, and nobody waits for anybody.
#include "../check.h"

#include <stdlib.h>

int main(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    int rank, n;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
    MPI_Group_rank(g, &rank);
    MPI_Group_free(&g);
    MPI_Session_finalize(&s);
    for (int i = 0; i < 3 - rank; i++) {
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
        MPI_Group_from_session_pset(s, "mpi://SELF", &g);
        CHECK(MPI_Comm_create_from_group(g, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
        int out = i, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE);
        MPI_Comm_size(c, &n);
        CHECK(in == i && n == 1);
        MPI_Comm_free(&c);
        MPI_Group_free(&g);
        MPI_Session_finalize(&s);
    }
    return 0;
}
