// SPDX-License-Identifier: BSD-3-Clause
// Ends everything that descends from this process. Called by a node as its last act, and by mpiexec if its node is
// killed. Only this process's own children are ever killed: as it adopts orphans and alone reaps its children, no
// process id can be another's by then. Grandchildren become children when their parents are gone, so a few rounds reach
// all of them, daemons included.
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/streams.h"
#include "node.h"

#define SWEEP_MS 3000    // a process in an uninterruptible system call is left behind after this time

static int spare = -1;    // kept in reserve so that the sweep can open a file when no descriptor is left

int uno_guard_adopt(void)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno;
    if (spare < 0) spare = uno_streams_null();
    return spare < 0 ? errno : 0;
}

void uno_guard_forget(void)
{
    spare = -1;
}

bool uno_guard_alone(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 && errno == ECHILD;
}

// For kernels that do not list children.
static void kill_by_scan(void)
{
    DIR *proc = opendir("/proc");
    const struct dirent *e;
    while (proc != NULL && (e = readdir(proc)) != NULL) {
        char folder[32], state;
        int parent;
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        snprintf(folder, sizeof folder, "/proc/%.20s", e->d_name);
        if (uno_proc_stat(folder, &state, &parent) && parent == getpid()) kill(atoi(e->d_name), SIGKILL);
    }
    if (proc != NULL) closedir(proc);
}

static void kill_children(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        kill_by_scan();
        return;
    }
    int pid;
    while (fscanf(f, "%d", &pid) == 1) kill(pid, SIGKILL);
    fclose(f);
}

void uno_guard_sweep(int sigfd, void (*reap)(void *), void *self)
{
    int64_t end = uno_ms_now() + SWEEP_MS;
    if (spare >= 0) close(spare);
    spare = -1;
    while (!uno_guard_alone() && uno_ms_now() < end) {
        kill_children();
        struct pollfd p = {.fd = sigfd, .events = POLLIN};
        poll(&p, 1, 10);
        reap(self);
    }
}
