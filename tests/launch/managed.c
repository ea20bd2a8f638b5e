// SPDX-License-Identifier: BSD-3-Clause
// A program that other people's launchers start as it is: what it says of its job goes to stdout, one line per rank.
// `abort` and `die` end rank 1 in their ways, `spawn` starts two more.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

// A number of bytes goes once around: long enough for every protocol.
static int go_around(void)
{
    static char out[1 << 20], in[1 << 20];
    memset(out, 'a' + rank % 26, sizeof out);
    MPI_Sendrecv(out, sizeof out, MPI_CHAR, (rank + 1) % size, 1, in, sizeof in, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char want = (char)('a' + (rank + size - 1) % size % 26);
    for (size_t i = 0; i < sizeof in; i++)
        if (in[i] != want) return 0;
    return 1;
}

static int spawn_two(const char *program)
{
    MPI_Comm children, all;
    int n;
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(children, 0, &all);
    MPI_Comm_size(all, &n);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&children);
    return n;
}

static void be_spawned(MPI_Comm parents)
{
    MPI_Comm all;
    MPI_Intercomm_merge(parents, 1, &all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parents);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int sum, one = 1, near, *appnum, *universe, there, merged = 0;
    MPI_Comm host, parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        be_spawned(parents);
        return MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &near);
    MPI_Comm_free(&host);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &there);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &there);
    if (strcmp(how, "spawn") == 0) merged = spawn_two(argv[0]);
    printf("rank %d of %d sum %d near %d app %d ring %d universe %d merged %d\n", rank, size, sum, near, *appnum,
           go_around(), *universe >= size, merged);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && strcmp(how, "die") == 0) raise(SIGKILL);
    if (*how && strcmp(how, "spawn") != 0) MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
