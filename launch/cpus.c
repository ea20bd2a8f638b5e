// SPDX-License-Identifier: BSD-3-Clause
// Reads the processor topology from sysfs once and answers who is bound where (cpus.h). Called by the placement and by
// nodes. Without a policy of the user's, the ranks of a host share its cores out among them in equal, neighbouring
// parts, as long as every rank gets at least one; a job that finds another job bound already leaves its ranks to the
// kernel.
#include "cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNITS (UNO_BY_SOCKET + 1)

// id[unit] names the unit that the processor belongs to: the lowest processor in it.
struct cpu {
    int cpu, id[UNITS];
};

static struct cpu *cpus;
static int ncpus, ncores;

// Lowest number of a list such as "0-3,8", or -1.
static int first_of(const char *path)
{
    char text[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return -1;
    text[n] = '\0';
    return (int)strtol(text, NULL, 10);
}

static int numa_of(int cpu)
{
    char path[96];
    for (int node = 0; node < 1024; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d", node);
        if (access(path, F_OK) != 0) break;
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpu%d", node, cpu);
        if (access(path, F_OK) == 0) return node;
    }
    return 0;
}

static void describe(struct cpu *c, int cpu)
{
    static const char *const file[UNITS] = {
        [UNO_BY_CORE] = "topology/thread_siblings_list",
        [UNO_BY_L3] = "cache/index3/shared_cpu_list",
        [UNO_BY_SOCKET] = "topology/core_siblings_list",
    };
    char path[128];
    c->cpu = cpu;
    for (int u = 0; u < UNITS; u++) {
        c->id[u] = cpu;
        if (file[u] == NULL) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file[u]);
        int first = first_of(path);
        if (first >= 0)
            c->id[u] = first;
        else if (u != UNO_BY_CORE)
            c->id[u] = 0;
    }
    c->id[UNO_BY_NUMA] = numa_of(cpu);
}

static int by_place(const void *a, const void *b)
{
    static const int order[] = {UNO_BY_SOCKET, UNO_BY_NUMA, UNO_BY_L3, UNO_BY_CORE};
    const struct cpu *x = a, *y = b;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (x->id[order[i]] != y->id[order[i]]) return x->id[order[i]] < y->id[order[i]] ? -1 : 1;
    }
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void read_machine(void)
{
    if (cpus != NULL) return;
    cpu_set_t may;
    CPU_ZERO(&may);
    if (sched_getaffinity(0, sizeof may, &may) != 0) CPU_SET(0, &may);
    cpus = uno_xalloc((size_t)CPU_COUNT(&may) * sizeof *cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may)) describe(&cpus[ncpus++], cpu);
    }
    qsort(cpus, (size_t)ncpus, sizeof *cpus, by_place);
    for (int i = 0; i < ncpus; i++) ncores += i == 0 || cpus[i].id[UNO_BY_CORE] != cpus[i - 1].id[UNO_BY_CORE];
}

int uno_cpus_count(void)
{
    read_machine();
    return ncores;
}

// True for the one job on this host that holds the name. The kernel frees it when the process ends, however it ends.
static bool claim_host(void)
{
    static int claimed = -1;
    if (claimed >= 0) return claimed;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static const char name[] = "\0unisono-bound";
    memcpy(a.sun_path, name, sizeof name - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof name - 1);
    claimed = fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0;
    if (!claimed && fd >= 0) close(fd);
    return claimed;
}

// The index of the core that sorted processor i is in.
static int core_index(int i)
{
    int n = 0;
    for (int k = 1; k <= i; k++) n += cpus[k].id[UNO_BY_CORE] != cpus[k - 1].id[UNO_BY_CORE];
    return n;
}

static bool share_out(int local, int nlocal, cpu_set_t *set)
{
    if (nlocal < 2 || nlocal > ncores || !claim_host()) return false;
    int from = (int)((long)ncores * local / nlocal), to = (int)((long)ncores * (local + 1) / nlocal);
    for (int i = 0; i < ncpus; i++) {
        int core = core_index(i);
        if (core >= from && core < to) CPU_SET(cpus[i].cpu, set);
    }
    return true;
}

// Number of distinct units, and the list of their ids in machine order.
static int list_units(enum uno_unit unit, int *id)
{
    int n = 0;
    for (int i = 0; i < ncpus; i++) {
        int seen = 0;
        for (int k = 0; k < n && !seen; k++) seen = id[k] == cpus[i].id[unit];
        if (!seen) id[n++] = cpus[i].id[unit];
    }
    return n;
}

// The processor where a rank is placed: its turn among the units it is mapped by, then its turn among the cores in that
// unit.
static const struct cpu *place(enum uno_unit map, int local)
{
    int *id = uno_xalloc((size_t)ncpus * sizeof(int));
    int n = list_units(map, id);
    int unit = n > 0 ? id[local % n] : 0, turn = n > 0 ? local / n : 0;
    free(id);
    const struct cpu *in[CPU_SETSIZE];
    int count = 0;
    for (int i = 0; i < ncpus; i++) {
        if (cpus[i].id[map] != unit) continue;
        if (count > 0 && in[count - 1]->id[UNO_BY_CORE] == cpus[i].id[UNO_BY_CORE]) continue;
        in[count++] = &cpus[i];
    }
    return count > 0 ? in[turn % count] : cpus;
}

bool uno_cpus_bind(const struct uno_plan *p, int local, int nlocal, cpu_set_t *set)
{
    CPU_ZERO(set);
    if (p->bind == UNO_BY_NONE) return false;
    bool auto_map = p->map == UNO_BY_AUTO || p->map == UNO_BY_SLOT || p->map == UNO_BY_NODE;
    if (p->bind == UNO_BY_AUTO && auto_map && nlocal < 2) return false;
    read_machine();
    if (p->bind == UNO_BY_AUTO && auto_map) return share_out(local, nlocal, set);
    enum uno_unit bind = p->bind == UNO_BY_AUTO ? p->map : p->bind;
    enum uno_unit map = auto_map ? (bind == UNO_BY_HWTHREAD ? UNO_BY_HWTHREAD : UNO_BY_CORE) : p->map;
    const struct cpu *c = place(map, local);
    for (int i = 0; i < ncpus; i++) {
        if (cpus[i].id[bind] == c->id[bind]) CPU_SET(cpus[i].cpu, set);
    }
    return true;
}

static void add_ranges(char *text, size_t cap, const cpu_set_t *set)
{
    size_t at = 0;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, set)) continue;
        int from = i;
        while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, set)) i++;
        at += (size_t)snprintf(text + at, cap - at, at ? ",%d" : "%d", from);
        if (i > from && at < cap) at += (size_t)snprintf(text + at, cap - at, "-%d", i);
        if (at >= cap) return;
    }
}

char *uno_cpus_text(const cpu_set_t *set)
{
    char text[512] = "";
    int cores = 0;
    for (int i = 0; i < ncpus; i++) {
        bool first = true;
        if (!CPU_ISSET(cpus[i].cpu, set)) continue;
        for (int k = 0; k < i; k++)
            first = first && !(cpus[k].id[UNO_BY_CORE] == cpus[i].id[UNO_BY_CORE] && CPU_ISSET(cpus[k].cpu, set));
        cores += first;
    }
    add_ranges(text, sizeof text, set);
    return uno_xformat("processor%s %s (%d core%s)", CPU_COUNT(set) == 1 ? "" : "s", text, cores,
                       cores == 1 ? "" : "s");
}
