// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp set=progress_thread=1 threads
// With the progress thread a nonblocking collective ends on the other ranks while rank 0 is not in MPI: it waits at a
// named pipe until rank 1, whose operation is over, opens the other end. Then blocking calls, which push the thread
// aside, and calls from outside MPI again.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll.h"

#define COUNT 300000

static int me, n;
static char path[256];

static void outside(void)
{
    int fd = open(path, me == 0 ? O_RDONLY : O_WRONLY);
    CHECK(fd >= 0);
    close(fd);
}

static void make_pipe(void)
{
    if (me == 0) {
        const char *dir = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/unisono-XXXXXX", dir ? dir : "/tmp");
        CHECK(mkdtemp(path) != NULL);
        strcat(path, "/pipe");
        CHECK(mkfifo(path, 0600) == 0);
    }
    CHECK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static int in[COUNT], out[COUNT];
    MPI_Request q[2];
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_pipe();
    for (int round = 0; round < 20; round++) {
        int one = 1, sum = 0;
        for (int i = 0; i < COUNT; i++) in[i] = me + i + round;
        CHECK(MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]) == MPI_SUCCESS);
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &q[1]) == MPI_SUCCESS);
        if (me == 0) outside();
        CHECK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        if (me == 1) outside();
        for (int i = 0; i < COUNT; i++) CHECK(out[i] == n * (n - 1) / 2 + n * (i + round));
        for (int k = 0; k < 50; k++)
            CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == n);
    }
    if (me == 0) {
        CHECK(unlink(path) == 0);
        *strrchr(path, '/') = '\0';
        CHECK(rmdir(path) == 0);
    }
    MPI_Finalize();
    return 0;
}
