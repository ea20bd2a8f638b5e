// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,24 chan=tcp
// Everybody talks with everybody at once, though the limit of open files is below the number of ranks: connections are
// opened where they are needed, the limit is raised as far as the system allows, and nothing stays open.
#include <dirent.h>
#include <sys/resource.h>

#include "../check.h"

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    CHECK(d != NULL);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 20;
    setrlimit(RLIMIT_NOFILE, &files);
    int before = open_files(), rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request *r = malloc(2 * (size_t)size * sizeof(MPI_Request));
    int *got = malloc((size_t)size * sizeof(int));
    for (int i = 0; i < size; i++) MPI_Irecv(&got[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < size; i++) MPI_Isend(&rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD, &r[size + i]);
    MPI_Waitall(2 * size, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++) CHECK(got[i] == i);
    CHECK(open_files() >= before + size - 1);    // some may have been accepted within MPI_Init already
    free(got);
    free(r);
    MPI_Finalize();
    CHECK(open_files() <= before);
    return 0;
}
