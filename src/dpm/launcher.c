// SPDX-License-Identifier: BSD-3-Clause
// Starts mpiexec --attend (launcher.h), which lies beside the library, ../bin/mpiexec, unless a parameter says where.
// It detaches itself at once, so that the program has no child it does not know of, and ends after the program and all
// that it has spawned.
#define _GNU_SOURCE
#include "dpm/launcher.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/param.h"
#include "base/pm.h"

extern char **environ;

static struct uno_param place = UNO_PARAM_TEXT(
    "mpiexec", "", "mpiexec for processes that a program started by itself spawns; \"\": beside the library");
UNO_PARAM_DECLARE(place);

// A launcher of others' has started this process: it watches its own, and would not know of more.
static const char *foreign_manager(void)
{
    static const char *const names[] = {"PMI_FD", "PMI_PORT", "PMIX_NAMESPACE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i])) return names[i];
    return NULL;
}

static int find_program(char *path, size_t room)
{
    Dl_info info;
    if (place.text[0]) {
        snprintf(path, room, "%s", place.text);
    } else {
        if (dladdr(&place, &info) == 0 || !info.dli_fname)
            return uno_fail(MPI_ERR_SPAWN, "where the library lies is not known (parameter mpiexec)");
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(path, room, "%.*s../bin/mpiexec", slash ? (int)(slash - info.dli_fname) + 1 : 0, info.dli_fname);
    }
    if (access(path, X_OK) == 0) return MPI_SUCCESS;
    return uno_fail_errno(MPI_ERR_SPAWN, "a program started without mpiexec needs %s to spawn (parameter mpiexec)",
                          path);
}

// Its first process ends at once; that of the program's which waits for children may see it.
static int start(const char *path, int fd)
{
    char number[16];
    char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "--attend", number, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    snprintf(number, sizeof number, "%d", fd);
    int err = posix_spawn_file_actions_init(&actions);
    if (err) return err;
    err = posix_spawn_file_actions_adddup2(&actions, fd, fd);    // keeps it open there
    if (!err) err = posix_spawn(&pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!err && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return err;
}

int dpm_launcher_find(void)
{
    char path[PATH_MAX];
    int pair[2];
    if (uno_pm_descriptor() >= 0) return MPI_SUCCESS;
    if (foreign_manager())
        return uno_fail(MPI_ERR_SPAWN, "this process was started by another launcher (%s is set), which cannot spawn",
                        foreign_manager());
    if (getauxval(AT_SECURE))
        return uno_fail(MPI_ERR_SPAWN, "this program has more rights than its caller (setuid), who could choose what "
                                       "it runs: it spawns only under an mpiexec");
    int err = find_program(path, sizeof path);
    if (err) return err;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return uno_fail_errno(MPI_ERR_SPAWN, "make a socket to mpiexec");
    errno = start(path, pair[1]);
    if (errno) {
        err = uno_fail_errno(MPI_ERR_SPAWN, "start %s", path);
        close(pair[0]);
    }
    close(pair[1]);
    if (!err) uno_pm_adopt(pair[0]);
    return err;
}
