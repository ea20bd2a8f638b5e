// SPDX-License-Identifier: BSD-3-Clause
// Reads from sysfs which package, node, cache and core processors belong to (parts.h). Called by hw.c alone.
// Always holds: asked anew each time, since a process may be bound at any moment.
#include "topo/parts.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHES_MAX 10                 // index directories of one processor
#define NODES_MAX 1024

static const char *const level_name[UNO_HW_LEVELS] = {
    "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU",
};

const char *uno_parts_level(int level)
{
    return level_name[level];
}

// The first word of a file below a processor's directory; false when there is none.
static bool read_word(int cpu, const char *name, char *out, size_t room)
{
    char path[128], format[16];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    snprintf(format, sizeof format, "%%%zus", room - 1);
    bool found = fscanf(f, format, out) == 1;
    fclose(f);
    return found;
}

// The lowest processor of a list such as "4-7,12"; -1 when the file is not there.
static int first_in(int cpu, const char *name)
{
    char word[64];
    return read_word(cpu, name, word, sizeof word) ? (int)strtol(word, NULL, 10) : -1;
}

static int cache_of(int cpu, int level)
{
    for (int i = 0; i < CACHES_MAX; i++) {
        char name[48], word[64];
        snprintf(name, sizeof name, "cache/index%d/level", i);
        if (!read_word(cpu, name, word, sizeof word)) return -1;
        if (atoi(word) != level) continue;
        snprintf(name, sizeof name, "cache/index%d/type", i);
        if (read_word(cpu, name, word, sizeof word) && strcmp(word, "Instruction") == 0) continue;
        snprintf(name, sizeof name, "cache/index%d/shared_cpu_list", i);
        return first_in(cpu, name);
    }
    return -1;
}

static int node_of(int cpu)
{
    for (int node = 0; node < NODES_MAX; node++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
        if (access(path, F_OK) == 0) return node;
    }
    return -1;
}

static int part_of(int cpu, int level)
{
    switch (level) {
    case 0: return first_in(cpu, "topology/core_siblings_list");
    case 1: return node_of(cpu);
    case 2: return cache_of(cpu, 3);
    case 3: return cache_of(cpu, 2);
    case 4: return cache_of(cpu, 1);
    case 5: return first_in(cpu, "topology/thread_siblings_list");
    default: return cpu;
    }
}

void uno_parts_find(int part[UNO_HW_LEVELS])
{
    cpu_set_t set;
    CPU_ZERO(&set);
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    for (int level = 0; level < UNO_HW_LEVELS; level++) {
        part[level] = -1;
        bool first = true;
        for (int cpu = 0; known && cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &set)) continue;
            int p = part_of(cpu, level);
            if (!first && p != part[level]) p = -1;
            part[level] = p;
            first = false;
            if (p < 0) break;
        }
    }
}
