// SPDX-License-Identifier: BSD-3-Clause
// Looks at a rank's process from outside, through /proc: whether its threads are asleep for good and its TCP
// connections empty. Called by watch.c, only when a deadlock is about to be reported, and by sink.c to recognise a
// prompt. What cannot be read counts as "no".
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node.h"

enum parking { AWAY, AT_FUTEX, AT_POLL, UNKNOWN };

// What system call a thread sits in. UNKNOWN: the kernel does not let us see it.
static enum parking parking_of(const char *task)
{
    char path[300], text[256];
    unsigned long nr, arg[4];
    snprintf(path, sizeof path, "%s/syscall", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return UNKNOWN;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len < 0) return UNKNOWN;
    text[len] = '\0';
    if (sscanf(text, "%lu %lx %lx %lx %lx", &nr, &arg[0], &arg[1], &arg[2], &arg[3]) != 5) return AWAY;
#ifdef SYS_poll
    if (nr == SYS_poll) return (int)arg[2] < 0 ? AT_POLL : AWAY;
#endif
    if (nr == SYS_ppoll) return arg[2] == 0 ? AT_POLL : AWAY;
    if (nr == SYS_restart_syscall) return AT_POLL;    // one that a stop interrupted
    unsigned long op = arg[1] & FUTEX_CMD_MASK;
    bool for_good = (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && arg[3] == 0;
    return nr == SYS_futex && for_good ? AT_FUTEX : AWAY;
}

// Whether the kernel says that a thread sleeps: not one that was stopped (T), is traced (t) or could run (R).
static bool sleeps(const char *task)
{
    char state;
    int parent;
    return uno_proc_stat(task, &state, &parent) && state == 'S';
}

bool uno_threads_parked(int pid, int sleeper)
{
    char path[64], task[280];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    if (dir == NULL) return false;
    bool parked = true, seen = false;
    const struct dirent *e;
    while (parked && (e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.') continue;
        snprintf(task, sizeof task, "%s/%.200s", path, e->d_name);
        bool ours = atoi(e->d_name) == sleeper;
        enum parking at = parking_of(task);
        // The thread at the door has said on the board that it sleeps there: that is believed where the call is hidden.
        parked = sleeps(task) && (at == AT_FUTEX || (ours && at != AWAY));
        seen = seen || ours;
    }
    closedir(dir);
    return parked && seen;
}

bool uno_threads_reads(int pid)
{
    char path[64];
    unsigned long nr, fd;
    snprintf(path, sizeof path, "/proc/%d/syscall", pid);
    FILE *f = fopen(path, "re");
    bool reads = f != NULL && fscanf(f, "%lu %lx", &nr, &fd) == 2 && nr == SYS_read && fd == 0;
    if (f != NULL) fclose(f);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    f = fopen(path, "re");
    int child;
    while (f != NULL && !reads && fscanf(f, "%d", &child) == 1) reads = uno_threads_reads(child);
    if (f != NULL) fclose(f);
    return reads;
}

struct inodes {
    unsigned long *item;
    size_t count;
};

static struct inodes sockets_of(int pid)
{
    struct inodes s = {0};
    char path[64], link[400], text[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    const struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        snprintf(link, sizeof link, "%s/%s", path, e->d_name);
        ssize_t n = readlink(link, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        unsigned long inode;
        if (sscanf(text, "socket:[%lu]", &inode) != 1) continue;
        s.item = uno_xrealloc(s.item, (s.count + 1) * sizeof *s.item);
        s.item[s.count++] = inode;
    }
    if (dir != NULL) closedir(dir);
    return s;
}

static bool holds(const struct inodes *s, unsigned long inode)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->item[i] == inode) return true;
    }
    return false;
}

// True if the table of connections shows bytes sent and not acknowledged, or come and not read, on one of the sockets.
static bool table_busy(int pid, const char *table, const struct inodes *s)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, table);
    FILE *f = fopen(path, "re");
    bool busy = false;
    enum { LISTEN = 10 };
    while (f != NULL && !busy && fgets(line, sizeof line, f) != NULL) {
        unsigned state;
        unsigned long out, in, inode;
        if (sscanf(line, " %*u: %*s %*s %x %lx:%lx %*s %*s %*s %*s %lu", &state, &out, &in, &inode) != 4) continue;
        busy = state != LISTEN && (out > 0 || in > 0) && holds(s, inode);
    }
    if (f != NULL) fclose(f);
    return busy;
}

bool uno_threads_quiet_sockets(int pid)
{
    struct inodes s = sockets_of(pid);
    bool busy = s.count > 0 && (table_busy(pid, "tcp", &s) || table_busy(pid, "tcp6", &s));
    free(s.item);
    return !busy;
}
