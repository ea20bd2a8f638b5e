// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3
// Processes spawned by all ranks together and by each alone: their world, their parents, messages and collectives
// between both, appnum, and the end.
#include "../check.h"

#include <string.h>

static int rank, size;

// What a spawned process does, by its first argument.
static int be_child(MPI_Comm parent, int argc, char **argv)
{
    int parents, sum, one = 1, length = 0;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm all;
    CHECK(MPI_Comm_get_name(parent, name, &length) == MPI_SUCCESS && strcmp(name, "MPI_COMM_PARENT") == 0);
    CHECK(argc == 4 && strcmp(argv[2], "") == 0 && strcmp(argv[3], "a b") == 0);
    MPI_Comm_remote_size(parent, &parents);
    CHECK(size == atoi(argv[1]) || atoi(argv[1]) == 0);
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == size + parents);
    MPI_Comm_free(&all);
    int out = rank, in = -1;
    for (int i = 0; i < parents; i++) MPI_Send(&out, 1, MPI_INT, i, 7, parent);
    MPI_Bcast(&in, 1, MPI_INT, 0, parent);
    CHECK(in == 42);
    MPI_Comm_disconnect(&parent);
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);
    MPI_Finalize();
    return 0;
}

static void talk(MPI_Comm c, MPI_Comm parents, int children)
{
    int n, me, sum, one = 1, in, answer = 42;
    MPI_Comm all;
    MPI_Comm_remote_size(c, &n);
    MPI_Comm_rank(parents, &me);
    CHECK(n == children);
    MPI_Intercomm_merge(c, 0, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_size(all, &n);
    CHECK(sum == n);
    MPI_Comm_free(&all);
    for (int i = 0; i < children; i++) {
        MPI_Recv(&in, 1, MPI_INT, i, 7, c, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
    MPI_Bcast(&answer, 1, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, c);
    MPI_Comm_disconnect(&c);
    CHECK(c == MPI_COMM_NULL);
}

static void spawn_all(char *self, int root, int children)
{
    char count[16], *args[] = {count, "", "a b", NULL};
    int codes[] = {-1, -1, -1, -1};
    MPI_Comm c;
    snprintf(count, sizeof count, "%d", children);
    if (rank == root)
        CHECK(MPI_Comm_spawn(self, args, children, MPI_INFO_NULL, root, MPI_COMM_WORLD, &c, codes) == MPI_SUCCESS);
    else
        CHECK(MPI_Comm_spawn(NULL, NULL, -1, MPI_INFO_NULL, root, MPI_COMM_WORLD, &c, codes) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) CHECK(codes[i] == (i < children ? MPI_SUCCESS : -1));
    talk(c, MPI_COMM_WORLD, children);
}

static void spawn_several(char *self)
{
    char *commands[] = {self, self}, *args[] = {"0", "", "a b", NULL}, **argvs[] = {args, args};
    int most[] = {1, 2}, codes[] = {-1, -1, -1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm c;
    CHECK(MPI_Comm_spawn_multiple(2, commands, argvs, most, infos, 0, MPI_COMM_WORLD, &c, codes) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) CHECK(codes[i] == MPI_SUCCESS);
    talk(c, MPI_COMM_WORLD, 3);
}

static void spawn_alone(char *self)
{
    char *args[] = {"1", "", "a b", NULL};
    MPI_Comm c;
    CHECK(MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    talk(c, MPI_COMM_SELF, 1);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return be_child(parent, argc, argv);
    spawn_all(argv[0], 0, 2);
    spawn_all(argv[0], size - 1, 1);
    spawn_several(argv[0]);
    spawn_alone(argv[0]);
    MPI_Finalize();
    return 0;
}
