// SPDX-License-Identifier: BSD-3-Clause
// Starting processes. Entry points of the chapter on process creation; the work is in dpm/spawn.c.
// Always holds: what the root alone has to give is checked at the root alone, and what is wrong there fails the call at
// all members.
#include <stdlib.h>

#include "api/check.h"
#include "core/info.h"
#include "dpm/spawn.h"

static int check_command(const struct uno_spawn_command *c, const char *name, MPI_Info info)
{
    if (!c->command) return uno_fail(MPI_ERR_ARG, "%s is NULL", name);
    if (!c->command[0]) return uno_fail(MPI_ERR_ARG, "%s is empty", name);
    if (c->maxprocs < 0) return uno_fail(MPI_ERR_ARG, "maxprocs %d of `%.60s` is negative", c->maxprocs, c->command);
    return uno_check_info(info);
}

// What all members give.
static int check_common(const struct uno_spawn_spec *spec, MPI_Comm comm, const MPI_Comm *intercomm)
{
    int err = uno_check_intracomm(comm);
    if (!err) err = uno_check_root(uno_comm(comm), spec->root);
    if (!err) err = uno_check_pointer(intercomm, "intercomm");
    return err;
}

static int total_of(const struct uno_spawn_spec *spec)
{
    long total = 0;
    for (int i = 0; i < spec->count; i++) total += spec->command[i].maxprocs;
    if (total > 0 && total <= 1 << 24) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ARG, "maxprocs is %ld (1 .. %d allowed)", total, 1 << 24);
}

int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                   MPI_Comm *intercomm, int array_of_errcodes[])
{
    static const char call[] = "MPI_Comm_spawn";
    struct uno_spawn_command one = {.command = command, .argv = argv, .maxprocs = maxprocs};
    struct uno_spawn_spec spec = {.root = root};
    uno_enter(call);
    int err = check_common(&spec, comm, intercomm);
    if (err) return uno_finish_comm(comm, call, err);
    spec.comm = uno_comm(comm);
    if (spec.comm->rank == root) {
        spec.wrong = check_command(&one, "command", info);
        if (!spec.wrong) one.info = uno_info(info), spec.command = &one, spec.count = 1;
        if (!spec.wrong) spec.wrong = total_of(&spec);
        if (spec.wrong) spec.count = 0;
    }
    err = uno_dpm_spawn(&spec, intercomm, array_of_errcodes);
    return uno_finish_comm(comm, call, err);
}

// The arrays of MPI_Comm_spawn_multiple.
struct spawn_arrays {
    char **commands, ***argvs;
    const int *maxprocs;
    const MPI_Info *info;
};

// Reads those that matter at the root. *list: of spec->count commands, the caller frees it.
static int read_arrays(struct uno_spawn_spec *spec, int count, const struct spawn_arrays *a,
                       struct uno_spawn_command **list)
{
    if (count < 1) return uno_fail(MPI_ERR_ARG, "count %d is not positive", count);
    int err = uno_check_pointer(a->commands, "array_of_commands");
    if (!err) err = uno_check_pointer(a->maxprocs, "array_of_maxprocs");
    if (!err) err = uno_check_pointer(a->info, "array_of_info");
    if (err) return err;
    *list = calloc((size_t)count, sizeof **list);
    if (!*list) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d commands", count);
    for (int i = 0; i < count && !err; i++) {
        struct uno_spawn_command *c = &(*list)[i];
        *c = (struct uno_spawn_command){
            .command = a->commands[i], .argv = a->argvs ? a->argvs[i] : NULL, .maxprocs = a->maxprocs[i]};
        err = check_command(c, "an element of array_of_commands", a->info[i]);
        if (!err) c->info = uno_info(a->info[i]);
    }
    spec->command = *list;
    spec->count = count;
    return err ? err : total_of(spec);
}

int MPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[], const int array_of_maxprocs[],
                            const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm,
                            int array_of_errcodes[])
{
    static const char call[] = "MPI_Comm_spawn_multiple";
    const struct spawn_arrays arrays = {array_of_commands, array_of_argv, array_of_maxprocs, array_of_info};
    struct uno_spawn_spec spec = {.root = root};
    struct uno_spawn_command *list = NULL;
    uno_enter(call);
    int err = check_common(&spec, comm, intercomm);
    if (err) return uno_finish_comm(comm, call, err);
    spec.comm = uno_comm(comm);
    if (spec.comm->rank == root) {
        spec.wrong = read_arrays(&spec, count, &arrays, &list);
        if (spec.wrong) spec.count = 0;
    }
    err = uno_dpm_spawn(&spec, intercomm, array_of_errcodes);
    free(list);
    return uno_finish_comm(comm, call, err);
}
