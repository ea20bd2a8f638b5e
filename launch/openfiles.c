// SPDX-License-Identifier: BSD-3-Clause
// Which files processes have open for writing (openfiles.h), as the kernel tells below /proc. A process or a file that
// goes away meanwhile is left out.
#include "openfiles.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_known(const struct uno_bytes *paths, const char *path)
{
    for (size_t at = 0; at < paths->len; at += strlen(uno_bytes_first(paths) + at) + 1)
        if (strcmp(uno_bytes_first(paths) + at, path) == 0) return true;
    return false;
}

static bool is_written(int pid, const char *fd)
{
    char path[64], line[128];
    unsigned flags = O_RDONLY;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.20s", pid, fd);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "flags: %o", &flags) == 1) break;
    if (f != NULL) fclose(f);
    return (flags & O_ACCMODE) != O_RDONLY;
}

static void list_process(int pid, struct uno_bytes *paths)
{
    char folder[32], path[PATH_MAX];
    struct stat st;
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *d = opendir(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof path - 1);
        if (n <= 0 || path[0] != '/') continue;
        path[n] = '\0';
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !is_written(pid, e->d_name)) continue;
        if (!is_known(paths, path)) uno_bytes_add(paths, path, (size_t)n + 1);
    }
    if (d != NULL) closedir(d);
}

void uno_openfiles_list(int pid, struct uno_bytes *paths)
{
    char folder[32], path[64];
    list_process(pid, paths);
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *d = opendir(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        int child;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.20s/children", folder, e->d_name);
        FILE *f = fopen(path, "re");
        while (f != NULL && fscanf(f, "%d", &child) == 1) uno_openfiles_list(child, paths);
        if (f != NULL) fclose(f);
    }
    if (d != NULL) closedir(d);
}
