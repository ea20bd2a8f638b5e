// SPDX-License-Identifier: BSD-3-Clause
// Processes spawned on other hosts: `family HOSTS COUNT DEPTH` spawns COUNT copies of itself on HOSTS (a:2,b:1), which
// spawn COUNT more each time, DEPTH generations in all. Parents and children merge, add up, send each other large
// messages both ways, and part. Run by tests/suites/36-hosts.
#include <string.h>
#include <unistd.h>

#include "../check.h"

#define WORDS 300000

static void talk(MPI_Comm all)
{
    int me, n, sum = -1;
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &n);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == n * (n - 1) / 2);
    int *out = malloc(WORDS * sizeof *out), *in = malloc(WORDS * sizeof *in);
    for (int shift = 1; shift < n; shift++) {
        for (int i = 0; i < WORDS; i++) out[i] = me * 1000 + i;
        int to = (me + shift) % n, from = (me + n - shift) % n;
        MPI_Sendrecv(out, WORDS, MPI_INT, to, 3, in, WORDS, MPI_INT, from, 3, all, MPI_STATUS_IGNORE);
        for (int i = 0; i < WORDS; i++) CHECK(in[i] == from * 1000 + i);
    }
    free(out);
    free(in);
}

// Both sides: everybody with everybody, then the ways part.
static void live_together(MPI_Comm other, int high, int expected)
{
    MPI_Comm all;
    int n, sum = 0, one = 1;
    MPI_Comm_remote_size(other, &n);
    CHECK(expected < 0 || n == expected);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
    CHECK(sum == n);
    MPI_Intercomm_merge(other, high, &all);
    talk(all);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&other);
}

static void have_children(char *self, char *hosts, int count, int depth)
{
    char generations[16], number[16], *args[] = {hosts, number, generations, NULL};
    snprintf(number, sizeof number, "%d", count);
    snprintf(generations, sizeof generations, "%d", depth - 1);
    MPI_Info info;
    MPI_Comm children;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", hosts);
    MPI_Comm_spawn(self, args, count, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    live_together(children, 0, count);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    CHECK(argc == 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    if (atoi(argv[3]) > 0) have_children(argv[0], argv[1], atoi(argv[2]), atoi(argv[3]));
    if (parents != MPI_COMM_NULL) live_together(parents, 1, -1);
    if (rank == 0 && parents == MPI_COMM_NULL) printf("all is well\n");
    MPI_Finalize();
    return 0;
}
