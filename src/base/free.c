// SPDX-License-Identifier: BSD-3-Clause
// Reads what the kernel says about memory (free.h): /proc/meminfo, and the limit of this process's control group
// (version 2).
#include "base/free.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/wait.h"

#define LINE 512
#define LOOK_NS 10000000ULL
#define SMALL ((uint64_t)2 << 20)    // bytes, for which the kernel is not asked

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t of_system(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[LINE];
    unsigned long long kib, sum = 0;
    int found = 0;
    if (!f) return UINT64_MAX;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1 && sscanf(line, "SwapFree: %llu kB", &kib) != 1) continue;
        sum += kib;
        found++;
    }
    fclose(f);
    return found ? (uint64_t)sum << 10 : UINT64_MAX;
}

// The number in a file of the control group; UINT64_MAX when there is none ("max", no such file).
static uint64_t number_in(const char *group, const char *file)
{
    char path[2 * LINE];
    unsigned long long n = UINT64_MAX;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, file);
    FILE *f = fopen(path, "re");
    if (!f) return UINT64_MAX;
    if (fscanf(f, "%llu", &n) != 1) n = UINT64_MAX;
    fclose(f);
    return n;
}

// What a group holds beyond the pages of files, which the kernel drops when it needs room.
static uint64_t used_by(const char *group)
{
    char path[2 * LINE], line[LINE];
    unsigned long long bytes;
    uint64_t used = number_in(group, "memory.current");
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
    FILE *f = used == UINT64_MAX ? NULL : fopen(path, "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "active_file %llu", &bytes) == 1 || sscanf(line, "inactive_file %llu", &bytes) == 1)
            used -= least(used, bytes);
    fclose(f);
    return used;
}

static uint64_t of_group(void)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[LINE] = "";
    uint64_t left = UINT64_MAX;
    if (!f) return left;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "0::/", 4) == 0) break;
    fclose(f);
    if (strncmp(line, "0::/", 4) != 0) return left;
    char *group = line + 3;
    group[strcspn(group, "\n")] = 0;
    for (;;) {    // the own group, then all above it
        uint64_t max = number_in(group, "memory.max"), used = used_by(group);
        if (max != UINT64_MAX) left = least(left, max > used ? max - used : 0);
        if (group[0] == 0) return left;
        *strrchr(group, '/') = 0;
    }
}

bool uno_memory_has(uint64_t bytes)
{
    static uint64_t left, looked;    // as the kernel said last, less what was asked for since
    if (bytes < SMALL) return true;
    uint64_t now = uno_now_ns();
    if (now - looked > LOOK_NS || bytes > left / 16) {
        left = least(of_system(), of_group());
        looked = now;
    }
    if (bytes > left) return false;
    left -= bytes;
    return true;
}

void uno_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
