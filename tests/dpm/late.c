// SPDX-License-Identifier: BSD-3-Clause
// run: np=3 chan=shm,tcp
// Info "timeout" holds where the root of the other side is there and the rest of its processes are not: they come once
// this side has given up. Then both sides meet.
#include "../check.h"

static int rank;
static char port[MPI_MAX_PORT_NAME];

static int meet(int accepts, MPI_Comm side, MPI_Info info, MPI_Comm *c)
{
    int class, err = accepts ? MPI_Comm_accept(port, info, 0, side, c) : MPI_Comm_connect(port, info, 0, side, c);
    MPI_Error_class(err, &class);
    return class;
}

// Rank 0, alone on its side, is in a hurry; rank 2 is late.
static int meet_first(int accepts, MPI_Comm side, MPI_Comm *c)
{
    MPI_Info hurry;
    if (rank == 2) MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0) return meet(accepts, side, MPI_INFO_NULL, c);
    MPI_Info_create(&hurry);
    MPI_Info_set(hurry, "timeout", "0.2");
    int class = meet(accepts, side, hurry, c);
    CHECK(class == MPI_ERR_PORT);
    MPI_Send(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD);
    MPI_Info_free(&hurry);
    return class;
}

// An accept that was left goes on to the next; a connect that was left is an error.
static void check(int hurried_accepts)
{
    int accepts = rank == 0 ? hurried_accepts : !hurried_accepts, others, class;
    MPI_Comm side, c = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &side);
    MPI_Comm_set_errhandler(side, MPI_ERRORS_RETURN);
    if (accepts && rank < 2) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, hurried_accepts ? 0 : 1, MPI_COMM_WORLD);
    class = meet_first(accepts, side, &c);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_PORT);
    while (class != MPI_SUCCESS) class = meet(accepts, side, MPI_INFO_NULL, &c);
    MPI_Comm_remote_size(c, &others);
    CHECK(others == (rank == 0 ? 2 : 1));
    MPI_Comm_disconnect(&c);
    if (accepts && rank < 2) MPI_Close_port(port);
    MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(0);
    check(1);
    MPI_Finalize();
    return 0;
}
