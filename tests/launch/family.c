// SPDX-License-Identifier: BSD-3-Clause
// Spawns itself, for test_family.py: turns ROUNDS N (spawns N processes, disconnects, in turn; prints how many
// descriptors and mappings there are after each) | fail (prints the
// class and text of a spawn's error) | crash (a spawned process dies while its parent waits for a message) | outlive
// (ends while its spawned process still works).
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *self;

static int count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static int count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (f && fgets(line, sizeof line, f)) n++;
    if (f) fclose(f);
    return n;
}

static void tell_state(void)
{
    printf("%d descriptors, %d mappings\n", count_entries("/proc/self/fd"), count_maps());
}

static int spawn(const char *command, const char *what, int n, MPI_Comm *c)
{
    char word[16], *args[] = {word, NULL};
    snprintf(word, sizeof word, "%s", what);
    return MPI_Comm_spawn(command, args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, c, MPI_ERRCODES_IGNORE);
}

static void take_turns(int rounds, int n)
{
    for (int i = 1; i <= rounds; i++) {
        MPI_Comm c;
        int token = i;
        spawn(self, "echo", n, &c);
        MPI_Send(&token, 1, MPI_INT, n - 1, 0, c);
        MPI_Recv(&token, 1, MPI_INT, n - 1, 0, c, MPI_STATUS_IGNORE);
        if (token != i + 1) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Comm_disconnect(&c);
        tell_state();
    }
}

static void tell_error(int err)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, n;
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &n);
    printf("%s %s\n", class == MPI_SUCCESS ? "done" : class == MPI_ERR_SPAWN ? "MPI_ERR_SPAWN" : "another class", text);
}

static void be_child(MPI_Comm parent, const char *what)
{
    int token, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "die") == 0) raise(SIGKILL);
    if (strcmp(what, "echo") == 0 && rank == size - 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        token++;
        MPI_Send(&token, 1, MPI_INT, 0, 0, parent);
    }
    MPI_Comm_disconnect(&parent);
    if (strcmp(what, "stay") == 0) {
        printf("child works\n");
        while (getchar() != EOF) continue;
    }
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Comm parent, c;
    int token;
    const char *what = argc > 1 ? argv[1] : "";
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(parent, what);
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(what, "turns") == 0) take_turns(atoi(argv[2]), atoi(argv[3]));
    if (strcmp(what, "fail") == 0) tell_error(spawn(argc > 2 ? argv[2] : self, "echo", 1, &c));
    if (strcmp(what, "crash") == 0) {
        tell_error(spawn(self, "die", 1, &c));
        tell_error(MPI_Recv(&token, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE) ? MPI_SUCCESS : MPI_ERR_OTHER);
    }
    if (strcmp(what, "outlive") == 0) {
        spawn(self, "stay", 1, &c);
        MPI_Comm_disconnect(&c);
    }
    MPI_Finalize();
    return 0;
}
