// SPDX-License-Identifier: BSD-3-Clause
// Calls criu (criu.h).
#include "criu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/start.h"
#include "base/streams.h"

#define MISSING 127    // status of a child that could not execute criu
#define OUTSIDE 126    // and of one that could not enter the name spaces
#define ERROR_MARK "Error ("

// In a child, which has nothing but what criu needs.
static _Noreturn void become_criu(const char *const *words, int out)
{
    int null = uno_streams_null();
    signal(SIGPIPE, SIG_DFL);
    dup2(null, 0);
    dup2(out >= 0 ? out : null, 1);
    dup2(out >= 0 ? out : null, 2);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(MISSING);
}

// Lines such as "(00.01) Error (FILE:381): vdso: ..." end in what went wrong.
static const char *message_of(const char *line)
{
    const char *at = strstr(line, ERROR_MARK), *end = at ? strstr(at, "): ") : NULL;
    return end ? end + 3 : NULL;
}

// Limits that criu cannot raise for itself are no reason, nor is that a child of it failed.
static bool is_telling(const char *message)
{
    return strncmp(message, "rlimit:", 7) != 0 && strstr(message, "exited, status") == NULL;
}

static char *reason_in(FILE *f)
{
    char *line = NULL, *found = NULL;
    size_t cap = 0;
    while (found == NULL && getline(&line, &cap, f) >= 0) {
        const char *message = message_of(line);
        if (message == NULL || !is_telling(message)) continue;
        found = uno_xstrdup(message);
        found[strcspn(found, "\n")] = '\0';
    }
    free(line);
    return found;
}

char *uno_criu_reason(const char *log)
{
    FILE *f = fopen(log, "re");
    char *found = f ? reason_in(f) : NULL;
    if (f) fclose(f);
    return found;
}

static char *explain_check(int status, char *reason)
{
    const char *criu = uno_start_criu.text;
    if (WIFEXITED(status) && WEXITSTATUS(status) == MISSING)
        return uno_xformat("%s cannot be run: install criu (Debian: apt-get install criu), or name it: "
                           "--set launch_criu=PATH",
                           criu);
    if (geteuid() != 0)
        return uno_xformat("%s check fails%s%s: it needs root; call mpiexec as root", criu, reason ? ", " : "",
                           reason ? reason : "");
    return uno_xformat("%s check fails%s%s: a newer criu may do (--set launch_criu=PATH), or this kernel, or the "
                       "container around it, does not allow checkpoints",
                       criu, reason ? ", " : "", reason ? reason : "");
}

char *uno_criu_check(void)
{
    const char *words[] = {uno_start_criu.text, "check", NULL};
    int pair[2], status = 0;
    if (pipe2(pair, O_CLOEXEC) != 0) return uno_xformat("cannot make a pipe: %s", uno_reason(errno));
    pid_t pid = fork();
    if (pid == 0) become_criu(words, pair[1]);
    close(pair[1]);
    FILE *f = fdopen(pair[0], "r");
    char *reason = f && pid > 0 ? reason_in(f) : NULL, rest[256];
    while (f && fread(rest, 1, sizeof rest, f) > 0) continue;    // criu would fail if nobody read
    if (f) fclose(f);
    if (pid < 0) return uno_xformat("cannot start a process: %s", uno_reason(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    char *why = status == 0 ? NULL : explain_check(status, reason);
    free(reason);
    return why;
}

static bool enter_space(int init, const char *kind, int type)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", init, kind);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, type) == 0;
    if (fd >= 0) close(fd);
    return good;
}

// The name space of processes holds for the children of who enters it.
static _Noreturn void dump_inside(int init, const char *const *words)
{
    int status = OUTSIDE << 8;
    if (!enter_space(init, "pid", CLONE_NEWPID) || !enter_space(init, "mnt", CLONE_NEWNS)) _exit(OUTSIDE);
    pid_t pid = fork();
    if (pid == 0) become_criu(words, -1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

pid_t uno_criu_dump(const struct uno_criu_dump *d, const struct uno_setting *s)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    char *node = uno_xformat("%d", d->node), *link = uno_xformat("unix[%llu]", (unsigned long long)d->link);
    // All ends of the connections between ranks are dumped, and stand still meanwhile: nothing has to lock them.
    const char *words[] = {uno_start_criu.text,
                           "dump",
                           "-t",
                           node,
                           "-D",
                           d->folder,
                           "-o",
                           d->log,
                           "-v2",
                           "--leave-running",
                           "--external",
                           link,
                           "--tcp-established",
                           "--network-lock",
                           "skip",
                           "--file-locks",
                           "--ghost-limit",
                           "1G",
                           "--manage-cgroups=ignore",
                           NULL};
    setpgid(0, 0);    // a Ctrl-C is for mpiexec
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    if (d->init > 0) dump_inside(d->init, words);
    become_criu(words, -1);
}

_Noreturn void uno_criu_restore(const char *folder, const char *log, uint64_t link, int fd)
{
    char *inherit = uno_xformat("fd[%d]:socket:[%llu]", fd, (unsigned long long)link);
    const char *words[] = {uno_start_criu.text,
                           "restore",
                           "-d",
                           "-D",
                           folder,
                           "-o",
                           log,
                           "-v2",
                           "--inherit-fd",
                           inherit,
                           "--tcp-established",
                           "--file-locks",
                           "--manage-cgroups=ignore",
                           NULL};
    uno_cloexec(fd, false);
    become_criu(words, -1);
}
