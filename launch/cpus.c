// SPDX-License-Identifier: BSD-3-Clause
// Answers who is bound where (cpus.h). Called by the placement and by nodes. Without a policy of the user's, the ranks
// of a host share its cores out among them in equal, neighbouring parts, as long as every rank gets at least one; a job
// that finds another job bound already leaves its ranks to the kernel.
#define _GNU_SOURCE
#include "cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hw.h"

#define UNITS (UNO_BY_SOCKET + 1)
#define CLAIM_NAMES 8    // a stranger would have to hold them all before two jobs of one user are bound at once

// id[unit] names the unit that the processor belongs to.
struct cpu {
    int cpu, id[UNITS];
};

static struct cpu *cpus;    // that this process may use, in the order of the machine
static int ncpus, ncores;

static void describe(struct cpu *c, const struct uno_hw_pu *pu)
{
    static const enum uno_hw_level level[UNITS] = {
        [UNO_BY_HWTHREAD] = UNO_HW_PU, [UNO_BY_CORE] = UNO_HW_CORE,      [UNO_BY_L3] = UNO_HW_L3,
        [UNO_BY_NUMA] = UNO_HW_NUMA,   [UNO_BY_SOCKET] = UNO_HW_PACKAGE,
    };
    c->cpu = pu->cpu;
    for (int u = 0; u < UNITS; u++) c->id[u] = pu->part[level[u]];
    if (c->id[UNO_BY_CORE] < 0) c->id[UNO_BY_CORE] = pu->cpu;
}

// Full: with all that hwloc knows; else cores and sockets will do.
static void read_machine(bool full)
{
    static const struct uno_hw *known;
    const struct uno_hw *hw = full ? uno_hw_read() : uno_hw_read_plain();
    if (hw == NULL || hw == known) return;
    known = hw;
    cpu_set_t may;
    CPU_ZERO(&may);
    if (sched_getaffinity(0, sizeof may, &may) != 0) CPU_SET(0, &may);
    free(cpus);
    ncpus = ncores = 0;
    cpus = uno_xalloc((size_t)(hw->n ? hw->n : 1) * sizeof *cpus);
    for (int i = 0; i < hw->n; i++) {
        bool mine = hw->pu[i].cpu < CPU_SETSIZE && (hw->imagined || CPU_ISSET(hw->pu[i].cpu, &may));
        if (mine) describe(&cpus[ncpus++], &hw->pu[i]);
    }
    for (int i = 0; i < ncpus; i++) ncores += i == 0 || cpus[i].id[UNO_BY_CORE] != cpus[i - 1].id[UNO_BY_CORE];
}

int uno_cpus_count(void)
{
    read_machine(false);
    return ncores;
}

enum claim { CLAIM_MADE, CLAIM_OURS, CLAIM_STRANGER };

// Takes a name of this user's, or finds out whether it is this user who holds it: abstract names have no owner, so
// another user may have taken it. The kernel frees a name when the process ends, however it ends.
static enum claim claim_name(int number)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "unisono-bound-%u-%d", (unsigned)getuid(), number);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return CLAIM_OURS;
    if (bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, SOMAXCONN) == 0) return CLAIM_MADE;
    struct ucred holder = {.uid = (uid_t)-1};
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    socklen_t room = sizeof holder;
    bool told =
        connect(fd, (struct sockaddr *)&a, len) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &room) == 0;
    close(fd);
    return told && holder.uid == getuid() ? CLAIM_OURS : CLAIM_STRANGER;
}

// True for one job of this user's on this host at a time. Names that a stranger holds are passed over; he cannot keep
// our ranks from being bound.
static bool claim_host(void)
{
    static int claimed = -1;
    if (claimed >= 0) return claimed;
    enum claim c = CLAIM_STRANGER;
    for (int i = 0; i < CLAIM_NAMES && c == CLAIM_STRANGER; i++) c = claim_name(i);
    claimed = c != CLAIM_OURS;
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
    read_machine(p->bind != UNO_BY_AUTO || !auto_map);
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
