// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3
// Spawning that cannot work: all members get the class, codes are set, nothing hangs, and the next spawn works.
#include "../check.h"

#include <string.h>

static int rank, size;
static char *self;

static int class_of(int err)
{
    int class;
    MPI_Error_class(err, &class);
    return class;
}

// Spawns with arguments that matter at the root alone. Codes: at first -1.
static int spawn(const char *command, int most, MPI_Info info, int *codes)
{
    char *args[] = {"child", NULL};
    MPI_Comm c = MPI_COMM_SELF;
    int root = size - 1;
    for (int i = 0; codes && i < 3; i++) codes[i] = -1;
    int err = rank == root ? MPI_Comm_spawn(command, args, most, info, root, MPI_COMM_WORLD, &c, codes)
                           : MPI_Comm_spawn("other", NULL, 99, MPI_INFO_NULL, root, MPI_COMM_WORLD, &c, codes);
    CHECK(err != MPI_SUCCESS || c != MPI_COMM_SELF);
    CHECK(err == MPI_SUCCESS || c == MPI_COMM_SELF);
    if (err == MPI_SUCCESS) MPI_Comm_disconnect(&c);
    return class_of(err);
}

static void check_text(int err, const char *part)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(err, text, &n);
    if (!strstr(text, part)) fprintf(stderr, "%s\n", text);
    CHECK(strstr(text, part) != NULL);
}

static void check_commands(void)
{
    int codes[3];
    static const char *const bad[] = {"no-such-program-anywhere", "/no/such/program", "/"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(spawn(bad[i], 2, MPI_INFO_NULL, codes) == MPI_ERR_SPAWN);
        check_text(MPI_ERR_SPAWN, "cannot run");
        CHECK(class_of(codes[0]) == MPI_ERR_SPAWN && class_of(codes[1]) == MPI_ERR_SPAWN && codes[2] == -1);
    }
    CHECK(spawn(self, 2, MPI_INFO_NULL, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == -1);
    CHECK(spawn("no-such-program-anywhere", 2, MPI_INFO_NULL, MPI_ERRCODES_IGNORE) == MPI_ERR_SPAWN);
}

static void check_arguments(void)
{
    int codes[3];
    CHECK(spawn(NULL, 1, MPI_INFO_NULL, codes) == MPI_ERR_ARG && codes[0] == -1);
    CHECK(spawn("", 1, MPI_INFO_NULL, codes) == MPI_ERR_ARG);
    CHECK(spawn(self, 0, MPI_INFO_NULL, codes) == MPI_ERR_ARG);
    CHECK(spawn(self, -1, MPI_INFO_NULL, codes) == MPI_ERR_ARG);
    check_text(MPI_ERR_ARG, "maxprocs -1");
}

static void check_info(void)
{
    int codes[3];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/no/such/folder");
    CHECK(spawn(self, 1, info, codes) == MPI_ERR_SPAWN);
    check_text(MPI_ERR_SPAWN, "working directory");
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "soft", "many");
    CHECK(spawn(self, 1, info, codes) == MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "soft", "1:3:2");
    MPI_Info_set(info, "no such key", "ignored");
    MPI_Info_set(info, "env", "no equals sign");
    CHECK(spawn(self, 1, info, codes) == MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "env", "A=b\nB=c");
    CHECK(spawn(self, 2, info, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && class_of(codes[1]) == MPI_ERR_SPAWN && codes[2] == -1);
    MPI_Info_free(&info);
}

// Keys that are read as options of mpiexec are.
static void check_options(void)
{
    static const char *const bad[][3] = {{"host", ",", "a host name is missing"},
                                         {"host", "localhost:x", "slots"},
                                         {"hostfile", "/no/such/file", "cannot read the host file"},
                                         {"map_by", "nothing", "map_by"},
                                         {"bind_to", "nothing", "bind_to"}};
    int codes[3];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, bad[i][0], bad[i][1]);
        CHECK(spawn(self, 2, info, codes) == MPI_ERR_INFO_VALUE);
        check_text(MPI_ERR_INFO_VALUE, bad[i][2]);
        CHECK(class_of(codes[0]) == MPI_ERR_INFO_VALUE && class_of(codes[1]) == MPI_ERR_INFO_VALUE);
        MPI_Info_free(&info);
    }
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/");
    CHECK(spawn("./no-such-program", 1, info, codes) == MPI_ERR_SPAWN);
    check_text(MPI_ERR_SPAWN, "cannot run ./no-such-program in the working directory /:");
    MPI_Info_free(&info);
}

// Programs that are not initialised: they end, and the spawn with them.
static void check_others(void)
{
    int codes[3];
    CHECK(spawn("true", 2, MPI_INFO_NULL, codes) == MPI_ERR_SPAWN);
    check_text(MPI_ERR_SPAWN, "before they were initialised");
    CHECK(class_of(codes[0]) == MPI_ERR_SPAWN && class_of(codes[1]) == MPI_ERR_SPAWN);
}

static void check_multiple(void)
{
    char *commands[] = {self, "no-such-program-anywhere"}, *args[] = {"child", NULL}, **argvs[] = {args, NULL};
    int most[] = {1, 1}, codes[] = {-1, -1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm c = MPI_COMM_SELF;
    int err = MPI_Comm_spawn_multiple(2, commands, argvs, most, infos, 0, MPI_COMM_WORLD, &c, codes);
    CHECK(class_of(err) == MPI_ERR_SPAWN && class_of(codes[0]) == MPI_ERR_SPAWN && class_of(codes[1]) == MPI_ERR_SPAWN);
    most[1] = -2;
    err = MPI_Comm_spawn_multiple(2, commands, argvs, most, infos, 0, MPI_COMM_WORLD, &c, codes);
    CHECK(class_of(err) == MPI_ERR_ARG);
    err = MPI_Comm_spawn_multiple(0, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &c, codes);
    CHECK(class_of(err) == MPI_ERR_ARG);
    most[1] = 0;
    commands[1] = self;
    CHECK(MPI_Comm_spawn_multiple(2, commands, argvs, most, infos, 0, MPI_COMM_WORLD, &c, codes) == MPI_SUCCESS);
    MPI_Comm_disconnect(&c);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    self = argv[0];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_commands();
    check_arguments();
    check_info();
    check_options();
    check_others();
    check_multiple();
    MPI_Finalize();
    return 0;
}
